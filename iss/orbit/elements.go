package orbit

import (
	"fmt"
	"math"
	"time"
)

// Elements are the mean elements of one object at one moment, in the units that TLE
// and OMM have. They are means in SGP4's own sense, and of no use to another theory.
type Elements struct {
	Name           string // as the catalogue has it: "ISS (ZARYA)"
	Number         int    // in the catalogue of the US Space Force, up to nine digits
	Classification byte   // U, C or S
	Designator     string // international designator: "1998-067A"

	Epoch           time.Time // UTC
	MeanMotion      float64   // revolutions a day (Kozai's mean motion)
	Eccentricity    float64   // 0 up to 1
	Inclination     float64   // degrees, 0 to 180
	Node            float64   // degrees, right ascension of the ascending node
	ArgPerigee      float64   // degrees
	MeanAnomaly     float64   // degrees
	BStar           float64   // drag, 1/Earth radii
	MeanMotionDot   float64   // half the first derivative, revolutions/day²; SGP4 does not use it
	MeanMotionDDot  float64   // a sixth of the second derivative, revolutions/day³; nor this
	EphemerisType   int       // 0 or 2 means SGP4
	SetNumber       int       // counts the sets issued for the object
	RevolutionCount int       // at epoch
}

// check says what the theory cannot start from.
func (e *Elements) check() error {
	for _, v := range []struct {
		name          string
		x, low, above float64
	}{
		{"inclination", e.Inclination, 0, math.Nextafter(180, 181)},
		{"right ascension of the node", e.Node, -360, math.Nextafter(360, 361)},
		{"argument of perigee", e.ArgPerigee, -360, math.Nextafter(360, 361)},
		{"mean anomaly", e.MeanAnomaly, -360, math.Nextafter(360, 361)},
		{"B*", e.BStar, -1e3, 1e3},
	} {
		if !(v.x >= v.low && v.x < v.above) {
			return fmt.Errorf("orbit: %s %g of object %d: want %g to %g", v.name, v.x, e.Number, v.low, v.above)
		}
	}
	if !(e.Eccentricity >= 0 && e.Eccentricity < 1) {
		return fmt.Errorf("%w: %g at epoch, object %d", ErrEccentricity, e.Eccentricity, e.Number)
	}
	if !(e.MeanMotion > 0 && e.MeanMotion < 100) {
		return fmt.Errorf("%w: %g revolutions a day, object %d; want more than 0 and less than 100", ErrMeanMotion, e.MeanMotion, e.Number)
	}
	if e.EphemerisType != 0 && e.EphemerisType != 2 {
		return fmt.Errorf("orbit: ephemeris type %d of object %d is not for SGP4; want 0 or 2", e.EphemerisType, e.Number)
	}
	return nil
}
