package orbit

import (
	"math"
	"testing"
	"time"
)

// The sun against the apparent places of the IAU's SOFA routines, 1974 to 2025.
func TestSun(t *testing.T) {
	worst, far := 0., 0.
	for _, row := range table(t, "sun.csv") {
		want := Vector{number(t, row[1]), number(t, row[2]), number(t, row[3])}
		got := Sun(moment(t, row[0]))
		worst = max(worst, math.Atan2(got.cross(want).Norm(), got.Dot(want))/degree)
		far = max(far, math.Abs(got.Norm()/want.Norm()-1))
	}
	if worst > .01 || far > 1e-4 {
		t.Errorf("off by %g degrees and %g of the distance", worst, far)
	}
	t.Logf("off by up to %.2g degrees", worst)
}

// Day and night as almanacs have them.
func TestSubSolar(t *testing.T) {
	for _, c := range []struct {
		at        time.Time
		lat, lon  float64
		tolerance float64
	}{
		{time.Date(2024, 6, 20, 20, 51, 0, 0, time.UTC), 23.436, -132.3, .1}, // solstice
		{time.Date(2024, 3, 20, 3, 6, 0, 0, time.UTC), 0, 135.4, .1},         // equinox
		{time.Date(2024, 11, 3, 12, 0, 0, 0, time.UTC), -15.2, -4.1, .2},     // equation of time 16.4 minutes
	} {
		p := SubSolar(c.at)
		if math.Abs(p.Latitude-c.lat) > c.tolerance || math.Abs(p.Longitude-c.lon) > c.tolerance {
			t.Errorf("%v: %+v, want %g, %g", c.at, p, c.lat, c.lon)
		}
		if e := p.SunElevation(c.at); math.Abs(e-90) > 1e-5 {
			t.Errorf("%v: the sun stands at %g degrees there", c.at, e)
		}
		if e := (Place{Latitude: -p.Latitude, Longitude: p.Longitude + 180}).SunElevation(c.at); math.Abs(e+90) > 1e-5 {
			t.Errorf("%v: the sun stands at %g degrees on the other side", c.at, e)
		}
	}
}

func TestLight(t *testing.T) {
	sun := Vector{X: 149.6e6}
	for _, c := range []struct {
		at   Vector
		want Light
	}{
		{Vector{X: 7000}, Sunlit},
		{Vector{Y: 7000}, Sunlit},
		{Vector{X: -7000}, Umbra},
		{Vector{X: -7000, Y: 6300}, Umbra},
		{Vector{X: -7000, Y: equator}, Penumbra},
		{Vector{X: -7000, Y: 6450}, Sunlit},
		{Vector{X: -42164}, Umbra},
		{Vector{X: -42164, Y: equator}, Penumbra},
		{Vector{X: -2e6}, Penumbra}, // beyond the tip of the umbra the sun is a ring
	} {
		if got := c.at.Light(sun); got != c.want {
			t.Errorf("%+v: %v, want %v", c.at, got, c.want)
		}
	}
	// A low orbit is in shadow for 35 to 40 % of each revolution.
	o := references(t)["25544"]
	dark := 0
	for s := range 5580 {
		at := o.Epoch().Add(time.Duration(s) * time.Second)
		state, err := o.AtTime(at)
		if err != nil {
			t.Fatal(err)
		}
		if state.Position.Light(Sun(at)) == Umbra {
			dark++
		}
	}
	if dark < 1900 || dark > 2250 {
		t.Errorf("in shadow for %d of 5580 s", dark)
	}
}
