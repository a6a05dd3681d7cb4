package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

// Case is one network under one load.
type Case struct {
	Name     string
	Params   map[string]float64 // what was varied, for plots
	Baseline bool
	Config   Config // its seed is the replication's
	Network  Node
}

// Experiment compares cases: each is run many times, with the same luck for all cases in
// each replication, so that differences between them are sharp.
type Experiment struct {
	Question   string
	Cases      []Case
	Seed       uint64
	Least      int     // replications; 0 is 10
	Most       int     // replications; 0 is 100
	Precision  float64 // relative half-interval of median and p99 at which it stops; 0 is .01
	Confidence float64 // 0 is .95
	Progress   func(done, most int)
}

// measures are what a report tells of a run.
var measures = []struct {
	report.Metric
	of    func(*Result) float64
	sharp bool // decides how long to go on
}{
	{report.Metric{Name: "latency.median", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Latency.Median }, true},
	{report.Metric{Name: "latency.p95", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Latency.P95 }, false},
	{report.Metric{Name: "latency.p99", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Latency.P99 }, true},
	{report.Metric{Name: "latency.p99.9", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Latency.P999 }, false},
	{report.Metric{Name: "latency.max", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Latency.Max }, false},
	{report.Metric{Name: "latency.mean", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Latency.Mean }, false},
	{report.Metric{Name: "waiting", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Waiting }, false},
	{report.Metric{Name: "serving", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Serving }, false},
	{report.Metric{Name: "traveling", Unit: "ms", Better: "lower"}, func(r *Result) float64 { return r.Traveling }, false},
	{report.Metric{Name: "successful", Unit: "%", Better: "higher"}, func(r *Result) float64 {
		return 100 * float64(r.Requests-r.Failed) / float64(max(r.Requests, 1))
	}, false},
	{report.Metric{Name: "served", Unit: "requests/s", Better: "higher"}, func(r *Result) float64 { return r.Served }, false},
}

// Run replicates the cases, on all processors, until their intervals are narrow. The
// figures do not depend on how many processors there are. If ctx ends, the report holds
// the replications that were complete by then.
func (x Experiment) Run(ctx context.Context) (*report.Report, error) {
	if x.Least == 0 {
		x.Least = 10
	}
	if x.Most == 0 {
		x.Most = max(100, x.Least)
	}
	if x.Precision == 0 {
		x.Precision = .01
	}
	if x.Confidence == 0 {
		x.Confidence = .95
	}
	switch {
	case len(x.Cases) == 0:
		return nil, errors.New("there is no case to run")
	case x.Least < effect.MinN || x.Most < x.Least:
		return nil, fmt.Errorf("%d to %d replications: want at least %d", x.Least, x.Most, effect.MinN)
	}
	results := make([][]*Result, len(x.Cases))
	started := time.Now()
	var failed error
	for n := x.Least; len(results[0]) < x.Most && failed == nil; n = min(n+x.Least, x.Most) {
		failed = x.replicate(ctx, results, n)
		if failed == nil && x.narrow(results) {
			break
		}
	}
	if failed != nil && (!errors.Is(failed, context.Canceled) || len(results[0]) < effect.MinN) {
		return nil, failed
	}
	return x.report(results, started), failed
}

// replicate runs the replications up to the n-th of every case.
func (x Experiment) replicate(ctx context.Context, results [][]*Result, n int) error {
	from := len(results[0])
	batch := make([][]*Result, len(x.Cases))
	for i := range batch {
		batch[i] = make([]*Result, n-from)
	}
	type job struct{ c, r int }
	jobs := make(chan job)
	var wg sync.WaitGroup
	var lock sync.Mutex
	var failed error
	done := 0
	for range min(runtime.GOMAXPROCS(0), len(x.Cases)*(n-from)) {
		wg.Go(func() {
			for j := range jobs {
				c := x.Cases[j.c].Config
				c.Seed = mix(x.Seed ^ mix(uint64(from+j.r)))
				r, err := Run(c, x.Cases[j.c].Network)
				lock.Lock()
				if err != nil && failed == nil {
					failed = fmt.Errorf("%s: %w", x.Cases[j.c].Name, err)
				}
				batch[j.c][j.r] = r
				if done++; x.Progress != nil {
					x.Progress(from*len(x.Cases)+done, x.Most*len(x.Cases))
				}
				lock.Unlock()
			}
		})
	}
feed:
	for r := range n - from {
		for c := range x.Cases {
			select {
			case jobs <- job{c, r}:
			case <-ctx.Done():
				break feed
			}
		}
	}
	close(jobs)
	wg.Wait()
	if failed != nil {
		return failed
	}
	for r := range n - from {
		for c := range batch {
			if batch[c][r] == nil {
				return ctx.Err() // this replication is not complete
			}
		}
		for c := range batch {
			results[c] = append(results[c], batch[c][r])
		}
	}
	return ctx.Err()
}

func (x Experiment) values(results []*Result, of func(*Result) float64) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = of(r)
	}
	return out
}

// narrow reports whether every case is known precisely enough.
func (x Experiment) narrow(results [][]*Result) bool {
	for _, rs := range results {
		for _, m := range measures {
			if !m.sharp {
				continue
			}
			e := effect.Of(x.values(rs, m.of), x.Confidence, x.Seed)
			if e.Value > 0 && (e.High-e.Low)/2 > x.Precision*e.Value {
				return false
			}
		}
	}
	return true
}

func (x Experiment) report(results [][]*Result, started time.Time) *report.Report {
	rep := &report.Report{
		Schema: report.Schema, Verb: "sim", Question: x.Question, Started: started,
		Command: append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...),
		Environment: report.Environment{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Seed: x.Seed,
			More: map[string]string{"replications": fmt.Sprint(len(results[0]))}},
		Warnings: []string{},
	}
	base := 0
	for i, c := range x.Cases {
		if c.Baseline {
			base = i
		}
	}
	told := measures[:0:0]
	for _, m := range measures {
		if x.told(results, m.Name, m.of) {
			told = append(told, m)
			rep.Metrics = append(rep.Metrics, m.Metric)
		}
	}
	for i, c := range x.Cases {
		k := report.Case{Name: c.Name, Baseline: i == base && len(x.Cases) > 1, Params: c.Params, Values: map[string]report.Value{}}
		if k.Params == nil {
			k.Params = map[string]float64{}
		}
		for _, m := range told {
			v := x.values(results[i], m.of)
			e := effect.Of(v, x.Confidence, x.Seed)
			k.Values[m.Name] = report.Value{Value: e.Value, Low: e.Low, High: e.High, N: e.N}
			if i == base || len(x.Cases) == 1 {
				continue
			}
			d := effect.Paired(x.values(results[base], m.of), v, x.Confidence, x.Seed)
			if math.IsNaN(d.Percent) {
				continue // the measure is 0
			}
			if k.Effects == nil {
				k.Effects = map[string]report.Effect{}
			}
			k.Effects[m.Name] = report.Effect{Percent: d.Percent, Low: d.Low, High: d.High, Confidence: d.Confidence, N: d.N, Real: d.Low > 0 || d.High < 0}
		}
		rep.Cases = append(rep.Cases, k)
		if u := load(results[i][0].Nodes); u > .985 {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("%s: the queues are busy %.0f %% of the time; if more arrives than they can serve, latencies grow with the number of requests and mean nothing", c.Name, 100*u))
		}
	}
	rep.Answer = x.answer(rep, base)
	return rep
}

// load is how busy the workers of all queues are together.
func load(nodes []NodeStats) float64 {
	busy, workers := 0.0, 0.0
	for _, n := range nodes {
		busy += n.Utilisation * float64(n.Workers)
		workers += float64(n.Workers)
	}
	if workers == 0 {
		return 0
	}
	return busy / workers
}

// told leaves out the measures that are the same everywhere and say nothing: no
// failures, and the way that all requests have.
func (x Experiment) told(results [][]*Result, name string, of func(*Result) float64) bool {
	if name != "successful" && name != "traveling" {
		return true
	}
	first := of(results[0][0])
	for _, rs := range results {
		for _, r := range rs {
			if of(r) != first {
				return true
			}
		}
	}
	return name == "successful" && first != 100
}

// answer says which case is best, by its p99.
func (x Experiment) answer(rep *report.Report, base int) string {
	if len(rep.Cases) == 1 {
		v := rep.Cases[0].Values
		return fmt.Sprintf("%s: half of the requests take up to %.4g ms, 99 %% up to %.4g ms.", rep.Cases[0].Name, v["latency.median"].Value, v["latency.p99"].Value)
	}
	best := -1
	for i, c := range rep.Cases {
		if e, ok := c.Effects["latency.p99"]; ok && e.Real && e.Percent < 0 && (best < 0 || e.Percent < rep.Cases[best].Effects["latency.p99"].Percent) {
			best = i
		}
	}
	name := rep.Cases[base].Name
	if best < 0 {
		return fmt.Sprintf("Nothing tried has a lower p99 latency than %s.", name)
	}
	e := rep.Cases[best].Effects["latency.p99"]
	text := fmt.Sprintf("%s: p99 latency %.1f %% below that of %s (%.1f to %.1f).", rep.Cases[best].Name, -e.Percent, name, -e.High, -e.Low)
	return strings.ToUpper(text[:1]) + text[1:]
}
