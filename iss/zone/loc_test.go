package zone

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"github.com/headway-lab/headway/iss/orbit"
)

// record is the record that miekg/dns makes of our data.
func record(t interface{ Fatal(...any) }, l LOC) *dns.LOC {
	w := l.Wire()
	raw, err := dns.NewRR(`x. 4 IN LOC \# 16 ` + hex.EncodeToString(w[:]))
	if err != nil {
		t.Fatal(err)
	}
	rr, ok := raw.(*dns.LOC)
	if !ok {
		t.Fatal("not a LOC: " + raw.String())
	}
	return rr
}

func data(rr dns.RR) string {
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// The answer that made the service known, byte by byte.
func TestPublishedAnswer(t *testing.T) {
	const published = "43 46 46.715 S 145 49 45.069 W 417946.18m 1m 1m 1m"
	rr, err := dns.NewRR("iss.example. 4 IN LOC " + published)
	if err != nil {
		t.Fatal(err)
	}
	want := rr.(*dns.LOC)
	l, err := NewLOC(orbit.Place{
		Latitude: -(43 + 46./60 + 46.715/3600), Longitude: -(145 + 49./60 + 45.069/3600), Height: 417.94618,
	}, 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if l.String() != published {
		t.Errorf("%s\n%s is published", l, published)
	}
	if got := record(t, l); data(got) != data(want) || l.Latitude != want.Latitude || l.Longitude != want.Longitude || l.Altitude != want.Altitude || l.Size != want.Size {
		t.Errorf("%+v, miekg/dns has %+v", l, want)
	}
}

// RFC 1876, section 2 and appendix: the numbers are in the text.
func TestLOCEdges(t *testing.T) {
	for _, c := range []struct {
		p        orbit.Place
		lat, lon uint32
		alt      uint32
		text     string
	}{
		{orbit.Place{}, 1 << 31, 1 << 31, 1e7, "0 0 0.000 N 0 0 0.000 E 0.00m"},
		{orbit.Place{Latitude: math.Copysign(0, -1), Longitude: math.Copysign(0, -1)}, 1 << 31, 1 << 31, 1e7, "0 0 0.000 N 0 0 0.000 E 0.00m"},
		{orbit.Place{Latitude: 90}, 1<<31 + 324_000_000, 1 << 31, 1e7, "90 0 0.000 N 0 0 0.000 E 0.00m"},
		{orbit.Place{Latitude: -90}, 1<<31 - 324_000_000, 1 << 31, 1e7, "90 0 0.000 S 0 0 0.000 E 0.00m"},
		{orbit.Place{Longitude: 180}, 1 << 31, 1<<31 + 648_000_000, 1e7, "0 0 0.000 N 180 0 0.000 E 0.00m"},
		{orbit.Place{Longitude: -180}, 1 << 31, 1<<31 + 648_000_000, 1e7, "0 0 0.000 N 180 0 0.000 E 0.00m"},
		{orbit.Place{Longitude: -179.9999999999}, 1 << 31, 1<<31 + 648_000_000, 1e7, "0 0 0.000 N 180 0 0.000 E 0.00m"},
		{orbit.Place{Longitude: 540}, 1 << 31, 1<<31 + 648_000_000, 1e7, "0 0 0.000 N 180 0 0.000 E 0.00m"},
		{orbit.Place{Longitude: 359}, 1 << 31, 1<<31 - 3_600_000, 1e7, "0 0 0.000 N 1 0 0.000 W 0.00m"},
		{orbit.Place{Latitude: 59.99999999}, 1<<31 + 216_000_000, 1 << 31, 1e7, "60 0 0.000 N 0 0 0.000 E 0.00m"},
		{orbit.Place{Latitude: 1e-3 / 3600}, 1<<31 + 1, 1 << 31, 1e7, "0 0 0.001 N 0 0 0.000 E 0.00m"},
		{orbit.Place{Latitude: -1e-3 / 3600}, 1<<31 - 1, 1 << 31, 1e7, "0 0 0.001 S 0 0 0.000 E 0.00m"},
		{orbit.Place{Height: -100}, 1 << 31, 1 << 31, 0, "0 0 0.000 N 0 0 0.000 E -100000.00m"},
		{orbit.Place{Height: -.00001}, 1 << 31, 1 << 31, 1e7 - 1, "0 0 0.000 N 0 0 0.000 E -0.01m"},
		{orbit.Place{Height: 35786}, 1 << 31, 1 << 31, 3588600000, "0 0 0.000 N 0 0 0.000 E 35786000.00m"},
		{orbit.Place{Height: 42849.67295}, 1 << 31, 1 << 31, math.MaxUint32, "0 0 0.000 N 0 0 0.000 E 42849672.95m"},
	} {
		l, err := NewLOC(c.p, 1, 1, 1)
		if err != nil || l.Latitude != c.lat || l.Longitude != c.lon || l.Altitude != c.alt {
			t.Errorf("%+v: %+v, %v; want %d %d %d", c.p, l, err, c.lat, c.lon, c.alt)
			continue
		}
		if l.String() != c.text+" 1m 1m 1m" {
			t.Errorf("%+v: %s, want %s", c.p, l, c.text)
		}
	}
	for _, p := range []orbit.Place{{Height: 42849.673}, {Height: -100.001}, {Height: math.NaN()}, {Height: math.Inf(1)}, {Height: 384_400}} {
		if _, err := NewLOC(p, 1, 1, 1); !errors.Is(err, ErrAltitude) {
			t.Errorf("height %v: %v", p.Height, err)
		}
	}
	for _, p := range []orbit.Place{{Latitude: 90.001}, {Latitude: math.NaN()}, {Longitude: math.NaN()}, {Longitude: math.Inf(1)}} {
		if l, err := NewLOC(p, 1, 1, 1); err == nil {
			t.Errorf("%+v: %v", p, l)
		}
	}
}

func TestDiameter(t *testing.T) {
	for metres, want := range map[float64]uint8{
		0: 0, .01: 0x10, .09: 0x90, .091: 0x11, 1: 0x12, 1.01: 0x22, 10: 0x13, 6000: 0x65, 6000.01: 0x75,
		9e7: 0x99, 1e12: 0x99, 40_030_174: 0x59, -1: 0,
	} {
		if got := Diameter(metres); got != want {
			t.Errorf("Diameter(%v) = %#x, want %#x", metres, got, want)
		}
	}
}

// Whatever the place, it comes back, and miekg/dns reads our octets and our text as the
// same. (Package dns has dig read them.)
func TestLOCRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := orbit.Place{
			Latitude:  rapid.Float64Range(-90, 90).Draw(t, "latitude"),
			Longitude: rapid.Float64Range(-180, 180).Draw(t, "longitude"),
			Height:    rapid.Float64Range(-100, 42849.67295).Draw(t, "height"),
		}
		size := rapid.Float64Range(0, 9e7).Draw(t, "size")
		l, err := NewLOC(p, size, 2*size, size/2)
		if err != nil {
			t.Fatal(err)
		}
		q := l.Place()
		if d := math.Abs(q.Latitude - p.Latitude); d > .5001e-3/3600 {
			t.Fatalf("latitude is %v off", d)
		}
		if d := math.Abs(math.Remainder(q.Longitude-p.Longitude, 360)); d > .5001e-3/3600 {
			t.Fatalf("longitude is %v off", d)
		}
		if d := math.Abs(q.Height - p.Height); d > .50001e-5 {
			t.Fatalf("height is %v off", d)
		}
		if cm := float64(centimetres(l.Size)); cm < 100*size-1e-6 || cm > 2*(100*size+1)+1e-6 {
			t.Fatalf("a size of %v m is %v cm", size, cm)
		}
		got := record(t, l)
		if got.Latitude != l.Latitude || got.Longitude != l.Longitude || got.Altitude != l.Altitude || got.Size != l.Size || got.HorizPre != l.Horizontal || got.VertPre != l.Vertical {
			t.Fatalf("%+v is read as %+v", l, got)
		}
		// Its reader of text cuts what its floating point leaves of a thousandth of a second.
		rr, err := dns.NewRR("x. 4 IN LOC " + l.String())
		if err != nil {
			t.Fatal(err)
		}
		w := rr.(*dns.LOC)
		if off(w.Latitude, l.Latitude) > 1 || off(w.Longitude, l.Longitude) > 1 || w.Altitude != l.Altitude || w.Size != l.Size || w.HorizPre != l.Horizontal || w.VertPre != l.Vertical {
			t.Fatalf("%s, %+v, is read as %+v", l, l, w)
		}
	})
}

func off(a, b uint32) int64 { return max(int64(a)-int64(b), int64(b)-int64(a)) }
