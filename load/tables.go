package load

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
)

// course is how the run went.
func (r *Result) course() []report.Plot {
	time := report.Axis{Name: "time", Unit: "s"}
	latency := report.Plot{Title: "Latency in the course of the run", Note: "by when requests were due", X: time, Y: report.Axis{Name: "latency", Unit: "ms", Scale: "log"}}
	rates := report.Plot{Title: "Requests in the course of the run", X: time, Y: report.Axis{Name: "requests", Unit: "requests/s"}}
	lines := []report.Line{{Name: "median"}, {Name: "p99"}, {Name: "slowest"}}
	ok, failed := report.Line{Name: "good answers, by when they came"}, report.Line{Name: "failed, by when they were due"}
	for _, p := range r.joined() {
		at := (p.Begin + p.End).Seconds() / 2
		width := (p.End - p.Begin).Seconds()
		if p.OK > 0 {
			for i, q := range []float64{.5, .99, 1} {
				lines[i].Points = append(lines[i].Points, report.Point{X: at, Y: p.Latency.Quantile(q) / 1e6})
			}
		}
		ok.Points = append(ok.Points, report.Point{X: at, Y: float64(p.Came) / width})
		failed.Points = append(failed.Points, report.Point{X: at, Y: float64(p.Failed) / width})
	}
	latency.Lines = lines
	rates.Lines = []report.Line{ok}
	if r.Failed > 0 {
		rates.Lines = append(rates.Lines, failed)
	}
	return []report.Plot{latency, rates}
}

// joined is the pieces, several as one where they hold too few requests to be drawn.
func (r *Result) joined() []Piece {
	const enough = 20
	k := 1
	if n := len(r.Pieces); n > 0 {
		mean := float64(r.Succeeded+r.Failed) / float64(n)
		for k < n && mean*float64(k) < enough {
			k++
		}
	}
	var all []Piece
	for i := 0; i+k <= len(r.Pieces); i += k {
		p := r.Pieces[i]
		p.Latency = &histogram.Histogram{}
		p.OK, p.Failed, p.Came = 0, 0, 0
		for _, q := range r.Pieces[i : i+k] {
			p.OK += q.OK
			p.Came += q.Came
			p.Failed += q.Failed
			p.Latency.Merge(q.Latency)
			p.End = q.End
		}
		all = append(all, p)
	}
	return all
}

var spread = []report.Column{
	{Name: "count"}, {Name: "mean", Unit: "ms"}, {Name: "median", Unit: "ms"}, {Name: "p99", Unit: "ms"}, {Name: "max", Unit: "ms"},
}

func spreadRow(name string, h *histogram.Histogram) report.Row {
	if h.N() == 0 {
		return report.Row{Name: name, Values: report.Figures{0, math.NaN(), math.NaN(), math.NaN(), math.NaN()}}
	}
	return report.Row{Name: name, Values: report.Figures{
		float64(h.N()), h.Mean() / 1e6, h.Quantile(.5) / 1e6, h.Quantile(.99) / 1e6, float64(h.Max()) / 1e6,
	}}
}

func (r *Result) phaseTable() report.Table {
	t := report.Table{Title: "Where the time goes", Columns: spread}
	if !r.Closed {
		t.Rows = append(t.Rows, spreadRow("due, waiting to leave", &r.Queue))
	}
	t.Rows = append(t.Rows, spreadRow("sent, until the first byte", &r.Wait), spreadRow("first byte to last", &r.Body))
	for _, p := range []struct {
		name string
		h    *histogram.Histogram
	}{{"new connection: name", &r.Lookup}, {"new connection: connect", &r.Connect}, {"new connection: TLS", &r.Handshake}} {
		if p.h.N() > 0 {
			t.Rows = append(t.Rows, spreadRow(p.name, p.h))
		}
	}
	return t
}

func (r *Result) targetTable() report.Table {
	t := report.Table{Title: "Requests", Columns: append(slices.Clone(spread), report.Column{Name: "failed"})}
	for i := range r.Targets {
		x := &r.Targets[i]
		row := spreadRow(x.Name, &x.Latency)
		row.Values = append(row.Values, float64(x.Failed))
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Result) outcomes() report.Table {
	t := report.Table{Title: "Answers", Columns: []report.Column{{Name: "count"}, {Name: "share", Unit: "%"}}}
	all := float64(max(r.Succeeded+r.Failed, 1))
	add := func(name string, n int64) {
		t.Rows = append(t.Rows, report.Row{Name: name, Values: report.Figures{float64(n), 100 * float64(n) / all}})
	}
	for _, s := range slices.Sorted(maps.Keys(r.Statuses)) {
		add(fmt.Sprintf("status %d", s), r.Statuses[s])
	}
	for _, f := range slices.Sorted(maps.Keys(r.Faults)) {
		add(f.String(), r.Faults[f])
	}
	return t
}

func (r *Result) generatorTable() report.Table {
	g := r.Generator
	all := float64(max(r.Succeeded+r.Failed, 1))
	t := report.Table{Title: "The generator itself", Columns: []report.Column{{Name: "figure"}}}
	add := func(name string, v float64) {
		t.Rows = append(t.Rows, report.Row{Name: name, Values: report.Figures{v}})
	}
	add("processor time a request, us", g.CPU*1e6/all)
	add("busy, % of its processors", 100*g.Busy)
	add("machine busy, %", 100*g.Machine)
	if !r.Closed {
		add("departures late by its own fault, %", 100*float64(r.Late)/all)
		add("own lateness, p99, ms", r.Lateness.Quantile(.99)/1e6)
		add("requests that waited for a connection, %", 100*float64(r.Waited)/all)
	}
	add("received, MB/s", float64(r.Bytes)/1e6/max(r.Duration, r.Lasted).Seconds())
	return t
}
