package main

import (
	"math"
	"testing"
	"time"
)

// counted is the time per operation that a run of the program would measure whose goroutines run by turns of the scheduler, all
// processors in step: from the first operation after the warm-up, a fifth of the run, to the last one.
func counted(op, turn, run time.Duration, goroutines, processors int, apart bool) time.Duration {
	did := make([]time.Duration, goroutines)
	for i := range did {
		if apart {
			did[i] = op - op*time.Duration(7*i%goroutines)/time.Duration(goroutines) // what is before the first operation
		}
	}
	var first, last time.Duration
	n := -1
	for at, g := time.Duration(0), 0; at < run; at += turn {
		var ends []time.Duration // of operations, in the order in which the goroutines run
		for range processors {
			for end := op - did[g]%op; end <= turn; end += op {
				ends = append(ends, at+end)
			}
			did[g] += turn
			g = (g + 1) % goroutines
		}
		for _, end := range ends {
			if end < run/5 || end > run {
				continue
			}
			if n++; n == 0 {
				first = end
			}
			first, last = min(first, end), max(last, end)
		}
	}
	return (last - first) / time.Duration(n)
}

// Goroutines that began together end their operations together, turn for turn, so a run of a few turns counts too many or too few. The program
// begins them at other parts of an operation each, which is right whatever an operation takes.
func TestApartTheyAreCounted(t *testing.T) {
	worst := func(apart bool) (off float64) {
		for op := 9 * time.Millisecond; op < 12*time.Millisecond; op += 50 * time.Microsecond {
			for _, turn := range []time.Duration{10100 * time.Microsecond, 20100 * time.Microsecond} {
				off = max(off, math.Abs(float64(counted(op, turn, usual(ms10).editFor, 16, 2, apart))/float64(op/2)-1))
			}
		}
		return 100 * off
	}
	if off := worst(true); off > 1.5 {
		t.Errorf("a run says the time per operation %.1f %% wrong", off)
	}
	if off := worst(false); off < 3 {
		t.Errorf("beginning together it would be wrong by %.1f %% only: then the program need not do otherwise", off)
	}
}
