package effect

import (
	"cmp"
	"slices"
)

// FDR says which of the tests with p-values p are discoveries, such that at most
// the share q of the discoveries is expected to be false. Use it wherever many
// sites are tried at once: of a hundred changes without effect, five will
// otherwise look real at 95 %.
//
// A p-value that is NaN is a test that gave no answer: it is no discovery, and
// counts among the tests. With q <= 0 nothing is a discovery.
//
// Method: Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate",
// J. R. Statist. Soc. B 57 (1995) 289-300. Valid for independent tests and for
// those that depend positively, as sites of one program under one load do.
func FDR(p []float64, q float64) []bool {
	order := make([]int, 0, len(p))
	for i, v := range p {
		if v >= 0 { // not NaN
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	real := make([]bool, len(p))
	if !(q > 0) {
		return real
	}
	for k := len(order); k > 0; k-- {
		if p[order[k-1]] <= float64(k)*q/float64(len(p)) {
			for _, i := range order[:k] {
				real[i] = true
			}
			break
		}
	}
	return real
}
