package link

import (
	"fmt"
	"time"

	"github.com/headway-lab/headway/histogram"
)

// What a link may be late by before what goes over it is not to be relied on.
const (
	lateMedian = 500 * time.Microsecond
	lateP99    = 3 * time.Millisecond
	lateShare  = .02 // of the round trip, where that is more
)

// TooLate says in words by how much packets left too late for the link to be the one that was asked for, on a path
// with that round trip; nil if they did not. late is that of one lane or of both, see [Stats]. A busy
// machine is the usual reason.
func TooLate(late *histogram.Histogram, rtt time.Duration) []string {
	if late.N() == 0 {
		return nil
	}
	var all []string
	if p := late.Quantile(.5); p > float64(lateMedian) {
		all = append(all, fmt.Sprintf("half of the packets were late by more than %.1f ms", p/1e6))
	}
	limit := max(float64(lateP99), lateShare*float64(rtt))
	// Of few packets one or two may be late by chance.
	if n, k := late.N(), late.Above(int64(limit)); k >= 3 && 100*k > n {
		all = append(all, fmt.Sprintf("%d of %d packets were late by more than %.1f ms", k, n, limit/1e6))
	}
	return all
}
