package sim

import (
	"math"

	"github.com/headway-lab/headway/histogram"
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

	h *histogram.Histogram
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
	h                      histogram.Histogram
}

func newMeasure(first, last int64, classes []Class) *measure {
	m := &measure{first: first, last: last, began: -1, firstEnd: math.MaxInt64, names: classes}
	if len(classes) > 1 {
		m.classes = make([]tallied, len(classes))
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
	x.h.Add(t - r.start)
}

func (x *tallied) latency() Latency {
	if x.ok == 0 {
		return Latency{}
	}
	return Latency{
		Mean: x.sum / float64(x.ok) / ms, Min: float64(x.h.Min()) / ms, Max: float64(x.h.Max()) / ms,
		Median: x.h.Quantile(.5) / ms, P95: x.h.Quantile(.95) / ms, P99: x.h.Quantile(.99) / ms, P999: x.h.Quantile(.999) / ms,
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
