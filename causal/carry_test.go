package causal

import (
	"path/filepath"
	"slices"
	"testing"
)

// called is a runner of a program that uses two processors whose marks cost so many ten-thousandths of one.
func called(o Options, calls map[string]float64) *runner {
	o = defaults(o)
	r := &runner{o: &o, calls: frequency{calls: map[string]float64{}, busy: 2}}
	for k, n := range calls {
		r.calls.calls[k] = n * 1e-4 / markCost
	}
	return r
}

func TestExcess(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		calls map[string]float64
		slack float64
		want  string
	}{
		{"rare", Options{}, map[string]float64{"a.f": 1, "a.g": 100}, 1, ""},
		{"one costs 2.5 %", Options{}, map[string]float64{"a.f": 1, "a.g": 500}, 1, "a.g"},
		{"which is a little over", Options{}, map[string]float64{"a.f": 1, "a.g": 500}, 1.5, ""},
		{"four cost 1.5 % each", Options{}, map[string]float64{"a.f": 300, "a.g": 310, "a.h": 300, "a.i": 300}, 1, "a.g"},
		{"three do", Options{}, map[string]float64{"a.f": 300, "a.g": 310, "a.h": 300}, 1, ""},
		{"one that was asked for may cost 10 %", Options{Sites: []string{"a.g"}}, map[string]float64{"a.f": 1, "a.g": 1900}, 1, ""},
		{"not 11", Options{Sites: []string{"a.g"}}, map[string]float64{"a.f": 1, "a.g": 2200}, 1, "a.g"},
		{"and does not count among the others", Options{Sites: []string{"a.g"}}, map[string]float64{"a.f": 350, "a.g": 1900, "a.h": 350, "a.i": 250}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := called(c.o, c.calls)
			for _, name := range c.o.Sites {
				r.sites = append(r.sites, &site{name: name, key: siteKey{fn: name}})
			}
			var names []string
			for name := range c.calls {
				names = append(names, name)
			}
			slices.Sort(names)
			got := ""
			if k := r.excess(marked(names...), c.slack); k != nil {
				got = k.key()
			}
			if got != c.want {
				t.Errorf("%q has to go, want %q", got, c.want)
			}
		})
	}
	// A program that hardly runs: the cost is a part of a tenth of a processor.
	r := called(Options{}, map[string]float64{"a.f": 10})
	r.calls.busy = 0.001
	if c := r.calls.cost(marked("a.f").list[0]); c < 0.0099 || c > 0.0101 {
		t.Errorf("calls that take a millisecond a second of an idle program cost %g", c)
	}
}

// A build with more marks than are needed is kept if those that are left over cost next to nothing, and if it has all.
func TestBears(t *testing.T) {
	for _, c := range []struct {
		name string
		rest float64 // calls a second of what is left over
		some []string
		want bool
	}{
		{"never called", 0, []string{"a.f"}, true},
		{"a million calls", 1e6, []string{"a.f"}, true},
		{"two million calls", 2e6, []string{"a.f"}, false},
		{"all are needed", 2e6, []string{"a.g", "a.f"}, true},
		{"one is missing", 0, []string{"a.f", "a.h"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := called(Options{}, map[string]float64{"a.f": 1e6})
			r.calls.calls["a.g"] = c.rest
			if got := r.bears(marked("a.f", "a.g"), marked(c.some...)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// What is too short is carried by its callers; what these cannot tell from themselves is not tried.
func TestAfford(t *testing.T) {
	pr := sources(t, &pkg{ImportPath: "example.org/it", Name: "main", GoFiles: []string{
		"main.go\n\nfunc main() {\n\tserve()\n}\n\nfunc serve() {\n\tshort()\n}\n\nfunc short() {\n\t_ = 1\n}\n\nfunc other() {\n\t_ = 1\n}\n",
	}})
	file := filepath.Join(pr.main.Dir, "main.go")
	at := func(fn string, line, start int) frame {
		return frame{fn: "main." + fn, file: file, line: line, start: start}
	}
	main, serve := at("main", 4, 3), at("serve", 8, 7)
	stacks := []stackOf{
		{weight: 30, frames: []frame{at("short", 12, 11), serve, main}},
		{weight: 10, frames: []frame{serve, main}},
		{weight: 60, frames: []frame{at("other", 16, 15), main}},
	}
	for _, c := range []struct {
		name    string
		calls   map[string]float64
		marks   []string
		sites   []string
		dropped []string
	}{
		{"all are rare", map[string]float64{"main.short": 1, "main.serve": 1, "main.other": 1},
			[]string{"main.other", "main.short", "main.serve"}, []string{"main.other", "main.short", "main.serve"}, nil},
		{"one is too short", map[string]float64{"main.short": 5000, "main.serve": 1, "main.other": 1},
			[]string{"main.other", "main.serve"}, []string{"main.other", "main.short", "main.serve"}, nil},
		{"and its caller", map[string]float64{"main.short": 5000, "main.serve": 5000, "main.other": 1},
			[]string{"main.other", "main.main"}, []string{"main.other", "main.short", "main.serve"}, nil},
		{"they cost more than a small site takes", map[string]float64{"main.short": 1, "main.serve": 200, "main.other": 1},
			[]string{"main.other", "main.short"}, []string{"main.other", "main.short"}, []string{"main.serve"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := called(Options{By: ByFunc, Top: 3}, c.calls)
			r.pr = pr
			r.sites = candidates(r.o, stacks)
			for _, s := range r.sites {
				if s.name == "main.serve" {
					s.share = 0.015
				}
			}
			if all := keysOf(r.climb(stacks)); len(all) != 4 {
				t.Errorf("%q may be needed, want all four functions", all)
			}
			got := r.afford(stacks)
			var sites []string
			for _, s := range r.sites {
				sites = append(sites, s.name)
			}
			slices.Sort(c.marks)
			if !slices.Equal(keysOf(got), c.marks) || !slices.Equal(sites, c.sites) || !slices.Equal(r.dropped, c.dropped) {
				t.Errorf("marks %q, sites %q, dropped %q; want %q, %q, %q", keysOf(got), sites, r.dropped, c.marks, c.sites, c.dropped)
			}
			for i, k := range got.list {
				if k.id != i+1 {
					t.Errorf("mark %d is %s with the number %d", i, k.key(), k.id)
				}
			}
		})
	}
}

func keysOf(c *carriers) (out []string) {
	for _, k := range c.list {
		out = append(out, k.key())
	}
	slices.Sort(out)
	return out
}
