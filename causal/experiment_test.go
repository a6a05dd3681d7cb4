package causal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/effect"
)

// newTrial is a trial of so many sites, of one metric.
func newTrial(o *Options, sites int, seed uint64) *trial {
	t := &trial{rng: rand.New(rand.NewPCG(seed, 1)), baselines: make([][]float64, 1), leaders: leaders}
	for i := range sites {
		s := &site{name: fmt.Sprintf("main.f%d", i), key: siteKey{fn: fmt.Sprintf("main.f%d", i)}, share: 1 / float64(2+i)}
		for _, d := range o.Speedups {
			t.cells = append(t.cells, &cell{site: s, speedup: d, base: make([][]float64, 1), changed: make([][]float64, 1)})
		}
	}
	return t
}

func measured(v float64) window {
	return window{values: []float64{v}, real: time.Second, virtual: time.Second, events: []uint64{100}}
}

// However the measurements turn out: a dead cell is not tried again, every site
// is screened before anything else is tried twice as often, and no cell starves.
func TestSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := defaults(Options{Package: "x"})
		o.Speedups = rapid.SampledFrom([][]int{{50}, {25, 50, 75, 100}, {10, 90}, {100}}).Draw(t, "speedups")
		n := rapid.IntRange(1, 8).Draw(t, "sites")
		if rapid.Bool().Draw(t, "named") {
			for i := range n {
				o.Sites = append(o.Sites, fmt.Sprintf("main.f%d", i))
			}
		}
		tr := newTrial(&o, n, 7)
		stuck := map[*cell]bool{}
		for i, c := range tr.cells {
			stuck[c] = rapid.IntRange(0, 9).Draw(t, fmt.Sprintf("stuck%d", i)) == 0
		}
		noise := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "noise"), 2))
		for range 60 * len(tr.cells) {
			c := tr.next(&o)
			if c == nil {
				for _, c := range tr.cells {
					if !c.dead() {
						t.Fatalf("%s at %d%% is left, and nothing is tried", c.site.name, c.speedup)
					}
				}
				return
			}
			if c.dead() {
				t.Fatalf("%s at %d%% is dead and tried again", c.site.name, c.speedup)
			}
			w := measured(100 * (1 + 0.1*noise.Float64()))
			if stuck[c] {
				w.virtual = 0
			}
			c.add(measured(100), w, measured(102), 0, &o)
			tr.windows++
			tr.batches++
			tr.status()
			tr.done(&o)
		}
		for _, c := range tr.cells {
			if stuck[c] != c.dead() {
				t.Fatalf("%s at %d%%: stuck %v, dead %v", c.site.name, c.speedup, stuck[c], c.dead())
			}
			if !stuck[c] && c.pairs() < screening {
				t.Fatalf("%s at %d%% was tried %d times in %d", c.site.name, c.speedup, c.pairs(), tr.windows)
			}
		}
	})
}

// Each site gets its screening at the speed-up nearest to 50 % before the leaders get more.
func TestScreening(t *testing.T) {
	o := defaults(Options{Package: "x"})
	tr := newTrial(&o, 7, 1)
	first := map[*site]int{}
	for range 7 * screening {
		c := tr.next(&o)
		if c.speedup != 50 {
			t.Fatalf("%s is screened at %d%%", c.site.name, c.speedup)
		}
		first[c.site]++
		c.add(measured(100), measured(90), measured(100), 0, &o)
		tr.windows++
	}
	for s, n := range first {
		if n != screening {
			t.Errorf("%s was screened %d times, want %d", s.name, n, screening)
		}
	}
	if c := tr.next(&o); c.pairs() >= screening && c.speedup == 50 {
		t.Errorf("after the screening comes %s at %d%%", c.site.name, c.speedup)
	}
}

// The sites with the surest effects lead.
func TestLeading(t *testing.T) {
	o := defaults(Options{Package: "x"})
	tr := newTrial(&o, 10, 1)
	for i, c := range tr.cells {
		for k := range 8 {
			v := 100 + 10*float64(k%2) // not so exact that they need no further experiments
			if c.site == tr.cells[len(tr.cells)-1].site {
				v -= 40
			}
			c.add(measured(100), measured(v+float64(i%3)/10), measured(100), 0, &o)
		}
	}
	lead := tr.leading(&o)
	if len(lead) != leaders || !lead[tr.cells[len(tr.cells)-1].site] {
		t.Errorf("%d lead, the one with the effect among them: %v", len(lead), lead[tr.cells[len(tr.cells)-1].site])
	}
	o.Sites = []string{"a"}
	if lead := tr.leading(&o); len(lead) != 10 {
		t.Errorf("of ten sites asked for %d lead", len(lead))
	}
	if !strings.Contains(tr.status(), "main.f9") {
		t.Errorf("the status is %q", tr.status())
	}
}

// A speed-up whose effect is known twice as well as is needed is not tried along with the site's others.
func TestKnown(t *testing.T) {
	o := defaults(Options{Package: "x"})
	tr := newTrial(&o, 1, 1)
	exact := tr.cells[len(tr.cells)-1]
	for k := range enough {
		for _, c := range tr.cells {
			v := 50.0
			if c != exact {
				v += 10 * float64(k%2)
			}
			c.add(measured(100), measured(v), measured(100), 0, &o)
		}
		if k < enough-1 && exact.settled() {
			t.Errorf("%d pairs are enough", k+1)
		}
	}
	for range 20 {
		batch := tr.batch(&o)
		if rest := batch[1:]; batch[0] != exact && (len(rest) != len(tr.cells)-2 || slices.Contains(rest, exact)) {
			t.Errorf("after %d%%, %d others are tried", batch[0].speedup, len(rest))
		}
		tr.batches++
	}
}

func TestAdd(t *testing.T) {
	o := defaults(Options{Package: "x"})
	tr := newTrial(&o, 1, 1)
	c := tr.cells[0]
	still := measured(90)
	still.virtual = time.Second / 100
	for i := range 2 {
		c.add(measured(100), still, measured(100), 0, &o)
		if c.pairs() != 0 || c.stuck != i+1 {
			t.Errorf("%+v counts as a pair", still)
		}
	}
	if !c.dead() || tr.any() != true {
		t.Error("a cell in which no time is left twice is not dead")
	}
	if c := tr.next(&o); c.dead() {
		t.Error("a dead cell is next")
	}
	// A load that pauses spoils an experiment, not the cell.
	tr = newTrial(&o, 1, 1)
	c = tr.cells[0]
	nan := math.NaN()
	for i := range 2 * mute {
		if dead := i >= mute; c.dead() != dead {
			t.Errorf("after %d experiments without progress: dead %v", i, c.dead())
		}
		if i%2 == 0 {
			c.add(measured(100), measured(nan), measured(100), 0, &o)
		} else {
			c.add(measured(nan), measured(100), measured(100), 0, &o)
		}
	}
	if c.pairs() != 0 || c.stuck != 0 || tr.silent() != 2*mute {
		t.Errorf("%d pairs, %d stuck, %d silent", c.pairs(), c.stuck, tr.silent())
	}
	for range mute {
		c.add(measured(100), measured(90), measured(100), 0, &o)
	}
	if c.dead() {
		t.Error("a cell with pairs is dead")
	}
	c = tr.cells[1]
	if !(c.half() > 1e300) || c.best() != 0 {
		t.Errorf("an empty cell is known to %g around %g", c.half(), c.best())
	}
	for range 10 {
		c.add(measured(90e6), measured(50e6), measured(110e6), 0, &o)
	}
	if c.pairs() != 10 || c.base[0][0] != 100e6 || c.changed[0][0] != 50e6 || c.best() > -49 || c.best() < -51 || widest(c.own) > 1e-9 || math.Abs(c.half()-.8) > .05 {
		t.Errorf("%d pairs of %v and %v: %g within %g", c.pairs(), c.base, c.changed, c.best(), c.half())
	}
}

// Where there is no time for all candidates the busiest are tried, and it is said.
func TestLimit(t *testing.T) {
	o := defaults(Options{Package: "x"})
	tr := newTrial(&o, 10, 1)
	r := &runner{o: &o, window: 100 * time.Millisecond, gap: 25 * time.Millisecond, deadline: time.Now().Add(time.Minute)}
	for i, c := range tr.cells {
		if i%len(o.Speedups) == 0 {
			r.sites = append([]*site{c.site}, r.sites...)
		}
	}
	tr.limit(r)
	if len(r.sites) != 10 || len(r.warnings) != 0 {
		t.Errorf("with a minute for ten sites %d are tried, %q", len(r.sites), r.warnings)
	}
	r.deadline = time.Now()
	tr.limit(r)
	if len(r.sites) != 1 || r.sites[0].name != "main.f0" || len(tr.cells) != len(o.Speedups) || len(r.warnings) != 1 {
		t.Errorf("without time %d sites and %d cells are tried, %q", len(r.sites), len(tr.cells), r.warnings)
	}
}

// screened is a cell that was not tried again after the first few pairs.
func screened(c *cell) *cell {
	for i := range c.base {
		c.base[i], c.changed[i] = c.base[i][:screening], c.changed[i][:screening]
	}
	return c
}

// fake is a cell with an effect on each metric: percent, low, high.
func fake(s *site, speedup int, effects ...[3]float64) *cell {
	c := &cell{site: s, speedup: speedup}
	for _, e := range effects {
		p := 0.001
		if e[1] <= 0 && e[2] >= 0 {
			p = 0.5
		}
		c.effects = append(c.effects, effect.Effect{Percent: e[0], Low: e[1], High: e[2], Confidence: 0.95, P: p, N: 10})
		c.base = append(c.base, make([]float64, 10))
		c.changed = append(c.changed, make([]float64, 10))
		for i := range 10 {
			c.base[len(c.base)-1][i] = 100
			c.changed[len(c.changed)-1][i] = 100 + e[0]
		}
	}
	return c
}
