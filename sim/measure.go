package sim

import (
	"math"
	"math/bits"
)

// Result is what a run showed. Times are in ms, rates a second; all but the nodes'
// are over the requests of the window.
type Result struct {
	Requests, Failed int
	Offered, Served  float64 // rates of requests and of successful answers
	Latency          Latency // of the successful ones
	// Where a request's time went, on average.
	Waiting, Serving, Traveling float64
	Duration                    float64 // of the whole run
	Nodes                       []NodeStats
}

// Latency is the distribution of times from arrival to answer.
type Latency struct{ Mean, Min, Median, P95, P99, P999, Max float64 }

// NodeStats is what a node that can be busy has seen over the whole run.
type NodeStats struct {
	Name            string
	Served, Refused int64
	Workers         int
	Wait            float64 // mean, in ms
	Utilisation     float64 // of its workers
	Queue           float64 // mean length
	Longest         int     // greatest length
	waited, worked  int64
}

// measure counts the requests whose numbers lie in [first, last).
type measure struct {
	first, last       int64
	began, ended      int64
	firstEnd          int64
	lastEnd           int64
	until             int64 // the last end of all requests
	ok, failed        int64
	sum               float64
	wait, serve, road int64
	h                 histogram
}

func newMeasure(first, last int64) *measure {
	return &measure{first: first, last: last, began: -1, firstEnd: math.MaxInt64, h: histogram{least: math.MaxInt64}}
}

func (m *measure) begin(r *request, t int64) {
	if r.id < m.first || r.id >= m.last {
		return
	}
	if m.began < 0 {
		m.began = t
	}
	m.ended = t
}

func (m *measure) end(r *request, t int64) {
	m.until = max(m.until, t)
	if r.id < m.first || r.id >= m.last {
		return
	}
	m.firstEnd, m.lastEnd = min(m.firstEnd, t), max(m.lastEnd, t)
	if !r.ok {
		m.failed++
		return
	}
	m.ok++
	m.sum += float64(t - r.start)
	m.wait += r.waiting
	m.serve += r.serving
	m.road += r.traveling
	m.h.add(t - r.start)
}

func (m *measure) result(b *builder, now int64) *Result {
	n := float64(max(m.ok, 1))
	rate := func(count int64, from, to int64) float64 {
		if to <= from {
			return 0
		}
		return float64(count) / float64(to-from) * 1e9
	}
	r := &Result{
		Requests: int(m.ok + m.failed), Failed: int(m.failed),
		Offered: rate(m.ok+m.failed-1, m.began, m.ended), Served: rate(m.ok-1, m.firstEnd, m.lastEnd),
		Waiting: float64(m.wait) / n / ms, Serving: float64(m.serve) / n / ms, Traveling: float64(m.road) / n / ms,
		Duration: float64(max(now, m.until)) / ms,
	}
	if m.ok > 0 {
		r.Latency = Latency{
			Mean: m.sum / n / ms, Min: float64(m.h.least) / ms, Max: float64(m.h.most) / ms,
			Median: m.h.quantile(.5), P95: m.h.quantile(.95), P99: m.h.quantile(.99), P999: m.h.quantile(.999),
		}
	}
	for _, l := range b.order {
		if l.stats == nil {
			continue
		}
		s := l.stats()
		s.Name = l.name
		if s.Served > 0 {
			s.Wait = float64(s.waited) / float64(s.Served) / ms
		}
		if r.Duration > 0 {
			s.Queue = float64(s.waited) / ms / r.Duration // Little's law
			if s.Workers > 0 {
				s.Utilisation = float64(s.worked) / ms / r.Duration / float64(s.Workers)
			}
		}
		r.Nodes = append(r.Nodes, s)
	}
	return r
}

// histogram counts times in buckets of equal relative width: 1024 to an octave, so
// that a quantile is right to a thousandth.
type histogram struct {
	counts      []int64
	n           int64
	least, most int64
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

func (h *histogram) add(t int64) {
	i := bucket(max(t, 0))
	if i >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, i+1-len(h.counts))...)
	}
	h.counts[i]++
	h.n++
	h.least, h.most = min(h.least, t), max(h.most, t)
}

// quantile is the smallest time that at least the share q of all does not exceed, in ms.
func (h *histogram) quantile(q float64) float64 {
	left := int64(math.Ceil(q * float64(h.n)))
	for i, c := range h.counts {
		if left -= c; left <= 0 {
			return min(max(middle(i), float64(h.least)), float64(h.most)) / ms
		}
	}
	return float64(h.most) / ms
}
