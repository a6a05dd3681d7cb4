package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
)

// several is the beginning of a list that is too long for a plot, and what to say of it.
func several(cases []Case) ([]Case, string) {
	if len(cases) <= fewLines {
		return cases, ""
	}
	return cases[:fewLines], fmt.Sprintf("the first %d of %d cases", fewLines, len(cases))
}

// distribution is the plot of the latencies of all runs of a case.
func (x Experiment) distribution(pooled []histogram.Histogram) report.Plot {
	cases, note := several(x.Cases)
	var names []string
	var of []*histogram.Histogram
	for i, c := range cases {
		names, of = append(names, c.Name), append(of, &pooled[i])
	}
	p := report.Distribution(names, of)
	p.Note = note
	return p
}

// course is how the first run of each case went.
func (x Experiment) course(results [][]*Result) []report.Plot {
	cases, note := several(x.Cases)
	note = strings.TrimPrefix(note+", the first run", ", ")
	axis := report.Axis{Name: "time", Unit: "s"}
	plots := []report.Plot{
		{Title: "Latency in the course of a run", Note: note, X: axis, Y: report.Axis{Name: "mean latency", Unit: "ms"}},
		{Title: "Answers in the course of a run", Note: note, X: axis, Y: report.Axis{Name: "successful answers", Unit: "requests/s"}},
		{Title: "Instances in the course of a run", Note: note, X: axis, Y: report.Axis{Name: "instances"}},
	}
	scales := false
	for i, c := range cases {
		var lines [3]report.Line
		s := results[i][0].Series
		for _, p := range s[:max(len(s)-1, 0)] { // the last one is not full
			at := (p.Begin + p.End) / 2000
			if p.OK > 0 {
				lines[0].Points = append(lines[0].Points, report.Point{X: at, Y: p.Mean})
			}
			lines[1].Points = append(lines[1].Points, report.Point{X: at, Y: float64(p.OK) / (p.End - p.Begin) * 1000})
			if p.Instances > 0 {
				scales = true
				lines[2].Points = append(lines[2].Points, report.Point{X: at, Y: p.Instances})
			}
		}
		for j := range plots {
			lines[j].Name = c.Name
			if j < 2 || len(lines[j].Points) > 0 {
				plots[j].Lines = append(plots[j].Lines, lines[j])
			}
		}
	}
	if !scales {
		plots = plots[:2]
	}
	return plots
}

// sweeps are the plots of every measure over every parameter that was varied; the cases
// without the parameter are drawn for reference.
func (x Experiment) sweeps(rep *report.Report, told []measured) []report.Plot {
	var params []string
	count := map[string]map[float64]bool{}
	for _, c := range x.Cases {
		for name, v := range c.Params {
			if count[name] == nil {
				count[name] = map[float64]bool{}
				params = append(params, name)
			}
			count[name][v] = true
		}
	}
	slices.Sort(params)
	var all []report.Plot
	for _, name := range params {
		if len(count[name]) < 2 {
			continue
		}
		for _, m := range told {
			if !m.Minor {
				all = append(all, x.sweep(rep, name, m))
			}
		}
	}
	return all
}

func (x Experiment) sweep(rep *report.Report, param string, m measured) report.Plot {
	p := report.Plot{Title: m.Name + " over " + param, X: report.Axis{Name: param}, Y: report.Axis{Name: m.Name, Unit: m.Unit}}
	at := map[string]int{}
	least, most := math.Inf(1), math.Inf(-1)
	low, high := math.Inf(1), 0.0
	for i, c := range x.Cases {
		v, swept := c.Params[param]
		if !swept {
			continue
		}
		k, seen := at[c.Line]
		if !seen {
			k = len(p.Lines)
			at[c.Line] = k
			p.Lines = append(p.Lines, report.Line{Name: cmp.Or(c.Line, m.Name)})
		}
		y, known := rep.Cases[i].Values[m.Name]
		if !known {
			continue
		}
		q := report.Point{X: v, Y: y.Value}
		if !math.IsInf(y.Low, 0) && !math.IsInf(y.High, 0) {
			q.Low, q.High = y.Low, y.High
		}
		p.Lines[k].Points = append(p.Lines[k].Points, q)
		least, most = min(least, v), max(most, v)
		low, high = min(low, y.Value), max(high, y.Value)
	}
	for i, c := range x.Cases {
		if _, swept := c.Params[param]; !swept {
			v, known := rep.Cases[i].Values[m.Name]
			if !known {
				continue
			}
			y := v.Value
			p.Lines = append(p.Lines, report.Line{Name: c.Name, Reference: true, Points: []report.Point{{X: least, Y: y}, {X: most, Y: y}}})
			low, high = min(low, y), max(high, y)
		}
	}
	for i := range p.Lines {
		slices.SortStableFunc(p.Lines[i].Points, func(a, b report.Point) int { return cmp.Compare(a.X, b.X) })
	}
	if low > 0 && high/low > 12 {
		p.Y.Scale = "log"
	}
	if least > 0 && most/least >= 8 {
		p.X.Scale = "log"
	}
	return p
}
