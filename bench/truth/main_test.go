package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/report"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == awake.Arg {
		os.Exit(awake.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "toolexec" { // the go command, building a program
		os.Exit(instrument.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestWrongArguments(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-program (", "-program"},
		{"-program nosuch", "no program matches"},
		{"-program ticker -step 1ms", "no program matches"},
		{"-step soon", "-step"},
		{"-step -1ms", "-step"},
		{"-speedups 0", "-speedups"},
		{"-speedups 25,x", "-speedups"},
		{"-speedups 101", "-speedups"},
		{"-coz maybe", "-coz"},
		{"-site C", "-site"},
		{"-rounds 1", "-rounds"},
		{"-duration 0s", "-duration"},
		{"-edit-for -1s", "-edit-for"},
		{"-patience -1s", "-patience"},
		{"-sure -1", "-sure"},
		{"-profiles 0", "-profiles"},
		{"-runs 0", "-runs"},
		{"-visits 0", "-visits"},
		{"-turns -1", "-turns"},
		{"-turns 3", "-turns"},
		{"-turns 5 -placebo", "-turns"},
		{"-turns 5 -json x.json", "-turns"},
		{"-turns 5 -program ^open-loop-latency$", "no program matches"},
		{"-sure NaN", "-sure"},
		{"-settle -1", "-settle"},
		{"-settle NaN", "-settle"},
		{"-resume", "-json"},
		{"-nosuch", "nosuch"},
		{"pipeline", "unexpected argument"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr, nil)
			said := stderr.String()
			if code != 2 || stdout.Len() > 0 {
				t.Errorf("exit %d and %q on stdout, want 2 and nothing", code, stdout.String())
			}
			if !strings.HasPrefix(said, "truth: ") || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.says) {
				t.Errorf("said %q, want one line about %s", said, c.says)
			}
		})
	}
}

func TestCells(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), strings.Fields("-cells -program ^(seq-3-7|ticker)$ -speedups 50"), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	for _, want := range []string{"seq-3-7                    50µs  main.siteA   50%: -15.0", "50%: -35.0", "ticker                     10ms  main.siteA   50%: -50.0", "8 cells"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
}

func TestQuickYieldsToExplicitFlags(t *testing.T) {
	o, err := parse(strings.Fields("-quick -step 10ms"), nil)
	if err != nil || len(o.steps) != 1 || o.steps[0] != ms10 || len(o.speedups) != 1 || o.rounds != 3 {
		t.Errorf("%+v, %v", o, err)
	}
}

// Without -all and -program there are the kinds of program that the bench is for, each at every step that it has.
func TestWhatRunsByItself(t *testing.T) {
	count := func(args string) (n int, names map[string]bool) {
		o, err := parse(strings.Fields(args), nil)
		if err != nil {
			t.Fatal(err)
		}
		names = map[string]bool{}
		for _, c := range o.plan() {
			names[c.program.Name] = true
			if !slices.Contains(c.program.Steps, c.step) {
				t.Errorf("%v, a step that it does not have, without being asked for it", c)
			}
		}
		return len(o.plan()), names
	}
	few, names := count("")
	for _, p := range Programs {
		if names[p.Name] == p.More {
			t.Errorf("%s runs by itself: %v", p.Name, names[p.Name])
		}
	}
	all, names := count("-all")
	if len(names) != len(Programs) || all <= few {
		t.Errorf("%d cells of %d programs with -all, %d without", all, len(names), few)
	}
	if n, names := count("-program ^token$ -step 1ms"); n != 2 || !names["token"] {
		t.Errorf("a program that is named: %d cells", n)
	}
	if n, _ := count("-program ."); n != all {
		t.Errorf("-program . has %d cells, -all %d", n, all)
	}
}

// What a flag says counts for every cell, the rest is as program and step need it.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		args, program string
		step          time.Duration
		want          pace
	}{
		{"", "seq-2-1", us50, usual(us50)},
		{"", "seq-2-1", ms1, usual(ms1)},
		{"", "seq-2-1", ms10, usual(ms10)},
		{"", "trylock", ms10, backOffs[ms10]},
		{"", "mutex", ms1, contended[ms1]},
		{"", "mutex", us50, usual(us50)},
		{"", "trylock", ms1, usual(ms1)},
		{"-duration 9s -rounds 7", "trylock", ms10, pace{9 * time.Second, 2 * time.Second, 7, 1, 2}},
		{"-duration 9s", "open-loop-latency", ms10, pace{18 * time.Second, 1200 * time.Millisecond, 0, 1, 2}},
		{"", "open-loop", ms10, usual(ms10)},
		{"-rounds 0 -edit-for 1s -profiles 30", "seq-2-1", us50, pace{10 * time.Second, time.Second, 0, 30, 30}},
		{"-quick", "trylock", ms10, pace{8 * time.Second, 400 * time.Millisecond, 3, 1, 2}},
		{"-quick -duration 20s", "seq-2-1", us50, pace{20 * time.Second, 400 * time.Millisecond, 3, 1, settled}},
		{"-placebo", "seq-2-1", us50, pace{10 * time.Second, 400 * time.Millisecond, 0, 2, settled}},
	} {
		o, err := parse(strings.Fields(c.args), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.pace(Cell{find(t, c.program), Site{}, c.step}); got != c.want {
			t.Errorf("%q of %s at %v: %+v, want %+v", c.args, c.program, c.step, got, c.want)
		}
	}
	o, _ := parse(strings.Fields("-program ^seq-2-1$ -step 1ms -duration 10s -rounds 2 -edit-for 1s"), nil)
	if got := o.least(o.plan(), true); got != 36*time.Second { // of each of two sites a profile and two rounds of four runs
		t.Errorf("it takes %v at least, want 36s", got)
	}
	o, _ = parse(strings.Fields("-program ^seq-2-1$ -step 1ms -duration 10s -rounds 4 -edit-for 1s -visits 2"), nil)
	if all, once := o.least(o.plan(), true), o.once(o.plan()[0], true); all != 72*time.Second || once != 18*time.Second {
		t.Errorf("two visits take %v at least, one of a cell %v, want 72s and 18s", all, once)
	}
}

// Where there are no real edits it is the closed form that says whether a prediction is settled.
func TestSettledByClosedForm(t *testing.T) {
	const seq = "-program ^seq-2-1$ -step 1ms -site A -speedups 50 -rounds 0 -coz off"
	for _, c := range []struct {
		args      string
		off, half float64 // of each profile
		want      int     // profiles
	}{
		{seq, 0, .1, 1},
		{seq, 20, .1, 1},
		{seq, 4.5, .1, 1},
		{seq, 4.5, 20, settled}, // twenty-four leave 4 points either way
		{seq + " -settle 0", 4.5, 20, 1},
		{seq + " -visits 2", 20, .1, 2},
		{seq + " -visits 2", 4.5, 20, settled}, // of both together, for only the second goes on until it is settled
		{"-program ^mutex$ -step 1ms -site A -speedups 50 -rounds 0 -coz off", 4.5, 20, 1}, // the closed form is not the truth there
		{"-program ^trylock$ -step 10ms -site A -speedups 50 -rounds 0 -coz off", 4.5, 20, 2},
	} {
		n := 0
		var stdout, stderr bytes.Buffer
		p := predictorFunc(func(j Job) map[int]Interval {
			n++
			x := j.Site.Closed(50) + c.off
			return map[int]Interval{50: {x, x - c.half, x + c.half, 6, 0}}
		})
		if code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr, p); code != 0 || n != c.want {
			t.Errorf("%s, off by %v: exit %d and %d profiles, want %d; %s", c.args, c.off, code, n, c.want, &stderr)
		}
	}
}

// Turns have windows of their own length, but for what a flag or -quick says.
func TestWindowOfTurns(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"-turns 5": 1500 * time.Millisecond, "-quick -turns 5": 400 * time.Millisecond, "-quick -turns 5 -edit-for 2s": 2 * time.Second,
	} {
		if o, err := parse(strings.Fields(args), nil); err != nil || o.editFor != want {
			t.Errorf("%s: windows of %v, want %v; %v", args, o.editFor, want, err)
		}
	}
}

// fake predicts the closed form, shifted; or fails.
type fake struct {
	shift float64
	err   error
	after func()
}

func (f fake) Predict(ctx context.Context, j Job) (map[int]Interval, error) {
	if f.after != nil {
		defer f.after()
	}
	if f.err != nil {
		return nil, f.err
	}
	effects := map[int]Interval{}
	for _, d := range j.Speedups {
		x := j.Site.Closed(float64(d)) + f.shift
		effects[d] = Interval{x, x - 1, x + 1, 6, 0}
	}
	return effects, nil
}

// The driver with a predictor of known quality, and no real edits.
func TestDriver(t *testing.T) {
	args := func(file string) []string {
		return append(strings.Fields("-program ^(seq-3-7|pingpong)$ -step 1ms -rounds 0 -coz off -json"), file)
	}
	for _, c := range []struct {
		name     string
		fake     fake
		met      bool
		mean     float64
		coverage float64
		says     string
	}{
		{"exact", fake{}, true, 0, 100, "goals met"},
		{"half a point off", fake{shift: .5}, true, .5, 100, "goals met"},
		{"two and a half off", fake{shift: -2.5}, false, 2.5, 0, "GOALS NOT MET"},
		{"failing", fake{err: errors.New("no such\nluck")}, false, 0, 0, "prediction: no such luck"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "truth.json")
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), args(file), &stdout, &stderr, c.fake); code != 0 {
				t.Fatalf("exit %d: %s", code, &stderr)
			}
			if !strings.Contains(stdout.String(), c.says) {
				t.Errorf("no %q in\n%s", c.says, &stdout)
			}
			r := saved(t, file)
			if s := r.Summary; len(r.Rows) != 12 || s.Met != c.met || math.Abs(s.MeanError-c.mean) > 1e-9 || s.Coverage != c.coverage {
				t.Errorf("%d rows, %+v", len(r.Rows), s)
			}
		})
	}
}

// An interrupted run prints and saves what was measured, of the cell that it was in, too.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "truth.json")
	var stdout, stderr bytes.Buffer
	n := 0
	f := fake{after: func() {
		if n++; n == 2 {
			cancel()
		}
	}}
	code := run(ctx, strings.Fields("-program ^seq-[23]-[17]$ -step 1ms -rounds 0 -coz off -json "+file), &stdout, &stderr, f)
	if code != 130 || !strings.Contains(stderr.String(), "interrupted") || !strings.Contains(stdout.String(), "predictions (") {
		t.Errorf("exit %d\n%s\n%s", code, &stdout, &stderr)
	}
	if r := saved(t, file); len(r.Rows) != 6 {
		t.Errorf("%d rows saved, want the three of the cell that was done and those of the one that had its profile", len(r.Rows))
	}

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	run(ctx, strings.Fields("-program ^seq-[23]-[17]$ -step 1ms -rounds 0 -coz off -json "+file), &stdout, &stderr, fake{err: context.Canceled, after: cancel})
	if r := saved(t, file); len(r.Rows) != 0 {
		t.Errorf("%d rows saved of which nothing is known", len(r.Rows))
	}
}

func saved(t *testing.T, file string) Results {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r Results
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEffectsOfReport(t *testing.T) {
	lower := report.Metric{Name: "main.progress", Unit: "ns/op", Better: "lower"}
	higher := report.Metric{Name: "main.progress", Unit: "1/s", Better: "higher"}
	latency := report.Metric{Name: "main.requestBegin..main.requestEnd latency", Unit: "ns", Better: "lower"}
	cases := func(m report.Metric, percent, low, high float64) []report.Case {
		return []report.Case{
			{Group: "main.siteA", Baseline: true, Params: map[string]float64{"speedup": 0}},
			{Group: "main.siteB", Params: map[string]float64{"speedup": 50}, Effects: map[string]report.Effect{m.Name: {Percent: 99}}},
			{Group: "main.siteA", Params: map[string]float64{"speedup": 50}, Effects: map[string]report.Effect{m.Name: {Percent: percent, Low: low, High: high, N: 6}}},
		}
	}
	for _, c := range []struct {
		name    string
		r       report.Report
		latency bool
		want    Interval
	}{
		{"time per op", report.Report{Metrics: []report.Metric{lower}, Cases: cases(lower, -50, -60, -40)}, false, Interval{-50, -60, -40, 6, 0}},
		{"a rate", report.Report{Metrics: []report.Metric{higher}, Cases: cases(higher, 100, 25, 300)}, false, Interval{-50, -75, -20, 6, 0}},
		{"latency beside throughput", report.Report{Metrics: []report.Metric{higher, latency}, Cases: cases(latency, -61, -62, -60)}, true, Interval{-61, -62, -60, 6, 0}},
	} {
		got, err := effectsOf(&c.r, "main.siteA", c.latency)
		g := got[50]
		off := math.Abs(g.Percent-c.want.Percent) + math.Abs(g.Low-c.want.Low) + math.Abs(g.High-c.want.High)
		if err != nil || len(got) != 1 || off > 1e-9 || g.N != c.want.N {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	if _, err := effectsOf(&report.Report{Metrics: []report.Metric{lower}}, "main.siteA", false); err == nil {
		t.Error("an empty report gave no error")
	}
}

func TestInterval(t *testing.T) {
	same := interval([]float64{math.Log(.5), math.Log(.5), math.Log(.5)})
	if math.Abs(same.Percent+50) > 1e-9 || math.Abs(same.Low+50) > 1e-9 || same.N != 3 {
		t.Errorf("%+v", same)
	}
	wide := interval([]float64{math.Log(.5), math.Log(.6)})
	if !wide.contains(100*(math.Sqrt(.3)-1)) || wide.Low > -80 {
		t.Errorf("%+v", wide)
	}
	for df, want := range map[int]float64{1: 12.706, 4: 2.776, 20: 2.086, 60: 2.000, 1000: 1.962} {
		if got := student95(df); math.Abs(got-want) > .001 {
			t.Errorf("student95(%d) = %.4f, want %.3f", df, got, want)
		}
	}
}

func TestSure(t *testing.T) {
	narrow, wide := []float64{-.10, -.11, -.10}, []float64{-.10, -.30, -.10} // to 1.3 points, and to some 30
	for _, c := range []struct {
		logs map[int][]float64
		want bool
	}{
		{map[int][]float64{25: narrow, 50: narrow}, true},
		{map[int][]float64{25: narrow, 50: wide}, false},
		{map[int][]float64{25: narrow, 50: narrow[:1]}, false},
	} {
		if got := (&runs{Editor: Editor{Sure: 3}, logs: c.logs}).sure(); got != c.want {
			t.Errorf("%v: sure is %v", c.logs, got)
		}
	}
}

func TestCozProfile(t *testing.T) {
	const profile = "startup\ttime=1\n" +
		"experiment\tselected=sites.go:100\tspeedup=0.50\tduration=500000000\tselected-samples=90\n" +
		"throughput-point\tname=progress\tdelta=1000\n" +
		"latency-point\tname=request\tarrivals=100\tdepartures=99\tdifference=3\n" +
		"experiment\tselected=sites.go:100\tspeedup=0.50\tduration=500000000\tselected-samples=90\n" +
		"throughput-point\tname=progress\tdelta=1000\n" +
		"latency-point\tname=request\tarrivals=100\tdepartures=99\tdifference=3\n" +
		"runtime\ttime=2\n"
	faster, err := readProfile(strings.NewReader(profile))
	if err != nil || len(faster) != 2 || faster[0].progress != 1000 || faster[0].seconds != .5 || faster[0].difference != 3 {
		t.Fatalf("%+v, %v", faster, err)
	}
	base, _ := readProfile(strings.NewReader(strings.ReplaceAll(profile, "delta=1000", "delta=500")))
	if i, note := compare(base, faster, false); i == nil || math.Abs(i.Percent+50) > 1e-9 {
		t.Errorf("%v %s", i, note)
	}
	if i, note := compare(base, nil, false); i != nil || note == "" {
		t.Errorf("%v %q", i, note)
	}
	slow, _ := readProfile(strings.NewReader(strings.ReplaceAll(profile, "delta=1000", "delta=499")))
	if i, note := compare(faster, slow, false); i != nil || note == "" {
		t.Errorf("%v %q", i, note)
	}
	// Nothing open when an experiment ends is a latency, too: 6 and 0 open are as 3 and 3.
	uneven := strings.Replace(strings.Replace(profile, "difference=3", "difference=6", 1), "difference=3", "difference=0", 1)
	base, _ = readProfile(strings.NewReader(uneven))
	if i, note := compare(base, faster, true); i == nil || math.Abs(i.Percent) > 1e-9 {
		t.Errorf("%v %s", i, note)
	}
}
