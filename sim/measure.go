package sim

import (
	"math"
	"math/bits"
)

// Result is what a run showed. Times are in ms, rates a second; all but the nodes'
// and the series are over the requests of the window.
type Result struct {
	Total            int // requests of the whole run
	First            int // of the window
	Requests, Failed int
	Offered, Served  float64 // rates of requests and of successful answers
	Latency          Latency // of the successful ones
	// Where a request's time went, on average.
	Waiting, Serving, Traveling float64
	Duration                    float64 // of the whole run
	Nodes                       []NodeStats
	Classes                     []ClassStats
	Series                      []Piece // of the whole run, by time of answer

	h *histogram
}

// ClassStats is one class of requests.
type ClassStats struct {
	Name             string
	Requests, Failed int
	Latency          Latency
}

// Latency is the distribution of times from arrival to answer.
type Latency struct{ Mean, Min, Median, P95, P99, P999, Max float64 }

// NodeStats is what a node that can be busy has seen over the whole run. Nodes that are
// called alike are one.
type NodeStats struct {
	Name            string
	Nodes           int   // that are called so
	Served, Refused int64 // requests
	Again           int64 // tries again, hedges, hits of a cache
	GaveUp          int64 // timeouts, tries that a budget did not allow, openings of a breaker
	Workers         int
	Wait, Service   float64 // mean, in ms
	Utilisation     float64 // of its workers
	Busiest         float64 // utilisation of the busiest of the nodes
	Queue           float64 // mean length
	Longest         int     // greatest length
	Size            float64 // mean number of instances of a pool that scales
	waited, worked  int64
	until           int64 // when it was done last
	bounded         bool  // its line cannot grow for ever
}

// measure counts the requests whose numbers lie in [first, last).
type measure struct {
	first, last  int64
	total        int64
	came         int64 // the last arrival of all requests
	began, ended int64
	firstEnd     int64
	lastEnd      int64
	until        int64 // the last end of all requests
	all          tallied
	classes      []tallied
	names        []Class
	batches      *batches
	series       *series
}

// tallied is what was seen of the requests, or of a class.
type tallied struct {
	ok, failed             int64
	sum, wait, serve, road float64
	h                      histogram
}

func newMeasure(first, last int64, classes []Class) *measure {
	m := &measure{first: first, last: last, began: -1, firstEnd: math.MaxInt64, names: classes}
	m.all.h.least = math.MaxInt64
	if len(classes) > 1 {
		m.classes = make([]tallied, len(classes))
		for i := range m.classes {
			m.classes[i].h.least = math.MaxInt64
		}
	}
	return m
}

func (m *measure) begin(r *request, t int64) {
	m.total++
	m.came = t
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
	if m.series != nil {
		m.series.add(t, t-r.start, r.ok)
	}
	if m.batches != nil {
		m.batches.add(r.id, t-r.start, r.ok)
	}
	if r.id < m.first || r.id >= m.last {
		return
	}
	m.firstEnd, m.lastEnd = min(m.firstEnd, t), max(m.lastEnd, t)
	m.all.add(r, t)
	if m.classes != nil {
		m.classes[r.class].add(r, t)
	}
}

func (x *tallied) add(r *request, t int64) {
	if !r.ok {
		x.failed++
		return
	}
	x.ok++
	x.sum += float64(t - r.start)
	x.wait += float64(r.waiting)
	x.serve += float64(r.serving)
	x.road += float64(r.traveling)
	x.h.add(t - r.start)
}

func (x *tallied) latency() Latency {
	if x.ok == 0 {
		return Latency{}
	}
	return Latency{
		Mean: x.sum / float64(x.ok) / ms, Min: float64(x.h.least) / ms, Max: float64(x.h.most) / ms,
		Median: x.h.quantile(.5), P95: x.h.quantile(.95), P99: x.h.quantile(.99), P999: x.h.quantile(.999),
	}
}

func (m *measure) result(b *builder) *Result {
	a := &m.all
	n := float64(max(a.ok, 1))
	rate := func(count int64, from, to int64) float64 {
		if to <= from || count < 0 {
			return 0
		}
		return float64(count) / float64(to-from) * 1e9
	}
	r := &Result{
		Total: int(m.total), First: int(m.first), Requests: int(a.ok + a.failed), Failed: int(a.failed),
		Offered: rate(a.ok+a.failed-1, m.began, m.ended), Served: rate(a.ok-1, m.firstEnd, m.lastEnd),
		Waiting: a.wait / n / ms, Serving: a.serve / n / ms, Traveling: a.road / n / ms,
		Duration: float64(m.until) / ms, Latency: a.latency(), h: &a.h,
	}
	for i := range m.classes {
		c := &m.classes[i]
		r.Classes = append(r.Classes, ClassStats{m.names[i].Name, int(c.ok + c.failed), int(c.failed), c.latency()})
	}
	if m.series != nil {
		r.Series = m.series.result(m.came)
	}
	r.Nodes = nodeStats(b, m.until)
	return r
}

// nodeStats adds up the nodes that are called alike. Some may work for longer than anybody
// waits for them.
func nodeStats(b *builder, until int64) []NodeStats {
	var all []NodeStats
	at := map[title]int{}
	for _, l := range b.order {
		if l.stats == nil {
			continue
		}
		s := l.stats()
		name := l.title()
		i, seen := at[name]
		if !seen {
			i = len(all)
			at[name] = i
			all = append(all, NodeStats{Name: name.String()})
		}
		x := &all[i]
		x.Nodes++
		x.Served += s.Served
		x.Refused += s.Refused
		x.Again += s.Again
		x.GaveUp += s.GaveUp
		x.Workers += s.Workers
		x.Longest = max(x.Longest, s.Longest)
		x.Size += s.Size
		x.waited += s.waited
		x.worked += s.worked
		x.bounded = x.bounded || s.bounded
		if s.Workers > 0 {
			x.Busiest = max(x.Busiest, float64(s.worked)/float64(s.Workers))
		}
		until = max(until, s.until)
	}
	duration := float64(until) / ms
	for i := range all {
		x := &all[i]
		if x.Served > 0 {
			x.Wait = float64(x.waited) / float64(x.Served) / ms
			x.Service = float64(x.worked) / float64(x.Served) / ms
		}
		if duration > 0 {
			x.Queue = float64(x.waited) / ms / duration / float64(x.Nodes) // Little's law
			if x.Workers > 0 {
				x.Utilisation = float64(x.worked) / ms / duration / float64(x.Workers)
				x.Busiest /= ms * duration
			}
		}
	}
	return all
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

// merge adds the counts of another.
func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 {
		h.least = o.least
	}
	if len(h.counts) < len(o.counts) {
		h.counts = append(h.counts, make([]int64, len(o.counts)-len(h.counts))...)
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.least, h.most = min(h.least, o.least), max(h.most, o.most)
}
