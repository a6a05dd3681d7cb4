package report

import "github.com/headway-lab/headway/histogram"

// Distribution is the plot of latencies by the share of requests that they cover, in
// which the last ones, which users complain of, have as much room as the first.
func Distribution(names []string, of []*histogram.Histogram) Plot {
	p := Plot{Title: "Distribution of the latency", X: Axis{Name: "share of the requests", Scale: "nines"}, Y: Axis{Name: "latency up to", Unit: "ms", Scale: "log"}}
	for i, h := range of {
		l := Line{Name: names[i]}
		h.Tail(24, func(share, t float64) { l.Points = append(l.Points, Point{X: share, Y: t / 1e6}) })
		p.Lines = append(p.Lines, l)
	}
	return p
}
