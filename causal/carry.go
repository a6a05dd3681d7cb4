package causal

import (
	"context"
	"time"
)

const (
	// markCost is what a mark costs a call at most, in seconds: two clock readings and the bookkeeping. Measured were 21 ns
	// where the processor's ticks are trusted, 50 ns where the kernel has to be asked.
	markCost = 50e-9

	// What marks may cost at most, as parts of the processor time that the program uses: one of them, all
	// together, and that of a site that was asked for by name.
	oneMark   = 0.02
	allMarks  = 0.05
	namedMark = 0.10

	// A mark that only hands on what is around it costs 6 ns a call. Marks that are not needed stay if together they cost
	// less than this: to build a large program again takes a minute.
	restCost  = 6e-9
	restMarks = 0.005
)

// frequency is how often marks are entered.
type frequency struct {
	calls map[string]float64 // a second, by the mark's key
	busy  float64            // processors that the program uses
}

// cost of a mark is a part of the processor time that the program uses.
func (f *frequency) cost(k *carrier) float64 {
	return f.calls[k.key()] * markCost / max(f.busy, 0.1)
}

// mark builds the program with these marks, starts it and counts how often they are entered.
func (r *runner) mark(ctx context.Context, base *marks, c *carriers, first bool) error {
	if r.proc != nil {
		r.proc.stop()
		r.proc = nil
	}
	r.marks = c
	k := base.clone()
	c.marks(k)
	if err := r.launch(ctx, k, first); err != nil {
		return err
	}
	if len(c.list) == 0 {
		return nil
	}
	return r.count(ctx)
}

func (r *runner) count(ctx context.Context) error {
	block := r.proc.block
	block.SetCounts(true)
	before := map[int]uint64{}
	for _, k := range r.marks.list {
		before[k.id] = block.Calls(k.built)
	}
	cpu, err := r.proc.cpu()
	if err != nil {
		return err
	}
	t := time.Now()
	if err := r.proc.sleep(ctx, 300*time.Millisecond); err != nil {
		if err = r.again(ctx, err); err != nil {
			return err
		}
		return r.count(ctx)
	}
	now, err := r.proc.cpu()
	if err != nil {
		return err
	}
	block.SetCounts(false)
	sec := time.Since(t).Seconds()
	r.calls.busy = (now - cpu).Seconds() / sec
	if r.calls.calls == nil {
		r.calls.calls = map[string]float64{}
	}
	for _, k := range r.marks.list {
		r.calls.calls[k.key()] = float64(block.Calls(k.built)-before[k.id]) / sec
	}
	return nil
}

// asked says whether a mark is that of a site that was asked for by name: it may cost more.
func (r *runner) asked(k *carrier) bool {
	for _, s := range r.sites {
		if len(r.o.Sites) > 0 && !k.stmt && s.key.fn == k.fn {
			return true
		}
	}
	return false
}

// limit is what a mark may cost.
func (r *runner) limit(k *carrier) float64 {
	if r.asked(k) {
		return namedMark
	}
	return oneMark
}

// excess returns the mark that is to go first, if the marks cost more than slack times what they may.
func (r *runner) excess(c *carriers, slack float64) *carrier {
	var most *carrier
	sum := 0.0
	for _, k := range c.list {
		if r.calls.cost(k) > slack*r.limit(k) {
			return k
		}
		if r.asked(k) {
			continue
		}
		sum += r.calls.cost(k)
		if most == nil || r.calls.cost(k) > r.calls.cost(most) {
			most = k
		}
	}
	if sum > slack*allMarks {
		return most
	}
	return nil
}

func (r *runner) affords(c *carriers, slack float64) bool { return r.excess(c, slack) == nil }

// carry finds marks for the sites that cost little, given samples of the program, and starts it with them. Short
// functions that are called often cannot have one: their callers have it in their place. How often what is called
// shows in a run in which all that may be needed are marked.
func (r *runner) carry(ctx context.Context, base *marks, stacks []stackOf) error {
	all := r.climb(stacks)
	if err := r.mark(ctx, base, all, false); err != nil {
		return err
	}
	for try := range 2 {
		c := r.afford(stacks)
		if try == 0 && r.bears(all, c) {
			r.marks = c
			return nil
		}
		if err := r.mark(ctx, base, c, false); err != nil {
			return err
		}
		if r.affords(r.marks, 1.5) {
			break
		}
	}
	return nil
}

// bears says whether the program may keep the build with all these marks when only some of them are needed. Those get the
// numbers that they have there.
func (r *runner) bears(all, some *carriers) bool {
	rest := 0.0
	for _, k := range all.list {
		if some.find(k) == nil {
			rest += r.calls.calls[k.key()] * restCost / max(r.calls.busy, 0.1)
		}
	}
	for _, k := range some.list {
		if all.find(k) == nil {
			return false
		}
	}
	if rest > restMarks {
		return false
	}
	for _, k := range all.list {
		if s := some.find(k); s != nil {
			s.built = k.built
		} else {
			some.rest = append(some.rest, k.built)
		}
	}
	return true
}

// climb marks what may carry the sites: the innermost functions, what carries them if those are too short, and so on.
func (r *runner) climb(stacks []stackOf) *carriers {
	all := newCarriers()
	for level := newCarriers(); ; level = level.without(level.list) {
		level.choose(r.pr, r.o, r.sites, stacks)
		if len(level.list) == 0 {
			return all
		}
		for _, k := range level.list {
			c := *k
			all.add(&c)
		}
	}
}

// afford chooses marks that together cost no more than they may, and drops the sites that these cannot tell from what they
// disturb.
func (r *runner) afford(stacks []stackOf) *carriers {
	tiny := newCarriers()
	for {
		c := tiny.without(nil)
		c.choose(r.pr, r.o, r.sites, stacks)
		if k := r.excess(c, 1); k != nil {
			tiny.tiny[k.key()] = true
			continue
		}
		for _, s := range r.sites {
			c.weigh(r.o, s, stacks)
		}
		n := len(r.sites)
		if r.spread(c); len(r.sites) == n {
			return c
		}
	}
}

// spread drops sites whose marks cost more than half of the time that the site
// takes: inlined into everything, they cannot be told from the measurement. Their weights are known.
func (r *runner) spread(c *carriers) {
	if len(r.o.Sites) > 0 {
		return
	}
	var keep []*site
	var names []string
	for _, s := range r.sites {
		cost := 0.0
		for id := range s.weights {
			cost += r.calls.cost(c.list[id-1])
		}
		if cost > 0.5*s.share {
			names = append(names, shortName(s.name))
			continue
		}
		keep = append(keep, s)
	}
	if len(keep) == 0 {
		return
	}
	r.sites = keep[:min(len(keep), r.o.Top)]
	r.dropped = append(r.dropped, names...)
}
