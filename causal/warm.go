package causal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

// warm waits until progress is steady.
func (r *runner) warm(ctx context.Context) error {
	r.event("warm up", "waiting for steady progress")
	const step = 250 * time.Millisecond
	begin := time.Now()
	patience := min(max(r.o.Duration/6, 2*time.Second), 10*time.Second)
	if r.reached { // the program is known to get there, and is started three times or four: they must not take the time of the experiments
		patience = min(patience, max(r.o.Duration/15, 2*time.Second))
	}
	lost := min(max(r.o.Duration/2, 5*time.Second), time.Minute)
	asked := false
	var rates []float64
	last := r.visits()
	for {
		if err := r.proc.sleep(ctx, step); err != nil {
			return err
		}
		if r.proc.block.Pid() == 0 && time.Since(begin) > 3*time.Second {
			return errors.New("the program did not start under headway's runtime (is it a wrapper that runs another program? name that one)")
		}
		r.named()
		now := r.visits()
		rates = append(rates, now-last)
		last = now
		if !asked && time.Since(begin) > 3*time.Second && r.silent() != "" {
			asked = true
			r.event("wait", r.waiting())
		}
		if now == 0 {
			if time.Since(begin) > lost {
				return r.noProgress(time.Since(begin))
			}
			rates = rates[:0]
			continue
		}
		if n := len(rates); n >= 6 {
			a := rates[n-1] + rates[n-2]
			b := rates[n-3] + rates[n-4]
			c := rates[n-5] + rates[n-6]
			if steady(a, b, c) && r.silent() == "" {
				r.reached = true
				return nil
			}
		}
		if time.Since(begin) > patience && len(rates) > 0 {
			if r.silent() == "" {
				r.reached = true
				return nil
			}
			if time.Since(begin) > lost {
				return r.noProgress(time.Since(begin))
			}
		}
	}
}

// steady reports whether the rates of three steps after one another no longer change, or only to and fro: who warms up goes one way,
// while on a machine with neighbours, or with clients beside the program, no two steps are alike however long one waits.
func steady(a, b, c float64) bool {
	least, most := min(a, b, c), max(a, b, c)
	return least > 0 && (most < 1.05*least || most < 1.3*least && (a-b)*(b-c) < 0)
}

func (r *runner) noProgress(d time.Duration) error {
	name := r.silent()
	if name == "" {
		name = "any progress point"
	}
	if r.reached {
		return fmt.Errorf("no progress seen after the program was started again: %s was not reached in %v; its clients have to connect again, as often as it is built anew (--load starts them again)%s", name, d.Round(time.Second), r.loadFails())
	}
	clients := "a server needs clients"
	if r.o.Load == "" {
		clients += ": see --load"
	}
	hint := ""
	switch {
	case name == "latency http":
		hint = ", or if its server is not net/http's,"
	case r.o.Test && name == benchmarkLoop:
		hint = ", or if the benchmark counts to b.N,"
	}
	return fmt.Errorf("no progress seen: %s was not reached in %v; does the program do its work without being asked (%s)? Otherwise%s name another point with --throughput or --latency%s", name, d.Round(time.Second), clients, hint, r.loadFails())
}

// benchmarkLoop is what benchmarks call that do not count to b.N.
const benchmarkLoop = "testing.(*B).Loop"

// tooShort adds to the news that a benchmark has ended by itself what to do.
func (r *runner) tooShort(err error) error {
	var ended *errEnded
	if !r.o.Test || !errors.As(err, &ended) || ended.err != nil {
		return err
	}
	hint := ""
	if r.proc != nil && r.silent() == benchmarkLoop {
		hint = ", and one that counts to b.N does not call " + benchmarkLoop + ": name what it does call with --throughput"
	}
	return fmt.Errorf("%w; a benchmark lasts as long as -test.benchtime says (-- -test.run='^$' -test.bench=NAME -test.benchtime=10m)%s", err, hint)
}

// waiting says what is missing.
func (r *runner) waiting() string {
	if r.reached {
		return r.silent() + " is not reached any more: do the clients connect again?" + r.loadFails()
	}
	return r.silent() + " was not reached yet: does the program wait for clients?" + r.loadFails()
}

// loadFails is what is wrong with the command that sends load, "" if nothing is known to be.
func (r *runner) loadFails() string {
	if r.proc == nil || r.proc.load == nil {
		return ""
	}
	why := r.proc.load.trouble()
	if why == "" {
		return ""
	}
	return "; the command of --load fails: " + why
}

// silent names a metric that has not been visited.
func (r *runner) silent() string {
	for _, m := range r.metrics {
		if r.proc.block.Count(m.begin).N == 0 || m.latency && r.proc.block.Count(m.end).N == 0 {
			return m.name
		}
	}
	if len(r.metrics) == 0 {
		return "any marker of package progress"
	}
	return ""
}

// visits adds up the visits of all metrics.
func (r *runner) visits() float64 {
	var n uint64
	for _, m := range r.metrics {
		if m.latency {
			n += r.proc.block.Count(m.end).N
		} else {
			n += r.proc.block.Count(m.begin).N
		}
	}
	return float64(n)
}

// named adds the markers of package progress that the program has visited.
func (r *runner) named() {
	names := r.proc.block.Names()
	have := map[string]bool{}
	for _, m := range r.metrics {
		have[m.name] = true
	}
	ends := map[string]int{}
	for i, n := range names {
		if len(n) > 0 && n[len(n)-1] == 0 {
			ends[n[:len(n)-1]] = i
		}
	}
	for i, n := range names {
		if n == "" || n[len(n)-1] == 0 {
			continue
		}
		if e, ok := ends[n]; ok {
			if !have["latency "+n] {
				r.metrics = append(r.metrics, &metric{name: "latency " + n, latency: true, begin: control.NamedBase + i, end: control.NamedBase + e})
			}
		} else if !have[n] {
			r.metrics = append(r.metrics, &metric{name: n, begin: control.NamedBase + i})
		}
	}
}
