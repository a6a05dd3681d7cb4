package causal

import "math"

// By how much more than their own intervals explain profiles are off where the truth is known (docs/profile-accuracy.md), as standard
// deviations in parts of the baseline. More experiments do not lessen it, so no interval claims to be narrower.
//
// What it costs to wake a thread is no virtual matter, and whether it sleeps at all as another wants to hand it something can
// hang on a microsecond: an interruption of the machine's, of which a delayed operation meets more. So programs whose threads sleep often are off
// by the more the more is inserted, the variance in proportion; those whose threads hardly sleep are right to within their windows.
const (
	methodAlways   = 0.004
	methodPerSleep = 1.5e-5 // seconds, besides, if all the time were inserted: .015 at a thousand sleeps a second
	methodMost     = 0.045  // of that: more sleeps than three thousand a second make it no worse
)

// methodError is the standard deviation of that error, in parts of the baseline, of a program whose threads go to sleep so many
// times a second as it is, where a part of the time in experiments was inserted; what is not known (NaN) is taken as the worst.
func methodError(slept, inserted float64) float64 {
	w := methodMost
	if !math.IsNaN(slept) {
		w = min(w, methodPerSleep*slept)
	}
	if math.IsNaN(inserted) {
		inserted = 1
	}
	return math.Hypot(methodAlways, w*math.Sqrt(inserted))
}

// method is the error of the method in a cell's effects.
func (c *cell) method() float64 {
	if c.placebo {
		return 0 // it is what is measured
	}
	return methodError(mean(c.slept), mean(c.insert))
}

// slept is how often a second threads went to sleep in all baselines; NaN where that is not known.
func (t *trial) slept() float64 {
	var all []float64
	for _, c := range t.cells {
		all = append(all, c.slept...)
	}
	return mean(all)
}

// mean of none is NaN.
func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}
