package orbit

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// table reads a file of reference values without its first lines (what it is, header).
func table(t *testing.T, file string) [][]string {
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := csv.NewReader(f)
	d.Comment = '#'
	rows, err := d.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func number(t *testing.T, s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func moment(t *testing.T, s string) time.Time {
	m, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// references are the orbits that the tables are of, by catalogue number.
func references(t *testing.T) map[string]*Orbit {
	f, err := os.Open("testdata/made.tle")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := Read(f, TLE)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors(t) {
		all = append(all, v.Elements)
	}
	orbits := map[string]*Orbit{}
	for _, e := range all {
		if orbits[strconv.Itoa(e.Number)], err = New(e, WGS72, Improved); err != nil {
			t.Fatal(err)
		}
	}
	return orbits
}

// Skyfield's latitudes, longitudes, heights, for objects from 150 to 160,000 km up.
func TestSkyfield(t *testing.T) {
	orbits := references(t)
	rows := table(t, "skyfield.csv")
	if len(rows) != 1000 {
		t.Fatalf("%d rows", len(rows))
	}
	var lat, lon, height float64
	for _, row := range rows {
		p, err := orbits[row[0]].Below(moment(t, row[1]))
		if err != nil {
			t.Fatal(row, err)
		}
		a := math.Abs(p.Latitude - number(t, row[2]))
		b := math.Abs(math.Remainder(p.Longitude-number(t, row[3]), 360))
		c := math.Abs(p.Height - number(t, row[4]))
		lat, lon, height = max(lat, a), max(lon, b), max(height, c)
		if a > 1e-4 || b > 1e-4 || c > .02 {
			t.Errorf("%v: off by %g and %g degrees, %g km", row, a, b, c)
		}
	}
	t.Logf("differences up to %.2g degrees of latitude, %.2g of longitude, %.2g m", lat, lon, 1000*height)
}

// Place and EarthFixed are each other's inverse to below a mm, at the poles, the date
// line, in the ground and far out.
func TestPlaceRoundTrip(t *testing.T) {
	check := func(t rapid.TB, p Place) {
		v := p.EarthFixed()
		q := v.Place()
		if d := q.EarthFixed().sub(v).Norm(); d > 1e-7+1e-15*p.Height {
			t.Fatalf("%+v came back as %+v, %g km away", p, q, d)
		}
		if math.Abs(q.Latitude-p.Latitude) > 1e-12+1e-13*math.Abs(p.Latitude) || math.Abs(q.Height-p.Height) > 1e-8+1e-14*p.Height {
			t.Fatalf("%+v came back as %+v", p, q)
		}
		if math.Abs(q.Latitude) < 89.9999 && math.Abs(q.Longitude-p.Longitude) > 1e-9 {
			t.Fatalf("%+v came back as %+v", p, q)
		}
		if !(q.Longitude > -180 && q.Longitude <= 180) {
			t.Fatalf("longitude %g", q.Longitude)
		}
	}
	for _, lat := range []float64{-90, -89.9999999, -45, -1e-9, 0, 1e-9, 45, 89.9999999, 90} {
		for _, lon := range []float64{-179.9999999, -90, 0, 1e-9, 90, 180} {
			for _, h := range []float64{-4000, -1000, -.01, 0, 420, 36000, 400000, 1e9} {
				check(t, Place{lat, lon, h})
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, Place{
			rapid.Float64Range(-90, 90).Draw(t, "latitude"),
			rapid.Float64Range(-179.999, 180).Draw(t, "longitude"),
			rapid.Float64Range(-1000, 50000).Draw(t, "height"),
		})
	})
}

func TestPlaceOfOddPoints(t *testing.T) {
	for _, c := range []struct {
		v    Vector
		want Place
	}{
		{Vector{}, Place{Height: -equator}},
		{Vector{Z: polar}, Place{Latitude: 90}},
		{Vector{Z: -polar - 1}, Place{Latitude: -90, Height: 1}},
		{Vector{X: -equator}, Place{Longitude: 180}},
		{Vector{X: -equator, Y: math.Copysign(0, -1)}, Place{Longitude: 180}},
		{Vector{Y: -equator - 100}, Place{Longitude: -90, Height: 100}},
	} {
		p := c.v.Place()
		if math.Abs(p.Latitude-c.want.Latitude) > 1e-9 || math.Abs(p.Longitude-c.want.Longitude) > 1e-9 || math.Abs(p.Height-c.want.Height) > 1e-9 {
			t.Errorf("%+v: %+v, want %+v", c.v, p, c.want)
		}
	}
}

// From everywhere on the line around the footprint the object stands on the horizon.
func TestFootprint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := Place{rapid.Float64Range(-90, 90).Draw(t, "latitude"), rapid.Float64Range(-180, 180).Draw(t, "longitude"), rapid.Float64Range(1, 400000).Draw(t, "height")}
		v := at.EarthFixed()
		ring := v.Footprint(24)
		if len(ring) != 24 {
			t.Fatal(ring)
		}
		for _, p := range ring {
			if d := p.Look(State{Position: v}); math.Abs(d.Elevation) > 1e-7 {
				t.Fatalf("from %+v it stands at %g degrees", p, d.Elevation)
			}
		}
		if at.Latitude > -60 && at.Latitude < 60 && ring[0].Latitude < at.Latitude-1e-9 && at.Height < 1000 {
			t.Fatalf("begins at %+v, not in the north of %+v", ring[0], at)
		}
	})
	if (Vector{X: 6000}).Footprint(10) != nil {
		t.Error("a footprint from below the ground")
	}
	if ring := (Vector{Z: 7000}).Footprint(4); math.Abs(ring[0].Latitude-ring[2].Latitude) > 1e-9 {
		t.Error("over the pole:", ring)
	}
}

func TestLook(t *testing.T) {
	here := Place{Latitude: 50, Longitude: 10}
	up := Place{50, 10, 400}
	for _, c := range []struct {
		at                 Place
		azimuth, elevation float64
	}{{up, -1, 90}, {Place{50.5, 10, 0}, 0, -.25}, {Place{49.5, 10, 0}, 180, -.25}, {Place{50, 10.5, 0}, 89.8, -.16}, {Place{50, 9.5, 0}, 270.2, -.16}} {
		d := here.Look(State{Position: c.at.EarthFixed()})
		if c.azimuth >= 0 && math.Abs(math.Remainder(d.Azimuth-c.azimuth, 360)) > .02 || math.Abs(d.Elevation-c.elevation) > .01 {
			t.Errorf("%+v is seen at %+v", c.at, d)
		}
	}
	if d := here.Look(State{here.EarthFixed(), Vector{}}); d.Range != 0 || math.IsNaN(d.RangeRate) {
		t.Error(d)
	}
	// The rate is the derivative of the range, over the turning ground.
	o := references(t)["25544"]
	at := o.Epoch().Add(40 * time.Minute)
	look := func(d time.Duration) Direction {
		s, err := o.AtTime(at.Add(d))
		if err != nil {
			t.Fatal(err)
		}
		return here.Look(s.EarthFixed(UT1(at.Add(d))))
	}
	slope := (look(500*time.Millisecond).Range - look(-500*time.Millisecond).Range)
	if math.Abs(slope-look(0).RangeRate) > 1e-4 {
		t.Errorf("range changes by %g km/s, said %g", slope, look(0).RangeRate)
	}
}

func TestTrack(t *testing.T) {
	o := references(t)["25544"]
	track, err := o.Track(o.Epoch(), o.Epoch().Add(o.Period()), time.Minute)
	if err != nil || len(track) != 93 {
		t.Fatal(len(track), err)
	}
	top := 0.
	for i, p := range track {
		top = max(top, math.Abs(p.Latitude))
		if q, _ := o.Below(o.Epoch().Add(time.Duration(i) * time.Minute)); p != q || p.Height < 400 || p.Height > 440 {
			t.Error(p, q)
		}
	}
	if top < 51 || top > 51.9 {
		t.Errorf("reaches %g degrees", top)
	}
	if _, err := o.Track(o.Epoch(), o.Epoch().Add(time.Hour), 0); err == nil {
		t.Error("a step of 0")
	}
}
