package mirror

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/report"
)

// metrics of a run, and of trials.
var (
	metricRate    = report.Metric{Name: "rate", Unit: "records/min", Better: "higher"}
	metricMedian  = report.Metric{Name: "time.median", Unit: "ms", Better: "lower", Minor: true}
	metricP99     = report.Metric{Name: "time.p99", Unit: "ms", Better: "lower", Minor: true}
	metricFailed  = report.Metric{Name: "failed", Unit: "%", Better: "lower"}
	metricConns   = report.Metric{Name: "connections", Unit: "/1000 records", Better: "lower", Minor: true}
	metricWaiting = report.Metric{Name: "time_wait", Unit: "sockets", Better: "lower", Minor: true}
)

// Report is the result as every verb has it. It has one case: a run compares nothing.
func (x *Result) Report(seed uint64) *report.Report {
	p := x.Progress
	plain := func(v float64) report.Value { return report.Value{Value: v, N: 1} }
	ms := func(d time.Duration) report.Value { return plain(float64(d) / 1e6) }
	values := map[string]report.Value{metricRate.Name: plain(p.Rate)}
	if x.Stored > 0 {
		values[metricMedian.Name], values[metricP99.Name] = ms(x.Median), ms(x.P99)
		values[metricConns.Name] = plain(1000 * float64(p.Dialed) / float64(x.Stored))
	}
	if all := x.Stored + x.There + x.Failed; all > 0 {
		values[metricFailed.Name] = plain(100 * float64(x.Failed) / float64(all))
	}
	r := &report.Report{
		Schema: report.Schema, Verb: "mirror", Started: x.begin,
		Question:    fmt.Sprintf("Is every record of %s in %s?", x.config.redact(x.config.source()), x.Dir),
		Answer:      x.answer(),
		Environment: report.Here(seed, map[string]string{"workers": fmt.Sprint(x.workers), "idle connections": fmt.Sprint(x.config.idle()), "protocol": x.config.HTTP.Protocol}),
		Metrics:     []report.Metric{metricRate, metricMedian, metricP99, metricFailed, metricConns},
		Cases:       []report.Case{{Name: "mirror", Baseline: true, Params: map[string]float64{"workers": float64(x.workers)}, Values: values}},
		Warnings:    x.warnings(),
	}
	if x.Err != nil {
		r.Error = x.Err.Error()
	}
	counts := report.Table{Title: "What was done", Columns: []report.Column{{Name: "number"}}}
	add := func(name string, n int64) {
		counts.Rows = append(counts.Rows, report.Row{Name: name, Values: report.Figures{float64(n)}})
	}
	add("stored", x.Stored)
	add("there before", x.There)
	if n := x.Listed - x.Duplicates - x.Stored - x.There - (x.failed() - x.Unlisted); x.Resumed && x.Complete && n > 0 {
		add("of the runs before that this one has gone on with", n)
	}
	add("failed", x.Failed)
	if x.Pending > 0 {
		add("failed before, and not tried again", x.Pending)
	}
	add("duplicates in the list", x.Duplicates)
	add("bytes", x.Bytes)
	add("pages of the list", x.Pages)
	add("retries", p.Retries)
	add("connections made", p.Dialed)
	if n, err := limits.TimeWait(); err == nil {
		add("sockets in TIME_WAIT now", int64(n))
	}
	r.Tables = append(r.Tables, counts)
	if len(x.Kinds) > 0 {
		t := report.Table{Title: "Why records failed", Columns: []report.Column{{Name: "records"}}}
		for _, k := range slices.Sorted(maps.Keys(x.Kinds)) {
			t.Rows = append(t.Rows, report.Row{Name: k, Values: report.Figures{float64(x.Kinds[k])}})
		}
		r.Tables = append(r.Tables, t)
	}
	if len(x.Slowest) > 0 {
		t := report.Table{Title: "The slowest", Columns: []report.Column{{Name: "time", Unit: "ms"}}}
		for _, s := range x.Slowest {
			t.Rows = append(t.Rows, report.Row{Name: s.Path, Values: report.Figures{float64(s.Took) / 1e6}})
		}
		r.Tables = append(r.Tables, t)
	}
	return r
}

// source is where the list is.
func (c *Config) source() string {
	if c.List.File != "" {
		return c.List.File
	}
	return c.List.URL
}
