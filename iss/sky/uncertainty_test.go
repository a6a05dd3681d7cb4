package sky

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

// Old elements against new ones of the same object, at the epoch of the new.
func TestUncertaintyIsMeasured(t *testing.T) {
	f, err := os.Open("testdata/sets.tle")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sets, err := orbit.Read(f, orbit.TLE)
	if err != nil {
		t.Fatal(err)
	}
	var within, near, all, withinAll int
	for _, a := range sets {
		for _, b := range sets {
			if a.Number != b.Number || !a.Epoch.Before(b.Epoch) {
				continue
			}
			x, _ := orbit.New(a, orbit.WGS72, orbit.Improved)
			y, _ := orbit.New(b, orbit.WGS72, orbit.Improved)
			p, err := x.AtTime(b.Epoch)
			q, err2 := y.AtTime(b.Epoch)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			cos := p.Position.Dot(q.Position) / p.Position.Norm() / q.Position.Norm()
			off := 6371 * math.Acos(min(cos, 1))
			age := b.Epoch.Sub(a.Epoch)
			ground, _ := Uncertainty(age)
			t.Logf("%d, %5.1f days: %6.0f km off, said %6.0f", a.Number, age.Hours()/24, off, ground)
			all++
			if off <= ground {
				withinAll++
			}
			if age < TooOld {
				near++
				if off <= ground {
					within++
				}
			}
		}
	}
	t.Logf("%d of %d pairs within, %d of %d up to %v", withinAll, all, within, near, TooOld)
	if near < 8 || 4*within < 3*near {
		t.Errorf("only %d of %d pairs up to %v apart are as near as said", within, near, TooOld)
	}
	// And it is no bound that costs nothing: fresh elements promise a few km.
	if g, h := Uncertainty(12 * time.Hour); g > 6 || h > 2 {
		t.Errorf("half a day: %v km, %v km", g, h)
	}
	if g, _ := Uncertainty(-1000 * time.Hour * 24); g > 20100 {
		t.Errorf("more than half a turn: %v km", g)
	}
}

func BenchmarkNextPass(b *testing.B) {
	o := BuiltIn().Station()
	vienna := orbit.Place{Latitude: 48.2, Longitude: 16.4}
	b.Run("soon", func(b *testing.B) {
		for b.Loop() {
			o.NextPass(vienna, noon, 10)
		}
	})
	b.Run("never", func(b *testing.B) {
		for b.Loop() {
			o.NextPass(orbit.Place{Latitude: 89}, noon, 10)
		}
	})
}

func BenchmarkBelow(b *testing.B) {
	o := BuiltIn().Station()
	for b.Loop() {
		o.Below(noon)
	}
}
