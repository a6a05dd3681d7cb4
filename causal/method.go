package causal

import "math"

// By how much more than their own intervals explain profiles are off where the truth is known (docs/profile-accuracy.md), as standard
// deviations in parts of the baseline. More experiments on the same process do not lessen it, so no interval claims to be narrower.
const (
	methodAlways = 0.006  // at steps of a millisecond
	methodShort  = 0.0125 // besides, where an operation takes no longer than methodNs: at steps of 50 us
	methodNs     = 40_000
)

// methodError is the standard deviation of that error, in parts of the baseline, whose windows took so many ns per operation. What
// does not shrink with the work, whether a thread sleeps as another wants to hand it something, is some half a microsecond an
// operation; many operations can be done between two such moments, so of short ones it is no larger part.
func methodError(ns []float64) float64 {
	if len(ns) == 0 {
		return methodAlways
	}
	mean := 0.0
	for _, x := range ns {
		mean += x / float64(len(ns))
	}
	return math.Hypot(methodAlways, methodShort*min(1, methodNs/mean))
}
