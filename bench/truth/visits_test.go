package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A cell has its second visit when all have had their first, the row is the mean of both, and who is interrupted in between goes on there.
func TestVisits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "truth.json")
	args := strings.Fields("-program ^seq-[23]-[17]$ -step 1ms -speedups 25,50 -rounds 0 -profiles 2 -visits 2 -settle 0 -coz off -resume -json " + file)
	var asked []string
	measured := func(shift float64, most int) (Results, string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stdout, stderr bytes.Buffer
		n := 0
		code := run(ctx, args, &stdout, &stderr, predictorFunc(func(j Job) map[int]Interval {
			asked = append(asked, fmt.Sprintf("%s %s %d", j.Program.Name, j.Site.Edit, j.Seed))
			if n++; n == most {
				cancel()
			}
			effects, _ := fake{shift: shift}.Predict(ctx, j)
			return effects
		}))
		if want := map[bool]int{true: 130}[most > 0 && n == most]; code != want {
			t.Fatalf("exit %d, want %d: %s", code, want, &stderr)
		}
		return saved(t, file), stdout.String()
	}
	half, _ := measured(1, 4+2) // the second cell's second visit is cut off
	if len(half.Rows) != 8 {
		t.Fatalf("%d rows", len(half.Rows))
	}
	for i, r := range half.Rows {
		if want := map[bool]int{true: 2, false: 1}[i < 2]; r.Visits != want || r.Unfinished || math.Abs(*r.Error-1) > .01 {
			t.Errorf("%s at %d: %d visits, want %d; %+v", r.cell(), r.Speedup, r.Visits, want, r)
		}
	}
	asked = asked[:5]
	all, said := measured(3, 0)
	want := strings.Split("seq-2-1 A 1,seq-2-1 B 1,seq-3-7 A 1,seq-3-7 B 1,seq-2-1 A 2,seq-2-1 B 2,seq-3-7 A 2,seq-3-7 B 2", ",")
	if !slices.Equal(asked, want) {
		t.Errorf("asked %v\nwant %v", asked, want)
	}
	if len(all.Rows) != 8 || strings.Count(said, "once more") != 1 {
		t.Errorf("%d rows\n%s", len(all.Rows), said)
	}
	for i, r := range all.Rows {
		off := 2. // the mean of 1 and 3
		if i < 2 {
			off = 1
		}
		if r.Visits != 2 || len(r.Profiles) != 2 || math.Abs(*r.Error-off) > .1 {
			t.Errorf("%s at %d: %d visits, %d profiles, off by %.2f, want %v", r.cell(), r.Speedup, r.Visits, len(r.Profiles), *r.Error, off)
		}
	}
	asked = nil
	if _, said = measured(0, 0); len(asked) != 0 || strings.Contains(said, "once more") {
		t.Errorf("nothing was left, and %v was measured\n%s", asked, said)
	}
}

// Rows of before there were visits are of one visit, and later ones go on with them.
func TestGoOn(t *testing.T) {
	before := []Row{
		{Speedup: 25, Edit: &Interval{-10, -11, -9, 6, 0}, Predicted: &Interval{-12, -14, -10, 30, 1}, Profiles: []Interval{{-11, -13, -9, 15, 1}, {-13, -15, -11, 15, 1}}},
		{Speedup: 50, Edit: &Interval{-20, -21, -19, 8, 0}, Edits: []Interval{{-22, -23, -21, 3, 0}, {-18, -19, -17, 5, 0}}, Predicted: &Interval{-20, -22, -18, 15, 1}},
	}
	real := Editor{}.start(Programs[0], Programs[0].Sites[0], us50, []int{25, 50})
	asked := ask(nil, Job{Seed: 1}, 1, 0)
	goOn(before, real, asked)
	if asked.before != 2 || asked.n != 2 || asked.least != 3 || asked.job.Seed != 3 || len(asked.each[25]) != 2 || len(asked.each[50]) != 1 || real.seed != 8 {
		t.Errorf("%+v, seed of rounds %d", asked, real.seed)
	}
	if e, ok := real.effect(25); !ok || e != *before[0].Edit {
		t.Errorf("with no round yet %v", e)
	}
	real.logs[25] = []float64{math.Log(.7), math.Log(.7001)} // far from -10, and known well
	e, _ := real.effect(25)
	if math.Abs(e.Percent+20.6) > .1 || !e.contains(-10) || !e.contains(-30) || len(real.visits(25)) != 2 {
		t.Errorf("visits that differ by twenty points have the effect %v", e)
	}
	if in := real.within(25); in > .1 { // the second is known that well
		t.Errorf("within visits that differ it is %v points", in)
	}
	if e, _ := real.effect(50); len(real.visits(50)) != 2 || math.Abs(e.Percent+20) > .1 {
		t.Errorf("%v", e)
	}
	if none := (Editor{}).start(Programs[0], Programs[0].Sites[0], us50, []int{25}); len(none.visits(25)) != 0 || none.open(25, Interval{}, 5) || none.wider(25, Interval{}) {
		t.Error("something is known of what was not measured")
	}
}

func TestAfter(t *testing.T) {
	coz := &Interval{-1, -2, 0, 9, 0}
	before := Row{Visits: 2, Coz: coz, Load: 1, Others: 1, Sleeps: []float64{3, 6}, Notes: []string{"a"}}
	row := Row{Others: 4, Sleeps: []float64{6, 3}, Notes: []string{"b"}}
	row.after(before)
	if row.Visits != 3 || row.Coz != coz || row.Others != 2 || !slices.Equal(row.Sleeps, []float64{4, 5}) || !slices.Equal(row.Notes, []string{"a", "b"}) {
		t.Errorf("%+v", row)
	}
	row = Row{Sleeps: []float64{0, 0}} // all its runs failed
	if row.after(Row{Others: 1, Sleeps: []float64{3, 6}}); row.Visits != 2 || row.Others != 1 || !slices.Equal(row.Sleeps, []float64{3, 6}) {
		t.Errorf("%+v", row)
	}
}

func TestVisitsOf(t *testing.T) {
	for _, c := range []struct {
		args, program string
		step          time.Duration
		want          int
	}{
		{"", "seq-2-1", us50, 2}, {"", "seq-2-1", ms1, 1}, {"", "trylock", us50, 1}, {"", "trylock-long", us50, 2},
		{"-visits 3", "trylock", ms10, 3}, {"-visits 1", "seq-2-1", us50, 1}, {"-quick -step 50us", "seq-2-1", us50, 1},
		{"-quick -visits 2", "seq-2-1", ms1, 2}, {"-placebo", "seq-2-1", us50, 1},
	} {
		o, err := parse(strings.Fields(c.args), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.visitsOf(Cell{find(t, c.program), Site{}, c.step}); got != c.want {
			t.Errorf("%q of %s at %v: %d visits, want %d", c.args, c.program, c.step, got, c.want)
		}
	}
	for _, c := range []struct {
		p      pace
		visits int
		want   pace
	}{
		{pace{rounds: 8, profiles: 2}, 2, pace{rounds: 4, profiles: 1}}, {pace{rounds: 4, profiles: 1}, 2, pace{rounds: 2, profiles: 1}},
		{pace{rounds: 2, profiles: 3}, 2, pace{rounds: 2, profiles: 2}}, {pace{profiles: 1}, 2, pace{profiles: 1}}, {pace{rounds: 7, profiles: 5}, 1, pace{rounds: 7, profiles: 5}},
	} {
		if got := c.p.visit(c.visits); got != c.want {
			t.Errorf("%+v in %d visits: %+v", c.p, c.visits, got)
		}
	}
}
