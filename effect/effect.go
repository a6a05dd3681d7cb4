// Package effect turns samples into estimates, and a baseline and a change into
// an effect with an interval.
//
// All of it rests on one method, the trimmed mean with Tukey and McLaughlin's
// interval (see trimmed.go): it was chosen by simulation among eight, because it
// keeps its promise with as few as five pairs and on machines where one
// measurement in ten is spoiled. The table stands in coverage_test.go.
//
//	e := effect.Paired(before, after, 0.95, seed)
//	fmt.Printf("%+.1f%% [%+.1f, %+.1f], n=%d\n", e.Percent, e.Low, e.High, e.N)
//
// The intervals assume that pairs are independent of each other. Drift that is
// slow against the time between the two halves of a pair cancels; drift that
// follows the order inside the pair does not, so change that order at random.
package effect

import "math"

// MinN is the least number of pairs or samples that carries an interval.
// With fewer, Low and High are infinite and P is 1.
const MinN = 4

// Estimate is a location estimate with a confidence interval; N is the number of samples behind it.
type Estimate struct {
	Value, Low, High float64
	N                int
}

// Effect is a relative change in percent of the baseline, with its interval and the
// two-sided p-value of "no effect".
type Effect struct {
	Percent, Low, High float64
	Confidence         float64
	P                  float64
	N                  int
}

// Paired estimates what a change did, from pairs measured next to each other in time:
// baseline[i] belongs to changed[i]. Percent is (changed - baseline) / baseline x 100,
// as the trimmed mean of log(changed[i] / baseline[i]), so that doubling and halving
// weigh the same and no single pair decides. P < 1 - confidence exactly where the
// interval excludes 0.
//
// A pair counts if both its values are positive and finite; N is the number of pairs
// that count, and a surplus on one side is ignored. A pair of which one half is zero
// (nothing happened in that window) is thus left out, not taken as -100 %: a caller
// who loses pairs this way should say so. With N = 0 Percent is NaN. A ratio beyond
// the range of float64 is +Inf, never NaN. A confidence outside (0, 1) is taken as 0.95.
//
// The method draws no random numbers. The seed is there so that one that does can
// take its place without a change to the callers.
func Paired(baseline, changed []float64, confidence float64, seed uint64) Effect {
	return PairedShared(baseline, changed, confidence, seed, 0)
}

// PairedShared is [Paired] for pairs that have an error in common, which more pairs do not lessen: that of the method, say. Its
// standard deviation is shared, as a part of the baseline (0.01 is one point of Percent), and known from elsewhere; the interval
// and P count it. 0, a negative one and NaN are none.
//
// Half an interval is the root of the squares of what each error alone would make it: of the pairs' own by Student's t, of the
// shared one by the normal distribution. (Satterthwaite's degrees of freedom for the sum of the variances are more than the
// pairs have; with four of them that made the interval narrower by more than the shared error made it wider.)
func PairedShared(baseline, changed []float64, confidence float64, seed uint64, shared float64) Effect {
	confidence = level(confidence)
	n := min(len(baseline), len(changed))
	ratios := make([]float64, 0, n)
	for i := range n {
		if b, c := baseline[i], changed[i]; positive(b) && positive(c) {
			ratios = append(ratios, math.Log(c)-math.Log(b))
		}
	}
	t := trimmed(ratios).shared(shared, confidence)
	low, high := t.interval(confidence)
	e := Effect{
		Percent:    percent(t.mean),
		Low:        percent(low),
		High:       percent(high),
		Confidence: confidence,
		P:          t.p(),
		N:          t.n,
	}
	if math.IsInf(low, -1) {
		e.Low = low // not -100 %: the data say nothing
	}
	return e
}

// Scaled is the effect in parts of a baseline that is by times smaller than the one that was measured, because what is the same in baseline
// and change is not counted in either. by is known from elsewhere, and taken as exact: what is not known of it belongs into shared of [PairedShared]. No effect is less than -100 %.
func (e Effect) Scaled(by float64) Effect {
	for _, x := range []*float64{&e.Percent, &e.Low, &e.High} {
		if !math.IsInf(*x, 0) {
			*x = max(-100, *x*by)
		}
	}
	return e
}

// Of estimates where samples lie: their 20 % trimmed mean, in their own unit.
//
// Samples that are NaN or infinite do not count; N is the number of those that do.
// With N = 0 Value is NaN. A confidence outside (0, 1) is taken as 0.95. About the seed, see [Paired].
func Of(samples []float64, confidence float64, seed uint64) Estimate {
	finite := make([]float64, 0, len(samples))
	largest := 0.0
	for _, x := range samples {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			finite = append(finite, x)
			largest = max(largest, math.Abs(x))
		}
	}
	// Squares must not overflow, nor vanish: work near 1 and scale by a power of two.
	_, exp := math.Frexp(largest)
	for i := range finite {
		finite[i] = math.Ldexp(finite[i], -exp)
	}
	t := trimmed(finite)
	low, high := t.interval(level(confidence))
	return Estimate{
		Value: math.Ldexp(t.mean, exp),
		Low:   math.Ldexp(low, exp),
		High:  math.Ldexp(high, exp),
		N:     t.n,
	}
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// percent turns the log of a ratio into a change in percent.
func percent(log float64) float64 { return 100 * math.Expm1(log) }

func level(confidence float64) float64 {
	if confidence > 0 && confidence < 1 {
		return confidence
	}
	return 0.95
}
