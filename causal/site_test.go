package causal

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/causal/control"
)

func TestPackageOf(t *testing.T) {
	for fn, want := range map[string]string{
		"main.work":                                  "main",
		"main.work.func1":                            "main",
		"net/http.(*conn).serve":                     "net/http",
		"example.org/a.b/c.(*T).f":                   "example.org/a.b/c",
		"main.f[...]":                                "main",
		"main.f[example.org/a/b.T]":                  "main",
		"example.org/x.(*M[go.shape.string,...]).f":  "example.org/x",
		"example.org/x/y.f[example.org/a/b.T].func1": "example.org/x/y",
		"cgo": "cgo",
		"":    "",
	} {
		if got := packageOf(fn); got != want {
			t.Errorf("packageOf(%q) = %q, want %q", fn, got, want)
		}
	}
}

// stack is a sample of weight w with frames FN:LINE, innermost first; =FN:LINE is inlined.
// The function's file is /src/PACKAGE.go, it starts at line 1.
func stack(w int64, frames ...string) stackOf {
	st := stackOf{weight: w}
	for _, s := range frames {
		fr := frame{start: 1}
		s, fr.inlined = strings.CutPrefix(s, "=")
		i := strings.LastIndexByte(s, ':')
		fr.fn = s[:i]
		fmt.Sscan(s[i+1:], &fr.line)
		fr.file = "/src/" + packageOf(fr.fn) + ".go"
		st.frames = append(st.frames, fr)
	}
	return st
}

func names(sites []*site) (out []string) {
	for _, s := range sites {
		out = append(out, fmt.Sprintf("%s %.0f%% %d", s.name, 100*s.share, s.line))
	}
	return out
}

func TestKeys(t *testing.T) {
	st := stack(1, "a.leaf:10", "=a.mid:20", "a.leaf:11", "main.main:3")
	line := func(file string, n int) siteKey { return siteKey{file: "/src/" + file + ".go", line: n} }
	call := func(fn, file string, n int) siteKey {
		k := line(file, n)
		k.fn = fn
		return k
	}
	for _, c := range []struct {
		by   Granularity
		cum  bool
		want []siteKey
	}{
		{ByFunc, false, []siteKey{{fn: "a.leaf"}}},
		{ByFunc, true, []siteKey{{fn: "a.leaf"}, {fn: "a.mid"}, {fn: "main.main"}}}, // a recursive call counts once
		{ByLine, false, []siteKey{line("a", 10)}},
		{ByLine, true, []siteKey{line("a", 10), line("a", 20), line("a", 11), line("main", 3)}},
		{ByCallSite, false, []siteKey{call("a.leaf", "a", 20)}},
		{ByCallSite, true, []siteKey{call("a.leaf", "a", 20), call("a.mid", "a", 11), call("a.leaf", "main", 3)}},
	} {
		o := &Options{By: c.by, Cumulative: c.cum}
		got := keys(o, &st)
		if !slices.Equal(got, c.want) {
			t.Errorf("by %s, cumulative %v: %v, want %v", c.by, c.cum, got, c.want)
		}
		for _, k := range got {
			if !k.has(o, &st) {
				t.Errorf("%v is not in the sample it is of", k)
			}
		}
		if (siteKey{fn: "a.other"}).has(o, &st) {
			t.Error("a site that is not there was found")
		}
	}
	root := stack(1, "main.main:3")
	if got := keys(&Options{By: ByCallSite}, &root); len(got) != 0 {
		t.Errorf("a root is called from %v", got)
	}
}

func TestCandidates(t *testing.T) {
	stacks := []stackOf{
		stack(50, "a.leaf:10", "a.mid:20", "main.main:3", "runtime.main:1"),
		stack(20, "a.leaf:11", "a.mid:20", "main.main:3", "runtime.main:1"),
		stack(30, "a.mid:21", "main.main:3", "runtime.main:1"),
	}
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{By: ByFunc}, []string{"a.leaf 70% 10", "a.mid 30% 21"}},
		{Options{By: ByFunc, Cumulative: true}, []string{"a.mid 100% 20", "main.main 100% 3", "a.leaf 70% 10"}},
		{Options{By: ByLine}, []string{"a/a.go:10 50% 10", "a/a.go:21 30% 21", "a/a.go:11 20% 11"}},
		{Options{By: ByCallSite}, []string{"a.leaf at a/a.go:20 70% 20", "a.mid at main/main.go:3 30% 3"}},
		{Options{By: ByFunc, Include: regexp.MustCompile("mid")}, []string{"a.mid 30% 21"}},
		{Options{By: ByFunc, Exclude: regexp.MustCompile("mid")}, []string{"a.leaf 70% 10"}},
		{Options{By: ByFunc, Include: regexp.MustCompile("none")}, nil},
	} {
		if got := names(candidates(&c.o, stacks)); !slices.Equal(got, c.want) {
			t.Errorf("by %s, cumulative %v: %q, want %q", c.o.By, c.o.Cumulative, got, c.want)
		}
	}
	if got := candidates(&Options{By: ByFunc}, nil); len(got) != 0 {
		t.Errorf("no samples give %v", got)
	}
}

func TestDistinct(t *testing.T) {
	o := &Options{By: ByFunc, Cumulative: true}
	for _, c := range []struct {
		name   string
		stacks []stackOf
		want   map[string]string // what stays, and what it stands for
	}{
		{"a chain of wrappers", []stackOf{
			stack(98, "a.leaf:1", "b.wrap:1", "c.wrap:1", "main.main:1"),
			stack(2, "main.main:1"),
		}, map[string]string{"a.leaf": "b.wrap, c.wrap, main.main"}},
		{"each does something itself", []stackOf{
			stack(80, "a.leaf:1", "b.outer:1", "main.main:1"),
			stack(10, "b.outer:1", "main.main:1"),
			stack(10, "main.main:1"),
		}, map[string]string{"a.leaf": "", "b.outer": "", "main.main": ""}},
		{"the inner is called by others, too", []stackOf{
			stack(60, "a.leaf:1", "b.outer:1", "main.main:1"),
			stack(40, "a.leaf:1", "c.outer:1", "main.main:1"),
		}, map[string]string{"a.leaf": "main.main", "b.outer": "", "c.outer": ""}},
		{"beside each other", []stackOf{
			stack(50, "a.leaf:1", "b.outer:1"),
			stack(50, "c.leaf:1", "d.outer:1"),
		}, map[string]string{"a.leaf": "b.outer", "c.leaf": "d.outer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]string{}
			for _, s := range distinct(o, candidates(o, c.stacks), c.stacks) {
				got[s.name] = strings.Join(s.around, ", ")
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Whatever is dropped is named with one that stays and has about the same samples, and nothing is named twice.
func TestDistinctKeepsTrack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fn := rapid.SampledFrom([]string{"a.a", "a.b", "a.c", "a.d", "a.e", "a.f"})
		stacks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stackOf {
			var frames []string
			for _, f := range rapid.SliceOfN(fn, 1, 6).Draw(t, "stack") {
				frames = append(frames, f+":1")
			}
			return stack(rapid.Int64Range(1, 100).Draw(t, "weight"), frames...)
		}), 1, 8).Draw(rt, "stacks")
		o := &Options{By: ByFunc, Cumulative: true}
		all := candidates(o, stacks)
		shares := map[string]float64{}
		for _, s := range all {
			shares[s.name] = s.share
		}
		seen := map[string]bool{}
		for _, s := range distinct(o, all, stacks) {
			for i, n := range append([]string{s.name}, s.around...) {
				if seen[n] {
					rt.Fatalf("%s twice", n)
				}
				seen[n] = true
				// A chain of likenesses may be a little longer than one.
				if i > 0 && math.Abs(shares[n]-s.share) > 3*alike*max(shares[n], s.share) {
					rt.Fatalf("%s %.3f stands for %s %.3f", s.name, s.share, n, shares[n])
				}
			}
		}
		if len(seen) != len(all) {
			rt.Fatalf("%d of %d sites are accounted for", len(seen), len(all))
		}
	})
}

// Flat shares add up to everything; cumulative ones are at least the flat ones.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stacks []stackOf
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			var frames []string
			for range rapid.IntRange(1, 5).Draw(t, "depth") {
				frames = append(frames, fmt.Sprintf("p.f%d:%d", rapid.IntRange(0, 3).Draw(t, "f"), rapid.IntRange(1, 4).Draw(t, "line")))
			}
			stacks = append(stacks, stack(int64(rapid.IntRange(1, 9).Draw(t, "weight")), frames...))
		}
		for _, by := range []Granularity{ByFunc, ByLine} {
			flat := map[siteKey]float64{}
			sum := 0.0
			for _, s := range candidates(&Options{By: by}, stacks) {
				flat[s.key] = s.share
				sum += s.share
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("by %s the shares add up to %g", by, sum)
			}
			for _, s := range candidates(&Options{By: by, Cumulative: true}, stacks) {
				if s.share < flat[s.key]-1e-9 || s.share > 1+1e-9 {
					t.Fatalf("%s: %g of all with what it calls, %g without", s.name, s.share, flat[s.key])
				}
			}
		}
	})
}

// marked is a set of marks: names are functions, FN:LINE statements.
func marked(list ...string) *carriers {
	c := newCarriers()
	for _, s := range list {
		k := &carrier{fn: s, line: 1}
		if i := strings.LastIndexByte(s, ':'); i > 0 {
			k.fn, k.stmt = s[:i], true
			fmt.Sscan(s[i+1:], &k.line)
		}
		k.file = "/src/" + packageOf(k.fn) + ".go"
		c.add(k)
	}
	return c
}

func TestWeigh(t *testing.T) {
	stacks := []stackOf{
		stack(30, "a.leaf:10", "a.mid:20", "main.main:3"),
		stack(10, "a.leaf:10", "a.other:40", "main.main:4"),
		stack(20, "=a.inl:12", "a.mid:21", "main.main:3"),
		stack(40, "runtime.gc:7"),
		stack(1, "b.f:9", "b.g:3"),
		stack(3, "b.h:9", "b.g:3"),
	}
	for _, c := range []struct {
		name    string
		o       Options
		key     siteKey
		marks   []string
		weights map[int]float64
		carried float64
		inherit bool
	}{
		{"a marked function", Options{By: ByFunc}, siteKey{fn: "a.leaf"}, []string{"a.leaf"}, map[int]float64{1: 1}, 1, false},
		{"an unmarked function in marked ones", Options{By: ByFunc}, siteKey{fn: "a.leaf"}, []string{"a.mid", "a.other"}, map[int]float64{1: 0.6, 2: 1}, 1, false},
		{"half of it in marked ones", Options{By: ByFunc}, siteKey{fn: "a.leaf"}, []string{"a.mid"}, map[int]float64{1: 0.6}, 0.75, false},
		{"an inlined function", Options{By: ByFunc}, siteKey{fn: "a.inl"}, []string{"a.mid", "a.leaf"}, map[int]float64{1: 1}, 1, false},
		{"a line", Options{By: ByLine}, siteKey{file: "/src/a.go", line: 10}, []string{"a.leaf"}, map[int]float64{1: 1}, 1, false},
		{"nothing marked", Options{By: ByFunc}, siteKey{fn: "a.leaf"}, nil, map[int]float64{}, 0, false},
		{"the collector", Options{By: ByFunc}, siteKey{fn: "runtime.gc"}, []string{"a.mid"}, map[int]float64{}, 0, false},
		{"a function with what it calls", Options{By: ByFunc, Cumulative: true}, siteKey{fn: "a.mid"}, []string{"a.leaf", "a.mid"}, map[int]float64{2: 1}, 1, true},
		{"a call site", Options{By: ByCallSite}, siteKey{fn: "a.leaf", file: "/src/a.go", line: 20}, []string{"a.mid", "a.mid:20"}, map[int]float64{2: 1}, 1, true},
		{"a call site with others on its line", Options{By: ByCallSite}, siteKey{fn: "b.f", file: "/src/b.go", line: 3}, []string{"b.g", "b.g:3"}, map[int]float64{2: 0.25}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &site{key: c.key}
			marked(c.marks...).weigh(&c.o, s, stacks)
			if fmt.Sprint(s.weights) != fmt.Sprint(c.weights) || s.carried != c.carried || s.inherit != c.inherit {
				t.Errorf("weights %v, carried %g, inherit %v; want %v, %g, %v", s.weights, s.carried, s.inherit, c.weights, c.carried, c.inherit)
			}
		})
	}
}

// A weight is a part; what is carried is too, and the innermost marks carry every
// sample of a site once: the weights times the marks' samples are the site's.
func TestWeighConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stacks []stackOf
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			var frames []string
			for range rapid.IntRange(1, 5).Draw(t, "depth") {
				frames = append(frames, fmt.Sprintf("p.f%d:1", rapid.IntRange(0, 5).Draw(t, "f")))
			}
			stacks = append(stacks, stack(int64(rapid.IntRange(1, 9).Draw(t, "weight")), frames...))
		}
		c := marked(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p.f0", "p.f1", "p.f2", "p.f3"}), 0, 4, rapid.ID).Draw(t, "marks")...)
		o := &Options{By: ByFunc}
		all := map[int]float64{}
		for i := range stacks {
			if k := c.innermost(&stacks[i]); k != nil {
				all[k.id] += float64(stacks[i].weight)
			}
		}
		for _, s := range candidates(o, stacks) {
			var total float64
			for i := range stacks {
				if s.key.has(o, &stacks[i]) {
					total += float64(stacks[i].weight)
				}
			}
			c.weigh(o, s, stacks)
			sum := 0.0
			for id, w := range s.weights {
				if w < 0 || w > 1 {
					t.Fatalf("%s has weight %g", s.name, w)
				}
				sum += w * all[id]
			}
			if math.Abs(sum-s.carried*total) > 1e-6 || s.carried < 0 || s.carried > 1 {
				t.Fatalf("%s: %g of its samples are carried, %g of %g are weighed", s.name, s.carried, sum, total)
			}
		}
	})
}

// Marks of real files: what can hold one gets one, once, with an id of its own.
func TestChoose(t *testing.T) {
	pr := sources(t,
		&pkg{ImportPath: "runtime", Name: "runtime", Standard: true, GoFiles: []string{"malloc.go\nfunc mallocgc() {\n\t_ = 1\n}\n"}},
		&pkg{ImportPath: "example.org/it", Name: "main", GoFiles: []string{"main.go\n\nfunc main() {\n\twork()\n\tfor {\n\t\twork()\n\t}\n}\n\nfunc work() {\n\t_ = 1\n}\n\n//go:nosplit\nfunc tight() {\n\t_ = 1\n}\n\nfunc empty() {}\n"}},
	)
	main := filepath.Join(pr.main.Dir, "main.go")
	malloc := filepath.Join(pr.pkgs[0].Dir, "malloc.go")
	at := func(fn string, line, start int) frame {
		f := frame{fn: fn, file: main, line: line, start: start}
		if fn == "runtime.mallocgc" {
			f.file = malloc
		}
		return f
	}
	stacks := []stackOf{
		{weight: 9, frames: []frame{at("runtime.mallocgc", 3, 2), at("main.work", 11, 10), at("main.main", 4, 3)}},
		{weight: 1, frames: []frame{at("main.tight", 16, 15), at("main.main", 6, 3)}},
	}
	list := func(c *carriers) (out []string) {
		for _, k := range c.list {
			if k.id != len(out)+1 || k.pkg != "example.org/it" {
				t.Errorf("mark %+v", k)
			}
			out = append(out, strings.TrimPrefix(k.key(), pr.main.Dir+"/"))
		}
		return out
	}
	for _, c := range []struct {
		o    Options
		key  siteKey
		want []string
	}{
		{Options{By: ByFunc}, siteKey{fn: "main.work"}, nil},                                                                  // never innermost
		{Options{By: ByFunc}, siteKey{fn: "runtime.mallocgc"}, []string{"main.work"}},                                         // its caller
		{Options{By: ByFunc}, siteKey{fn: "main.tight"}, nil},                                                                 // may not be preempted
		{Options{By: ByFunc, Cumulative: true}, siteKey{fn: "main.main"}, []string{"main.main"}},                              // itself
		{Options{By: ByCallSite}, siteKey{fn: "runtime.mallocgc", file: main, line: 11}, []string{"main.go:11", "main.work"}}, // statement and function
	} {
		m := newCarriers()
		for range 2 { // the second time changes nothing
			m.choose(pr, &c.o, []*site{{key: c.key}}, stacks)
		}
		if got := list(m); !slices.Equal(got, c.want) && !(c.o.Cumulative && slices.Contains(got, "main.main")) {
			t.Errorf("%s, cumulative %v, %v: marks %q, want %q", c.o.By, c.o.Cumulative, c.key, got, c.want)
		}
		k := &marks{}
		m.marks(k)
		if len(k.conf.Packages["example.org/it"]) != len(m.list) {
			t.Errorf("the build gets %v", k.conf.Packages)
		}
		// What is found too short is not marked again.
		tiny := m.without(m.list)
		tiny.choose(pr, &c.o, []*site{{key: c.key}}, stacks)
		for _, k := range tiny.list {
			for _, before := range m.list {
				if k.key() == before.key() {
					t.Errorf("%s is too short, and is marked again", k.key())
				}
			}
		}
	}
	c := newCarriers()
	for f, want := range map[frame]bool{
		at("main.work", 11, 10):          true,
		at("main.empty", 19, 19):         false,
		at("main.tight", 16, 15):         false,
		at("runtime.mallocgc", 3, 2):     false,
		at("main.none", 99, 99):          false,
		at("main.main", 4, 0):            false,
		{fn: "main.gone", file: "/none"}: false,
	} {
		if got := c.addFunc(pr, f); got != want {
			t.Errorf("%+v can be marked: %v", f, got)
		}
	}
	if !c.addLine(pr, at("main.main", 4, 3)) || c.addLine(pr, at("main.main", 5, 3)) || c.addLine(pr, at("runtime.mallocgc", 3, 2)) {
		t.Error("the call on line 4 can be a site; the loop on 5 and the runtime cannot")
	}
	for len(c.list) < control.MaxID-1 {
		c.list = append(c.list, &carrier{})
	}
	if c.addFunc(pr, at("main.main", 4, 3)) || c.addLine(pr, at("main.main", 6, 3)) {
		t.Error("there are more marks than fit into the block")
	}
}
