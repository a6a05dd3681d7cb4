package sim

import (
	"fmt"

	"github.com/headway-lab/headway/dist"
)

// Load says when requests arrive.
type Load interface {
	check() error
	// start gives a function from the time of one arrival to that of the next.
	start(e *engine, s *dist.Stream) func(last int64) int64
}

type renewal struct{ gap dist.Dist }

// Gaps between arrivals are drawn from a distribution, in ms.
func Gaps(gap dist.Dist) Load { return renewal{gap} }

// Poisson arrivals have gaps of the mean given, in ms.
func Poisson(gap float64) Load { return renewal{dist.Exponential(gap)} }

// Constant arrivals come every so many ms.
func Constant(gap float64) Load { return renewal{dist.Fixed(gap)} }

// AtOnce sends all requests at time 0.
func AtOnce() Load { return renewal{dist.Fixed(0)} }

func (l renewal) check() error {
	if err := dist.Check(l.gap); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	return nil
}

func (l renewal) start(e *engine, s *dist.Stream) func(int64) int64 {
	return func(last int64) int64 { return last + e.whole(l.gap.Draw(s)) }
}
