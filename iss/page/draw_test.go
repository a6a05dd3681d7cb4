package page

import (
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// rings reads a path as a browser does: M, l, z with numbers.
func rings(t interface{ Fatalf(string, ...any) }, d string) (all [][][2]int) {
	number := func() int {
		d = strings.TrimLeft(d, " ")
		n := 0
		for n < len(d) && (d[n] >= '0' && d[n] <= '9' || d[n] == '-' && n == 0) {
			n++
		}
		v, err := strconv.Atoi(d[:n])
		if err != nil {
			t.Fatalf("no number at %.20q", d)
		}
		d = d[n:]
		return v
	}
	var ring [][2]int
	relative := false
	for d != "" {
		switch {
		case d[0] == 'M':
			relative = false
			if ring != nil {
				all = append(all, ring)
			}
			d = d[1:]
			ring = [][2]int{{number(), number()}}
		case d[0] == 'z':
			d = d[1:]
		case d[0] == 'l':
			d, relative = d[1:], true
		case !relative:
			t.Fatalf("absolute coordinates at %.20q", d)
		default:
			last := ring[len(ring)-1]
			x := last[0] + number()
			ring = append(ring, [2]int{x, last[1] + number()})
		}
	}
	return append(all, ring)
}

// holds says whether a drawn area holds a place; its paths have north up, y downwards.
func holds(all [][][2]int, p orbit.Place) bool {
	in := false
	for _, r := range all {
		in = in != inside(r, p.Longitude*10, -p.Latitude*10)
	}
	return in
}

// apart is the angle between two places on a sphere.
func apart(p, q orbit.Place) float64 {
	const rad = math.Pi / 180
	return math.Acos(min(max(math.Sin(p.Latitude*rad)*math.Sin(q.Latitude*rad)+math.Cos(p.Latitude*rad)*math.Cos(q.Latitude*rad)*math.Cos((p.Longitude-q.Longitude)*rad), -1), 1)) / rad
}

// A circle around anything, over the poles and the date line, holds on the map just what it holds on the globe.
func TestAreaHoldsWhatTheCircleHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		centre := orbit.Place{Latitude: rapid.Float64Range(-89.5, 89.5).Draw(t, "lat"), Longitude: rapid.Float64Range(-180, 180).Draw(t, "lon")}
		radius := rapid.Float64Range(2, 89).Draw(t, "radius")
		p := orbit.Place{Latitude: rapid.Float64Range(-88, 88).Draw(t, "plat"), Longitude: rapid.Float64Range(-179.9, 179.9).Draw(t, "plon")}
		// Near its rim, the polygon that stands for the circle decides; and where a pole is near the rim, the map's
		// stretch makes a corner of it.
		if math.Abs(apart(centre, p)-radius) < 2 || math.Abs(90-math.Abs(centre.Latitude)-radius) < 2 {
			t.Skip()
		}
		all := rings(t, area(circle(centre, radius), centre))
		if got, want := holds(all, p), apart(centre, p) < radius; got != want {
			t.Fatalf("%v within %g of %v: %v on the map, %v on the globe", p, radius, centre, got, want)
		}
	})
}

// Night on the map is where the sun is below the horizon.
func TestNightIsWhereTheSunIsBelow(t *testing.T) {
	for _, at := range []time.Time{noon, noon.AddDate(0, 4, 15), noon.AddDate(0, -1, -15).Add(7 * time.Hour), time.Date(2026, 3, 20, 14, 46, 0, 0, time.UTC)} {
		for i, d := range night(at) {
			all := rings(t, d)
			for lat := -85.; lat <= 85; lat += 5 {
				for lon := -177.; lon < 180; lon += 6 {
					p := orbit.Place{Latitude: lat, Longitude: lon}
					sun := p.SunElevation(at) + 6*float64(i)
					if math.Abs(sun) < 1 {
						continue
					}
					if holds(all, p) != (sun < 0) {
						t.Fatalf("%v, %v: the sun is %.1f degrees above that twilight, and on the map it is %v", at, p, sun, holds(all, p))
					}
				}
			}
		}
	}
}

// The footprint holds the places from which the object is above the horizon, also beside a pole.
func TestFootprintOnTheMap(t *testing.T) {
	for _, number := range []int{25544, 25338, 36411} {
		o := sky.BuiltIn().Number(number)
		for k := range 12 {
			at := noon.Add(time.Duration(k) * 9 * time.Minute)
			s, err := o.Orbit().AtTime(at)
			if err != nil {
				t.Fatal(err)
			}
			fixed := s.EarthFixed(orbit.UT1(at))
			all := rings(t, area(fixed.Position.Footprint(72), fixed.Position.Place()))
			for lat := -84.; lat <= 84; lat += 7 {
				for lon := -175.; lon < 180; lon += 10 {
					p := orbit.Place{Latitude: lat, Longitude: lon}
					if up := p.Look(fixed).Elevation; math.Abs(up) > 1.5 && holds(all, p) != (up > 0) {
						t.Fatalf("%s at %v from %v: elevation %.1f, on the map %v", o.Label, at, p, up, holds(all, p))
					}
				}
			}
		}
	}
}

// A drawing is kept for as long as it is the right one, and there are never too many.
func TestDrawingsAreKept(t *testing.T) {
	var d drawings
	o, other := sky.BuiltIn().Number(25544), sky.BuiltIn().Number(20580)
	first := d.at(o, noon)
	if d.at(o, noon.Add(9*time.Second)) != first || d.at(other, noon) == first {
		t.Error("within ten seconds it is not the same, or another object has it")
	}
	if later := d.at(o, noon.Add(10*time.Second)); later == first || later.Next == first.Next || len(d.kept) != 1 {
		t.Errorf("after ten seconds it is still the same, or what is over is kept: %d", len(d.kept))
	}
	newer := o.Orbit().Elements()
	newer.Epoch = newer.Epoch.Add(time.Hour)
	made, err := sky.New([]orbit.Elements{newer}, sky.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if d.at(made.Station(), noon.Add(10*time.Second)).Next == d.at(o, noon.Add(10*time.Second)).Next {
		t.Error("newer elements have the drawing of the older ones")
	}
	for i := range mostDrawings + 20 {
		e := *o
		e.Number = i
		d.at(&e, noon)
	}
	if len(d.kept) > mostDrawings {
		t.Errorf("%d are kept", len(d.kept))
	}
}

// A line has no jump: what crosses the date line goes on beyond the edge.
func TestLineDoesNotJump(t *testing.T) {
	for o := range sky.BuiltIn().All() {
		places, err := o.Orbit().Track(noon, noon.Add(24*time.Hour), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, ring := range rings(t, line(places)) {
			for i := 1; i < len(ring); i++ {
				if d := ring[i][0] - ring[i-1][0]; d > 900 || d < -900 {
					t.Errorf("%s jumps by %d at %v", o.Label, d, ring[i])
				}
			}
		}
	}
}

func TestOver(t *testing.T) {
	w := theWorld()
	for want, p := range map[string]orbit.Place{
		"Austria": {Latitude: 48.2, Longitude: 16.4}, "Brazil": {Latitude: -10, Longitude: -55}, "the United States": {Latitude: 40, Longitude: -100},
		"Russia": {Latitude: 66, Longitude: -175}, "Antarctica": {Latitude: -89, Longitude: 12}, "Lesotho": {Latitude: -29.5, Longitude: 28.3},
		"New Zealand": {Latitude: -44, Longitude: 170}, "Australia": {Latitude: -25, Longitude: 135}, "Greenland": {Latitude: 72, Longitude: -40},
		"the North Pacific": {Latitude: 30, Longitude: 179.9}, "the South Pacific": {Latitude: -30, Longitude: -120}, "the North Atlantic": {Latitude: 40, Longitude: -40},
		"the South Atlantic": {Latitude: -30, Longitude: -0.1}, "the Indian Ocean": {Latitude: -20, Longitude: 80}, "the Southern Ocean": {Latitude: -62, Longitude: 100},
		"the Arctic Ocean": {Latitude: 89, Longitude: 0}, "the sea": {Latitude: 26, Longitude: 35},
	} {
		if got := w.over(p); got != want {
			t.Errorf("%v is over %s, want %s", p, got, want)
		}
	}
	// The South Atlantic goes on over the meridian of Greenwich.
	for lon := -10.; lon <= 10; lon += .05 {
		if got := w.over(orbit.Place{Latitude: -30, Longitude: lon}); got != "the South Atlantic" {
			t.Fatalf("longitude %.2f is over %s", lon, got)
		}
	}
}

// The map is well-formed, has no jump across itself, and is small enough for a telephone.
func TestMap(t *testing.T) {
	svg := theWorld().svg()
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for part := range strings.SplitSeq(string(svg), ` d="`) {
		if part[0] == 'M' {
			d, _, _ := strings.Cut(part, `"`)
			rings(t, d)
		}
	}
	for _, c := range theWorld().Countries {
		for _, r := range c.rings {
			for i := 1; i < len(r); i++ {
				if d := r[i][0] - r[i-1][0]; (d > 900 || d < -900) && r[i][1] > -890 {
					t.Errorf("%s jumps by %d", c.Name, d)
				}
			}
		}
	}
	s := newSite(t, still)
	if n := len(s.static["world.svg"].packed); n > 60_000 {
		t.Errorf("the map has %d bytes, packed", n)
	}
}
