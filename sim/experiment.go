package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
)

// Case is one network under one load.
type Case struct {
	Name     string
	Params   map[string]float64 // what was varied, for plots
	Line     string             // of the plots over what was varied: cases with the same name are on one
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
	Progress   func(done, most int, requests int64)
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
	pooled := make([]histogram.Histogram, len(x.Cases))
	requests := int64(0)
	started := time.Now()
	var failed error
	for n := x.Least; len(results[0]) < x.Most && failed == nil; n = min(n+x.Least, x.Most) {
		failed = x.replicate(ctx, results, n, &requests)
		for i, rs := range results {
			for _, r := range rs {
				if r.h != nil { // of every run it would be too much to keep
					pooled[i].Merge(r.h)
					r.h = nil
				}
			}
		}
		if failed == nil && x.narrow(results) {
			break
		}
	}
	if failed != nil && (!errors.Is(failed, context.Canceled) || len(results[0]) < effect.MinN) {
		return nil, failed
	}
	return x.report(results, pooled, started), failed
}

// replicate runs the replications up to the n-th of every case.
func (x Experiment) replicate(ctx context.Context, results [][]*Result, n int, requests *int64) error {
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
				c.Seed = x.seed(from + j.r)
				c.ctx = ctx
				if from+j.r == 0 {
					c.Series = seriesPieces
				}
				r, err := Run(c, x.Cases[j.c].Network)
				lock.Lock()
				if err != nil && failed == nil && ctx.Err() == nil {
					failed = fmt.Errorf("%s: %w", x.Cases[j.c].Name, err)
				}
				batch[j.c][j.r] = r
				if r != nil {
					*requests += int64(r.Total)
				}
				if done++; x.Progress != nil {
					x.Progress(from*len(x.Cases)+done, x.Most*len(x.Cases), *requests)
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

// seed of a replication.
func (x Experiment) seed(replication int) uint64 {
	return dist.Hash(x.Seed ^ dist.Hash(uint64(replication)))
}

// Trace is the history of n requests of a case, in its first replication.
func (x Experiment) Trace(c Case, n int) ([]Span, error) {
	c.Config.Seed = x.seed(0)
	return Trace(c.Config, c.Network, n)
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
		for _, m := range basic {
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
