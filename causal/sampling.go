package causal

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

// sample collects stacks for d.
func (r *runner) sample(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	var raw []control.Sample
	for {
		b := r.proc.block
		b.SetSample(samplePeriod.Nanoseconds())
		var err error
		for time.Now().Before(end) && err == nil {
			err = r.proc.sleep(ctx, 20*time.Millisecond)
			got, lost := b.Samples()
			raw = append(raw, got...)
			r.lost += lost
		}
		b.SetSample(0)
		r.sampled = d
		if len(raw) > 0 && ctx.Err() == nil {
			st, resolveErr := r.symbols.resolve(ctx, b.TextBase(), raw)
			if resolveErr != nil {
				return errors.Join(err, resolveErr)
			}
			r.pr.findFiles(st)
			r.stacks = append(r.stacks, st...)
			raw = raw[:0]
		}
		if err == nil {
			return nil
		}
		if err = r.again(ctx, err); err != nil {
			return err
		}
	}
}

// tooShort finds marks that are entered so often that they cost more than 2% of a processor.
func (r *runner) tooShort(ctx context.Context) ([]*carrier, error) {
	if len(r.marks.list) == 0 {
		return nil, nil
	}
	d := 300 * time.Millisecond
	before := map[int]uint64{}
	for _, k := range r.marks.list {
		before[k.id] = r.proc.block.Calls(k.id)
	}
	t := time.Now()
	if err := r.proc.sleep(ctx, d); err != nil {
		if err = r.again(ctx, err); err != nil {
			return nil, err
		}
		return r.tooShort(ctx)
	}
	sec := time.Since(t).Seconds()
	r.rates = map[int]float64{}
	explicit := map[string]bool{}
	for _, s := range r.sites {
		if len(r.o.Sites) > 0 {
			explicit[s.key.fn] = true
		}
	}
	var tiny []*carrier
	for _, k := range r.marks.list {
		rate := float64(r.proc.block.Calls(k.id)-before[k.id]) / sec
		r.rates[k.id] = rate
		limit := 0.02
		if explicit[k.fn] {
			limit = 0.10
		}
		if rate*markCost > limit {
			tiny = append(tiny, k)
		}
	}
	return tiny, nil
}

// spread drops sites whose marks cost more than half of the time that the site
// takes: inlined into everything, they cannot be told from the measurement.
func (r *runner) spread(total float64) {
	if len(r.o.Sites) > 0 || r.sampled <= 0 {
		return
	}
	var keep []*site
	var names []string
	for _, s := range r.sites {
		calls := 0.0
		for id := range s.weights {
			calls += r.rates[id]
		}
		if calls*markCost > 0.5*s.share*total/float64(r.sampled) {
			names = append(names, s.name)
			continue
		}
		keep = append(keep, s)
	}
	if len(keep) == 0 {
		return
	}
	r.sites = keep[:min(len(keep), r.o.Top)]
	if len(names) > 0 {
		r.warn("too small and too widely spread to try: %s", strings.Join(names, ", "))
	}
}

// shares computes the sites' weights and their part of a classic profile.
func (r *runner) shares() {
	var total float64
	for i := range r.stacks {
		total += float64(r.stacks[i].weight)
	}
	for _, s := range r.sites {
		var in, under float64
		for i := range r.stacks {
			st := &r.stacks[i]
			if s.key.has(r.o, st) {
				in += float64(st.weight)
			}
			if k := r.marks.funcs[s.key.fn]; k != nil && r.marks.contains(k, st) {
				under += float64(st.weight)
			}
		}
		if total > 0 {
			s.share = in / total
			if len(r.o.Sites) > 0 && r.o.By == ByFunc && in < 0.05*under {
				// It was asked for by name and only calls others.
				s.whole = true
				s.share = under / total
			}
		}
		r.marks.weigh(r.o, s, r.stacks)
		if len(s.weights) == 0 {
			if k := r.marks.funcs[s.key.fn]; k != nil {
				s.weights[k.id] = 1
				s.carried = 1
			}
		}
	}
	r.spread(total)
	if r.lost > 0 {
		r.warn("%d samples were lost", r.lost)
	}
}
