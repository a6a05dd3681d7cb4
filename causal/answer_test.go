package causal

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/effect"
)

func TestJudge(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name     string
		effects  [][3]float64
		verdict  string
		strength float64
	}{
		{"better", [][3]float64{{-20, -22, -18}}, WorthIt, 20},
		{"better at one of two", [][3]float64{{-5, -7, -3}, {1, -1, 3}}, WorthIt, 5},
		{"worse", [][3]float64{{7, 5, 9}}, Worse, 7},
		{"both", [][3]float64{{-8, -9, -7}, {7, 5, 9}}, Mixed, 8},
		{"unsure", [][3]float64{{-30, -61, 1}}, NoEffect, 0},
		{"sure and small", [][3]float64{{-0.5, -0.6, -0.4}}, NoEffect, 0.5},
		{"nothing", [][3]float64{{0, -1, 1}}, NoEffect, 0},
		{"too few", [][3]float64{{-20, -inf, inf}}, TooFew, 0},
		{"none", nil, TooFew, 0},
	} {
		tr := &trial{cells: []*cell{fake(&site{}, 50, c.effects...)}}
		verdict, strength := judge(tr.cells, tr.discoveries(0.05, 0.95))
		if verdict != c.verdict || strength != c.strength {
			t.Errorf("%s: %q, %g; want %q, %g", c.name, verdict, strength, c.verdict, c.strength)
		}
	}
	last := -1
	for _, v := range []string{WorthIt, Mixed, Worse, NoEffect, TooFew, "?"} {
		if rank(v) <= last {
			t.Errorf("%q has rank %d after %d", v, rank(v), last)
		}
		last = rank(v)
	}
}

// One sure effect among many that are not stays; an interval over 0 never counts.
func TestDiscoveries(t *testing.T) {
	tr := &trial{}
	for range 20 {
		tr.cells = append(tr.cells, fake(&site{}, 50, [3]float64{-2, -4, 0.1}))
	}
	sure := fake(&site{}, 50, [3]float64{-20, -21, -19}, [3]float64{0, -1, 1})
	odd := fake(&site{}, 50, [3]float64{-20, -41, 1})
	odd.effects[0].P = 1e-9
	none := fake(&site{}, 50, [3]float64{-20, -21, -19})
	none.effects[0].P = math.NaN()
	tr.cells = append(tr.cells, sure, odd, none)
	real := tr.discoveries(0.05, 0.95).real
	for _, c := range tr.cells {
		want := c == sure
		if real[c][0] != want {
			t.Errorf("%+v is real: %v", c.effects[0], real[c][0])
		}
	}
	if real[sure][1] {
		t.Error("an effect of 0 is real")
	}
}

// asked is a runner that has measured these cells.
func asked(t *testing.T, cells ...*cell) *runner {
	t.Helper()
	o := defaults(Options{Package: "./srv"})
	r := &runner{o: &o, started: time.Unix(1, 0), g: &goTool{}, pr: newProgram([]*pkg{{ImportPath: "x", Name: "main"}}),
		metrics: []*metric{{name: "main.step"}, {name: "latency http", latency: true}}, stacks: make([]stackOf, 100)}
	r.g.vars.GOVERSION, r.g.vars.GOOS, r.g.vars.GOARCH = "go1.26.8", "linux", "amd64"
	r.trial = &trial{cells: cells, windows: 10 * len(cells), baselines: [][]float64{{100, 101, 99, 100, 100}, {50, 51, 49, 50, 50}}}
	return r
}

func TestWords(t *testing.T) {
	a, b := &site{name: "main.a", share: 0.5}, &site{name: "main.b", share: 0.2}
	no := [3]float64{0, -1, 1}
	for _, c := range []struct {
		cells []*cell
		want  string
	}{
		{[]*cell{fake(a, 50, [3]float64{-20, -22, -18}, no), fake(b, 50, no, no)},
			`^Worth it: main\.a 50% faster would cut time per main\.step by 20\.0% \(18\.0 to 22\.0\)\.$`},
		{[]*cell{fake(a, 25, no, [3]float64{-9, -10, -8}), fake(b, 50, [3]float64{-20, -22, -18}, no)},
			`^Worth it: main\.b 50% .*; main\.a 25% faster would cut latency http by 9\.0% \(8\.0 to 10\.0\)\.$`},
		{[]*cell{fake(a, 50, [3]float64{4, 3, 5}, no)}, `^Nothing tried would help; a faster main\.a would make it worse\.$`},
		{[]*cell{fake(a, 50, [3]float64{-20, -22, -18}, no), fake(a, 100, [3]float64{35, 32, 38}, no)},
			`^Better and worse: main\.a 50% faster would cut time per main\.step by 20\.0% \(18\.0 to 22\.0\), but 100% faster raise time per main\.step by 35\.0% \(32\.0 to 38\.0\)\.$`},
		{[]*cell{fake(a, 50, no, no), fake(b, 50, no, no)}, `^No effect seen: none of the 2 sites tried would make a difference on its own\.$`},
		{[]*cell{fake(a, 50, [3]float64{-5, -31, 23}, no), fake(b, 50, no, no)}, `^No effect seen, but changes of up to 27% would have stayed hidden`},
		{[]*cell{screened(fake(a, 50, [3]float64{-5, -31, 23}, no))}, `^No effect seen, but changes of up to 27% would have stayed hidden`},
		{[]*cell{screened(fake(a, 50, [3]float64{-5, -31, 23}, no)), fake(b, 50, no, no)}, `^No effect seen: of the 2 sites those tried longest \(1\) would`},
		{[]*cell{{site: a, speedup: 50}}, `^Too few experiments to say: give it more time \(--duration\)\.$`},
	} {
		rep := asked(t, c.cells...).report()
		if !regexp.MustCompile(c.want).MatchString(rep.Answer) {
			t.Errorf("the answer is %q, want %s", rep.Answer, c.want)
		}
	}
}

// Every report can be shown, whatever was measured.
func TestReport(t *testing.T) {
	a, b := &site{name: "main.a", share: 0.5, carried: 1}, &site{name: "main.a", share: 0.2, carried: 0.4, whole: true}
	dead := fake(a, 100, [3]float64{}, [3]float64{})
	dead.base, dead.changed, dead.effects, dead.stuck = nil, nil, nil, 3
	few := fake(b, 25, [3]float64{-20, math.Inf(-1), math.Inf(1)}, [3]float64{-1, -2, 0})
	r := asked(t, fake(a, 50, [3]float64{-20, -22, -18}, [3]float64{0, -1, 1}), dead, few, &cell{site: b, speedup: 50})
	r.warnings = []string{"the clock is coarse"}
	rep := r.report()
	if err := rep.Validate(); err != nil {
		t.Error(err)
	}
	if len(rep.Groups) != 2 || rep.Groups[0].Name != "main.a" || rep.Groups[1].Name != "main.a (2)" || rep.Groups[0].Verdict != WorthIt {
		t.Errorf("groups %+v", rep.Groups)
	}
	notes := strings.Join(rep.Groups[0].Notes, "; ") + "|" + strings.Join(rep.Groups[1].Notes, "; ")
	if !regexp.MustCompile(`^at 100% no time is left.*\|counted with what it calls.*; 40% of this site`).MatchString(notes) {
		t.Errorf("notes %q", notes)
	}
	for _, c := range rep.Cases {
		for name, e := range c.Effects {
			if math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) || e.Expected == nil {
				t.Errorf("%s: %s %+v", c.Name, name, e)
			}
		}
	}
	if len(rep.Warnings) != 1 {
		t.Errorf("warnings %q", rep.Warnings)
	}
	r.trial = nil
	rep = r.report()
	if err := rep.Validate(); err != nil || rep.Answer != "Nothing was measured." {
		t.Errorf("a report of nothing: %v, %q", err, rep.Answer)
	}
}

func TestValue(t *testing.T) {
	if v := value(effect.Estimate{Value: 3, Low: math.Inf(-1), High: math.NaN(), N: 1}); v.Low != 3 || v.High != 3 || v.N != 1 {
		t.Errorf("%+v", v)
	}
}
