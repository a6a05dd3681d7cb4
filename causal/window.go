package causal

import (
	"context"
	"math"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

// snapshot is the state of all metrics at one instant.
type snapshot struct {
	now, virtual int64
	begin, end   []control.Count
}

// take reads the counters; a reading during which the machine looked away is repeated.
func (r *runner) take() snapshot {
	var best snapshot
	bestCost := int64(math.MaxInt64)
	for try := 0; try < 8; try++ {
		s := snapshot{now: control.Now()}
		s.virtual = s.now - r.proc.block.Debt(s.now)
		for _, m := range r.metrics {
			s.begin = append(s.begin, r.proc.block.Count(m.begin))
			if m.latency {
				s.end = append(s.end, r.proc.block.Count(m.end))
			} else {
				s.end = append(s.end, control.Count{})
			}
		}
		cost := control.Now() - s.now
		if cost < bestCost {
			best, bestCost = s, cost
		}
		if cost < 20_000 {
			break
		}
	}
	return best
}

// window is what one experiment measured, per metric; NaN where it carries nothing.
type window struct {
	values  []float64 // ns: virtual time per visit, or mean latency
	events  []uint64
	real    time.Duration
	virtual time.Duration
	slept   float64 // how often a second threads went to sleep, in baselines and their gaps; NaN where that is not known
}

// inserted is which part of the time was.
func (w *window) inserted() float64 {
	if w.real <= 0 {
		return 0
	}
	return max(0, 1-float64(w.virtual)/float64(w.real))
}

// between computes the metrics over the time between two snapshots.
//
// Throughput is the virtual time from the last visit before the window to the
// last in it, over the visits. Latency is the integral of the number of
// requests in flight over virtual time divided by the completions (Little's
// law), which requests that straddle the edges do not bias.
func (r *runner) between(a, b snapshot) window {
	w := window{real: time.Duration(b.now - a.now), virtual: time.Duration(b.virtual - a.virtual)}
	for i, m := range r.metrics {
		v := math.NaN()
		var n uint64
		if m.latency {
			n = b.end[i].N - a.end[i].N
			area := func(s snapshot) int64 {
				in := int64(s.begin[i].N - s.end[i].N)
				return in*s.virtual - s.begin[i].Sum + s.end[i].Sum
			}
			if d := area(b) - area(a); n > 0 && d > 0 {
				v = float64(d) / float64(n)
			}
		} else {
			n = b.begin[i].N - a.begin[i].N
			if d := b.begin[i].Last - a.begin[i].Last; n > 0 && d > 0 && a.begin[i].Last > 0 {
				v = float64(d) / float64(n)
			} else if n > 0 && w.virtual > 0 {
				v = float64(w.virtual) / float64(n)
			}
		}
		w.values = append(w.values, v)
		w.events = append(w.events, n)
	}
	return w
}

// events is the number of visits of the metric that has the fewest.
func (w *window) fewest() uint64 {
	least := uint64(math.MaxUint64)
	for _, n := range w.events {
		least = min(least, n)
	}
	return least
}

// set installs a site's weights at a speed-up in percent. The baseline of a
// site (0) has the smallest weight there is instead of none: its marks read the
// clock just as in the experiment, so what that costs is not taken for an effect.
func (r *runner) set(s *site, speedup int) {
	b := r.proc.block
	if r.o.Placebo {
		b.SetPlacebo(int64(speedup) * control.One / 100)
		speedup = 0
	}
	r.weights(s, speedup)
	debt := b.Debt(control.Now())
	r.inserted = time.Duration(debt - r.lastDebt)
	if r.o.Open {
		b.SetForgive(debt)
	} else {
		// Waits on the outside pay for what was inserted in this phase and the last.
		b.SetForgive(r.lastDebt)
	}
	r.lastDebt = debt
}

func (r *runner) weights(s *site, speedup int) {
	b := r.proc.block
	for _, built := range r.marks.rest {
		b.SetWeight(built, control.Inherit)
	}
	for _, k := range r.marks.list {
		w := int32(0)
		if s != nil {
			part, ok := s.weights[k.id]
			switch {
			case ok:
				w = max(1, int32(math.Round(part*float64(speedup)/100*control.One)))
			case s.inherit:
				w = control.Inherit
			}
		}
		b.SetWeight(k.built, w)
	}
}

// measure runs one experiment; if the program comes to its end meanwhile, in the next run.
func (r *runner) measure(ctx context.Context, s *site, speedup int) (window, error) {
	for {
		w, err := r.once(ctx, s, speedup)
		if err == nil {
			return w, nil
		}
		if err = r.resume(ctx, err); err != nil {
			return w, err
		}
	}
}

// once runs one experiment, with what shall be around it.
func (r *runner) once(ctx context.Context, s *site, speedup int) (w window, err error) {
	if r.o.Around == nil {
		return r.try(ctx, s, speedup)
	}
	// Who is in the site while the program stands still would raise its debt.
	r.set(nil, 0)
	if err := r.proc.sleep(ctx, 20*time.Millisecond); err != nil {
		return window{}, err
	}
	err = r.o.Around(r.proc.cmd.Process.Pid, speedup, func() (err error) {
		w, err = r.try(ctx, s, speedup)
		return err
	})
	return w, err
}

// try runs one experiment: the change, a gap until it has taken hold, and the window.
func (r *runner) try(ctx context.Context, s *site, speedup int) (window, error) {
	r.set(s, speedup)
	// Before the gap: counting takes .1 to .5 ms of a processor that the program may need. In the window it would slow down
	// baselines, and no experiment.
	slept := sleeps{}
	if speedup == 0 {
		slept, _ = r.proc.sleeps()
	}
	gap := r.gap
	if r.o.Open {
		// Those who were held up in the phase before come now, beside those whose time it is. What that heaps up is gone after
		// load/(1-load) times as long as they were held up: with a load of .8 this suffices.
		gap += 4 * r.inserted
	}
	if err := r.proc.sleep(ctx, gap); err != nil {
		return window{}, err
	}
	a := r.take()
	end := a.now + int64(r.window)
	limit := a.now + 4*int64(r.window)
	for {
		now := control.Now()
		wait := time.Duration(end - now)
		if wait > 0 {
			if err := r.proc.sleep(ctx, wait); err != nil {
				return window{}, err
			}
		}
		b := r.take()
		w := r.between(a, b)
		w.slept = math.NaN()
		if speedup == 0 {
			if now, err := r.proc.sleeps(); err == nil {
				w.slept = slept.rate(now)
			}
		}
		// A fast virtual clock leaves few visits: give it time.
		if w.virtual >= r.window*9/10 || b.now >= limit || speedup == 0 {
			return w, nil
		}
		missing := max(int64(r.window)-int64(w.virtual), int64(r.window)/20)
		end = min(b.now+missing, limit)
	}
}
