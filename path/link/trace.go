package link

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Trace is when a bottleneck can send, for links whose rate changes, such as those of mobile phones. It has the form of
// mahimahi's link shells (R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC
// 2015): every line is a time in ms at which 1504 bytes can be sent, and at the end it begins again. A packet counts
// four bytes more than it is long, as it does there, where they are a header of the device. What cannot be used when
// it comes is lost.
type Trace struct {
	at []int64 // ns from the begin, ascending
}

// opportunity is how many bytes can be sent at each time of a trace, and header what each packet takes beyond its length.
const opportunity, header = 1504, 4

// maxTrace is how many times a trace can have: a day at 100 Mbit/s is less.
const maxTrace = 1 << 30

// ReadTrace reads a trace; name is for errors.
func ReadTrace(name string, r io.Reader) (*Trace, error) {
	t := &Trace{}
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		ms, err := strconv.ParseInt(string(line), 10, 64)
		if err != nil || ms < 0 || ms > int64(366*24*time.Hour/time.Millisecond) {
			return nil, fmt.Errorf("%s:%d: %.40q is no time in ms", name, n, line)
		}
		at := ms * int64(time.Millisecond)
		if k := len(t.at); k > 0 && at < t.at[k-1] {
			return nil, fmt.Errorf("%s:%d: %d ms is before the line above", name, n, ms)
		}
		if len(t.at) == maxTrace {
			return nil, fmt.Errorf("%s has more than %d lines", name, maxTrace)
		}
		t.at = append(t.at, at)
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s is no link trace: want a time in ms on each line", name)
	}
	if s.Err() != nil {
		return nil, fmt.Errorf("%s: %w", name, s.Err())
	}
	if len(t.at) == 0 {
		return nil, fmt.Errorf("%s has no times: want one in ms on each line", name)
	}
	if t.at[len(t.at)-1] == 0 {
		return nil, fmt.Errorf("%s ends at 0 ms: it could never begin again", name)
	}
	return t, nil
}

// period is after what time the trace begins again.
func (t *Trace) period() int64 { return t.at[len(t.at)-1] }

// Rate is the mean rate in bit/s.
func (t *Trace) Rate() float64 {
	return float64(len(t.at)) * opportunity * 8 / time.Duration(t.period()).Seconds()
}

// cursor is how far a trace has been used.
type cursor struct {
	round int64 // how often it has begun again
	i     int   // the time in use
	left  int   // bytes that can still be sent then
	begun bool
}

func (c *cursor) time(t *Trace) int64 { return c.round*t.period() + t.at[c.i] }

// seek goes to the first time that is not before now, if that is further on.
func (c *cursor) seek(t *Trace, now int64) {
	if c.begun && c.time(t) >= now {
		return
	}
	c.begun = true
	// The time at the very end of a round comes before those of the next.
	c.round = max(now-1, 0) / t.period()
	c.i, _ = slices.BinarySearch(t.at, now-c.round*t.period())
	c.left = opportunity
}

// send takes what it takes to send n bytes that are there at now, and returns when they have been sent.
func (c *cursor) send(t *Trace, n int, now int64) int64 {
	c.seek(t, now)
	for n += header; n > c.left; {
		n -= c.left
		c.left = opportunity
		if c.i++; c.i == len(t.at) {
			c.i = 0
			c.round++
		}
	}
	c.left -= n
	return c.time(t)
}

// traced is a queue in front of a trace.
type traced struct {
	cursor
	waiting []waiting // from first on
	first   int
	bytes   int
}

type waiting struct {
	until int64
	bytes int
}

// roomy is the length of the queue of a trace for which none is said, in bytes: as good as without a limit.
const roomy = 64 << 20

// admit returns when a packet of n bytes that comes at now has been sent, false if it does not fit, and how long the queue is.
func (q *traced) admit(c *Conditions, n int, now int64) (sent int64, length int, ok bool) {
	for q.first < len(q.waiting) && q.waiting[q.first].until <= now {
		q.bytes -= q.waiting[q.first].bytes
		q.first++
	}
	if q.first > len(q.waiting)/2 {
		q.waiting = q.waiting[:copy(q.waiting, q.waiting[q.first:])]
		q.first = 0
	}
	limit := c.Queue
	if limit == 0 {
		limit = roomy
	}
	if q.bytes+n > limit {
		return 0, q.bytes, false
	}
	q.bytes += n
	sent = q.send(c.Trace, n, now)
	q.waiting = append(q.waiting, waiting{sent, n})
	return sent, q.bytes, true
}
