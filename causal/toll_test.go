package causal

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

func TestPerVisit(t *testing.T) {
	at := func(now int64, begin, end uint64) snapshot {
		return snapshot{now: now, begin: []control.Count{{N: begin}}, end: []control.Count{{N: end}}}
	}
	for _, c := range []struct {
		name string
		a, b snapshot
		ends bool
		want float64
	}{
		{"visits", at(1000, 5, 0), at(21_000, 25, 0), false, 1000},
		{"requests that ended", at(1000, 5, 2), at(21_000, 105, 22), true, 1000},
		{"too few", at(1000, 5, 0), at(21_000, 14, 0), false, math.NaN()},
		{"none ended", at(1000, 5, 2), at(21_000, 105, 2), true, math.NaN()},
	} {
		got := perVisit(c.a, c.b, c.ends)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v ns, want %v", c.name, got, c.want)
		}
	}
}

// A toll that is known is taken as it is, one that the noise hides as what is usual, and none is less than nothing.
func TestTollOf(t *testing.T) {
	for _, c := range []struct {
		name            string
		e               *effect.Effect
		least, most     float64 // factor
		doubted, atMost float64
	}{
		{"not measured", nil, 1, 1, 0, 0},
		{"no interval", &effect.Effect{Percent: 20, Low: math.Inf(-1), High: math.Inf(1)}, 1, 1, 0, 0},
		{"well known", &effect.Effect{Percent: 23, Low: 21, High: 25}, 1.225, 1.23, .007, .009},
		{"very well", &effect.Effect{Percent: 23, Low: 23, High: 23}, 1.2299, 1.2301, 0, .001},
		{"none, and well known", &effect.Effect{Percent: 0, Low: -.5, High: .5}, 1, 1.003, .0005, .003},
		{"far less than none", &effect.Effect{Percent: -30, Low: -32, High: -28}, 1, 1.002, 0, .002},
		{"hidden", &effect.Effect{Percent: 0, Low: -40, High: 40}, 1.03, 1.12, .03, .15},
		{"uncertain", &effect.Effect{Percent: 20, Low: 5, High: 37}, 1.08, 1.18, .04, .08},
		{"more than there is", &effect.Effect{Percent: 900, Low: 890, High: 910}, 2.6, math.E, 0, .01},
	} {
		k := toll{}
		if c.e != nil {
			k = seenOf(*c.e).toll()
		}
		if f := k.factor(); !(f >= c.least && f <= c.most) || !(k.doubt >= c.doubted && k.doubt <= c.atMost) {
			t.Errorf("%s: %.4f and %.4f, want %.4f to %.4f and %.4f to %.4f", c.name, f, k.doubt, c.least, c.most, c.doubted, c.atMost)
		}
	}
}

// What is told of a program without accounts is right more often than what was measured, and its interval holds the truth, however well the
// toll is known. Tolls are those of bench/overhead's ten programs, as logarithms.
func TestTollCoverage(t *testing.T) {
	tolls := []float64{0, .008, .018, .030, .031, .049, .061, .064, .131, .388}
	rng := rand.New(rand.NewPCG(1, 2))
	const truth = -40.0
	for _, sd := range []float64{.005, .02, .05, .1} {
		held, told, raw, n := 0, 0.0, 0.0, 0
		for range 100 {
			for _, toll := range tolls {
				seen := toll + sd*rng.NormFloat64()
				half := normal95 * sd
				k := seenOf(effect.Effect{Percent: 100 * math.Expm1(seen), Low: 100 * math.Expm1(seen-half), High: 100 * math.Expm1(seen+half)}).toll()
				var base, changed []float64
				for range 20 {
					base = append(base, 1)
					changed = append(changed, (1+truth/100/math.Exp(toll))*math.Exp(.02*rng.NormFloat64()))
				}
				own := effect.Paired(base, changed, .95, 0)
				e := k.without(effect.PairedShared(base, changed, .95, 0, k.shared(0, own)))
				if e.Low <= truth && truth <= e.High {
					held++
				}
				told, raw, n = told+math.Abs(e.Percent-truth), raw+math.Abs(own.Percent-truth), n+1
			}
		}
		share, told, raw := float64(held)/float64(n), told/float64(n), raw/float64(n)
		t.Logf("toll known to %.3f: off by %.2f points where what is measured is off by %.2f; %.3f of the intervals hold the truth", sd, told, raw, share)
		if told >= raw || share < .9 {
			t.Errorf("toll known to %.3f: off by %.2f points for %.2f, %.3f of the intervals hold the truth", sd, told, raw, share)
		}
	}
}

// Values are of the program without accounts, as effects are: the change in percent of the baseline.
func TestTollLess(t *testing.T) {
	k := toll{by: 1.25}
	base := k.less(report.Value{Value: 100, Low: 95, High: 105, N: 3}, 100)
	changed := k.less(report.Value{Value: 60, Low: 58, High: 62, N: 3}, 100)
	if base != (report.Value{Value: 80, Low: 75, High: 85, N: 3}) || changed != (report.Value{Value: 40, Low: 38, High: 42, N: 3}) {
		t.Errorf("100 and 60 are %v and %v", base, changed)
	}
	if e := k.without(effect.Effect{Percent: -40}); math.Abs(e.Percent-100*(changed.Value-base.Value)/base.Value) > 1e-9 {
		t.Errorf("-40 %% is %.1f %%", e.Percent)
	}
	if v := (toll{}).less(report.Value{Value: 7, Low: 6, High: 8}, 7); v != (report.Value{Value: 7, Low: 6, High: 8}) {
		t.Errorf("without a toll 7 is %v", v)
	}
}

// turnsOf are turns of sites with those tolls, as logarithms, of which each is off by so much.
func turnsOf(rng *rand.Rand, n int, noise float64, tolls ...float64) *tollTurns {
	t := &tollTurns{sites: make([]pairs, len(tolls))}
	for range n {
		off := math.Exp(noise * rng.NormFloat64())
		sum := 0.0
		for i, toll := range tolls {
			on := toll + noise*rng.NormFloat64()
			t.sites[i].add(off, math.Exp(on))
			sum += on
		}
		t.all.add(off, math.Exp(sum/float64(len(tolls))))
	}
	return t
}

// Sites whose tolls differ surely have their own, others share what is known of all.
func TestTolls(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	near := func(k toll, log, within float64) bool { return math.Abs(math.Log(k.factor())-log) < within }
	if k := turnsOf(rng, 40, .01, .2).tolls(); !near(k[0], .2, .01) || k[0].doubt > .005 {
		t.Errorf("the only site's, .2, is %+v", k)
	}
	if k := turnsOf(rng, 40, .01, .02, .1, .3).tolls(); !near(k[0], .02, .01) || !near(k[1], .1, .01) || !near(k[2], .3, .01) {
		t.Errorf(".02, .1 and .3 are %+v", k)
	}
	least, most := math.Inf(1), 0.0
	for _, k := range turnsOf(rng, 8, .1, .1, .1, .1, .1, .1, .1, .1, .1).tolls() {
		least, most = min(least, k.by), max(most, k.by)
	}
	if most-least > .06 {
		t.Errorf("eight that are the same are %.3f to %.3f", least, most)
	}
	few := turnsOf(rng, 40, .01, .2, .2)
	few.sites[1].off, few.sites[1].on = few.sites[1].off[:3], few.sites[1].on[:3]
	if k := few.tolls(); !near(k[1], .2, .02) {
		t.Errorf("one that had three turns is %+v", k[1])
	}
	if k := turnsOf(rng, 3, .01, .2, .2).tolls(); k[0] != (toll{}) || k[1] != (toll{}) {
		t.Errorf("three turns say %+v", k)
	}
	nan := turnsOf(rng, 40, .01, .2)
	for i := range 8 {
		nan.sites[0].on[i], nan.all.off[i] = math.NaN(), math.NaN()
	}
	if k := nan.tolls(); !near(k[0], .2, .01) {
		t.Errorf("with turns in which nothing was seen .2 is %+v", k[0])
	}
	if (&tollTurns{sites: make([]pairs, 1)}).narrow() || turnsOf(rng, 40, .1, .1).narrow() || !turnsOf(rng, 40, .001, .1).narrow() {
		t.Error("what is known well enough is wrong")
	}
}

// The standard deviation that is told of a site's toll is what it is off by.
func TestTollsCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, noise := range []float64{.02, .1} {
		held, n := 0, 0
		for range 100 {
			tolls := make([]float64, 6)
			all := .1 * rng.Float64()
			for i := range tolls {
				tolls[i] = all + .05*rng.Float64()
			}
			for i, k := range turnsOf(rng, 6, noise, tolls...).tolls() {
				if math.Abs(math.Log(k.factor())-tolls[i]) < normal95*k.doubt {
					held++
				}
				n++
			}
		}
		share := float64(held) / float64(n)
		t.Logf("noise %.2f: %.3f of the tolls lie within two standard deviations", noise, share)
		if share < .85 {
			t.Errorf("noise %.2f: only %.3f of the tolls lie within two standard deviations", noise, share)
		}
	}
}
