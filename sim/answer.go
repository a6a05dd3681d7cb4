package sim

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
)

// measured is a figure of a run that the report tells.
type measured struct {
	report.Metric
	of    func(*Result) float64
	sharp bool // decides how long to go on
}

func ofLatency(name string, of func(Latency) float64, sharp, minor bool) measured {
	return measured{report.Metric{Name: "latency." + name, Unit: "ms", Better: "lower", Minor: minor}, func(r *Result) float64 {
		if r.Failed == r.Requests {
			return math.NaN() // nothing has a latency
		}
		return of(r.Latency)
	}, sharp}
}

// basic are the figures of every run.
var basic = []measured{
	ofLatency("median", func(l Latency) float64 { return l.Median }, true, false),
	ofLatency("p95", func(l Latency) float64 { return l.P95 }, false, false),
	ofLatency("p99", func(l Latency) float64 { return l.P99 }, true, false),
	ofLatency("p99.9", func(l Latency) float64 { return l.P999 }, false, true),
	ofLatency("max", func(l Latency) float64 { return l.Max }, false, true),
	ofLatency("min", func(l Latency) float64 { return l.Min }, false, true),
	ofLatency("mean", func(l Latency) float64 { return l.Mean }, false, true),
	{report.Metric{Name: "waiting", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Waiting }, false},
	{report.Metric{Name: "serving", Unit: "ms", Better: "lower", Minor: true}, func(r *Result) float64 { return r.Serving }, false},
	{report.Metric{Name: "traveling", Unit: "ms", Better: "lower", Minor: true}, func(r *Result) float64 { return r.Traveling }, false},
	{report.Metric{Name: successful, Unit: "%", Better: "higher"}, func(r *Result) float64 {
		return 100 * float64(r.Requests-r.Failed) / float64(max(r.Requests, 1))
	}, false},
	{report.Metric{Name: "offered", Unit: "requests/s", Better: "higher", Minor: true}, func(r *Result) float64 { return r.Offered }, false},
	{report.Metric{Name: "served", Unit: "requests/s", Better: "higher", Minor: true}, func(r *Result) float64 { return r.Served }, false},
}

const (
	successful   = "successful"
	decisive     = "latency.p99"
	seriesPieces = 120
	fewLines     = 6 // of a plot that has one for every case
)

// measures are those of all runs and those of classes of requests.
func (x Experiment) measures(results [][]*Result) []measured {
	all := append([]measured(nil), basic...)
	seen := map[string]bool{}
	for _, rs := range results {
		for _, c := range rs[0].Classes {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			for _, m := range basic {
				if m.Name != "latency.median" && m.Name != decisive && m.Name != successful {
					continue
				}
				of := m.of
				m.Name += " of " + c.Name
				name := c.Name
				m.of = func(r *Result) float64 {
					for _, c := range r.Classes {
						if c.Name == name {
							return of(&Result{Latency: c.Latency, Requests: c.Requests, Failed: c.Failed})
						}
					}
					return 0
				}
				m.Minor, m.sharp = m.Name == "latency.median of "+name, false
				all = append(all, m)
			}
		}
	}
	told := all[:0]
	for _, m := range all {
		if says(results, m) {
			told = append(told, m)
		}
	}
	return told
}

// says leaves out the figures that are the same everywhere and say nothing: no
// failures, and the way that all requests have.
func says(results [][]*Result, m measured) bool {
	if !strings.HasPrefix(m.Name, successful) && m.Name != "traveling" {
		return true
	}
	first := m.of(results[0][0])
	for _, rs := range results {
		for _, r := range rs {
			if m.of(r) != first {
				return true
			}
		}
	}
	return m.Name != "traveling" && first != 100
}

func (x Experiment) report(results [][]*Result, pooled []histogram.Histogram, started time.Time) *report.Report {
	first := results[0][0]
	rep := &report.Report{
		Schema: report.Schema, Verb: "sim", Question: x.Question, Started: started, Listed: true,
		Command: append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...),
		Environment: report.Here(x.Seed, map[string]string{"replications": fmt.Sprint(len(results[0])),
			"requests": fmt.Sprintf("%d a run, of which %d count", first.Total, first.Requests)}),
		Warnings: []string{},
	}
	base := 0
	for i, c := range x.Cases {
		if c.Baseline {
			base = i
		}
	}
	told := x.measures(results)
	for _, m := range told {
		rep.Metrics = append(rep.Metrics, m.Metric)
	}
	for i, c := range x.Cases {
		k := report.Case{Name: c.Name, Baseline: i == base && len(x.Cases) > 1, Params: c.Params, Values: map[string]report.Value{}}
		if k.Params == nil {
			k.Params = map[string]float64{}
		}
		for _, m := range told {
			v := x.values(results[i], m.of)
			if slices.ContainsFunc(v, math.IsNaN) {
				continue
			}
			e := effect.Of(v, x.Confidence, x.Seed)
			k.Values[m.Name] = report.Value{Value: e.Value, Low: e.Low, High: e.High, N: e.N}
			if i == base || len(x.Cases) == 1 {
				continue
			}
			before := x.values(results[base], m.of)
			if slices.ContainsFunc(before, math.IsNaN) {
				continue
			}
			d := effect.Paired(before, v, x.Confidence, x.Seed)
			if slices.Max(v) == 0 && slices.Min(before) > 0 { // no ratio has a logarithm, and all say the same
				d = effect.Effect{Percent: -100, Low: -100, High: -100, Confidence: x.Confidence, N: len(v)}
			}
			if math.IsNaN(d.Percent) {
				continue // the measure is 0
			}
			if k.Effects == nil {
				k.Effects = map[string]report.Effect{}
			}
			k.Effects[m.Name] = report.Effect{Percent: d.Percent, Low: d.Low, High: d.High, Confidence: d.Confidence, N: d.N, Real: d.Low > 0 || d.High < 0}
		}
		rep.Cases = append(rep.Cases, k)
		for _, n := range meanNodes(results[i]) {
			if _, closed := c.Config.Arrivals.(users); closed || n.bounded || n.Workers == 0 || n.Busiest <= .985 {
				continue
			}
			who := n.Name
			if n.Nodes > 1 {
				who = "one of the " + fmt.Sprint(n.Nodes) + " called " + n.Name
			}
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("%s: %s is busy %.1f %% of the time; if more arrives than it can serve, its queue grows for as long as requests come and latencies mean nothing", c.Name, who, 100*n.Busiest))
		}
	}
	rep.Answer = x.answer(rep, base)
	rep.Plots = append(x.sweeps(rep, told), x.distribution(pooled))
	rep.Plots = append(rep.Plots, x.course(results)...)
	if t := x.nodes(results); len(t.Rows) > 0 {
		rep.Tables = []report.Table{t}
	}
	return rep
}

// answer says which case is best: the one that answers more requests, and among those
// that answer as many, the one with the lowest p99.
func (x Experiment) answer(rep *report.Report, base int) string {
	v := rep.Cases[base].Values
	name := rep.Cases[base].Name
	if len(rep.Cases) == 1 {
		if s, ok := v[successful]; ok && s.Value == 0 {
			return name + ": no request succeeds."
		}
		text := fmt.Sprintf("%s: half of the requests take up to %.4g ms, 99 %% up to %.4g ms", name, v["latency.median"].Value, v[decisive].Value)
		if s, ok := v[successful]; ok {
			text += fmt.Sprintf("; %.4g %% succeed", s.Value)
		}
		return text + "."
	}
	most, best, costly := -1, -1, false
	for i, c := range rep.Cases {
		s, counted := c.Effects[successful]
		if counted && s.Real && s.Percent > 0 && (most < 0 || c.Values[successful].Value > rep.Cases[most].Values[successful].Value) {
			most = i
		}
		e, ok := c.Effects[decisive]
		if !ok || !e.Real || e.Percent >= 0 {
			continue
		}
		if counted && s.Real && s.Percent < 0 {
			costly = true
			continue
		}
		if best < 0 || e.Percent < rep.Cases[best].Effects[decisive].Percent {
			best = i
		}
	}
	var parts []string
	if most >= 0 {
		c := rep.Cases[most]
		parts = append(parts, fmt.Sprintf("%s: %.4g %% of the requests succeed, with %s %.4g %%", c.Name, c.Values[successful].Value, name, v[successful].Value))
	}
	if best >= 0 {
		e := rep.Cases[best].Effects[decisive]
		who := rep.Cases[best].Name + ": "
		if best == most {
			who = ""
		}
		parts = append(parts, fmt.Sprintf("%sp99 latency %.1f %% below that of %s (%.1f to %.1f)", who, -e.Percent, name, -e.High, -e.Low))
	}
	if s, ok := v[successful]; ok && s.Value == 0 && most < 0 {
		return fmt.Sprintf("No request succeeds with %s, and none with anything tried.", name)
	}
	if len(parts) == 0 && costly {
		return fmt.Sprintf("Nothing tried has a lower p99 latency than %s without losing requests.", name)
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Nothing tried has a lower p99 latency than %s.", name)
	}
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// meanNodes are the nodes' figures over all replications.
func meanNodes(results []*Result) []NodeStats {
	all := append([]NodeStats(nil), results[0].Nodes...)
	for _, r := range results[1:] {
		for i, n := range r.Nodes {
			all[i].Utilisation += n.Utilisation
			all[i].Busiest += n.Busiest
			all[i].Wait += n.Wait
			all[i].Service += n.Service
			all[i].Queue += n.Queue
			all[i].Size += n.Size
			all[i].Served += n.Served
			all[i].Refused += n.Refused
			all[i].Again += n.Again
			all[i].GaveUp += n.GaveUp
			all[i].Longest = max(all[i].Longest, n.Longest)
		}
	}
	k := float64(len(results))
	for i := range all {
		n := &all[i]
		for _, x := range []*float64{&n.Utilisation, &n.Busiest, &n.Wait, &n.Service, &n.Queue, &n.Size} {
			*x /= k
		}
		for _, x := range []*int64{&n.Served, &n.Refused, &n.Again, &n.GaveUp} {
			*x = int64(float64(*x)/k + .5)
		}
	}
	return all
}

// nodes is the table that says which node to mend.
func (x Experiment) nodes(results [][]*Result) report.Table {
	columns := []struct {
		report.Column
		of func(NodeStats) float64
	}{
		{report.Column{Name: "nodes"}, func(n NodeStats) float64 { return float64(n.Nodes) }},
		{report.Column{Name: "utilisation", Unit: "%"}, func(n NodeStats) float64 { return 100 * n.Utilisation }},
		{report.Column{Name: "busiest", Unit: "%"}, func(n NodeStats) float64 {
			if n.Nodes < 2 {
				return 0
			}
			return 100 * n.Busiest
		}},
		{report.Column{Name: "waiting", Unit: "ms"}, func(n NodeStats) float64 { return n.Wait }},
		{report.Column{Name: "service", Unit: "ms"}, func(n NodeStats) float64 { return n.Service }},
		{report.Column{Name: "requests"}, func(n NodeStats) float64 { return float64(n.Served) }},
		{report.Column{Name: "refused"}, func(n NodeStats) float64 { return float64(n.Refused) }},
		{report.Column{Name: "again or hit"}, func(n NodeStats) float64 { return float64(n.Again) }},
		{report.Column{Name: "given up"}, func(n NodeStats) float64 { return float64(n.GaveUp) }},
		{report.Column{Name: "instances"}, func(n NodeStats) float64 { return n.Size }},
		{report.Column{Name: "queue"}, func(n NodeStats) float64 { return n.Queue }},
		{report.Column{Name: "longest"}, func(n NodeStats) float64 { return float64(n.Longest) }},
	}
	t := report.Table{Title: "Nodes, over whole runs from first to last request"}
	used := make([]bool, len(columns))
	for i, rs := range results {
		for _, n := range meanNodes(rs) {
			row := report.Row{Name: n.Name}
			if len(x.Cases) > 1 {
				row.Name = x.Cases[i].Name + ": " + n.Name
			}
			for j, c := range columns {
				v := c.of(n)
				if v == 0 {
					v = math.NaN()
				} else {
					used[j] = true
				}
				row.Values = append(row.Values, v)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	for j := len(columns) - 1; j >= 0; j-- {
		if used[j] {
			continue
		}
		for i := range t.Rows {
			t.Rows[i].Values = append(t.Rows[i].Values[:j], t.Rows[i].Values[j+1:]...)
		}
	}
	for j, c := range columns {
		if used[j] {
			t.Columns = append(t.Columns, c.Column)
		}
	}
	return t
}
