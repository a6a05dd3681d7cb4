package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/headway-lab/headway/report"
)

// writeClassic writes for each site the four columns of the study of 2019: virtual
// speed-up, measured ns/op, change of it in percent, and share of the site in the
// CPU samples times the speed-up, which is what an ordinary profile promises.
func writeClassic(r *report.Report, w io.Writer) error {
	if err := r.Validate(); err != nil {
		return err
	}
	for _, m := range r.Metrics {
		perOp, ok := nanoseconds(m)
		if !ok {
			continue
		}
		for _, g := range r.Groups {
			if err := classicSite(w, r, m, g, perOp); err != nil {
				return err
			}
		}
	}
	return nil
}

func classicSite(w io.Writer, r *report.Report, m report.Metric, g report.Group, perOp func(float64) float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := 0
	var baseline float64
	for _, c := range r.Cases { // the baseline first, whatever the order of the report
		if v, ok := c.Values[m.Name]; ok && c.Group == g.Name && c.Baseline {
			baseline = perOp(v.Value)
			fmt.Fprintf(w, "%s  (%s, ns/op)\n", g.Name, m.Name)
			fmt.Fprintf(t, "0%%\t%.0f\t\t\tn=%d\t\n", baseline, v.N)
			rows++
		}
	}
	for _, c := range r.Cases {
		v, ok := c.Values[m.Name]
		if !ok || c.Group != g.Name || c.Baseline {
			continue
		}
		e, measured := c.Effects[m.Name]
		// The effect is of pairs; the change of what is printed beside it may differ
		// in the last digit, and for a rate it is that of the time a piece of work.
		change := e.Percent
		if m.Better == "higher" {
			change = 100 * (1/(1+e.Percent/100) - 1)
		}
		fmt.Fprintf(t, "%g%%\t%.0f\t", c.Params[report.Speedup], perOp(v.Value))
		if measured && !math.IsNaN(change) {
			fmt.Fprintf(t, "%+.3g%%\t", change)
		} else {
			fmt.Fprint(t, "\t")
		}
		if share, ok := g.Values["share"]; ok {
			fmt.Fprintf(t, "%.3g%%\t", share.Value*c.Params[report.Speedup]/100)
		} else {
			fmt.Fprint(t, "\t")
		}
		fmt.Fprintf(t, "n=%d\t\n", v.N)
		rows++
	}
	if rows == 0 {
		return nil
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// nanoseconds turns a value of m into nanoseconds an operation, where it can be.
func nanoseconds(m report.Metric) (func(float64) float64, bool) {
	for unit, scale := range map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9} {
		if m.Unit == unit || m.Unit == unit+"/op" {
			return func(x float64) float64 { return x * scale }, true
		}
	}
	if strings.HasSuffix(m.Unit, "/s") {
		return func(x float64) float64 { return 1e9 / x }, true
	}
	return nil, false
}
