package causal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/limits"
)

// ErrTooFew is what Run's error wraps if there was no time for enough experiments: a longer Duration helps.
var ErrTooFew = errors.New("too few for an answer")

// cell is one site at one speed-up: pairs of baseline and change, per metric.
type cell struct {
	site    *site
	speedup int
	base    [][]float64
	changed [][]float64
	batch   []int     // of each pair
	slept   []float64 // how often a second threads went to sleep in the baselines of each pair, where that is known
	insert  []float64 // the part of each change's time that was inserted
	stuck   int       // experiments in which no virtual time was left
	placebo bool
	toll    toll
	silent  int // experiments in or beside which there was no progress
	effects []effect.Effect
	own     []effect.Effect // the same without the error of the method: what more pairs narrow
}

func (c *cell) pairs() int {
	if len(c.base) == 0 {
		return 0
	}
	return len(c.base[0])
}

// dead cells are not tried any more.
func (c *cell) dead() bool {
	return c.stuck >= 2 && c.stuck > c.pairs() || c.silent >= mute && c.silent > 3*c.pairs()
}

// known is whether there are enough pairs, and the half-interval is narrow, or as narrow as more pairs can make it.
func (c *cell) known() bool { return c.pairs() >= enough && (c.half() < narrow || c.settled()) }

// settled is whether more pairs would be of no use: what they can narrow is twice as narrow as is needed.
func (c *cell) settled() bool { return c.pairs() >= enough && widest(c.own) < narrow/2 }

// half is the widest half-interval over the metrics, in points.
func (c *cell) half() float64 { return widest(c.effects) }

func widest(effects []effect.Effect) float64 {
	h := 0.0
	if len(effects) == 0 {
		return math.Inf(1)
	}
	for _, e := range effects {
		d := (e.High - e.Low) / 2
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		h = max(h, d)
	}
	return h
}

// best is the strongest effect over the metrics, in points of gain.
func (c *cell) best() float64 {
	b := 0.0
	for _, e := range c.effects {
		if !math.IsNaN(e.Percent) && math.Abs(e.Percent) > math.Abs(b) {
			b = e.Percent
		}
	}
	return b
}

// trial is the state of the experiments.
type trial struct {
	cells     []*cell
	baselines [][]float64 // per metric, every baseline window
	windows   int
	batches   int // runs of experiments with baselines of their own
	processes int // of the program, in which they were
	leaders   int // sites that share most of the time
	rng       *rand.Rand
}

const (
	screening = 4   // pairs a site gets before the leaders are chosen
	leaders   = 4   // sites that share most of the time, at most
	narrow    = 2.0 // points: half-interval at which a leader is done
	enough    = 8   // pairs before an interval counts as narrow
	mute      = 12  // experiments without progress after which a cell is given up; a load pauses now and then
)

// experiments alternates baselines and changes until the time is used up or
// the answers are sharp.
func (r *runner) experiments(ctx context.Context) error {
	t := &trial{rng: rand.New(rand.NewPCG(r.o.Seed, 0x68656164)), baselines: make([][]float64, len(r.metrics)), leaders: leaders}
	r.trial = t
	for _, s := range r.sites {
		for _, d := range r.o.Speedups {
			t.cells = append(t.cells, &cell{site: s, speedup: d, placebo: r.o.Placebo, base: make([][]float64, len(r.metrics)), changed: make([][]float64, len(r.metrics))})
		}
	}
	r.weights(nil, 0)
	err := r.proc.keep(ctx, true)
	if err == nil {
		// The accounting itself slows the program a little: let that settle.
		err = r.proc.sleep(ctx, 300*time.Millisecond)
	}
	if err != nil {
		if err = r.resume(ctx, err); err != nil {
			return err
		}
	}
	if err := r.payToll(ctx); err != nil {
		return err
	}
	if err := r.calibrate(ctx); err != nil {
		return err
	}
	busy, total := limits.Processors()
	cpu, _ := r.proc.cpu()
	began := time.Now()
	before, err := r.measure(ctx, nil, 0)
	if err != nil {
		return err
	}
	t.baseline(before)
	t.limit(r)
	u := r.turns()
	t.processes = u.now
	for done := false; !done && time.Now().Add(3*(r.window+r.gap)).Before(r.deadline); {
		batch := t.batch(r.o)
		if len(batch) == 0 {
			break
		}
		if u.over(t.batches, time.Now()) {
			u.next(t.batches, time.Now())
			if err := r.turn(ctx, u.now); err != nil {
				return err
			}
			t.processes = u.now
		}
		before, err := r.measure(ctx, batch[0].site, 0)
		if err != nil {
			return err
		}
		t.baseline(before)
		t.batches++
		for _, c := range batch {
			if time.Now().Add(2 * (r.window + r.gap)).After(r.deadline) {
				break
			}
			change, err := r.measure(ctx, c.site, c.speedup)
			if err != nil {
				return err
			}
			after, err := r.measure(ctx, c.site, 0)
			if err != nil {
				return err
			}
			t.baseline(after)
			t.windows++
			c.add(before, change, after, t.batches, r.o)
			before = after
			if t.windows%10 == 0 {
				r.event("experiment", t.status())
			}
			if done = t.done(r.o) && u.all(); done {
				break
			}
		}
	}
	r.event("done", fmt.Sprintf("%d experiments", t.windows))
	if n := t.silent(); n > 0 {
		r.warn("in %d of %d experiments, or beside them, there was no progress: the load pauses, or is too small for windows of %v; they do not count", n, t.windows, r.window)
	}
	if !u.all() {
		r.warn("there was time for %d of the %d processes that --runs asks for: give it more --duration", u.now, u.runs)
	}
	if u.now == 1 {
		r.crowded(busy, total, cpu, began)
	}
	if !t.any() {
		return fmt.Errorf("%d experiments in the time given are %w: give a longer --duration, or fewer sites (--top, --site) or --speedups", t.windows, ErrTooFew)
	}
	return nil
}

// silent counts the experiments without progress.
func (t *trial) silent() (n int) {
	for _, c := range t.cells {
		n += c.silent
	}
	return n
}

// crowded warns if since a moment the program has had few processors: others, who may be its clients, had them, or it has more Ps.
func (r *runner) crowded(busy, total, cpu time.Duration, began time.Time) {
	nowBusy, nowTotal := limits.Processors()
	nowCPU, err := r.proc.cpu()
	if err != nil || r.runs > 0 {
		return
	}
	if others, idle := competition(nowBusy-busy, nowTotal-total, nowCPU-cpu); nowTotal-total >= time.Second && others > 0.15 && idle < 0.15 {
		r.warn("others, maybe the clients, had %.0f %% of the machine's processor time during the experiments, and %.0f %% was idle: what a faster site would have left them is not seen", 100*others, 100*idle)
	}
	if usable := limits.Usable(); overcommitted(r.proc.block.Procs(), usable, nowCPU-cpu, time.Since(began)) {
		r.warn("the program runs Go code on up to %d processors and has %d, nearly always busy: its threads wait for each other, and the effects seem too large; give it GOMAXPROCS=%d", r.proc.block.Procs(), usable, usable)
	}
}

// overcommitted is whether a program with more Ps than processors has kept those busy, cpu in a time.
func overcommitted(ps, processors int, cpu, in time.Duration) bool {
	return ps > processors && float64(cpu) > 0.75*float64(processors)*float64(in)
}

// competition is which parts of the processors' time others than the program had, and nobody.
func competition(busy, total, program time.Duration) (others, idle float64) {
	if total <= 0 {
		return 0, 1
	}
	return max(0, float64(busy-program)/float64(total)), max(0, 1-float64(busy)/float64(total))
}

// limit drops the last candidates if the time is too short to try them all properly, and lets
// no more sites lead than can be measured until something is certain of them.
func (t *trial) limit(r *runner) {
	if len(r.o.Sites) > 0 {
		return
	}
	pairs := int(time.Until(r.deadline) / (2 * (r.window + r.gap)))
	t.leaders = led(pairs, len(r.o.Speedups))
	most := max(1, pairs/(2*screening))
	if len(r.sites) <= most {
		return
	}
	r.warn("there is time to try %d of the %d candidates; a longer --duration tries more", most, len(r.sites))
	sort.SliceStable(r.sites, func(i, j int) bool { return r.sites[i].share > r.sites[j].share })
	keep := map[*site]bool{}
	for _, s := range r.sites[:most] {
		keep[s] = true
	}
	r.sites = r.sites[:most]
	cells := t.cells[:0]
	for _, c := range t.cells {
		if keep[c.site] {
			cells = append(cells, c)
		}
	}
	t.cells = cells
}

// led is of how many sites so many pairs suffice to find out what each speed-up does, if they take half of them.
func led(pairs, speedups int) int { return min(max(1, pairs/(2*enough*speedups)), leaders) }

func (t *trial) baseline(w window) {
	for i, v := range w.values {
		if !math.IsNaN(v) {
			t.baselines[i] = append(t.baselines[i], v)
		}
	}
}

// add records a pair: the change against the mean of the baselines around it.
func (c *cell) add(before, change, after window, batch int, o *Options) {
	if float64(change.virtual) < 0.05*float64(change.real) {
		c.stuck++
		return
	}
	ok := true
	for i := range change.values {
		b := (before.values[i] + after.values[i]) / 2
		if math.IsNaN(b) || math.IsNaN(change.values[i]) || b <= 0 || change.values[i] <= 0 {
			ok = false
		}
	}
	if !ok {
		c.silent++
		return
	}
	for i, v := range change.values {
		c.base[i] = append(c.base[i], (before.values[i]+after.values[i])/2)
		c.changed[i] = append(c.changed[i], v)
	}
	c.batch = append(c.batch, batch)
	c.insert = append(c.insert, change.inserted())
	if s := (before.slept + after.slept) / 2; !math.IsNaN(s) {
		c.slept = append(c.slept, s)
	}
	c.effects, c.own = c.effects[:0], c.own[:0]
	method := c.method()
	for i := range c.base {
		own := effect.Paired(c.base[i], c.changed[i], o.Confidence, o.Seed)
		c.own = append(c.own, own)
		c.effects = append(c.effects, c.toll.without(effect.PairedShared(c.base[i], c.changed[i], o.Confidence, o.Seed, c.toll.shared(method, own))))
	}
}

// batch is a run of experiments on one site, which share their baselines. Effects known twice as well as is needed have no
// part in it: that time would be lost to the others, and delay the program for nothing.
func (t *trial) batch(o *Options) []*cell {
	c := t.next(o)
	if c == nil {
		return nil
	}
	out := []*cell{c}
	if c.pairs() < screening && len(o.Sites) == 0 {
		return append(out, c)
	}
	var more []*cell
	for _, d := range t.cells {
		if d != c && d.site == c.site && !d.dead() && !d.settled() {
			more = append(more, d)
		}
	}
	sort.SliceStable(more, func(i, j int) bool { return more[i].pairs() < more[j].pairs() })
	return append(out, more...)
}

// next chooses the cell whose answer is worth most: first every site a few
// times at a medium speed-up, then the leading sites at all speed-ups, by turns
// and by what is uncertain of them, and now and then one of the others.
func (t *trial) next(o *Options) *cell {
	alive := make([]*cell, 0, len(t.cells))
	for _, c := range t.cells {
		if !c.dead() {
			alive = append(alive, c)
		}
	}
	if len(alive) == 0 {
		return nil
	}
	medium := o.Speedups[0]
	for _, d := range o.Speedups {
		if abs(d-50) < abs(medium-50) {
			medium = d
		}
	}
	var pool []*cell
	for _, c := range alive {
		if c.speedup == medium && c.pairs() < screening {
			pool = append(pool, c)
		}
	}
	if len(pool) > 0 && len(o.Sites) == 0 {
		return t.least(pool)
	}
	lead := t.leading(o)
	pool = pool[:0]
	var rest []*cell
	for _, c := range alive {
		if lead[c.site] {
			pool = append(pool, c)
		} else {
			rest = append(rest, c)
		}
	}
	if len(rest) > 0 && (t.batches%4 == 3 || len(pool) == 0) {
		return t.least(rest)
	}
	var few []*cell
	for _, c := range pool {
		if c.pairs() < 5 {
			few = append(few, c)
		}
	}
	if len(few) > 0 {
		return t.least(few)
	}
	if t.batches%4 == 0 {
		return t.least(pool)
	}
	// What is uncertain of a site that matters is worth more than what is of one that hardly does.
	var most *cell
	worth := -1.0
	for _, c := range pool {
		if w := min(c.toll.factor()*widest(c.own), 1000) * (1 + promising(t.of(c.site))); w > worth {
			most, worth = c, w
		}
	}
	return most
}

func abs(x int) int { return max(x, -x) }

// least returns a random one of the cells with the fewest pairs.
func (t *trial) least(cells []*cell) *cell {
	n := math.MaxInt
	var pool []*cell
	for _, c := range cells {
		p := c.pairs() + c.stuck + c.silent
		if p < n {
			n, pool = p, pool[:0]
		}
		if p == n {
			pool = append(pool, c)
		}
	}
	return pool[t.rng.IntN(len(pool))]
}

// ranked are the sites, that of which the most is to be expected first.
func (t *trial) ranked() []*site {
	order := t.sites()
	promise := map[*site]float64{}
	for _, s := range order {
		promise[s] = promising(t.of(s))
	}
	sort.SliceStable(order, func(i, j int) bool { return promise[order[i]] > promise[order[j]] })
	return order
}

// leading returns the sites that share most of the time: as many of the first as there is time for. One that
// is known well enough leaves its place to the next.
func (t *trial) leading(o *Options) map[*site]bool {
	out := map[*site]bool{}
	places := t.leaders
	for _, s := range t.ranked() {
		if places == 0 && len(o.Sites) == 0 {
			break
		}
		out[s] = true
		if !sharp(t.of(s)) {
			places--
		}
	}
	return out
}

// sharp is whether the intervals of a site are narrow enough.
func sharp(cells []*cell) bool {
	for _, c := range cells {
		if !c.dead() && !c.known() {
			return false
		}
	}
	return true
}

// promising is how much is to be expected of a site, in points at 50 %: what its experiments show, each effect
// drawn to 0 by its uncertainty (a wide interval alone makes no leader), and a little for the share of the
// classic profile, which counts for less the longer it has been tried.
func promising(cells []*cell) float64 {
	shown, fewest := 0.0, math.MaxInt
	for _, c := range cells {
		if !c.dead() {
			fewest = min(fewest, c.pairs())
		}
		if c.pairs() >= screening {
			if b, h := math.Abs(c.best()), c.half(); b > 0 {
				shown = max(shown, b/(1+h*h/(b*b))*50/float64(c.speedup))
			}
		}
	}
	if fewest == math.MaxInt {
		return 0 // nothing is left to try
	}
	return shown + 15*cells[0].site.share*enough/float64(max(enough, fewest))
}

// done reports whether the leading sites' intervals are narrow enough.
func (t *trial) done(o *Options) bool {
	if t.windows < len(t.cells) && len(o.Sites) == 0 {
		return false
	}
	order := t.ranked()
	if len(o.Sites) == 0 {
		order = order[:min(leaders, len(order))]
	}
	for _, s := range order {
		if !sharp(t.of(s)) {
			return false
		}
	}
	return true
}

// any reports whether some cell has an answer, if only that there is none.
func (t *trial) any() bool {
	for _, c := range t.cells {
		if c.dead() || !math.IsInf(c.half(), 1) {
			return true
		}
	}
	return false
}

func (t *trial) status() string {
	var top *cell
	for _, c := range t.cells {
		if c.pairs() >= screening && c.half() < math.Abs(c.best()) && (top == nil || math.Abs(c.best()) > math.Abs(top.best())) {
			top = c
		}
	}
	if top == nil {
		return fmt.Sprintf("%d experiments", t.windows)
	}
	return fmt.Sprintf("%d experiments; so far %s at %d%%: %+.1f%%", t.windows, shortName(top.site.name), top.speedup, top.best())
}
