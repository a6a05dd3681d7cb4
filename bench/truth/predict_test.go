package main

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// wide is a predictor whose intervals are so wide at each speed-up; it notes what it was asked.
type wide struct {
	half   map[int]float64
	shared float64
	asked  [][]int
	seeds  []uint64
	err    error
}

func (w *wide) Predict(_ context.Context, j Job) (map[int]Interval, error) {
	w.asked, w.seeds = append(w.asked, j.Speedups), append(w.seeds, j.Seed)
	out := map[int]Interval{}
	for _, d := range j.Speedups {
		out[d] = Interval{-10, -10 - w.half[d], -10 + w.half[d], 5, w.shared}
	}
	return out, w.err
}

func TestAsking(t *testing.T) {
	half := map[int]float64{25: 1, 50: 3, 75: 20}
	all := []int{25, 50, 75}
	most := func(first ...[]int) [][]int {
		return append(first, slices.Repeat([][]int{{75}}, profiles-len(first))...)
	}
	for _, c := range []struct {
		least int
		sure  float64
		err   error
		want  [][]int
	}{
		{1, 0, nil, [][]int{all}},
		{1, 30, nil, [][]int{all}},
		{1, 2.5, nil, most(all, []int{50, 75})},
		{1, 2.5, errors.New("no progress"), [][]int{all}},
		{3, 0, nil, [][]int{all, all, all}},
		{3, 2.5, nil, most(all, all, all)},
		{profiles + 1, 2.5, nil, slices.Repeat([][]int{all}, profiles+1)},
		{3, 0, errors.New("no progress"), [][]int{all}},
	} {
		w := &wide{half: half, err: c.err}
		a := ask(w, Job{Speedups: all, Seed: 7}, c.least, c.sure)
		for a.more() {
			a.profile(t.Context())
			a.settle()
		}
		got := a.effects()
		if !errors.Is(a.err, c.err) || len(got) != 3 || !reflect.DeepEqual(w.asked, c.want) {
			t.Errorf("sure %v: %v, asked for %v, want %v; %v", c.sure, got, w.asked, c.want, a.err)
		}
		for i, s := range w.seeds {
			if s != uint64(7+i) {
				t.Errorf("seeds %v", w.seeds)
			}
		}
		for d, p := range a.each {
			if asked := slices.ContainsFunc(c.want[len(p)-1:], func(w []int) bool { return slices.Contains(w, d) }); !asked || len(c.want) > len(p) && slices.Contains(c.want[len(p)], d) {
				t.Errorf("%d profiles of %d %%, asked for %v", len(p), d, c.want)
			}
		}
		if n := len(c.want); c.least == 1 && n == profiles && (got[75].N != 5*n || got[75].half() > 7 || got[75].half() < 5) {
			t.Errorf("twelve intervals of 20 points either way give %+v", got[75])
		}
	}
	if ask(nil, Job{Speedups: all}, 1, 0).more() {
		t.Error("asks nobody")
	}
}

// More profiles do not lessen the error of the method, so that is no reason to ask for them.
func TestAskingShared(t *testing.T) {
	w := &wide{half: map[int]float64{50: 4}, shared: 1.9}
	a := ask(w, Job{Speedups: []int{50}}, 1, 2.5)
	for a.more() {
		a.profile(t.Context())
		a.settle()
	}
	if got := a.effects(); a.err != nil || len(w.asked) != 1 || got[50].half() < 4 {
		t.Errorf("asked %v for %v, %v", w.asked, got, a.err)
	}
}

// Profiles that differ by more than their intervals allow are not known, however narrow those are.
func TestAskingDiffering(t *testing.T) {
	n := 0.
	p := predictorFunc(func(j Job) map[int]Interval {
		n++
		far := 8 * (1 - 2*math.Mod(n, 2))
		return map[int]Interval{50: {-20 + far, -20.5 + far, -19.5 + far, 5, 0}}
	})
	a := ask(p, Job{Speedups: []int{50}}, 2, 2.5)
	for a.more() {
		a.profile(t.Context())
		a.settle()
	}
	if got := a.effects()[50]; a.n != profiles || math.Abs(got.Percent+20.4) > .1 || got.half() < 4 || got.half() > 7 {
		t.Errorf("%d profiles that differ by 16 points: %v", a.n, got)
	}
}

// What is not settled is asked again, even if it is known as well as asked, and twice as often as what is only not known.
func TestAskingOpen(t *testing.T) {
	for _, c := range []struct {
		sure, half float64
		settled    int // by so many profiles
		want       int
	}{
		{0, 1, 0, 2}, {0, 1, 5, 5}, {2.5, 1, 5, 5}, {0, 1, 100, settled},
		{.1, 4, 0, profiles}, {.1, 4, profiles + 3, profiles + 3}, {.1, 4, 100, settled},
	} {
		a := ask(&wide{half: map[int]float64{50: c.half}}, Job{Speedups: []int{50}}, 2, c.sure)
		a.open = func(d int, e Interval) bool { return d == 50 && len(a.each[d]) < c.settled }
		for a.more() {
			a.profile(t.Context())
			a.settle()
		}
		if a.err != nil || a.n != c.want {
			t.Errorf("sure to %v of ±%v and settled by %d: %d profiles, want %d; %v", c.sure, c.half, c.settled, a.n, c.want, a.err)
		}
	}
}

// A prediction is settled when it is surely right or surely wrong.
func TestOpen(t *testing.T) {
	// Rounds of which the mean is -20 %, by 2.5 to 3 points either way.
	rounds := []float64{math.Log(.8) - .02, math.Log(.8) + .02, math.Log(.8) - .02, math.Log(.8) + .02}
	within := func(percent, half float64) Interval { return Interval{percent, percent - half, percent + half, 5, 0} }
	shared := within(-24.5, 5)
	shared.Shared = 5 / normal95
	for _, c := range []struct {
		logs []float64
		said Interval
		want bool
	}{
		{rounds, within(-20, 1), false},
		{rounds, within(-24, .1), true},
		{rounds, within(-26, .1), true},
		{rounds, within(-14, .1), true},
		{rounds, within(-31, 1), false},
		{rounds, within(-11, 1), false},
		{rounds, within(-20, 6), true},
		{rounds, within(-22, 1), true},
		{rounds, within(-21, 1), false},
		{rounds[:1], within(-24, 1), false}, // nothing to compare with
		{rounds, shared, true},              // by the edit; more of the method's error does not keep it open
		{[]float64{math.Log(.8), math.Log(.8)}, shared, false},
	} {
		r := &runs{logs: map[int][]float64{50: c.logs}}
		if got := r.open(50, c.said, 5); got != c.want {
			t.Errorf("%v said of %v: open is %v", c.said, c.logs, got)
		}
	}
}

type predictorFunc func(Job) map[int]Interval

func (f predictorFunc) Predict(_ context.Context, j Job) (map[int]Interval, error) { return f(j), nil }

// Real edits run before, between and after the profiles.
func TestByTurns(t *testing.T) {
	for _, c := range []struct {
		rounds, least, most int
		sure                float64
		wide                float64 // of each profile
		want                []int   // rounds that were done when a profile began, and at the end
	}{
		{6, 2, 0, 0, 1, []int{2, 4, 6}},
		{5, 1, 0, 0, 1, []int{3, 5}},
		{0, 2, 0, 0, 1, []int{0, 0, 0}},
		{6, 2, 0, 2.5, 4, []int{2, 4, 6, 8}},
		{6, 2, 48, 2.5, 1, []int{8, 16, 48}}, // the edits below are never sure
		{6, 2, 48, 2.5, 4, []int{8, 16, 48, 50}},
		{6, 2, 30, 2.5, 5, []int{8, 16, 30, 32, 34, 36}},
	} {
		// Runs of a program that is not there fail, which takes no time and counts as a round.
		r := Editor{Dir: t.TempDir(), Rounds: c.rounds, Sure: c.sure, Most: c.most}.start(Programs[0], Programs[0].Sites[0], time.Millisecond, []int{50})
		var got []int
		a := ask(predictorFunc(func(Job) map[int]Interval {
			got = append(got, r.round)
			return map[int]Interval{50: {-20, -20 - c.wide, -20 + c.wide, 5, 0}}
		}), Job{Speedups: []int{50}}, c.least, c.sure)
		a.open = func(int, Interval) bool {
			if r.round < c.rounds {
				t.Errorf("asked whether it is settled after %d of %d rounds of edits", r.round, c.rounds)
			}
			return false
		}
		byTurns(t.Context(), r, a)
		if got = append(got, r.round); !slices.Equal(got, c.want) {
			t.Errorf("%d rounds, %d profiles, sure to %v: %v, want %v", c.rounds, c.least, c.sure, got, c.want)
		}
		if _, err := r.edits(); err == nil && c.rounds > 0 {
			t.Error("runs that failed gave effects")
		}
	}
}

// Where it is the edits that leave a cell open there are more of them before the next profile, and where it is the profile there are not.
func TestByEdits(t *testing.T) {
	for _, c := range []struct {
		open, blurred bool
		want          []int // rounds that were done when a profile began, and at the end
	}{
		{true, true, []int{2, 4 + extraRounds, 6 + 2*extraRounds, 8 + 3*extraRounds}},
		{true, false, []int{2, 4, 6, 8}},
		{false, true, []int{2, 4}},
	} {
		r := Editor{Dir: t.TempDir(), Rounds: 4}.start(Programs[0], Programs[0].Sites[0], time.Millisecond, []int{50})
		var got []int
		a := ask(predictorFunc(func(Job) map[int]Interval {
			got = append(got, r.round)
			return map[int]Interval{50: {-20, -21, -19, 5, 0}}
		}), Job{Speedups: []int{50}}, 1, 0)
		a.most = 3
		a.open = func(int, Interval) bool { return c.open }
		a.blurred = func(int, Interval) bool { return c.blurred }
		byTurns(t.Context(), r, a)
		if got = append(got, r.round); !slices.Equal(got, c.want) {
			t.Errorf("open %v, edits less known %v: %v, want %v", c.open, c.blurred, got, c.want)
		}
	}
}

// Pooling two is right where theory gives the answer: equal ones have the mean in the middle and an interval smaller by the
// square root of 2, and one that is known ten times as well as the other counts a hundred times as much.
func TestPool(t *testing.T) {
	log := func(mid, half float64) Interval {
		p := func(x float64) float64 { return 100 * math.Expm1(x) }
		return Interval{p(mid), p(mid - half), p(mid + half), 1, 0}
	}
	common := func(mid, half, shared float64) Interval {
		i := log(mid, half)
		i.Shared = 100 * shared / normal95 * math.Exp(mid)
		return i
	}
	for _, c := range []struct{ a, b, want Interval }{
		{log(-.5, .2), log(-.4, .2), log(-.45, .2/math.Sqrt2)},
		{log(0, .01), log(.0505, .1), log(.0005, .1/math.Sqrt(101))},
		// Three times their standard errors apart or more: with two of the same width the variance between is that of their difference,
		// halved, less their own, so the mean's is that over 2, whatever their own is.
		{log(-.5, .01), log(-.3, .01), log(-.4, normal95*.1)},
		// Half of .05 by .03 of their own and .04 that is common to both, which stays.
		{common(-.41, .05, .04), common(-.39, .05, .04), common(-.4, math.Hypot(.03/math.Sqrt2, .04), .04)},
	} {
		got := pool([]Interval{c.a, c.b})
		if math.Abs(got.Percent-c.want.Percent) > 1e-6 || math.Abs(got.Low-c.want.Low) > 1e-6 || math.Abs(got.High-c.want.High) > 1e-6 || math.Abs(got.Shared-c.want.Shared) > 1e-6 || got.N != 2 {
			t.Errorf("%v and %v give %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
