package orbit

import (
	"fmt"
	"time"
)

// Sighting is a direction at a moment.
type Sighting struct {
	Time time.Time // UTC
	Direction
}

// Pass is one stay above the elevation asked for.
type Pass struct {
	Rise, Set   Sighting // their Time is zero where the pass reaches beyond the window
	Culmination Sighting // where it is highest, within the window
	Visible     bool     // at some time it is sunlit and the sun is more than 6 degrees below the place's horizon
}

// Passes finds when the object is at least minElevation degrees (0 is the horizon)
// above a place, between two moments. Times are right to a tenth of a second against the
// theory, and no better than the elements: a second for each 8 km that they are off along the track.
//
// Where the theory ends within the window, the passes before that come with its error.
func (o *Orbit) Passes(p Place, from, to time.Time, minElevation float64) ([]Pass, error) {
	if to.Sub(from) > 366*24*time.Hour {
		return nil, fmt.Errorf("orbit: passes from %v to %v; want a year at most", from, to)
	}
	w := watch{o: o, place: p, from: from, least: minElevation}
	end := to.Sub(from).Seconds()
	a, step := w.at(0)
	if w.err != nil || end < 0 {
		return nil, w.err
	}
	w.begin(a)
	b := a
	for b.t < end {
		var c point
		c, step = w.at(min(b.t+step, end))
		if w.err != nil {
			return w.passes, w.err
		}
		// The peak lies between samples, and the samples may all be below the limit; so for dips.
		if peak := b.elevation > a.elevation; b.t > a.t && peak == (b.elevation > c.elevation) &&
			(peak && b.elevation > w.least-15 || !peak && b.elevation < w.least+15) {
			b = w.extreme(a, c, peak)
		}
		w.between(a, b)
		a, b = b, c
	}
	w.between(a, b)
	w.finish(b)
	return w.passes, w.err
}

// watch follows an object over a place.
type watch struct {
	o      *Orbit
	place  Place
	from   time.Time
	least  float64 // degrees
	up     bool
	pass   Pass
	top    point
	since  float64 // seconds
	passes []Pass
	err    error
}

// point is an elevation in degrees at a time in seconds from the start.
type point struct{ t, elevation float64 }

func (w *watch) time(t float64) time.Time {
	return w.from.Add(time.Duration(t * float64(time.Second))).UTC()
}

func (w *watch) look(t float64) (Sighting, State) {
	at := w.time(t)
	s, err := w.o.AtTime(at)
	if err != nil && w.err == nil {
		w.err = err
	}
	return Sighting{at, w.place.Look(s.EarthFixed(UT1(at)))}, s
}

// at also gives the time in which the object moves 3 degrees as seen from the centre of the Earth.
func (w *watch) at(t float64) (point, float64) {
	l, s := w.look(t)
	r := s.Position
	speed := r.cross(s.Velocity).Norm()/r.Dot(r) + rotation
	return point{t, l.Elevation}, min(max(3*degree/speed, 1), 600)
}

func (w *watch) elevation(t float64) float64 {
	l, _ := w.look(t)
	return l.Elevation
}

// extreme finds the highest (or lowest) point between two by golden section, to 10 ms.
func (w *watch) extreme(a, c point, highest bool) point {
	const golden = .6180339887498949
	f := w.elevation
	if !highest {
		f = func(t float64) float64 { return -w.elevation(t) }
	}
	low, high := a.t, c.t
	x, y := high-golden*(high-low), low+golden*(high-low)
	fx, fy := f(x), f(y)
	for high-low > .01 {
		if fx > fy {
			high, y, fy = y, x, fx
			x = high - golden*(high-low)
			fx = f(x)
		} else {
			low, x, fx = x, y, fy
			y = low + golden*(high-low)
			fy = f(y)
		}
	}
	t := (low + high) / 2
	return point{t, w.elevation(t)}
}

func (w *watch) begin(a point) {
	w.up = a.elevation >= w.least
	w.pass, w.top, w.since = Pass{}, a, a.t
}

// between takes note of a rise or a set between two points, and of the highest one.
func (w *watch) between(a, b point) {
	if up := b.elevation >= w.least; up != w.up {
		low, high := a.t, b.t
		for high-low > .001 {
			if m := (low + high) / 2; (w.elevation(m) >= w.least) == up {
				high = m
			} else {
				low = m
			}
		}
		s, _ := w.look(high)
		if up {
			w.begin(point{high, s.Elevation})
			w.up = true
			w.pass.Rise = s
		} else {
			w.pass.Set = s
			w.end(high)
			w.up = false
		}
	}
	if w.up && b.elevation > w.top.elevation {
		w.top = b
	}
}

func (w *watch) end(t float64) {
	w.pass.Culmination, _ = w.look(w.top.t)
	for at := w.since; ; at = min(at+10, t) {
		s, state := w.look(at)
		if w.place.SunElevation(s.Time) < -6 && state.Position.Light(Sun(s.Time)) == Sunlit {
			w.pass.Visible = true
		}
		if w.pass.Visible || at >= t {
			break
		}
	}
	if w.err == nil {
		w.passes = append(w.passes, w.pass)
	}
}

func (w *watch) finish(b point) {
	if w.up {
		w.end(b.t)
	}
}
