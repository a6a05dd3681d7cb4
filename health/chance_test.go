package health

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// exact adds up binomial terms with 400 bits.
func exact(served, total int64, share float64) float64 {
	f := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	p := f(share)
	q := f(0).Sub(f(1), p)
	power := func(x *big.Float, n int64) *big.Float {
		y, x := f(1), f(0).Set(x)
		for ; n > 0; n >>= 1 {
			if n&1 == 1 {
				y.Mul(y, x)
			}
			x.Mul(x, x)
		}
		return y
	}
	sum := f(0)
	for k := int64(0); k <= served; k++ {
		term := f(0).SetInt(new(big.Int).Binomial(total, k))
		sum.Add(sum, term.Mul(term, power(p, k)).Mul(term, power(q, total-k)))
	}
	x, _ := sum.Float64()
	return x
}

func TestChanceAgainstExactSums(t *testing.T) {
	for _, c := range []struct {
		served, total int64
		share         float64
	}{
		{0, 1, .5}, {0, 10, .5}, {5, 10, .5}, {9, 10, .5}, {10, 10, .5}, {0, 138, .1}, {3, 1000, .01}, {9, 1000, .01}, {10, 1000, .01}, {11, 1000, .01},
		{200, 1000, .9}, {899, 1000, .9}, {950, 1000, .9}, {0, 100000, .001}, {60, 100000, .001}, {100, 100000, .001}, {140, 100000, .001},
		{1, 3, 1e-9}, {50, 5000, .5}, {15, 16, .3}, {16, 17, .3}, {350, 5000, .1},
	} {
		got, want := Chance(uint64(c.served), uint64(c.total), c.share), exact(c.served, c.total, c.share)
		if math.Abs(got-want) > 1e-11*want {
			t.Errorf("Chance(%d, %d, %g) = %.16g, want %.16g", c.served, c.total, c.share, got, want)
		}
	}
}

// A small share of a large total is Poisson's distribution but for mean²/2total, and its closed form is independent of ours.
func TestChanceAgainstPoisson(t *testing.T) {
	const total = 1e12
	for _, mean := range []float64{1, 13.8, 50} {
		sum, term := 0., math.Exp(-mean)
		for k := 0.; k <= mean; k++ {
			sum += term
			if got := Chance(uint64(k), total, mean/total); math.Abs(got-sum) > 3e-9*sum {
				t.Errorf("mean %g: at most %g has chance %.14g, want %.14g", mean, k, got, sum)
			}
			term *= mean / (k + 1)
		}
	}
}

func TestChanceObeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Uint64Range(1, 1e9).Draw(t, "total")
		served := rapid.Uint64Range(0, total).Draw(t, "served")
		share := rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "share")
		c := Chance(served, total, share)
		if !(c >= 0 && c <= 1) {
			t.Fatalf("Chance = %g", c)
		}
		if served > 0 && Chance(served-1, total, share) > c*(1+1e-9) {
			t.Fatal("fewer requests are more probable")
		}
		if d := Chance(served, total+1, share); d > c*(1+1e-9) {
			t.Fatalf("as few of more requests are more probable: %g after %g", d, c)
		}
		// Few of one kind are many of the other: P(X <= k) + P(n-X <= n-k-1) = 1.
		if served < total {
			if sum := c + Chance(total-served-1, total, 1-share); math.Abs(sum-1) > 1e-7 {
				t.Fatalf("the two tails make %.12g", sum)
			}
		}
	})
}

func TestEnoughIsLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(1e-6, .9).Draw(t, "share")
		alarm := math.Exp(-rapid.Float64Range(.1, 60).Draw(t, "log"))
		n := Enough(share, alarm)
		if Chance(0, n, share) > alarm*(1+1e-9) {
			t.Fatalf("none of %d: %g is above %g", n, Chance(0, n, share), alarm)
		}
		if n > 1 && Chance(0, n-1, share) < alarm*(1-1e-9) {
			t.Fatalf("none of %d would do", n-1)
		}
	})
	if n := Enough(.5, .25); n != 2 { // exactly
		t.Errorf("Enough(.5, .25) = %d", n)
	}
}

// Of many windows in which a pod gets exactly the share that it is entitled to, as many alarm as the closed
// form says, and not more than Alarm.
func TestFalseAlarmsInSimulation(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for _, c := range []struct {
		share, alarm float64
		more         float64 // windows longer than enough
	}{{.1, .05, 1}, {.1, .05, 3}, {.02, .01, 1}, {.02, .01, 5}, {.25, .1, 8}} {
		total := uint64(float64(Enough(c.share, c.alarm)) * c.more)
		said := 0.
		for k := uint64(0); Chance(k, total, c.share) <= c.alarm; k++ {
			said = Chance(k, total, c.share)
		}
		if said == 0 || said > c.alarm {
			t.Fatalf("the closed form says %g for an alarm at %g", said, c.alarm)
		}
		const windows = 20000
		alarms := 0.
		for range windows {
			served := uint64(0)
			for range total {
				if random.Float64() < c.share {
					served++
				}
			}
			if Chance(served, total, c.share) <= c.alarm {
				alarms++
			}
		}
		deviation := math.Sqrt(windows * said * (1 - said))
		if math.Abs(alarms-windows*said) > 4*deviation {
			t.Errorf("share %g, alarm %g, total %d: %g of %d windows alarm, the closed form says %.0f ± %.0f", c.share, c.alarm, total, alarms, windows, windows*said, deviation)
		}
	}
}
