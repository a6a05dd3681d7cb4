package main

import (
	"math"
	"testing"
)

func TestTruth(t *testing.T) {
	edit := &Interval{-20, -21, -19, 5, 0}
	for _, c := range []struct {
		name string
		row  Row
		want float64
	}{
		{"no edit", Row{Closed: -10, Ideal: true}, -10},
		{"an edit", Row{Closed: -10, Ideal: true, Edit: edit, Others: 2}, -20},
		{"a disturbed edit", Row{Closed: -10, Ideal: true, Edit: edit, Others: 30}, -10},
		{"a disturbed edit where arithmetic does not hold", Row{Closed: -10, Edit: edit, Others: 30}, -20},
	} {
		c.row.Predicted = &Interval{-12, -13, -9, 6, 0}
		c.row.judge()
		if c.row.Truth != c.want || *c.row.Error != -12-c.want || *c.row.Covered != (c.want == -10) {
			t.Errorf("%s: truth %v, error %v, covered %v", c.name, c.row.Truth, *c.row.Error, *c.row.Covered)
		}
	}
}

func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		a, b Interval
		want bool
	}{
		{Interval{-20, -22, -18, 5, 0}, Interval{-20, -21, -19, 5, 0}, true},
		{Interval{-20, -23, -18, 5, 0}, Interval{-24, -25, -20, 5, 0}, true},  // 4 apart, 5 allowed
		{Interval{-24, -25, -20, 5, 0}, Interval{-20, -23, -18, 5, 0}, true},  // the same the other way round
		{Interval{-20, -22, -12, 5, 0}, Interval{-24, -35, -23, 5, 0}, false}, // the sides that face each other count
		{Interval{-20, -21, -19, 5, 0}, Interval{-24, -25, -23, 5, 0}, false},
	} {
		if got := agrees(c.a, c.b); got != c.want {
			t.Errorf("%v and %v agree: %v", c.a, c.b, got)
		}
	}
}

// Rows of documented limits are shown and left out of the goals.
func TestLimits(t *testing.T) {
	good, bad := Row{Closed: -10, Ideal: true, Predicted: &Interval{-10, -11, -9, 6, 0}}, Row{Closed: -60, Limit: "outside", Predicted: &Interval{-20, -21, -19, 6, 0}}
	r := Results{Rows: []Row{good, bad}}
	for i := range r.Rows {
		r.Rows[i].judge()
	}
	r.summarize()
	if s := r.Summary; !s.Met || s.Rows != 1 || s.Limits != 1 || s.LimitError != 40 || s.MeanError != 0 || s.Sharp != 1 || s.SharpOver != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSpread(t *testing.T) {
	one := func(x float64) Interval { return Interval{x, x - 1.96, x + 1.96, 8, 0} }
	for _, c := range []struct {
		profiles      []Interval
		variance, own float64
	}{
		{nil, 0, 0},
		{[]Interval{one(3)}, 0, 0},
		{[]Interval{one(1), one(3)}, 2, 1},
		{[]Interval{one(-2), one(0), one(2)}, 4, 1},
	} {
		if v, own := spread(c.profiles); math.Abs(v-c.variance) > 1e-9 || math.Abs(own-c.own) > 1e-9 {
			t.Errorf("%v: %v and %v, want %v and %v", c.profiles, v, own, c.variance, c.own)
		}
	}
}

// The summary says how many profiles would have been right alone.
func TestSingles(t *testing.T) {
	one := func(x float64) Interval { return Interval{x, x - 1, x + 1, 8, 0} }
	r := Results{Rows: []Row{
		{Closed: -10, Ideal: true, Predicted: &Interval{-10, -12, -8, 8, 0}, Profiles: []Interval{one(-8), one(-10.5), one(-11.5), one(-9.5)}},
		{Closed: -10, Ideal: true, Predicted: &Interval{-10, -12, -8, 8, 0}},
		{Closed: -10, Edit: &Interval{-12, -15, -9, 5, 0}, Predicted: &Interval{-10, -12, -8, 8, 0}, Profiles: []Interval{one(-8), one(-9.5)}},
	}}
	for i := range r.Rows {
		r.Rows[i].judge()
	}
	r.summarize()
	if s := r.Summary; s.Singles != 6 || s.SinglesTrue != 50 {
		t.Errorf("%d singles, %v %% right; want 6 and 50", s.Singles, s.SinglesTrue)
	}
}
