package mirror

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/mirror/store"
	"github.com/headway-lab/headway/report"
)

// Counts is what a run has done.
type Counts struct {
	Stored     int64 // records fetched and written
	There      int64 // that were on disk before
	Failed     int64
	Duplicates int64 // that the list had more than once
	Bytes      int64 // of the records stored
	Pages      int64 // of the list that were read
	Listed     int64 // records of the list up to where it was read, earlier runs included
	Behind     int64 // records of the list before Position
	Kinds      map[string]int64
	// Position is where the list is done up to, and Complete says that it is done to its end.
	Position string
	Complete bool
	Resumed  bool
}

// kind counts a failure.
func (n *Counts) kind(k string) {
	if n.Kinds == nil {
		n.Kinds = map[string]int64{}
	}
	n.Kinds[k]++
}

// Slow is a record that took long, retries included.
type Slow struct {
	Path string
	Took time.Duration
}

// slow keeps the slowest records, the slowest first.
func (r *run) slow(path string, took time.Duration) {
	i, _ := slices.BinarySearchFunc(r.slowest, took, func(s Slow, d time.Duration) int { return cmp.Compare(d, s.Took) })
	r.slowest = slices.Insert(r.slowest, i, Slow{path, took})
	if len(r.slowest) > mostNamed {
		r.slowest = r.slowest[:mostNamed]
	}
}

// Progress is how far a run is.
type Progress struct {
	Counts
	Elapsed time.Duration
	Left    time.Duration // until the end of the list, 0 if the list does not say how long it is
	Total   int64         // records of the list, -1 if it does not say
	Rate    float64       // records a minute, over the last seconds
	Workers int
	Retries int64
	Slowed  int64 // how often the server asked for patience
	Open    int64 // connections
	Dialed  int64 // connections made
	Reused  int64 // exchanges on a connection that had had one before
}

// Line is the progress in one line for a person.
func (p Progress) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s records, %s a minute, %s", grouped(p.Stored), grouped(int64(p.Rate)), size(p.Bytes))
	if p.There > 0 {
		fmt.Fprintf(&b, ", %s there", grouped(p.There))
	}
	if p.Failed > 0 {
		fmt.Fprintf(&b, ", %s failed", grouped(p.Failed))
	}
	if p.Retries > 0 {
		fmt.Fprintf(&b, ", %s retries", grouped(p.Retries))
	}
	if p.Left > 0 {
		fmt.Fprintf(&b, ", %v left", p.Left.Round(time.Second))
	}
	return b.String()
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes bytes with a unit.
func size(n int64) string {
	for _, u := range []struct {
		unit string
		per  float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.per {
			return fmt.Sprintf("%.3g %s", float64(n)/u.per, u.unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

func (r *run) progress() Progress {
	c := r.f.t.Counts()
	r.mu.Lock()
	p := Progress{Counts: r.n, Elapsed: time.Since(r.begin), Total: r.total}
	r.mu.Unlock()
	p.Kinds = maps.Clone(p.Kinds)
	p.Workers = int(r.workers.Load())
	p.Retries, p.Slowed = r.f.retries.Load(), r.f.slowed.Load()
	p.Open, p.Dialed, p.Reused = c.Open, c.Dialed, c.Reused
	return p
}

// reporter tells the progress.
func (r *run) reporter(quiet chan struct{}) {
	if r.Progress == nil {
		return
	}
	t := time.NewTicker(r.Every)
	defer t.Stop()
	type point struct {
		at   time.Duration
		done int64
	}
	var window []point // the last ten
	for {
		select {
		case <-quiet:
			return
		case <-t.C:
		}
		p := r.progress()
		done := p.Stored + p.There + p.Failed
		window = append(window, point{p.Elapsed, done})
		if len(window) > 10 {
			window = window[1:]
		}
		if first := window[0]; p.Elapsed > first.at {
			p.Rate = float64(done-first.done) / (p.Elapsed - first.at).Minutes()
		} else {
			p.Rate = float64(done) / p.Elapsed.Minutes()
		}
		if left := p.Total - r.before - done; p.Total > 0 && left > 0 && p.Rate > 0 {
			p.Left = time.Duration(float64(left) / p.Rate * float64(time.Minute))
		}
		r.Progress(p)
	}
}

// Result is what a run did.
type Result struct {
	Counts
	Progress Progress
	Slowest  []Slow
	Failures []Failure // the first ones
	Dir      string
	Median   time.Duration // of a record
	P99      time.Duration
	Max      time.Duration
	Warnings []string

	config  *Config
	begin   time.Time
	workers int
}

// Failure is a record that is not on disk.
type Failure struct{ Path, Kind, Error string }

func (r *run) result() *Result {
	p := r.progress()
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Rate = float64(r.n.Stored) / p.Elapsed.Minutes()
	x := &Result{Counts: p.Counts, Progress: p, Slowest: r.slowest, Dir: r.Dir, config: r.c, begin: r.begin, workers: p.Workers}
	for _, f := range r.failures.named {
		x.Failures = append(x.Failures, Failure{f.Path, f.Kind, f.Error})
	}
	if r.times.N() > 0 {
		x.Median, x.P99, x.Max = time.Duration(r.times.Quantile(.5)), time.Duration(r.times.Quantile(.99)), time.Duration(r.times.Max())
	}
	if r.n.Duplicates > 0 {
		x.Warnings = append(x.Warnings, fmt.Sprintf("the list has %s records more than once, so it changed while it was read, and may have hidden others: another run finds them", grouped(r.n.Duplicates)))
	}
	if x.Complete && r.total > r.n.Listed {
		x.Warnings = append(x.Warnings, fmt.Sprintf("the list says that it has %s records, and showed %s: another run may find the others", grouped(r.total), grouped(r.n.Listed)))
	}
	return x
}

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
		Question: fmt.Sprintf("Is every record of %s in %s?", x.config.redact(x.config.source()), x.Dir),
		Answer:   x.answer(),
		Environment: report.Environment{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Seed: seed,
			More: map[string]string{"workers": fmt.Sprint(x.workers), "idle connections": fmt.Sprint(x.config.idle()), "protocol": x.config.HTTP.Protocol}},
		Metrics:  []report.Metric{metricRate, metricMedian, metricP99, metricFailed, metricConns},
		Cases:    []report.Case{{Name: "mirror", Baseline: true, Params: map[string]float64{"workers": float64(x.workers)}, Values: values}},
		Warnings: x.warnings(),
	}
	counts := report.Table{Title: "What was done", Columns: []report.Column{{Name: "number"}}}
	add := func(name string, n int64) {
		counts.Rows = append(counts.Rows, report.Row{Name: name, Values: report.Figures{float64(n)}})
	}
	add("stored", x.Stored)
	add("there before", x.There)
	add("failed", x.Failed)
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

func (x *Result) answer() string {
	done := x.Stored + x.There
	switch {
	case x.Failed > 0:
		return fmt.Sprintf("%s records are in %s, %s failed", grouped(done), x.Dir, grouped(x.Failed))
	case !x.Complete:
		return fmt.Sprintf("%s records are in %s; the list is not done", grouped(done), x.Dir)
	}
	if x.Resumed && x.Behind > done {
		return fmt.Sprintf("All records are in %s: %s of this run, %s of the ones before", x.Dir, grouped(done), grouped(x.Behind-done-x.Duplicates))
	}
	return fmt.Sprintf("All %s records are in %s", grouped(done), x.Dir)
}

func (x *Result) warnings() []string {
	all := slices.Clone(x.Warnings)
	if all == nil {
		all = []string{}
	}
	for _, f := range x.Failures {
		what := f.Path
		if what == "" {
			what = "a record"
		}
		all = append(all, fmt.Sprintf("failed: %s: %s", what, f.Error))
	}
	if more := x.Failed - int64(len(x.Failures)); more > 0 && len(x.Failures) > 0 {
		all = append(all, fmt.Sprintf("and %s more failed: all are in %s", grouped(more), path.Join(x.Dir, store.Own, failedName)))
	}
	return all
}

// source is where the list is.
func (c *Config) source() string {
	if c.List.File != "" {
		return c.List.File
	}
	return c.List.URL
}
