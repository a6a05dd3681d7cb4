package causal

import (
	"context"
	"math"
	"time"

	"github.com/headway-lab/headway/effect"
)

const (
	tollShare  = 15              // of the time that a profile has, one part of so many goes into this
	tollMost   = 4 * time.Second // and no more than this
	tollPairs  = 4               // the fewest that say anything
	tollNarrow = 1.0             // percent: half an interval that is narrow enough, once there are twice as many pairs
	tollNoted  = 5.0             // percent: who surely pays less need not think of it

	tollGap        = 10 * time.Millisecond  // before each turn, for what is under way
	tollEnd        = 300 * time.Millisecond // the same at the end
	tollConfidence = 0.95
)

// tollTurns are pairs of real times per visit, without accounts and with them: those of each site, and of all.
type tollTurns struct {
	sites []pairs
	all   pairs
}

type pairs struct{ off, on []float64 }

func (p *pairs) add(off, on float64) { p.off, p.on = append(p.off, off), append(p.on, on) }

// effect is what keeping accounts does.
func (p *pairs) effect() effect.Effect { return effect.Paired(p.off, p.on, tollConfidence, 0) }

// narrow is whether the tolls of all sites are known well enough.
func (t *tollTurns) narrow() bool {
	for i := range t.sites {
		if e := t.sites[i].effect(); e.N < 2*tollPairs || e.High-e.Low > 2*tollNarrow {
			return false
		}
	}
	return true
}

// toll measures by how much the program is slower while its accounts are kept: with them and without, by turns, before anything is
// inserted (afterwards its clock could not be told the real time without a jump). With them it is as in the baselines of each site: what its
// marks cost differs. It is the change of the real time per visit of the first metric; not of a latency, which is not known
// without accounts. It is nil if there was no time for it.
func (r *runner) toll(ctx context.Context) (*tollTurns, error) {
	budget, each := min(r.o.Duration/tollShare, tollMost), shortest
	if r.o.Around != nil || r.o.Placebo || r.o.Open || len(r.sites) == 0 {
		return nil, nil
	}
	t := &tollTurns{sites: make([]pairs, len(r.sites))}
	// So many sites share a turn without accounts: then all tolls together are known best.
	group := int(math.Ceil(math.Sqrt(float64(len(r.sites)))))
	lasts := func() time.Duration { return time.Duration(group+1) * (each + tollGap + each/4) }
	// fits is whether there is time for so many more.
	fits := func(n int, left time.Duration) bool {
		for group > 1 && left < time.Duration(n)*lasts() {
			group--
		}
		return left >= time.Duration(n)*lasts()
	}
	next, rng := 0, r.trial.rng
	for begin := time.Now(); !t.narrow(); {
		if !fits(max(1, tollPairs-t.all.effect().N), budget-time.Since(begin)) {
			break
		}
		order := []int{-1} // without accounts, before the sites or after them by chance: what drifts meets both alike
		for range group {
			order = append(order, next)
			next = (next + 1) % len(r.sites)
		}
		rng.Shuffle(group, func(i, j int) { order[1+i], order[1+j] = order[1+j], order[1+i] })
		if rng.IntN(2) == 1 {
			order = append(order[1:], -1)
		}
		took, few := map[int]float64{}, false
		for _, i := range order {
			v, err := r.tollTurn(ctx, i, each)
			if err != nil {
				return nil, err
			}
			took[i], few = v, few || math.IsNaN(v)
		}
		if few {
			each *= 2
		}
		sum := 0.0
		for i, v := range took {
			if i >= 0 {
				t.sites[i].add(took[-1], v)
				sum += math.Log(v)
			}
		}
		t.all.add(took[-1], math.Exp(sum/float64(len(took)-1)))
	}
	return t, nil
}

// tollTurn is the real time per visit while the program keeps accounts as in the baselines of a site, or keeps none (-1).
func (r *runner) tollTurn(ctx context.Context, site int, d time.Duration) (float64, error) {
	if site >= 0 {
		r.weights(r.sites[site], 0)
	}
	if err := r.proc.keep(ctx, site >= 0); err != nil {
		return 0, err
	}
	if err := r.proc.sleep(ctx, tollGap+d/4); err != nil { // which is longer where operations are
		return 0, err
	}
	before := r.take()
	if err := r.proc.sleep(ctx, d); err != nil {
		return 0, err
	}
	return perVisit(before, r.take(), r.metrics[0].latency), nil
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
	t, err := r.toll(ctx)
	r.weights(nil, 0)
	if err == nil {
		err = r.proc.keep(ctx, true)
	}
	if err == nil && t != nil {
		err = r.proc.sleep(ctx, tollEnd)
	}
	if err != nil {
		return r.resume(ctx, err)
	}
	if t == nil {
		return nil
	}
	e := t.all.effect()
	if !finite(e.Low) || !finite(e.High) {
		return nil // too few turns
	}
	r.accounts = &e
	tolls := t.tolls()
	for i, s := range r.sites {
		for _, c := range r.trial.of(s) {
			c.toll = tolls[i]
		}
	}
	if e.Low > tollNoted {
		r.warn("to keep accounts makes the program %.0f %% slower (%.0f to %.0f): effects are told in parts of the program without them", e.Percent, e.Low, e.High)
	}
	return nil
}
