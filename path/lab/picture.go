package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

// overLoss draws the total over the loss, a line for each congestion control.
func (x *run) overLoss(r *report.Report) []report.Plot {
	if len(x.o.Loss) < 2 {
		return nil
	}
	p := report.Plot{
		Title: "Total over loss",
		X:     report.Axis{Name: "loss", Unit: "%"}, Y: report.Axis{Name: "total", Unit: "s", Scale: "log"},
	}
	for _, cc := range x.o.CC {
		line := report.Line{Name: cc}
		for i, c := range x.cells {
			v, ok := r.Cases[i].Values["total"]
			if c.cc != cc || !ok || !(v.Value > 0) {
				continue
			}
			q := report.Point{X: 100 * c.loss, Y: v.Value}
			if v.Low > 0 && !math.IsInf(v.High, 1) {
				q.Low, q.High = v.Low, v.High
			}
			line.Points = append(line.Points, q)
		}
		slices.SortFunc(line.Points, func(a, b report.Point) int {
			if a.X < b.X {
				return -1
			}
			return 1
		})
		p.Lines = append(p.Lines, line)
	}
	return []report.Plot{p}
}

// courses draws single transfers: for each loss and congestion control the one whose total is the median.
func (x *run) courses() []report.Plot {
	var all []report.Plot
	for _, loss := range x.o.Loss {
		p := report.Plot{
			Title: "Single transfers at " + group(loss),
			Note:  "For each congestion control the transfer whose total was the median of all: how many bytes the client had, and when.",
			X:     report.Axis{Name: "time", Unit: "s"}, Y: report.Axis{Name: "received", Unit: "KB"},
		}
		for i, c := range x.cells {
			if c.loss != loss {
				continue
			}
			if t := middle(x.found[i]); t != nil {
				line := report.Line{Name: c.cc, Points: []report.Point{{}}}
				for _, m := range t.course {
					line.Points = append(line.Points, report.Point{X: m.at.Seconds(), Y: float64(m.bytes) / 1e3})
				}
				p.Lines = append(p.Lines, line)
			}
		}
		all = append(all, p)
	}
	return all
}

// middle is the transfer with the median total.
func middle(all []*transfer) *transfer {
	made := slices.DeleteFunc(slices.Clone(all), func(t *transfer) bool { return t == nil })
	if len(made) == 0 {
		return nil
	}
	slices.SortFunc(made, func(a, b *transfer) int { return int(a.total - b.total) })
	return made[(len(made)-1)/2]
}

// answer says in words what came out.
func (x *run) answer(r *report.Report) string {
	if len(x.o.CC) == 1 {
		var parts []string
		for i, c := range x.cells {
			if v, ok := r.Cases[i].Values["total"]; ok {
				parts = append(parts, fmt.Sprintf("%.3g s at %s", v.Value, group(c.loss)))
			}
		}
		return x.doubt(r) + fmt.Sprintf("With %s %s take %s.", x.o.CC[0], bytes(x.o.Size), strings.Join(parts, ", "))
	}
	var parts []string
	for k, cc := range x.o.CC[1:] {
		var better, worse, same []string
		few := true // too few for any interval
		for l, loss := range x.o.Loss {
			c := r.Cases[l*len(x.o.CC)+k+1]
			e, ok := c.Effects["total"]
			base, has := r.Cases[l*len(x.o.CC)].Values["total"]
			few = few && e.N < effect.MinN
			switch {
			case !ok || !has:
			case !e.Real:
				same = append(same, group(loss))
			case e.Percent < 0:
				better = append(better, fmt.Sprintf("%.0f %% less at %s (%.3g s, not %.3g)", -e.Percent, group(loss), c.Values["total"].Value, base.Value))
			default:
				worse = append(worse, fmt.Sprintf("%.0f %% more at %s", e.Percent, group(loss)))
			}
		}
		if few {
			parts = append(parts, "too little of "+cc+" was measured to say anything")
			continue
		}
		if len(better)+len(worse) == 0 {
			parts = append(parts, "no effect of "+cc+" was seen")
			continue
		}
		words := cc + " takes " + strings.Join(append(ends(better), ends(worse)...), ", ")
		if len(same) > 2 {
			words += ", and no effect was seen elsewhere"
		} else if len(same) > 0 {
			words += ", and no effect was seen at " + strings.Join(same, " and ")
		}
		parts = append(parts, words)
	}
	return x.doubt(r) + "Instead of " + x.o.CC[0] + ", " + strings.Join(parts, "; ") + "."
}

// doubt comes before an answer of which half or more is not to be relied on.
func (x *run) doubt(r *report.Report) string {
	n := 0
	for _, c := range r.Cases {
		if strings.HasSuffix(c.Name, unreliable) {
			n++
		}
	}
	if 2*n < len(r.Cases) {
		return ""
	}
	return "Unreliable, because the machine was too busy for this path: "
}

// ends of a list say enough.
func ends(all []string) []string {
	if len(all) > 2 {
		return []string{all[0], all[len(all)-1]}
	}
	return all
}
