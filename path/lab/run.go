package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/report"
)

// Run makes the transfers and reports. It needs the right to make network namespaces; see
// [link.New]. When ctx ends it, it reports what was measured until then, with the cause; the
// report is nil if that is nothing. Errors of the kind [usage.Error] are the caller's.
func Run(ctx context.Context, o Options) (*report.Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Awake {
		k, err := awake.Start()
		if err != nil {
			return nil, fmt.Errorf("keeping processors awake (--awake=false does without): %w", err)
		}
		defer k.Stop()
	}
	begin := time.Now()
	luck := dist.NewStream(o.Seed, "order of transfers")
	x := &run{
		o: &o, cells: o.cells(), begin: begin,
		jobs: o.jobs(func(n int, swap func(i, j int)) {
			for i := n - 1; i > 0; i-- {
				swap(i, luck.IntN(i+1))
			}
		}),
	}
	x.found = make([][]*transfer, len(x.cells))
	for i := range x.found {
		x.found[i] = make([]*transfer, o.N)
	}
	err := x.all(ctx)
	x.took = time.Since(begin)
	if x.done == 0 {
		if err == nil {
			err = errNothing
		}
		return nil, err
	}
	r := x.report()
	r.Started = begin
	r.Environment = report.Here(o.Seed, map[string]string{
		"kernel": kernel(), "transfers at a time": fmt.Sprint(o.Parallel), "idle processors": map[bool]string{true: "kept awake", false: "may sleep"}[o.Awake]})
	return r, err
}

// run is one under way.
type run struct {
	o     *Options
	cells []cell
	begin time.Time
	took  time.Duration

	mu    sync.Mutex
	jobs  []job
	found [][]*transfer // by cell and round
	done  int
	spent time.Duration // by all transfers together
}

// all makes all transfers, some at a time.
func (x *run) all(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range x.o.Parallel {
		wg.Go(func() {
			if err := x.work(ctx, uint64(i)); err != nil {
				cancel(err) // the first is the one that is told
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// work makes transfers until none is left.
func (x *run) work(ctx context.Context, number uint64) error {
	b, err := newBench(x.o, x.o.Seed*1000+number)
	if err != nil {
		return err
	}
	defer b.close()
	for ctx.Err() == nil {
		j, ok := x.next()
		if !ok {
			return nil
		}
		began := time.Now()
		t, err := b.transfer(ctx, x.o, x.cells[j.cell])
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("%v: %w", x.cells[j.cell], err)
		}
		x.keep(j, t, time.Since(began))
	}
	return nil
}

func (x *run) next() (job, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.jobs) == 0 {
		return job{}, false
	}
	j := x.jobs[0]
	x.jobs = x.jobs[1:]
	return j, true
}

// keep notes a transfer, and tells how far all is.
func (x *run) keep(j job, t *transfer, took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found[j.cell][j.round] = t
	x.done++
	x.spent += took
	if x.o.Progress == nil {
		return
	}
	p := Progress{Done: x.done, Total: x.o.N * len(x.cells), Elapsed: time.Since(x.begin)}
	p.Left = x.left()
	p.Last = fmt.Sprintf("%v: %v", x.cells[j.cell], t.total.Round(10*time.Millisecond))
	if t.late {
		p.Last = fmt.Sprintf("%v: not complete in %v", x.cells[j.cell], t.total)
	}
	x.o.Progress(p)
}

// left estimates how long the rest takes: each cell's transfers as long as those it had.
func (x *run) left() time.Duration {
	var rest time.Duration
	for _, c := range x.found {
		n, sum := 0, time.Duration(0)
		for _, t := range c {
			if t != nil {
				n++
				sum += t.total + 2*x.o.RTT
			}
		}
		if n == 0 {
			return 0
		}
		rest += time.Duration(float64(sum) / float64(n) * float64(x.o.N-n))
	}
	return rest / time.Duration(x.o.Parallel)
}
