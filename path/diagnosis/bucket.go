package diagnosis

import (
	"math"
	"slices"
)

// Progress is how far a transfer had come at a time.
type Progress struct {
	At    float64 // s
	Bytes float64 // delivered by then
	Lost  float64 // segments known to be lost by then
}

// LeastLosses is how many segments must have been lost before TokenBucket says anything: as in the study.
const LeastLosses = 15

// TokenBucket says whether a policer explains a transfer's losses: one that lets pass what it has tokens for, at
// a rate, and drops the rest without a queue. It returns the rate in bit/s and how well that fits: the share
// of the losses that came when the tokens were gone. Chance losses come whenever they like, and fit
// to a third or so. Both are unknown where there are too few losses to say.
//
// The idea is T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016: between the first
// loss and the last, what was delivered keeps to a straight line wherever something is lost, and stays below it
// elsewhere, by the tokens that have gathered. Here the line is fitted to all losses instead of drawn through two.
func TokenBucket(course []Progress) (rate, fit Value) {
	var at []int // where Lost rises
	for i := 1; i < len(course); i++ {
		if course[i].Lost > course[i-1].Lost {
			at = append(at, i)
		}
	}
	if len(at) < 4 || course[at[len(at)-1]].Lost-course[at[0]-1].Lost < LeastLosses {
		return
	}
	first, last := at[0], at[len(at)-1]
	slope, level, ok := line(course, at)
	if !ok || slope <= 0 {
		return
	}
	tokens := func(p Progress) float64 { return level + slope*p.At - p.Bytes }
	var gathered []float64
	for i := first; i <= last; i++ {
		gathered = append(gathered, math.Abs(tokens(course[i])))
	}
	slices.Sort(gathered)
	// Of a quarter of what gathers at the most, a loss may be off: samples are late, and packets in flight.
	off := max(gathered[len(gathered)*9/10]/4, 3*segment)
	lost, agree := 0.0, 0.0
	for _, i := range at {
		n := course[i].Lost - course[i-1].Lost
		lost += n
		if math.Abs(tokens(course[i])) <= off {
			agree += n
		}
	}
	return Is(slope * 8), Is(agree / lost)
}

const segment = 1448

// line is the least squares fit of bytes over time where something was lost, each by how much.
func line(course []Progress, at []int) (slope, level float64, ok bool) {
	var w, x, y, xx, xy float64
	origin := course[at[0]].At
	for _, i := range at {
		n, t := course[i].Lost-course[i-1].Lost, course[i].At-origin
		w += n
		x += n * t
		y += n * course[i].Bytes
		xx += n * t * t
		xy += n * t * course[i].Bytes
	}
	d := w*xx - x*x
	if d <= 0 {
		return 0, 0, false
	}
	slope = (w*xy - x*y) / d
	level = (y-slope*x)/w - slope*origin
	return slope, level, true
}
