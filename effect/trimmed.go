package effect

import (
	"math"
	"slices"
)

// trim is the share cut from each end before the mean is taken.
const trim = 0.2

// location is a trimmed mean with its standard error, both in the unit of the samples.
type location struct {
	mean, se float64
	df       float64 // degrees of freedom: samples kept, less one
	n        int     // samples given
}

// trimmed returns the 20 % trimmed mean of x and its standard error from the
// winsorised variance. It sorts x.
//
// Method: J. W. Tukey, D. H. McLaughlin, "Less vulnerable confidence and
// significance procedures for location based on a single sample", Sankhya A 25
// (1963) 331-352; for differences of pairs this is the one-sample form of
// K. K. Yuen's test, Biometrika 61 (1974) 165-170. With n < 5 nothing is cut, and
// it is Student's t.
func trimmed(x []float64) location {
	n := len(x)
	if n == 0 {
		return location{mean: math.NaN()}
	}
	slices.Sort(x)
	cut := int(trim * float64(n))
	kept := x[cut : n-cut]
	l := location{n: n, df: float64(len(kept) - 1), mean: mean(kept)}
	if n < MinN {
		return l
	}
	h := float64(len(kept))
	squares := winsorised(x, cut)
	if squares == 0 && x[0] != x[n-1] {
		// The kept samples are all the same and the cut ones are not, as coarse
		// clocks and counts have it. To say that the error is none would be a lie;
		// the untrimmed variance is the safe side.
		squares = winsorised(x, 0)
	}
	l.se = math.Sqrt(squares / (h * (h - 1)))
	return l
}

// shared adds an error that all samples have in common, for an interval of that confidence. The samples are logarithms of ratios,
// and sd is its standard deviation in the unit of the ratio.
func (l location) shared(sd, confidence float64) location {
	if sd > 0 && l.n >= MinN {
		sd *= math.Exp(-l.mean)
		l.se = math.Hypot(l.se, sd*math.Sqrt2*math.Erfinv(confidence)/studentQuantile(confidence, l.df))
	}
	return l
}

// winsorised is the sum of squared deviations of sorted x after the cut
// smallest and largest have been replaced by their nearest kept neighbours.
func winsorised(x []float64, cut int) float64 {
	n := len(x)
	low, high := x[cut], x[n-1-cut]
	if low == high {
		return 0 // not the rounding error of a mean
	}
	w := make([]float64, n)
	for i, v := range x {
		w[i] = min(max(v, low), high)
	}
	m, sum := mean(w), 0.0
	for _, v := range w {
		sum += (v - m) * (v - m)
	}
	return sum
}

// mean is exact where all of x are equal, and never leaves their range.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v - x[0]
	}
	m := x[0] + sum/float64(len(x))
	return min(max(m, x[0]), x[len(x)-1])
}

// interval is infinite where the samples are too few to carry one.
func (l location) interval(confidence float64) (low, high float64) {
	if l.n < MinN {
		return math.Inf(-1), math.Inf(1)
	}
	if l.se == 0 {
		return l.mean, l.mean
	}
	half := studentQuantile(confidence, l.df) * l.se
	return l.mean - half, l.mean + half
}

// p is the two-sided p-value of "the location is 0".
func (l location) p() float64 {
	switch {
	case l.n < MinN || l.mean == 0:
		return 1
	case l.se == 0:
		return 0
	}
	return studentP(l.mean/l.se, l.df)
}
