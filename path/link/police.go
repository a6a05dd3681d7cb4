package link

import (
	"fmt"
	"math"
)

// police is a token bucket: what it has no tokens for is dropped at once, and nothing waits. Operators
// limit customers so (T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016).
type police struct {
	spent float64 // bytes of the bucket that are gone
	last  int64   // when it was looked at
}

// drops says whether there are no tokens for n bytes that come at now, and takes them if there are.
func (p *police) drops(c *Conditions, n int, now int64) bool {
	if c.Police == 0 {
		return false
	}
	bucket := float64(c.Bucket)
	if bucket == 0 {
		bucket = max(c.Police/8/10, MTU)
	}
	p.spent = max(p.spent-float64(now-p.last)*c.Police/8e9, 0)
	p.last = now
	if p.spent+float64(n) > bucket {
		return true
	}
	p.spent += float64(n)
	return false
}

func (c *Conditions) checkPolice() error {
	switch {
	case c.Police < 0 || math.IsNaN(c.Police) || c.Police > 0 && c.Police < 1000 || c.Police > 1e12:
		return fmt.Errorf("policing at %g bit/s: want 1000 to 1e12, or 0 for none", c.Police)
	case c.Bucket < 0 || c.Bucket > 1<<30 || c.Bucket > 0 && c.Bucket < MTU:
		return fmt.Errorf("bucket of %d bytes: want %d to 1 GiB, one packet at least", c.Bucket, MTU)
	case c.Bucket > 0 && c.Police == 0:
		return fmt.Errorf("a bucket of %d bytes needs a rate at which it fills", c.Bucket)
	}
	return nil
}
