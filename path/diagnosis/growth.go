package diagnosis

import (
	"cmp"
	"slices"
)

// Sent is segments that left while so much was in flight.
type Sent struct {
	Flight        float64 // in any unit
	Arrived, Lost float64 // segments
}

// Growth is the probability that more was in flight when a segment that was lost left than when one that arrived did, a
// tie counting half: the statistic of H. B. Mann and D. R. Whitney (1947) over its largest value. Chance loses segments
// whatever is in flight; a queue that overflows or a policer's bucket that is empty, when it is much. It is
// unknown where nothing was lost, or all. It sorts the slice.
func Growth(all []Sent) Value {
	slices.SortFunc(all, func(a, b Sent) int { return cmp.Compare(a.Flight, b.Flight) })
	var lost, arrived, above float64
	for i := 0; i < len(all); {
		var l, a float64
		j := i
		for ; j < len(all) && all[j].Flight == all[i].Flight; j++ {
			l += all[j].Lost
			a += all[j].Arrived
		}
		above += l * (arrived + a/2)
		lost += l
		arrived += a
		i = j
	}
	if lost <= 0 || arrived <= 0 {
		return Value{}
	}
	return Is(above / (lost * arrived))
}
