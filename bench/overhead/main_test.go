package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/causal"
)

// known is a subject whose costs are known, on a machine that grows slower all the time.
type known struct {
	cost  map[state]float64
	clock float64
	fail  bool
	built []uint32 // orders of functions
	begun [][]int  // orders of processes
}

func (k *known) build(_ context.Context, layout uint32) error {
	k.built = append(k.built, layout)
	return nil
}

func (k *known) begin(_ context.Context, _ program, order []int) (duel, error) {
	k.begun = append(k.begun, order)
	return k, nil
}

func (k *known) end() {}

func (k *known) run(s state, _ time.Duration) (done, error) {
	if k.fail && s == sampled {
		return done{}, errors.New("it was not sampled")
	}
	k.clock++
	drift := 1 + k.clock/1e5
	return done{1000 / drift / (1 + k.cost[s]/100), 1}, nil
}

func (k *known) profile(context.Context, program, time.Duration, uint64) (map[state]done, error) {
	did := map[state]done{}
	for _, s := range []state{beside, baselines, experiments} { // by turns, so at the same time
		did[s], _ = k.run(s, 0)
		k.clock--
	}
	return did, nil
}

func TestKnownCosts(t *testing.T) {
	k := &known{cost: map[state]float64{idle: 0.2, sampled: 5, experiments: 10}}
	m, err := runAll(t.Context(), k, all, options{rounds: 15, starts: 3, profiles: 15, each: time.Second, seed: 1}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(k.built)
	if len(slices.Compact(k.built)) != 15 || k.built[0] == 0 { // 0 would be the linker's usual order
		t.Errorf("functions in the orders %d", k.built)
	}
	first := map[int]int{}
	for _, order := range k.begun {
		first[order[0]]++
	}
	if want := 15 * 3 * len(all); len(k.begun) != want {
		t.Errorf("processes were begun %d times, want %d", len(k.begun), want)
	}
	for i := range duels { // a third of 450 times, or so
		if n := first[i]; n < 100 || n > 200 {
			t.Errorf("%s began first %d of %d times", duels[i], n, len(k.begun))
		}
	}
	for s, want := range k.cost {
		if e := m.mean(s); math.Abs(e.Percent-want) > 0.05 || e.N != 15 {
			t.Errorf("%s costs %+v, want %g", s, e, want)
		}
	}
	var out bytes.Buffer
	if !m.print(&out) {
		t.Error("a missed goal is not reported")
	}
	for _, want := range []string{"at most 1: met", "at most 3: missed", "at most 12: met", "n=15 rounds, 15 profiles"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	var json bytes.Buffer
	if err := m.report(time.Now(), 1).JSON(&json); err != nil {
		t.Error(err)
	}
}

// One order of the runs may be unlucky, one in twenty is; of many orders, about that many intervals miss.
func TestIntervalsCover(t *testing.T) {
	const orders = 200
	k := &known{cost: map[state]float64{idle: 0.2, sampled: 5}}
	covered := map[state]int{}
	for seed := range uint64(orders) {
		m, err := runAll(t.Context(), k, all, options{rounds: 10, each: time.Second, seed: seed}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for s, want := range k.cost {
			if e := m.mean(s); e.Low <= want && want <= e.High {
				covered[s]++
			}
		}
	}
	for s := range k.cost {
		if covered[s] < 0.88*orders || covered[s] == orders {
			t.Errorf("%s: %d of %d intervals cover the cost", s, covered[s], orders)
		}
	}
}

// weary is a subject of whose profiles one has too little time, and later one fails for good.
type weary struct {
	known
	asked []time.Duration
}

func (w *weary) profile(ctx context.Context, p program, d time.Duration, seed uint64) (map[state]done, error) {
	w.asked = append(w.asked, d)
	if len(w.asked) == 2 || len(w.asked) > 6 {
		return nil, causal.ErrTooFew
	}
	return w.known.profile(ctx, p, d, seed)
}

// A profile that fails is made again with twice the time, and if that fails what was measured before is kept.
func TestFailedProfile(t *testing.T) {
	w := &weary{known: known{cost: map[state]float64{idle: 0.2, experiments: 10}}}
	m, err := runAll(t.Context(), w, all[:2], options{rounds: 4, profiles: 4, each: time.Second, profile: time.Second}, io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), "profile: too few for an answer") {
		t.Error(err)
	}
	if len(w.asked) != 8 || w.asked[2] != 2*time.Second || w.asked[3] != time.Second || w.asked[7] != 2*time.Second {
		t.Errorf("profiles of %v", w.asked)
	}
	// Five profiles, of two programs by turns: two rounds. The third round of the other program's turns may be whole or not.
	if m.whole(experiments) != 2 || m.whole(beside) != 2 || m.whole(idle) < 2 || m.whole(idle) != m.whole(stock) {
		t.Errorf("%d rounds of profiles, %d of turns", m.whole(experiments), m.whole(idle))
	}
	if e := m.mean(experiments); e.N != 2 || math.Abs(e.Percent-10) > 0.05 {
		t.Errorf("%+v", e)
	}
	for _, p := range m.programs {
		if len(m.rate[p.name][experiments]) != 2 || len(m.rate[p.name][idle]) != len(m.rate[p.name][stock]) {
			t.Errorf("%s: rounds that others do not have", p.name)
		}
	}
	var out bytes.Buffer
	m.print(&out)
	if err := m.report(time.Now(), 1).JSON(&out); err != nil {
		t.Error(err)
	}
}

// broken is a subject whose profiles crash.
type broken struct {
	known
	asked int
}

func (b *broken) profile(context.Context, program, time.Duration, uint64) (map[state]done, error) {
	b.asked++
	return nil, errors.New("the program crashed")
}

// A crash is not a matter of time.
func TestCrash(t *testing.T) {
	b := &broken{}
	if _, err := runAll(t.Context(), b, all[:1], options{rounds: 1, profiles: 1, each: time.Second}, io.Discard); err == nil || b.asked != 1 {
		t.Errorf("%d profiles, %v", b.asked, err)
	}
}

func TestFailedRun(t *testing.T) {
	_, err := runAll(t.Context(), &known{fail: true}, all[:1], options{rounds: 1, each: time.Second}, io.Discard)
	if err == nil || err.Error() != "channel, sampled: it was not sampled" {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	if got, err := choose("json,http2"); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
	if _, err := choose("cobol"); err == nil {
		t.Error("an unknown program was accepted")
	}
}
