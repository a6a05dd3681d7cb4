package orbit

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Skyfield's rises, culminations and sets, for low, middle and eccentric orbits.
func TestPassesAgainstSkyfield(t *testing.T) {
	orbits := references(t)
	rows := table(t, "passes.csv")
	worst, n := 0., 0
	for len(rows) > 0 {
		// The rows of one object, place and limit stand together.
		end := slices.IndexFunc(rows, func(r []string) bool { return !slices.Equal(r[:5], rows[0][:5]) })
		if end < 0 {
			end = len(rows)
		}
		group := rows[:end]
		rows = rows[end:]
		o := orbits[group[0][0]]
		here := Place{number(t, group[0][1]), number(t, group[0][2]), number(t, group[0][3])}
		from := o.Epoch().Truncate(24 * time.Hour)
		days := 3
		if group[0][0] == "28129" || group[0][0] == "8195" {
			days = 2
		}
		passes, err := o.Passes(here, from, from.AddDate(0, 0, days), number(t, group[0][4]))
		if err != nil {
			t.Fatal(err)
		}
		type event struct {
			kind string
			Sighting
		}
		var got []event
		for _, p := range passes {
			for _, e := range []event{{"0", p.Rise}, {"1", p.Culmination}, {"2", p.Set}} {
				if !e.Time.IsZero() {
					got = append(got, e)
				}
			}
		}
		for _, row := range group {
			if row[6] == "1" && !slices.ContainsFunc(got, func(e event) bool { return e.kind == "1" && math.Abs(e.Time.Sub(moment(t, row[5])).Seconds()) < 1 }) {
				// A second, lower peak of a pass: ours has the highest alone.
				if !slices.ContainsFunc(passes, func(p Pass) bool { return p.Culmination.Elevation >= number(t, row[8])-1e-3 }) {
					t.Errorf("no culmination %v", row)
				}
				continue
			}
			i := slices.IndexFunc(got, func(e event) bool { return e.kind == row[6] && math.Abs(e.Time.Sub(moment(t, row[5])).Seconds()) < 1 })
			if i < 0 {
				t.Errorf("missing: %v", row)
				continue
			}
			n++
			worst = max(worst, math.Abs(got[i].Time.Sub(moment(t, row[5])).Seconds()))
			if math.Abs(got[i].Elevation-number(t, row[8])) > .05 || math.Abs(got[i].Range-number(t, row[9])) > 5 {
				t.Errorf("%v: got %+v", row, got[i])
			}
			got = slices.Delete(got, i, i+1)
		}
		for _, e := range got {
			// Culminations at the window's edges are ours alone.
			if e.kind != "1" {
				t.Errorf("%v: too many: %+v", group[0][:5], e)
			}
		}
	}
	t.Logf("%d events, up to %.2g s apart", n, worst)
}

func TestPassesAlwaysUp(t *testing.T) {
	o := references(t)["24208"] // geostationary
	below, err := o.Below(o.Epoch())
	if err != nil {
		t.Fatal(err)
	}
	below.Height = 0
	passes, err := o.Passes(below, o.Epoch(), o.Epoch().Add(24*time.Hour), 10)
	if err != nil || len(passes) != 1 || !passes[0].Rise.Time.IsZero() || !passes[0].Set.Time.IsZero() || passes[0].Culmination.Elevation < 85 {
		t.Errorf("%+v, %v", passes, err)
	}
	below.Longitude += 180
	if passes, err := o.Passes(below, o.Epoch(), o.Epoch().Add(24*time.Hour), 0); err != nil || len(passes) != 0 {
		t.Errorf("from the other side: %+v, %v", passes, err)
	}
	if _, err := o.Passes(below, o.Epoch(), o.Epoch().AddDate(2, 0, 0), 0); err == nil {
		t.Error("two years")
	}
	if passes, err := o.Passes(below, o.Epoch(), o.Epoch().Add(-time.Hour), 0); err != nil || passes != nil {
		t.Error(passes, err)
	}
}

// A pass in the evening under a dark sky is visible, one at noon or at midnight is not.
func TestVisible(t *testing.T) {
	o := references(t)["25544"]
	here := Place{Latitude: 52.5, Longitude: 13.4}
	passes, err := o.Passes(here, o.Epoch(), o.Epoch().AddDate(0, 0, 20), 10)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range passes {
		if math.Abs(p.Rise.Elevation-10) > 1e-3 || math.Abs(p.Set.Elevation-10) > 1e-3 {
			t.Errorf("not at 10 degrees: %+v", p)
		}
		for s := p.Rise.Time; s.Before(p.Set.Time); s = s.Add(time.Second) {
			state, err := o.AtTime(s)
			if d := here.Look(state.EarthFixed(UT1(s))); err != nil || d.Elevation < 10-1e-3 || d.Elevation > p.Culmination.Elevation+1e-4 {
				t.Fatalf("%+v: at %v %+v, %v", p, s, d, err)
			}
		}
		dark := here.SunElevation(p.Culmination.Time) < -5
		if p.Visible {
			seen++
		}
		if p.Visible && !dark {
			t.Errorf("visible by day: %+v", p)
		}
	}
	if seen == 0 || seen == len(passes) {
		t.Errorf("%d of %d visible", seen, len(passes))
	}
}

func TestPassesOfTheDecayed(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Number != 28872 {
			continue
		}
		o, err := New(v.Elements, WGS72, Improved)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Passes(Place{}, o.Epoch(), o.Epoch().Add(48*time.Hour), 0); Code(err) != 6 {
			t.Error(err)
		}
	}
}
