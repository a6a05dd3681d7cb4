package causal

import (
	"fmt"
	"math"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

// toll is how much longer an operation takes in the baselines of a site, where accounts are kept, than without: effects are measured in
// parts of the first, and told in parts of the second. The zero toll is none.
type toll struct {
	by    float64 // as a factor, 1 or more; 0 where it is not known
	doubt float64 // its standard deviation, in parts of itself
}

const (
	normal95 = 1.96 // standard deviations in half a 95 % interval

	// tollUsual is what half of all programs have less of, as a logarithm: of the ten of bench/overhead it is the median.
	tollUsual = 0.04
	tollWorst = 1.0 // and nobody has more than this
	// tollApart is by how much, as a standard deviation of logarithms, the tolls of a program's sites differ at least: with a few turns of each that may not be seen.
	tollApart = 0.01
	// tollUnseen is the same where not even two sites have turns enough.
	tollUnseen = 0.03
)

// seen is a toll's logarithm as it was measured; not finite where nothing was.
type seen struct{ mean, sd float64 }

func seenOf(e effect.Effect) seen {
	log := func(percent float64) float64 { return math.Log1p(percent / 100) }
	s := seen{log(e.Percent), (log(e.High) - log(e.Low)) / (2 * normal95)}
	return seen{s.mean, max(s.sd, 1e-4)} // no clock is better than that
}

func (s seen) finite() bool { return finite(s.mean) && finite(s.sd) }

// tolls are those of the sites. Each is drawn to that of all by how uncertain it is beside how much they differ: the sites of one program are
// entered in the same accounts, and only their marks cost more or less.
func (t *tollTurns) tolls() []toll {
	out := make([]toll, len(t.sites))
	all := seenOf(t.all.effect())
	if !all.finite() {
		return out
	}
	each := make([]seen, len(t.sites))
	for i := range t.sites {
		each[i] = seenOf(t.sites[i].effect())
	}
	between := differ(each)
	for i, s := range each {
		k := seen{all.mean, math.Hypot(all.sd, math.Sqrt(between))}
		if s.finite() {
			own := between / (between + s.sd*s.sd)
			if len(each) == 1 {
				own = 1
			}
			k = seen{all.mean + own*(s.mean-all.mean), math.Hypot(math.Sqrt(own)*s.sd, (1-own)*all.sd)}
		}
		out[i] = k.toll()
	}
	return out
}

// differ is the variance by which tolls differ, of which some were seen.
func differ(each []seen) float64 {
	var mean, variance []float64
	for _, s := range each {
		if s.finite() {
			mean, variance = append(mean, s.mean), append(variance, s.sd*s.sd)
		}
	}
	if len(mean) < 2 {
		return tollUnseen * tollUnseen
	}
	return max(tollApart*tollApart, effect.Between(mean, variance))
}

// toll is what one that was seen so most likely is: the mean of what it may be, given that none is less than nothing, that small ones are usual
// and large ones rare but there (Bayes' rule with half a Cauchy distribution as the prior). So one that is known well is
// taken as it is, and one that the noise hides as what is usual.
func (s seen) toll() toll {
	if !s.finite() {
		return toll{}
	}
	step := min(s.sd/8, tollWorst/2000)
	var sum, first, second float64
	// Weights are relative to the greatest, or all could vanish.
	least := (min(max(s.mean, 0), tollWorst) - s.mean) / s.sd
	for x := step / 2; x < tollWorst; x += step {
		d := (x - s.mean) / s.sd
		w := math.Exp((least*least-d*d)/2) / (1 + (x/tollUsual)*(x/tollUsual))
		sum, first, second = sum+w, first+w*x, second+w*x*x
	}
	if !(sum > 0) {
		return toll{} // farther from all that is possible than numbers go
	}
	mean := first / sum
	return toll{by: math.Exp(mean), doubt: math.Sqrt(max(0, second/sum-mean*mean))}
}

// factor is what an effect in parts of the baseline that was measured is to be multiplied by.
func (k toll) factor() float64 { return max(1, k.by) }

// without is an effect in parts of the program without accounts.
func (k toll) without(e effect.Effect) effect.Effect { return e.Scaled(k.factor()) }

// shared is the standard deviation of what all pairs of an effect have in common, in parts of the baseline that it is told in: the
// method's, and what is not known of the toll.
func (k toll) shared(method float64, e effect.Effect) float64 {
	if k.doubt == 0 || !finite(e.Percent) {
		return method
	}
	return math.Hypot(method, k.doubt*e.Percent/100)
}

// less is a value without what keeping accounts adds to a baseline.
func (k toll) less(v report.Value, baseline float64) report.Value {
	more := baseline * (1 - 1/k.factor())
	v.Value, v.Low, v.High = max(0, v.Value-more), max(0, v.Low-more), max(0, v.High-more)
	return v
}

// note says of a site's toll what a reader should know; nothing of a usual one.
func (k toll) note() []string {
	if k.factor() < 1+2*tollNoted/100 {
		return nil
	}
	return []string{fmt.Sprintf("keeping accounts makes the program %.0f %% slower in this site's baselines (standard deviation %.0f): its effects are told %.2f times as large as they were measured", 100*(k.by-1), 100*k.doubt*k.by, k.by)}
}
