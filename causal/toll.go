package causal

import (
	"context"
	"math"
	"time"

	"github.com/headway-lab/headway/effect"
)

const (
	tollShare = 30              // of the time that a profile has, one part of so many goes into this
	tollMost  = 2 * time.Second // and no more than this
	tollPairs = 4               // the fewest that say anything
	tollNoted = 5.0             // percent: who surely pays less need not think of it

	tollGap = 10 * time.Millisecond // after each turn, for what is under way
)

// toll measures by how much the program is slower while its accounts are kept: with them and without, by turns, before anything is
// inserted (afterwards its clock could not be told the real time without a jump). It is the change of the real time per visit of the first
// metric, in percent; not of a latency, which clients may decide. What the marks of a site add is not in it. It is nil if there was no time
// for it, or the windows are not one after the other.
func (r *runner) toll(ctx context.Context) (*effect.Effect, error) {
	budget, each := min(r.o.Duration/tollShare, tollMost), shortest
	if r.o.Around != nil || budget < 2*tollPairs*(each+tollGap) {
		return nil, nil
	}
	var turns [2][]float64 // off and on
	for begin := time.Now(); time.Since(begin) < budget; {
		first := len(turns[0]) % 2 // off and on, on and off: what drifts meets both alike
		var pair [2]float64
		for i := range pair {
			on := i ^ first
			if err := r.proc.keep(ctx, on == 1); err != nil {
				return nil, err
			}
			if err := r.proc.sleep(ctx, tollGap); err != nil {
				return nil, err
			}
			before := r.take()
			if err := r.proc.sleep(ctx, each); err != nil {
				return nil, err
			}
			pair[on] = perVisit(before, r.take(), r.metrics[0].latency)
		}
		if math.IsNaN(pair[0]) || math.IsNaN(pair[1]) {
			each *= 2
			if budget < 2*tollPairs*(each+tollGap) {
				return nil, nil
			}
			continue
		}
		for i, v := range pair {
			turns[i] = append(turns[i], v)
		}
	}
	if len(turns[0]) < tollPairs {
		return nil, nil
	}
	e := effect.Paired(turns[0], turns[1], r.o.Confidence, r.o.Seed)
	if !finite(e.Low) || !finite(e.High) {
		return nil, nil
	}
	return &e, nil
}

// perVisit is the real time per visit in ns; NaN if there were fewer than make a window.
func perVisit(a, b snapshot, ends bool) float64 {
	n := b.begin[0].N - a.begin[0].N
	if ends {
		n = b.end[0].N - a.end[0].N
	}
	if n < visits {
		return math.NaN()
	}
	return float64(b.now-a.now) / float64(n)
}

// payToll has the toll measured, and says so if it is high. A program that ends meanwhile is started again, and the toll left.
func (r *runner) payToll(ctx context.Context) error {
	e, err := r.toll(ctx)
	if err == nil {
		err = r.proc.keep(ctx, true)
	}
	if err != nil {
		return r.resume(ctx, err)
	}
	if r.accounts = e; e != nil && e.Low > tollNoted {
		r.warn("to keep accounts makes the program %.0f %% slower (%.0f to %.0f): that is work which no site can save, so an effect of a site that is not part of it may be too small by up to %.0f %% of itself", e.Percent, e.Low, e.High, e.Percent/(1+e.Percent/100))
	}
	return nil
}
