package sky

import (
	"fmt"
	"math"
	"time"
)

// Uncertainty is how far off a position may be, in km, along the ground and in height,
// from elements of an age, if the object has not manoeuvred. Elements are off by 1 to 3
// km at epoch; then drag, which nobody foretells, makes an object early or late by the
// square of the time. A low object has rounded the Earth by then with an error that
// cannot exceed half a turn.
//
// The figures are ours, for low orbits, from published sets of the ISS, Hubble and the
// CSS of 2026, each an age apart, old against new (testdata/sets.tle): three of four
// pairs up to 14 days apart agree within it. What does not is the ISS being raised,
// which throws it off by some 300 km a day from then on.
func Uncertainty(age time.Duration) (ground, height float64) {
	d := age.Abs().Hours() / 24
	ground = min(3+3*d+d*d, math.Pi*6371)
	return ground, 1 + ground/250
}

// High tells that [Uncertainty] does not hold for the orbit, whose drag is little or none: one of
// 225 minutes or more, where SGP4 changes to its theory of deep space.
func (o *Object) High() bool { return o.orbit.Period() >= 225*time.Minute }

// Doubt says for people what elements of an age mean for a position.
func (o *Object) Doubt(age time.Duration) string {
	if o.High() {
		return "how far off a position is, is not known for so high an orbit"
	}
	ground, _ := Uncertainty(age)
	return fmt.Sprintf("position may be off by %.0f km", ground)
}
