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
	r.spread(r.marks)
	r.unseen()
	if len(r.dropped) > 0 {
		r.warn("too small and too widely spread to try: %s", strings.Join(r.dropped, ", "))
	}
	if r.foreign() && !r.o.Placebo {
		r.warn("all sites are in the standard library: --cum --include with a part of the program's own names tries what calls them")
	}
	if r.lost > 0 {
		r.warn("%d samples were lost", r.lost)
	}
}

// unseen drops sites that hardly occur in the samples of the marked program: what they took before was the beginning's, or chance.
func (r *runner) unseen() {
	if len(r.o.Sites) > 0 {
		return
	}
	var keep []*site
	var names []string
	for _, s := range r.sites {
		if s.share < leastShare/2 {
			names = append(names, shortName(s.name))
		} else {
			keep = append(keep, s)
		}
	}
	if len(keep) > 0 {
		r.sites, r.dropped = keep, append(r.dropped, names...)
	}
}

// foreign says whether the profile looked for sites and found none in the program's own packages.
func (r *runner) foreign() bool {
	if len(r.o.Sites) > 0 || r.o.Cumulative || r.o.Include != nil {
		return false
	}
	for _, s := range r.sites {
		if s.key.fn == "" {
			return false
		}
		for _, p := range r.pr.byPath(s.key.fn) {
			if p.symbol() == packageOf(s.key.fn) && !p.Standard {
				return false
			}
		}
	}
	return len(r.sites) > 0
}
