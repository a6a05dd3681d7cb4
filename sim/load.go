package sim

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/headway-lab/headway/dist"
)

// Load says when requests arrive.
type Load interface {
	check() error
	// start gives a function from the time of one arrival to that of the next; less than
	// 0 is that no more come.
	start(e *engine, s *dist.Stream) func(last int64) (int64, error)
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
	if err := checkDist(l.gap); err != nil {
		return fmt.Errorf("arrivals: %w", err)
	}
	return nil
}

func (l renewal) start(e *engine, s *dist.Stream) func(int64) (int64, error) {
	return func(last int64) (int64, error) { return last + e.whole(l.gap.Draw(s)), nil }
}

type users struct {
	n     int
	think dist.Dist
}

// Users send a request each, think for a time when it is answered, in ms, and send the
// next (a closed loop). They begin with a think time.
func Users(n int, think dist.Dist) Load { return users{n, think} }

func (l users) check() error {
	if l.n < 1 || l.n > 100_000_000 {
		return fmt.Errorf("users: %d of them", l.n)
	}
	if err := dist.Check(l.think); err != nil {
		return fmt.Errorf("users: think time: %w", err)
	}
	return nil
}

func (l users) start(e *engine, s *dist.Stream) func(int64) (int64, error) {
	var ready heap[struct{}] // the users who think, by when they are done
	for range l.n {
		ready.push(e.whole(l.think.Draw(s)), 0, struct{}{})
	}
	const role = 0x7468696e6b // its own luck, with that of the request before
	e.ended = func(r *request, t int64) {
		ready.push(t+e.whole(r.draw(l.think, role)), 0, struct{}{})
	}
	return func(int64) (int64, error) {
		for {
			if len(ready) > 0 && (len(e.heap) == 0 || ready[0].t <= e.heap[0].t) {
				return ready.pop().t, nil
			}
			if len(e.heap) == 0 {
				return -1, nil // all users wait for ever
			}
			if err := e.step(); err != nil {
				return 0, err
			}
		}
	}
}

// Rate is how many requests a second arrive at a time in ms.
type Rate struct{ At, Rate float64 }

type course struct {
	points []Rate
	jump   bool
}

// Ramp is Poisson arrivals whose rate goes from point to point in straight lines, and stays
// as it is after the last. The first point is at 0.
func Ramp(points ...Rate) Load { return course{points, false} }

// Steps is Poisson arrivals whose rate jumps at every point.
func Steps(points ...Rate) Load { return course{points, true} }

func (l course) check() error {
	if len(l.points) == 0 || l.points[0].At != 0 {
		return errors.New("arrivals: the first rate has to be that at 0 ms")
	}
	for i, p := range l.points {
		if !(p.Rate >= 0) || p.Rate > 1e9 || !(p.At <= 1e12) || i > 0 && !(p.At > l.points[i-1].At) {
			return fmt.Errorf("arrivals: a rate of %g requests/s at %g ms: want rates of 0 or more, and times that grow", p.Rate, p.At)
		}
	}
	if l.points[len(l.points)-1].Rate == 0 {
		return nil // the load ends
	}
	return nil
}

// start draws gaps of mean 1 in the integral of the rate (E. Cinlar, "Introduction to
// stochastic processes", 1975), so that a change of the rates moves every arrival a little.
func (l course) start(e *engine, s *dist.Stream) func(int64) (int64, error) {
	p := l.points
	i, t := 0, 0.0 // segment, and time in ms
	return func(int64) (int64, error) {
		need := s.Exp() * 1000 // in requests/s x ms
		for {
			a, slope := p[i].Rate, 0.0
			if i+1 < len(p) && !l.jump {
				slope = (p[i+1].Rate - a) / (p[i+1].At - p[i].At)
			}
			now := a + slope*(t-p[i].At)
			if i+1 == len(p) {
				if a == 0 {
					return -1, nil
				}
				t += need / a
				return e.whole(t), nil
			}
			d := p[i+1].At - t
			if area := (now + slope*d/2) * d; area < need {
				need -= area
				t = p[i+1].At
				i++
				continue
			}
			// now x + slope x^2/2 = need; this form of the root is exact for slope 0, too.
			t += 2 * need / (now + math.Sqrt(max(now*now+2*slope*need, 0)))
			return e.whole(t), nil
		}
	}
}

// Burst is a state of bursty arrivals: Poisson with gaps of mean Gap, for an exponential
// time of mean Length, in ms. A Gap of 0 is silence.
type Burst struct{ Gap, Length float64 }

type bursts []Burst

// Bursts goes through its states in turn (a Markov-modulated Poisson process).
func Bursts(states ...Burst) Load { return bursts(states) }

func (l bursts) check() error {
	loud := false
	for _, b := range l {
		if err := errors.Join(dist.Check(dist.Fixed(b.Gap)), dist.Check(dist.Fixed(b.Length))); err != nil || b.Length < 1e-3 {
			return fmt.Errorf("bursts: a gap of %g ms for %g ms", b.Gap, b.Length)
		}
		loud = loud || b.Gap > 0
	}
	if !loud {
		return errors.New("bursts: nothing ever arrives")
	}
	return nil
}

func (l bursts) start(e *engine, s *dist.Stream) func(int64) (int64, error) {
	i, t, end := 0, 0.0, l[0].Length*s.Exp()
	return func(int64) (int64, error) {
		for {
			if l[i].Gap > 0 {
				if next := t + l[i].Gap*s.Exp(); next <= end {
					t = next
					return e.whole(t), nil
				}
			}
			// The exponential gap has no memory: it begins anew with the next state.
			t = end
			i = (i + 1) % len(l)
			end += l[i].Length * s.Exp()
			if !e.spend() {
				return 0, e.overspent()
			}
		}
	}
}

type replay []float64

// Replay sends requests at the times given, in ms, the first of them at 0; then it ends.
func Replay(times []float64) Load {
	all := append(replay(nil), times...)
	sort.Float64s(all)
	return all
}

func (l replay) check() error {
	if len(l) == 0 {
		return errors.New("replay: no times")
	}
	for _, t := range []float64{l[0], l[len(l)-1]} {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return errors.New("replay: a time is not finite")
		}
	}
	if d := l[len(l)-1] - l[0]; d > 1e12 {
		return fmt.Errorf("replay: %g ms from the first to the last", d)
	}
	return nil
}

func (l replay) start(e *engine, _ *dist.Stream) func(int64) (int64, error) {
	i := -1
	return func(int64) (int64, error) {
		if i++; i >= len(l) {
			return -1, nil
		}
		return e.whole(l[i] - l[0]), nil
	}
}

// count is how many requests there are.
func (l replay) count() int { return len(l) }

// CheckLoad says what is wrong with a load; nil if nothing is.
func CheckLoad(l Load) error { return l.check() }
