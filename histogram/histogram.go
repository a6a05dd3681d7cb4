// Package histogram counts times in buckets of equal relative width, so that every
// quantile is right to a thousandth, whatever the times are. The scheme is G. Tene's
// HdrHistogram with 1024 buckets to an octave.
package histogram

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Histogram counts times in ns. The zero Histogram is empty and ready.
type Histogram struct {
	counts      []int64
	n           int64
	least, most int64
	sum         float64
}

const fine = 10 // bits of a bucket's number that are kept

func bucket(t int64) int {
	if t < 1<<fine {
		return int(t)
	}
	shift := bits.Len64(uint64(t)) - fine - 1
	return shift<<fine + int(t>>shift)
}

// middle of a bucket.
func middle(i int) float64 {
	if i < 2<<fine {
		return float64(i)
	}
	shift := i>>fine - 1
	return (float64(i-shift<<fine) + .5) * float64(int64(1)<<shift)
}

// Add counts a time in ns; a negative one is 0.
func (h *Histogram) Add(t int64) {
	t = max(t, 0)
	i := bucket(t)
	if i >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, i+1-len(h.counts))...)
	}
	h.counts[i]++
	if h.n == 0 {
		h.least = t
	}
	h.n++
	h.sum += float64(t)
	h.least, h.most = min(h.least, t), max(h.most, t)
}

// N is how many times were counted.
func (h *Histogram) N() int64 { return h.n }

// Min is the least time in ns, 0 if there is none.
func (h *Histogram) Min() int64 { return h.least }

// Max is the greatest time in ns, 0 if there is none.
func (h *Histogram) Max() int64 { return h.most }

// Mean is the mean in ns, not rounded to buckets; NaN if there is none.
func (h *Histogram) Mean() float64 { return h.sum / float64(h.n) }

// Quantile is the smallest time in ns that at least the share q of all does not
// exceed; 0 if there is none.
func (h *Histogram) Quantile(q float64) float64 {
	left := int64(math.Ceil(q * float64(h.n)))
	for i, c := range h.counts {
		if left -= c; left <= 0 {
			return min(max(middle(i), float64(h.least)), float64(h.most))
		}
	}
	return float64(h.most)
}

// Above is how many times are longer than t ns, to the width of a bucket.
func (h *Histogram) Above(t int64) int64 {
	n := int64(0)
	for i := bucket(max(t, 0)) + 1; i < len(h.counts); i++ {
		n += h.counts[i]
	}
	return n
}

// Merge adds the counts of another.
func (h *Histogram) Merge(o *Histogram) { h.MergeTimes(o, 1) }

// MergeTimes adds the counts of another k times over.
func (h *Histogram) MergeTimes(o *Histogram, k int64) {
	if o.n == 0 || k == 0 {
		return
	}
	if h.n == 0 {
		h.least = o.least
	}
	if len(h.counts) < len(o.counts) {
		h.counts = append(h.counts, make([]int64, len(o.counts)-len(h.counts))...)
	}
	for i, c := range o.counts {
		h.counts[i] += k * c
	}
	h.n += k * o.n
	h.sum += float64(k) * o.sum
	h.least, h.most = min(h.least, o.least), max(h.most, o.most)
}

// String tells of the distribution in a line.
func (h *Histogram) String() string {
	at := func(q float64) time.Duration { return time.Duration(h.Quantile(q)) }
	return fmt.Sprintf("%d times: least %v, median %v, p99 %v, greatest %v", h.n, at(0), at(.5), at(.99), at(1))
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	clear(h.counts)
	*h = Histogram{counts: h.counts}
}

// Each calls f with the middle of each bucket that is not empty, in ns, in rising order.
func (h *Histogram) Each(f func(t float64, count int64)) {
	for i, c := range h.counts {
		if c > 0 {
			f(min(max(middle(i), float64(h.least)), float64(h.most)), c)
		}
	}
}

// Tail calls f with shares of all, ever nearer to 1, and the times in ns that they do not
// exceed: perNine of them from each nine to the next (.9, .99, .999), as long as there
// are ten times beyond, so that none stands for a single one.
func (h *Histogram) Tail(perNine int, f func(share, t float64)) {
	if h.n == 0 {
		return
	}
	for k := 1; ; k++ {
		beyond := math.Pow(10, -float64(k)/float64(perNine))
		if beyond*float64(h.n) < 10 || beyond < 1e-6 {
			return
		}
		f(1-beyond, h.Quantile(1-beyond))
	}
}
