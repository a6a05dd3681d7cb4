package probe

import (
	"math"
	"slices"

	"github.com/headway-lab/headway/report"
)

// medianOf is the median with an interval at 95 % that assumes nothing of the distribution: the ranks between
// which a binomial with p = 1/2 falls (H. A. David, H. N. Nagaraja, "Order Statistics", 7.1). With
// fewer than six samples there is none; a single one is a plain figure.
func medianOf(x []float64) report.Value {
	x = slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	slices.Sort(x)
	n := len(x)
	v := report.Value{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), N: n}
	if n == 0 {
		return v
	}
	v.Value = (x[(n-1)/2] + x[n/2]) / 2
	if n == 1 {
		v.Low, v.High = 0, 0
	}
	if k := rank(n); k > 0 {
		v.Low, v.High = x[k-1], x[n-k]
	}
	return v
}

// fewest are the samples that carry an interval.
const fewest = 6

// rank is the largest k of which the k-th smallest and the k-th largest of n samples hold the median between them
// in 95 % of all cases or more; 0 if none does.
func rank(n int) int {
	// The probability of fewer than k below the median, times two.
	p, sum := math.Pow(.5, float64(n)), 0.0
	for k := 1; ; k++ {
		sum += p
		if 2*sum > .05 || k > n/2 {
			return k - 1
		}
		p *= float64(n-k+1) / float64(k)
	}
}
