package diagnosis

import (
	"math"
	"slices"
)

// Progress is how far a transfer had come at a time.
type Progress struct {
	At    float64 // s
	Bytes float64 // delivered by then
	Lost  float64 // bytes (or segments) known to be lost by then
}

// TokenBucket says whether a policer explains a transfer's losses: one that lets pass what it has tokens for, at
// a rate, and drops the rest without a queue. It returns the rate in bit/s and how well that fits, from 0
// to 1; unknown where there are too few losses to say.
//
// The idea is T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016:
// the rate is the goodput between the first loss and the last, and with a bucket that was empty at
// the first loss, tokens must be gone whenever something is lost, and must be there whenever something
// passes. A loss by chance strikes with tokens left.
func TokenBucket(course []Progress) (rate, fit Value) {
	var at []int // where Lost rises
	for i := 1; i < len(course); i++ {
		if course[i].Lost > course[i-1].Lost {
			at = append(at, i)
		}
	}
	if len(at) < leastLosses {
		return
	}
	first, last := course[at[0]], course[at[len(at)-1]]
	took := last.At - first.At
	passed := last.Bytes - first.Bytes
	if took <= 0 || passed <= 0 {
		return
	}
	speed := passed / took
	// Tokens left at each point, in shares of what passed: 0 at the first loss and the last.
	tokens := func(p Progress) float64 {
		return (speed*(p.At-first.At) - (p.Bytes - first.Bytes)) / passed
	}
	var lost, kept []float64
	for i := at[0]; i <= at[len(at)-1]; i++ {
		x := tokens(course[i])
		if course[i].Lost > course[i-1].Lost {
			lost = append(lost, math.Abs(x))
		} else {
			kept = append(kept, x)
		}
	}
	agree := 0.0
	for _, x := range lost {
		if x < slack {
			agree++
		}
	}
	for _, x := range kept {
		if x > -slack {
			agree++
		}
	}
	fit = Is(agree / float64(len(lost)+len(kept)))
	slices.Sort(lost)
	return Is(speed * 8), fit
}

const (
	leastLosses = 4   // times at which something was lost
	slack       = .05 // of what passed, for what a sample cannot tell
)
