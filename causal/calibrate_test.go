package causal

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

// visited is what the counters of one metric show, block by block, where an operation
// takes the given times on average.
func visited(block time.Duration, took []float64) []snapshot {
	var out []snapshot
	now, n := int64(1), uint64(1)
	for _, t := range append(took, 1) {
		out = append(out, snapshot{now: now, virtual: now, begin: []control.Count{{N: n, Last: now}}, end: []control.Count{{}}})
		visits := uint64(float64(block) / t)
		n += visits
		now += int64(float64(visits) * t)
	}
	return out
}

// Noise that is new in every block is averaged over long windows; noise that drifts slowly
// asks for short ones, where the pairs are closer together than the drift.
func TestSharpest(t *testing.T) {
	const block = 20 * time.Millisecond
	r := &runner{o: &Options{Speedups: []int{25, 50, 75, 100}}, gap: 60 * time.Millisecond, metrics: []*metric{{name: "op"}},
		sites: make([]*site, 10), deadline: time.Now().Add(40 * time.Second)}
	fast, slow := make([]float64, 400), make([]float64, 400)
	var long, few []time.Duration
	for seed := range uint64(41) {
		rng := rand.New(rand.NewPCG(seed, 2))
		x := 1.0
		for i := range fast {
			fast[i] = 1000 * (1 + 0.2*rng.Float64())
			x *= 1 + 0.05*(rng.Float64()-.5)
			slow[i] = 1000 * x
		}
		long = append(long, r.sharpest(visited(block, fast), block, time.Second, 1))
		few = append(few, r.sharpest(visited(block, fast[:150]), block, time.Second, 1))
		if w := r.sharpest(visited(block, slow), block, time.Second, 1); w > 4*block {
			t.Errorf("drift %d: windows of %v", seed, w)
		}
	}
	slices.Sort(long)
	slices.Sort(few)
	t.Logf("noise without memory: windows of %v; with few blocks %v", long, few)
	if w := long[len(long)/2]; w < 80*time.Millisecond {
		t.Errorf("noise without memory: windows of %v in half of the runs", w)
	}
	// By expectation windows of 160 ms cost two thirds of those of 40 ms: no reason to take the longest on the word of a few.
	if w := few[len(few)*9/10]; w > 160*time.Millisecond {
		t.Errorf("few blocks: windows of %v or more in a tenth of the runs", w)
	}
	if w := r.sharpest(visited(block, fast[:10]), block, time.Second, 77); w != 77 {
		t.Errorf("ten blocks cannot tell, but choose %v", w)
	}
	if w := r.sharpest(visited(block, fast), block, 50*time.Millisecond, 1); w > 50*time.Millisecond {
		t.Errorf("a ceiling of 50ms: windows of %v", w)
	}
}

// The longest window leaves time for six pairs of each of the leaders' speed-ups.
func TestAffordable(t *testing.T) {
	r := &runner{o: &Options{Speedups: []int{25, 50, 75, 100}}, gap: 10 * time.Millisecond,
		sites: make([]*site, 10), deadline: time.Now().Add(time.Minute)}
	if w := r.affordable(); w < 300*time.Millisecond || w > 303*time.Millisecond {
		t.Errorf("a minute for 192 windows: %v each", w)
	}
	r.sites = r.sites[:1]
	if w := r.affordable(); w < time.Second {
		t.Errorf("a minute for 48 windows: %v each", w)
	}
}

// Where a minute is one site's, windows wait until the state of the phase before has worn off; where there are few experiments
// for each speed-up, or an operation takes long, that time is not spent on waiting.
func TestForget(t *testing.T) {
	const per = 550 * time.Microsecond
	for _, c := range []struct {
		name     string
		duration time.Duration
		sites    int
		per      time.Duration
		floor    time.Duration
		want     time.Duration // at most the settling time of any window, 10 ms, if 0
	}{
		{"a minute for one site", time.Minute, 1, per, 100 * per, 195 * time.Millisecond},
		{"two minutes for one site", 2 * time.Minute, 1, per, 100 * per, 445 * time.Millisecond},
		{"two minutes for one site with shorter operations", 2 * time.Minute, 1, per / 4, shortest, 250 * per},
		{"twelve seconds for one site", 12 * time.Second, 1, per, 100 * per, 0},
		{"a minute for four leaders", time.Minute, 10, per, 100 * per, 0},
		{"long operations", time.Minute, 1, 10 * per, time.Second, 0},
		{"ten minutes", 10 * time.Minute, 1, 10 * per, 100 * 10 * per, 500 * time.Millisecond},
		{"short operations", time.Minute, 1, 30 * time.Microsecond, shortest, 30 * time.Millisecond},
		{"very short operations", time.Minute, 1, 10 * time.Microsecond, shortest, 0},
	} {
		r := &runner{o: &Options{Speedups: []int{25, 50, 75, 100}}, sites: make([]*site, c.sites), deadline: time.Now().Add(c.duration)}
		got := r.forget(c.per, c.floor)
		if c.want == 0 && got > 10*time.Millisecond || c.want > 0 && (got > c.want || got < c.want*9/10) {
			t.Errorf("%s: windows wait %v", c.name, got)
		}
		r.o.Open = true
		if got := r.forget(c.per, c.floor); got > 0 {
			t.Errorf("%s, for clients that wait for nobody: windows hold them up for %v more", c.name, got)
		}
	}
}
