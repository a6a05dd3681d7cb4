package probe

import (
	"crypto/tls"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/trial"
	"github.com/headway-lab/headway/wire"
)

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// figures are the metrics, in ms but for the last.
var figures = []struct {
	report.Metric
	of func(*one) float64
}{
	{report.Metric{Name: "total", Unit: "ms", Better: "lower"}, func(x *one) float64 { return ms(x.Phases.Total()) }},
	{report.Metric{Name: "first byte", Unit: "ms", Better: "lower"}, func(x *one) float64 { return ms(x.Phases.Total() - x.Phases.Transfer) }},
	{report.Metric{Name: "dns", Unit: "ms", Better: "lower", Minor: true}, func(x *one) float64 { return ms(x.Phases.DNS) }},
	{report.Metric{Name: "connect", Unit: "ms", Better: "lower", Minor: true}, func(x *one) float64 { return ms(x.Phases.Connect) }},
	{report.Metric{Name: "tls", Unit: "ms", Better: "lower", Minor: true}, func(x *one) float64 { return ms(x.Phases.TLS) }},
	{report.Metric{Name: "send", Unit: "ms", Better: "lower", Minor: true}, func(x *one) float64 { return ms(x.Phases.Send) }},
	{report.Metric{Name: "wait", Unit: "ms", Better: "lower", Minor: true}, func(x *one) float64 { return ms(x.Phases.Wait) }},
	{report.Metric{Name: "transfer", Unit: "ms", Better: "lower", Minor: true}, func(x *one) float64 { return ms(x.Phases.Transfer) }},
	{report.Metric{Name: "body", Unit: "bytes", Better: "lower", Minor: true}, func(x *one) float64 { return float64(x.Body) }},
}

// report says what the first rounds of the ways found; nil if there is nothing.
func (o *Options) report(ways []*way, rounds int, begin time.Time) *report.Report {
	variants := make([]trial.Variant, len(ways))
	samples := make([][]trial.Sample, len(ways))
	measured := false
	for i, w := range ways {
		w.runs = w.runs[:min(rounds, len(w.runs))]
		name := w.Name
		if name == "" {
			name = "as it is"
		}
		variants[i] = trial.Variant{Name: name, Group: w.Group}
		for _, x := range w.runs {
			var s trial.Sample
			if x != nil {
				measured = true
				s = trial.Sample{}
				for _, f := range figures {
					s[f.Name] = f.of(x)
				}
			}
			samples[i] = append(samples[i], s)
		}
	}
	if !measured {
		return nil
	}
	r := &report.Report{
		Schema: report.Schema, Verb: "path probe", Started: begin, Listed: true,
		Environment: report.Here(o.Seed, o.circumstances(ways)),
		Warnings:    []string{},
	}
	plan := trial.Plan{Seed: o.Seed}
	for _, f := range figures {
		r.Metrics = append(r.Metrics, f.Metric)
	}
	plan.Metrics = r.Metrics
	r.Cases = trial.Cases(plan, variants, samples)
	for i, w := range ways {
		// Effects are of pairs; what each took by itself is told as the median.
		for _, f := range figures {
			if _, there := r.Cases[i].Values[f.Name]; there {
				r.Cases[i].Values[f.Name] = medianOf(over(w.runs, f.of))
			}
		}
		if w.Group != "" && !slices.ContainsFunc(r.Groups, func(g report.Group) bool { return g.Name == w.Group }) {
			r.Groups = append(r.Groups, report.Group{Name: w.Group})
		}
	}
	u, _ := wire.ParseURL(o.URL)
	r.Question = fmt.Sprintf("Where does the time of %s go?", u.Redacted())
	if len(o.Try) > 0 {
		r.Question = fmt.Sprintf("What changes the time of %s?", u.Redacted())
	}
	o.diagnose(r, ways)
	if len(o.Try) > 0 {
		r.Answer = effects(r)
	}
	r.Answer = caution(ways) + r.Answer
	r.Tables = append(r.Tables, phases(ways), asCurl(ways), sockets(ways))
	if rounds > 1 {
		r.Plots = append(r.Plots, course(ways))
	}
	if p := arrival(ways); len(p.Lines) > 0 {
		r.Plots = append(r.Plots, p)
	}
	o.warn(r, ways)
	return r
}

// label is what a way is called in a table.
func (w *way) label() string {
	switch {
	case w.Name != "":
		return w.Name
	case len(w.good()) == 1:
		return "value"
	}
	return "median"
}

// circumstances are those of the first exchange that worked.
func (o *Options) circumstances(ways []*way) map[string]string {
	more := map[string]string{}
	for _, w := range ways {
		good := w.good()
		if len(good) == 0 {
			continue
		}
		x := good[0]
		more["server"] = x.conn.Remote.String()
		more["status"] = fmt.Sprint(x.Status)
		more["protocol"] = "HTTP/1.1"
		if x.conn.HTTP2 {
			more["protocol"] = "HTTP/2"
		}
		if t := x.conn.TLS; t != nil {
			more["tls"] = strings.TrimPrefix(tls.VersionName(t.Version), "TLS ")
		}
		if len(x.course) > 0 {
			more["tcp options"] = x.course[0].Options.String()
		}
		break
	}
	return more
}

// diagnose says what took the time, in words.
func (o *Options) diagnose(r *report.Report, ways []*way) {
	table := report.Table{Title: "What the time went for, % of the total"}
	var causes []diagnosis.Cause
	shares := map[diagnosis.Cause][]float64{}
	for i, w := range ways {
		table.Columns = append(table.Columns, report.Column{Name: w.label(), Unit: "%"})
		var all []diagnosis.Evidence
		for _, x := range w.good() {
			all = append(all, x.evidence)
		}
		if len(all) == 0 {
			continue
		}
		e := diagnosis.Median(all)
		d := diagnosis.Diagnose(e)
		for _, p := range diagnosis.Shares(e) {
			if shares[p.Cause] == nil {
				causes = append(causes, p.Cause)
				shares[p.Cause] = make([]float64, len(ways))
			}
			shares[p.Cause][i] = 100 * p.Share
		}
		agree := 0
		for _, e := range all {
			if diagnosis.Diagnose(e).Cause == d.Cause {
				agree++
			}
		}
		cause, why := string(d.Cause), fmt.Sprintf("%s (%d of %d exchanges by themselves say so): %s.", capital(string(d.Cause)), agree, len(all), d.Sentence)
		if len(all) == 1 {
			why = fmt.Sprintf("%s: %s.", capital(string(d.Cause)), d.Sentence)
		}
		if d.Cause == diagnosis.NotClear {
			cause, why = "what limits it is not clear", "What limits it is not clear: "+d.Sentence+"."
		}
		if d.Advice != "" {
			why += " What to do: " + d.Advice + "."
		}
		if w.Name == "" {
			t := medianOf(over(w.runs, figures[0].of))
			r.Answer = fmt.Sprintf("%s takes %.4g ms%s: %s.", strings.TrimPrefix(method(w), "GET "), t.Value, within(t), cause)
			if d.Cause != diagnosis.NotClear {
				r.Answer = strings.TrimSuffix(r.Answer, ".") + fmt.Sprintf(", %.0f %% of the time.", 100*d.Share)
			}
			r.Question += " " + why
			continue
		}
		for k := range r.Groups {
			if r.Groups[k].Name == w.Group {
				r.Groups[k].Notes = append(r.Groups[k].Notes, "With "+w.Name+": "+why)
			}
		}
	}
	for _, c := range causes {
		table.Rows = append(table.Rows, report.Row{Name: string(c), Values: shares[c]})
	}
	if len(table.Rows) > 0 {
		r.Tables = append(r.Tables, table)
	}
}

// effects says in words what each change does to the total.
func effects(r *report.Report) string {
	var all []string
	baseline := map[string]string{}
	for _, c := range r.Cases {
		if c.Baseline {
			baseline[c.Group] = c.Name
			continue
		}
		e, ok := c.Effects["total"]
		switch {
		case !ok:
			all = append(all, fmt.Sprintf("%s instead of %s: nothing to compare", c.Name, baseline[c.Group]))
		case !e.Real:
			all = append(all, fmt.Sprintf("%s instead of %s: no effect seen", c.Name, baseline[c.Group]))
		default:
			all = append(all, fmt.Sprintf("%s instead of %s: %+.0f %% of the total (%+.0f to %+.0f)", c.Name, baseline[c.Group], e.Percent, e.Low, e.High))
		}
	}
	return capital(strings.Join(all, "; ")) + "."
}

func method(w *way) string { return w.request.Method + " " + w.request.URL.Redacted() }

func within(v report.Value) string {
	switch {
	case v.N == 1:
		return " (one exchange)"
	case math.IsInf(v.Low, -1):
		return fmt.Sprintf(" (median of %d)", v.N)
	}
	return fmt.Sprintf(" (median of %d, interval %.4g to %.4g)", v.N, v.Low, v.High)
}

func capital(s string) string {
	if s == "dns" || s == "tls" {
		return strings.ToUpper(s)
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
