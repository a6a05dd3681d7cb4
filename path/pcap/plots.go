package pcap

import (
	"math"

	"github.com/headway-lab/headway/report"
)

// plots are the courses of the transfer.
func (c *Connection) plots() []report.Plot {
	h := c.main()
	if len(h.log) < 2 {
		return nil
	}
	all := []report.Plot{h.bytesPlot(), h.ratePlot()}
	if len(h.RTTs.all) > 1 {
		all = append(all, report.Plot{
			Title: "Round trip", Note: "Of segments that were sent once, as they are acknowledged.",
			X: report.Axis{Name: "time", Unit: "s"}, Y: report.Axis{Name: "round trip", Unit: "ms"},
			Lines: []report.Line{{Name: "round trip", Points: h.points(&h.RTTs, 1e3, math.Inf(1))}},
		})
	}
	if len(h.Flights.all) > 1 {
		p := report.Plot{
			Title: "In flight", Note: "What the sender had sent and, as far as it knew, was not acknowledged.",
			X: report.Axis{Name: "time", Unit: "s"}, Y: report.Axis{Name: "data", Unit: "KB"},
			Lines: []report.Line{{Name: "in flight", Points: h.points(&h.Flights, 1e-3, math.Inf(1))}},
		}
		if len(h.Windows.all) > 1 {
			// A window far above what is in flight would hide that.
			most := 0.0
			for _, q := range p.Lines[0].Points {
				most = max(most, q.Y)
			}
			p.Lines = append(p.Lines, report.Line{Name: "receive window", Reference: true, Points: h.points(&h.Windows, 1e-3, 2*most)})
			p.Note += " The receiver's window is drawn up to twice that."
		}
		all = append(all, p)
	}
	return all
}

// most points a line has.
const plotted = 1500

func (h *half) seconds(at int64) float64 { return float64(at-h.c.Start) / 1e9 }

// points of a series in other units, none above a bound.
func (h *half) points(s *series, unit, bound float64) []report.Point {
	step := len(s.all)/plotted + 1
	var all []report.Point
	for i := 0; i < len(s.all); i += step {
		v := s.all[i].v
		for _, q := range s.all[i+1 : min(i+step, len(s.all))] {
			v = s.merge(v, q.v)
		}
		all = append(all, report.Point{X: h.seconds(s.all[i].at), Y: min(v*unit, bound)})
	}
	return all
}

// bytesPlot is how far the data had come, with what was sent again as a comb along the axis.
func (h *half) bytesPlot() report.Plot {
	p := report.Plot{
		Title: "Bytes over time", X: report.Axis{Name: "time", Unit: "s"}, Y: report.Axis{Name: "data", Unit: "MB"},
		Lines: []report.Line{{Name: "acknowledged", Points: h.points(&h.Progress, 1e-6, math.Inf(1))}},
	}
	if len(h.Events) > 0 {
		p.Note = "Each tooth of the comb is a segment sent again."
		tooth := .08 * float64(h.max) / 1e6
		l := report.Line{Name: "sent again", Points: []report.Point{{X: h.seconds(h.First)}}}
		step := len(h.Events)/500 + 1
		for i := 0; i < len(h.Events); i += step {
			x := h.seconds(h.Events[i].At)
			l.Points = append(l.Points, report.Point{X: x}, report.Point{X: x, Y: tooth}, report.Point{X: x})
		}
		l.Points = append(l.Points, report.Point{X: h.seconds(max(h.Last, h.LastAck))})
		p.Lines = append(p.Lines, l)
	}
	return p
}

// ratePlot is the throughput in some hundred parts of the time.
func (h *half) ratePlot() report.Plot {
	const parts = 120
	p := report.Plot{Title: "Throughput", X: report.Axis{Name: "time", Unit: "s"}, Y: report.Axis{Name: "rate", Unit: "Mbit/s"}}
	begin, end := h.log[0].at, max(h.log[len(h.log)-1].at, h.LastAck)
	width := max((end-begin)/parts, 1e6, h.least())
	n := int((end-begin)/width) + 1
	if n > 2*parts {
		n = 2 * parts
	}
	sent := make([]float64, n)
	for _, e := range h.log {
		sent[min(max(int((e.at-begin)/width), 0), n-1)] += float64(e.bytes)
	}
	a, b := report.Line{Name: "sent"}, report.Line{Name: "acknowledged"}
	last := 0.0
	for i := range n {
		at := begin + int64(i)*width
		x := h.seconds(at + width/2)
		a.Points = append(a.Points, report.Point{X: x, Y: sent[i] * 8 / float64(width) * 1e3})
		v := h.Progress.value(at + width)
		if len(h.Progress.all) == 0 || at+width < h.Progress.all[0].at {
			v = 0
		}
		b.Points = append(b.Points, report.Point{X: x, Y: max(v-last, 0) * 8 / float64(width) * 1e3})
		last = max(v, last)
	}
	p.Lines = []report.Line{a, b}
	return p
}
