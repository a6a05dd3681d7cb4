package main

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
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

func TestPredict(t *testing.T) {
	half := map[int]float64{25: 1, 50: 3, 75: 20}
	all := []int{25, 50, 75}
	for _, c := range []struct {
		least int
		sure  float64
		err   error
		want  [][]int
	}{
		{1, 0, nil, [][]int{all}},
		{1, 30, nil, [][]int{all}},
		{1, 2.5, nil, [][]int{all, {50, 75}, {75}, {75}}},
		{1, 2.5, errors.New("no progress"), [][]int{all}},
		{3, 0, nil, [][]int{all, all, all}},
		{3, 2.5, nil, [][]int{all, all, all, {75}}},
		{5, 2.5, nil, [][]int{all, all, all, all, all}},
		{3, 0, errors.New("no progress"), [][]int{all}},
	} {
		w := &wide{half: half, err: c.err}
		got, each, err := predict(t.Context(), w, Job{Speedups: all, Seed: 7}, c.least, c.sure)
		if !errors.Is(err, c.err) || len(got) != 3 || !reflect.DeepEqual(w.asked, c.want) {
			t.Errorf("sure %v: %v, asked for %v, want %v; %v", c.sure, got, w.asked, c.want, err)
		}
		for i, s := range w.seeds {
			if s != uint64(7+i) {
				t.Errorf("seeds %v", w.seeds)
			}
		}
		for d, p := range each {
			if asked := slices.ContainsFunc(c.want[len(p)-1:], func(w []int) bool { return slices.Contains(w, d) }); !asked || len(c.want) > len(p) && slices.Contains(c.want[len(p)], d) {
				t.Errorf("%d profiles of %d %%, asked for %v", len(p), d, c.want)
			}
		}
		if n := len(c.want); c.least == 1 && n == 4 && (got[75].N != 20 || got[75].half() > 12 || got[75].half() < 8) {
			t.Errorf("four intervals of 20 points either way give %+v", got[75])
		}
	}
}

// More profiles do not lessen the error of the method, so that is no reason to ask for them.
func TestPredictShared(t *testing.T) {
	w := &wide{half: map[int]float64{50: 4}, shared: 1.9}
	got, _, err := predict(t.Context(), w, Job{Speedups: []int{50}}, 1, 2.5)
	if err != nil || len(w.asked) != 1 || got[50].half() < 4 {
		t.Errorf("asked %v for %v, %v", w.asked, got, err)
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
		{log(-.5, .1), log(-.3, .1), log(-.4, .1/math.Sqrt2)},
		{log(0, .01), log(1.01, .1), log(.01, .1/math.Sqrt(101))},
		// Half of .05 by .03 of their own and .04 that is common to both, which stays.
		{common(-.5, .05, .04), common(-.3, .05, .04), common(-.4, math.Hypot(.03/math.Sqrt2, .04), .04)},
	} {
		got := pool(c.a, c.b)
		if math.Abs(got.Percent-c.want.Percent) > 1e-6 || math.Abs(got.Low-c.want.Low) > 1e-6 || math.Abs(got.High-c.want.High) > 1e-6 || math.Abs(got.Shared-c.want.Shared) > 1e-6 || got.N != 2 {
			t.Errorf("%v and %v give %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
