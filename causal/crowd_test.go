package causal

import (
	"regexp"
	"slices"
	"testing"
	"time"
)

func TestCompetition(t *testing.T) {
	for _, c := range []struct{ busy, total, program, others, idle float64 }{
		{10, 20, 10, 0, .5},
		{20, 20, 12, .4, 0},
		{10, 20, 11, 0, .5}, // the clocks differ
		{0, 0, 0, 0, 1},
	} {
		s := func(x float64) time.Duration { return time.Duration(x * 1e9) }
		if others, idle := competition(s(c.busy), s(c.total), s(c.program)); others != c.others || idle != c.idle {
			t.Errorf("%+v: others %v, idle %v", c, others, idle)
		}
	}
}

func TestOvercommitted(t *testing.T) {
	for _, c := range []struct {
		ps, processors int
		cpu            time.Duration
		want           bool
	}{{4, 2, 20, true}, {4, 2, 10, false}, {2, 2, 20, false}, {2, 1, 10, true}, {1, 2, 10, false}} {
		if got := overcommitted(c.ps, c.processors, c.cpu, 10); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Sites that are gone from the second look are not tried, unless that would leave none.
func TestUnseen(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		sites  []string
		want   int
	}{
		{[]float64{.5, .004, .0024, 0}, nil, 2},
		{[]float64{0, 0}, nil, 2},
		{[]float64{.5, 0}, []string{"a.f", "a.g"}, 2},
	} {
		r := &runner{o: &Options{Sites: c.sites}}
		for i, x := range c.shares {
			r.sites = append(r.sites, &site{name: []string{"a.f", "a.g", "a.h", "a.i"}[i], share: x})
		}
		if r.unseen(); len(r.sites) != c.want || len(r.sites)+len(r.dropped) != len(c.shares) {
			t.Errorf("%v: %d stay, %q are dropped", c.shares, len(r.sites), r.dropped)
		}
	}
}

func TestForeign(t *testing.T) {
	pr := example(t)
	for _, c := range []struct {
		o    Options
		fns  []string
		want bool
	}{
		{Options{}, []string{"net/http.(*conn).serve", "aeshashbody"}, true},
		{Options{}, []string{"net/http.(*conn).serve", "main.work"}, false},
		{Options{}, []string{"example.org/it/store.Keys[...]"}, false},
		{Options{Cumulative: true}, []string{"net/http.(*conn).serve"}, false},
		{Options{Include: regexp.MustCompile("conn")}, []string{"net/http.(*conn).serve"}, false},
		{Options{Sites: []string{"net/http.(*conn).serve"}}, []string{"net/http.(*conn).serve"}, false},
		{Options{}, nil, false},
	} {
		r := &runner{o: &c.o, pr: pr}
		for _, fn := range c.fns {
			r.sites = append(r.sites, &site{name: fn, key: siteKey{fn: fn}})
		}
		if got := r.foreign(); got != c.want {
			t.Errorf("%q, sites asked for %v: %v", c.fns, slices.Clone(c.o.Sites), got)
		}
	}
}
