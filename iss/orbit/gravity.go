package orbit

import "math"

// Gravity is the set of constants that a model of the Earth's field gives SGP4.
// Element sets are fitted with WGS72: propagate them with it, whatever is newer.
type Gravity uint8

const (
	WGS72    Gravity = iota // what published element sets are made with
	WGS84                   // for elements fitted with it
	WGS72Old                // WGS72 with the rounded constants of Spacetrack Report #3
)

func (g Gravity) String() string {
	switch g {
	case WGS72:
		return "WGS72"
	case WGS84:
		return "WGS84"
	case WGS72Old:
		return "WGS72Old"
	}
	return "unknown gravity"
}

// field holds the constants of a model, from AIAA 2006-6753, appendix B.
type field struct {
	radius     float64 // km, at the equator
	ke         float64 // sqrt(mu), in (Earth radii)^1.5 a minute
	j2, j3, j4 float64 // zonal harmonics, not normalised
	j3j2       float64
	speed      float64 // km/s in one Earth radius a time unit
}

func newField(mu, radius, ke, j2, j3, j4 float64) *field {
	if ke == 0 {
		ke = 60 / math.Sqrt(radius*radius*radius/mu)
	}
	return &field{radius, ke, j2, j3, j4, j3 / j2, radius * ke / 60}
}

var fields = [...]*field{ // mu in km^3/s^2
	WGS72:    newField(398600.8, 6378.135, 0, .001082616, -.00000253881, -.00000165597),
	WGS84:    newField(398600.5, 6378.137, 0, .00108262998905, -.00000253215306, -.00000161098761),
	WGS72Old: newField(398600.79964, 6378.135, .0743669161, .001082616, -.00000253881, -.00000165597),
}

// Mode says how the few places are computed where the operational code of the US
// Air Force is known to differ: sidereal time at epoch, and the quadrant of the
// node of deep-space orbits of low inclination.
type Mode uint8

const (
	Improved Mode = iota // as AIAA 2006-6753 recommends
	AFSPC                // as Air Force Space Command computes
)

func (m Mode) String() string {
	if m == AFSPC {
		return "AFSPC"
	}
	return "Improved"
}
