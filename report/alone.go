package report

import (
	"math"
	"strings"
)

// alone is what a report shows that has one case: nothing is compared, so its figures
// are the answer.
type alone struct {
	Figures   []keyView
	Intervals bool // some figure has one
}

// keyView is a figure with its interval.
type keyView struct {
	Name, Value, Interval string
	Minor                 bool
}

// alone returns nil if there is anything to compare.
func (r *Report) alone() *alone {
	if len(r.Cases) != 1 || len(r.Groups) > 0 || len(r.Cases[0].Effects) > 0 {
		return nil
	}
	a := &alone{}
	for _, m := range r.Metrics {
		v, measured := r.Cases[0].Values[m.Name]
		if !measured {
			continue
		}
		k := keyView{Name: m.Name, Value: strings.ReplaceAll(withUnit(v.Value, m.Unit), "\u00a0", " "), Minor: m.Minor}
		switch {
		case math.IsInf(v.Low, -1) && math.IsInf(v.High, 1):
			k.Interval = "not known"
			a.Intervals = true
		case v.Low != 0 || v.High != 0:
			k.Interval = figure(v.Low) + " to " + figure(v.High)
			a.Intervals = true
		}
		a.Figures = append(a.Figures, k)
	}
	if len(a.Figures) == 0 {
		return nil
	}
	return a
}

func (a *alone) figures() figureView {
	v := figureView{Columns: []string{"value"}}
	if a.Intervals {
		v.Columns = append(v.Columns, "interval")
	}
	for _, k := range a.Figures {
		v.Rows = append(v.Rows, figureRow{k.Name, []string{k.Value, k.Interval}[:len(v.Columns)]})
	}
	return v
}

func (a *alone) legend(r *Report) string {
	switch {
	case r.Observed && !a.Intervals:
		return ""
	case r.Observed:
		return "Intervals at " + r.confidence() + "."
	case !a.Intervals:
		return "One run: no intervals."
	}
	return "Intervals at " + r.confidence() + "; " + r.runs() + " runs, or parts of one, behind each."
}
