package diagnosis

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/dist"
)

// Of one and of two numbers the probability is known in closed form, of three at the end; it is symmetrical; where the normal one
// takes over it is the same; and it is that of numbers that are drawn.
func TestMeanOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1).Draw(t, "x")
		two := 2 * (1 - x) * (1 - x)
		if x < .5 {
			two = 1 - 2*x*x
		}
		for n, want := range map[float64]float64{0: 1, 1: 1 - x, 1.5: 1 - x, 2: two} {
			if got := meanOver(x, n); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%g of %g: %g, want %g", x, n, got, want)
			}
		}
		if got, want := meanOver(1-x/3, 3), x*x*x/6; math.Abs(got-want) > 1e-12 {
			t.Fatalf("%g: %g, want %g", x, got, want)
		}
		n := float64(rapid.IntRange(1, 40).Draw(t, "n"))
		if sum := meanOver(x, n) + meanOver(1-x, n); math.Abs(sum-1) > 1e-9 {
			t.Fatalf("%g of %g: %g", x, n, sum)
		}
		if a, b := meanOver(x, 12), meanOver(.5+(x-.5)*math.Sqrt(12./13), 13); math.Abs(a-b) > .003 {
			t.Fatalf("%g: %g of twelve, %g of thirteen", x, a, b)
		}
	})
	luck := dist.NewStream(1, "mean over")
	const all = 100e3
	over := 0.0
	for range int(all) {
		sum := 0.0
		for range 5 {
			sum += luck.Float64()
		}
		if sum >= 5*.7 {
			over++
		}
	}
	if p := meanOver(.7, 5); math.Abs(over/all-p) > 4*math.Sqrt(p*(1-p)/all) {
		t.Errorf("%g of the draws, want %g", over/all, p)
	}
}

// bursty is what leaves a sender that sends bursts of many sizes, and when it has come by: drop says by how much a segment is late, or
// that it is lost.
func bursty(luck *dist.Stream, drop func(at float64) (late float64, lost bool)) (all []Left, delivered []Progress) {
	at, came := 0.0, 0.0
	for range 150 {
		for range 1 + int(30*luck.Float64()*luck.Float64()) {
			late, lost := drop(at)
			if l := (Left{At: at, Arrived: 1}); lost {
				l.Arrived, l.Lost = 0, 1
				all = append(all, l)
			} else {
				came++
				all = append(all, l)
				delivered = append(delivered, Progress{At: at + late, Bytes: came})
			}
			at += 1e-4
		}
		at += .02 * luck.Float64()
	}
	return all, delivered
}

// A queue and a bucket are found at their rates, and told apart by what had come by at once; chance is neither.
func TestFindOverflow(t *testing.T) {
	const rate, room, trip = 1500., 12., .03
	found := 0
	for seed := range uint64(100) {
		luck := dist.NewStream(seed, "overflow")
		level, last := 0.0, 0.0
		fill := func(at float64) bool {
			level = max(level-rate*(at-last), 0)
			last = at
			if level+1 > room {
				return true
			}
			level++
			return false
		}
		find := func(drop func(float64) (float64, bool)) Overflow {
			all, delivered := bursty(luck, drop)
			return FindOverflow(all, delivered, trip)
		}
		q := find(func(at float64) (float64, bool) { lost := fill(at); return level / rate, lost })
		level, last = 0, 0
		b := find(func(at float64) (float64, bool) { return 0, fill(at) })
		for _, o := range []Overflow{q, b} {
			if o.Full < .85 || meanOver(o.Full, o.Times) > .005 {
				t.Errorf("seed %d: %+v", seed, o)
			}
		}
		if math.Abs(q.Rate/rate-1) < .3 && math.Abs(b.Rate/rate-1) < .3 {
			found++
			if q.Passed > .4*q.Room || b.Passed < .6*b.Room {
				t.Errorf("seed %d: of a queue %+v, of a bucket %+v", seed, q, b)
			}
		}
		c := find(func(float64) (float64, bool) { return 0, luck.Float64() < .02 })
		if c.Full > .7 && meanOver(c.Full, c.Times) < .005 {
			t.Errorf("seed %d: chance is %+v", seed, c)
		}
	}
	t.Logf("of 100 queues and buckets %d have their rates", found)
	if found < 60 {
		t.Errorf("of 100 queues and buckets %d have their rates", found)
	}
	for _, all := range [][]Left{nil, {{0, 1, 0}}, {{0, 100, 0}, {1, 100, 0}}, {{1, 100, 1}}} {
		if o := FindOverflow(all, nil, trip); !math.IsNaN(o.Full) || Is(o.Passed).Known() {
			t.Errorf("%+v", o)
		}
	}
}
