package sky

import (
	"errors"
	"fmt"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

// Object is one thing in orbit with its elements. It does not change.
type Object struct {
	Number     int    // in the catalogue of the US Space Force
	Name       string // as the catalogue has it: "ISS (ZARYA)"
	Label      string // the best name that Find knows it by: "iss"
	Designator string // international designator: "1998-067A"
	Epoch      time.Time

	orbit *orbit.Orbit
}

// Orbit of the object, ready to propagate.
func (o *Object) Orbit() *orbit.Orbit { return o.orbit }

// Age of the elements. It is negative before their epoch: elements may be predictions.
func (o *Object) Age(t time.Time) time.Duration { return t.Sub(o.Epoch) }

// Freshness of the elements at t.
func (o *Object) Freshness(t time.Time) Freshness { return FreshnessOf(o.Age(t)) }

// Position is where an object is at a moment, and how it moves.
type Position struct {
	Time time.Time // UTC
	orbit.Place
	Speed float64     // km/s, inertial: what "28,000 km/h" is about
	Light orbit.Light // whether the sun shines on it
	State orbit.State // inertial (TEME), for Look, Footprint and the like
}

// At is where the object is. The error is one of orbit's; with [orbit.ErrDecayed] the
// position is what the equations give, and wrong.
func (o *Object) At(t time.Time) (Position, error) {
	t = t.UTC()
	s, err := o.orbit.AtTime(t)
	if err != nil && !errors.Is(err, orbit.ErrDecayed) {
		return Position{Time: t}, err
	}
	return Position{
		Time: t, State: s, Speed: s.Velocity.Norm(), Light: s.Position.Light(orbit.Sun(t)),
		Place: s.Position.EarthFixed(orbit.UT1(t)).Place(),
	}, err
}

// Below is only the point under the object, with its height, which is what a LOC record
// tells. It makes no garbage.
func (o *Object) Below(t time.Time) (orbit.Place, error) { return o.orbit.Below(t) }

// ErrNoPass tells that an object does not rise over a place within [PassWindow].
var ErrNoPass = errors.New("sky: no pass within two days")

// PassWindow is how far NextPass looks ahead.
const PassWindow = 48 * time.Hour

// NextPass is the pass over a place that is under way at a time, or the next one, with
// at least minElevation degrees above the horizon. Its Rise has no time if the object is
// up already, its Set has none if it stays up beyond [PassWindow], as geostationary
// ones do. Where the theory ends before a pass is found, the error is orbit's.
func (o *Object) NextPass(p orbit.Place, from time.Time, minElevation float64) (orbit.Pass, error) {
	// Most passes are found in the first hours; the whole window costs ten times more.
	for _, window := range []time.Duration{6 * time.Hour, PassWindow} {
		passes, err := o.orbit.Passes(p, from, from.Add(window), minElevation)
		if len(passes) > 0 && (!passes[0].Set.Time.IsZero() || window == PassWindow) {
			return passes[0], nil
		}
		if err != nil {
			return orbit.Pass{}, fmt.Errorf("passes of %s: %w", o.Label, err)
		}
	}
	return orbit.Pass{}, ErrNoPass
}
