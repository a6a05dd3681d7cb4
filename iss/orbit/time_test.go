package orbit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestJulian(t *testing.T) {
	for _, c := range []struct {
		t    time.Time
		want JulianDate
	}{
		{time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), JulianDate{2451544.5, .5}},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), JulianDate{2440587.5, 0}},
		{time.Date(1957, 10, 4, 19, 28, 34, 0, time.UTC), JulianDate{2436115.5, (19*3600 + 28*60 + 34) / 86400.}},
		{time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC), JulianDate{2440586.5, 86399.999999999 / 86400}},
	} {
		if got := Julian(c.t); got != c.want {
			t.Errorf("%v: %v, want %v", c.t, got, c.want)
		}
	}
}

// The sidereal time of D. A. Vallado, "Fundamentals of Astrodynamics and Applications",
// example 3-5, which has 152.578787810 degrees from a Julian date in one float64 (and those are
// 1.7e-7 degrees apart): this is the same expression in exact fractions. And that at J2000.0.
func TestSiderealTime(t *testing.T) {
	if got := SiderealTime(Julian(time.Date(1992, 8, 20, 12, 14, 0, 0, time.UTC))) / degree; math.Abs(got-152.578787851657) > 1e-11 {
		t.Errorf("%.12f", got)
	}
	if got := SiderealTime(JulianDate{2451545, 0}) / twoPi * 86400; math.Abs(got-(18*3600+41*60+50.54841)) > 1e-8 {
		t.Errorf("%.9f s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		j := JulianDate{2430000.5 + float64(rapid.IntRange(0, 60000).Draw(t, "day")), rapid.Float64Range(0, .9999).Draw(t, "fraction")}
		got := SiderealTime(j)
		if !(got >= 0 && got < twoPi) {
			t.Fatal(got)
		}
		// A sidereal day is 86164.0905 s.
		if d := math.Remainder(SiderealTime(j.add(86164.0905))-got, twoPi); math.Abs(d) > 1e-8 {
			t.Fatal(d)
		}
	})
}

// UT1 from Bulletin A and the announcements of leap seconds; a leap second is no leap in UT1.
func TestUT1(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want float64 // UT1 - UTC, s
	}{
		{time.Date(2006, 1, 1, 0, 0, 0, 0, time.UTC), .3388},
		{time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC), .4072},
		{time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC), .2164},
		{time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), -.1754},
		{time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), .0088},
	} {
		u, j := UT1(c.at), Julian(c.at)
		if got := ((u.Day - j.Day) + (u.Fraction - j.Fraction)) * 86400; math.Abs(got-c.want) > .008 {
			t.Errorf("%v: %.4f s, want %.4f", c.at, got, c.want)
		}
	}
	for t0 := time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC); t0.Year() < 2060; t0 = t0.Add(7 * time.Hour * 24) {
		u, j := UT1(t0), Julian(t0)
		if got := ((u.Day - j.Day) + (u.Fraction - j.Fraction)) * 86400; math.Abs(got) > .9 {
			t.Errorf("%v: %.4f s", t0, got)
		}
	}
	if u := UT1Until(); u.Year() < 2027 || u.Year() > 2040 {
		t.Error(u)
	}
}

func TestMod(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), twoPi, -twoPi, 2 * twoPi, math.Nextafter(twoPi, 0), math.Nextafter(2*twoPi, 0), math.Nextafter(3*twoPi, 100), 1e9, -1e300} {
		if got, want := mod(x), math.Mod(x, twoPi); math.Float64bits(got) != math.Float64bits(want) && !(got == 0 && want == 0) {
			t.Errorf("%g: %g, want %g", x, got, want)
		}
	}
	if !math.IsNaN(mod(math.NaN())) || !math.IsNaN(mod(math.Inf(1))) {
		t.Error("of no number")
	}
	for k := range 100000 {
		x := float64(k) * twoPi
		for range 2 {
			if got, want := mod(x), math.Mod(x, twoPi); got != want {
				t.Fatalf("%g: %g, want %g", x, got, want)
			}
			x = math.Nextafter(x, 0)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e8, 1e8).Draw(t, "x")
		if got, want := mod(x), math.Mod(x, twoPi); got != want {
			t.Fatalf("%g, want %g", got, want)
		}
	})
}

func TestTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-10, 10).Draw(t, "a")
		d := rapid.Float64Range(-1, 1).Draw(t, "d") * math.Pow(10, -rapid.Float64Range(0, 8).Draw(t, "down"))
		s, c := math.Sincos(a)
		s, c = turn(s, c, d)
		if wantS, wantC := math.Sincos(a + d); math.Abs(s-wantS) > 2e-15 || math.Abs(c-wantC) > 2e-15 {
			t.Fatalf("off by %g and %g", s-wantS, c-wantC)
		}
	})
}
