package effect

import "math"

// Wilson is the score interval of a share of which k of n were seen (E. B. Wilson, "Probable Inference, the
// Law of Succession, and Statistical Inference", JASA 22, 1927), with z standard deviations of the normal to each side: 1.96
// for 95 %. It holds for any k, 0 and n included. With n = 0 it is 0 to 1.
func Wilson(k, n int64, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	m, p := float64(n), float64(k)/float64(n)
	mid := (p + z*z/2/m) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/4/m/m)
	low, high = max(mid-half, 0), min(mid+half, 1)
	// Exactly, where rounding would leave a trace.
	if k == 0 {
		low = 0
	}
	if k == n {
		high = 1
	}
	return low, high
}
