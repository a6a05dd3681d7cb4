package model

import (
	"math"
	"testing"

	"github.com/headway-lab/headway/dist"
)

// The random variant agrees with the window process itself: one segment more each round trip, half
// at a loss, no timeouts.
func TestMathisRandom(t *testing.T) {
	luck := dist.NewStream(1, "windows")
	for _, p := range []float64{.0003, .001, .003} {
		w, sent, rounds := 1/math.Sqrt(p), 0., 0
		for range 400_000 {
			n := int(w)
			lost := luck.Float64() < 1-math.Pow(1-p, float64(n))
			sent += float64(n)
			rounds++
			if lost {
				w = max(w/2, 1)
			} else {
				w++
			}
		}
		got, want := sent/float64(rounds), MathisRandom(1, p)
		if math.Abs(got/want-1) > .04 {
			t.Errorf("p = %g: %g segments a round trip, want %g", p, got, want)
		}
	}
}

func TestPFTK(t *testing.T) {
	// Without timeouts and losses it comes down to the model without them.
	if r := PFTK(.1, 1e-8, .1) / Mathis(.1, 1e-8); math.Abs(r-1) > 1e-3 {
		t.Errorf("%g of Mathis for hardly any loss", r)
	}
	// Equation 33 of the paper approximates equation 30.
	for _, p := range []float64{.001, .003, .01, .03} {
		rtt, rto := .1, .3
		approx := 1 / (rtt*math.Sqrt(2*p/3) + rto*min(1, 3*math.Sqrt(3*p/8))*p*(1+32*p*p))
		if r := PFTK(rtt, p, rto) / approx; r < .8 || r > 1.2 {
			t.Errorf("p = %g: %g of the approximation", p, r)
		}
	}
}

// RFC 9438, tables 1 and 2: average windows for round trips of .1 and .01 s, C = 0.4. Reno's there are
// of the same formula as ours.
func TestCubic(t *testing.T) {
	for _, c := range []struct{ rtt, p, window, reno float64 }{
		{.1, 1e-3, 38, 38}, {.1, 1e-4, 187, 120}, {.1, 1e-5, 1054, 379}, {.1, 1e-6, 5926, 1200},
		{.01, 1e-6, 1054, 1200}, {.01, 1e-7, 5926, 3795}, {.01, 1e-8, 33325, 12000},
	} {
		if got := Mathis(c.rtt, c.p) * c.rtt; math.Abs(got/c.reno-1) > .03 {
			t.Errorf("Reno at %g s, %g: %g, want %g", c.rtt, c.p, got, c.reno)
		}
		if got := Cubic(c.rtt, c.p) * c.rtt; math.Abs(got/max(c.window, c.reno)-1) > .03 {
			t.Errorf("CUBIC at %g s, %g: %g, want %g", c.rtt, c.p, got, max(c.window, c.reno))
		}
	}
}

func TestSlowStart(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want int
	}{{0, 0}, {1, 1}, {10, 1}, {11, 2}, {30, 2}, {31, 3}, {310, 5}, {311, 6}, {630, 6}, {631, 7}} {
		if got := SlowStart(c.n, 10); got != c.want {
			t.Errorf("%d segments: %d round trips, want %d", c.n, got, c.want)
		}
	}
}
