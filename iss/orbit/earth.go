package orbit

import (
	"fmt"
	"math"
	"time"
)

// The WGS-84 ellipsoid: NIMA TR8350.2, third edition.
const (
	equator    = 6378.137 // km
	flattening = 1 / 298.257223563
	polar      = equator * (1 - flattening) // km
	oblate     = flattening * (2 - flattening)
)

// rotation of the Earth against the mean equinox, radians a second.
const rotation = 7.29211514670698e-5

// Place is a point on, above or below the WGS-84 ellipsoid.
type Place struct {
	Latitude  float64 // degrees, geodetic, north positive
	Longitude float64 // degrees, east positive, above -180 to 180
	Height    float64 // km above the ellipsoid (sea level is within .11 km of it)
}

// EarthFixed turns inertial coordinates (TEME) into those that turn with the Earth: X
// towards Greenwich, Z towards the pole of rotation. See [UT1].
func (v Vector) EarthFixed(ut1 JulianDate) Vector {
	sin, cos := math.Sincos(SiderealTime(ut1))
	return Vector{cos*v.X + sin*v.Y, cos*v.Y - sin*v.X, v.Z}
}

// EarthFixed turns a state; the velocity becomes that over the turning ground.
func (s State) EarthFixed(ut1 JulianDate) State {
	r, v := s.Position.EarthFixed(ut1), s.Velocity.EarthFixed(ut1)
	v.X += rotation * r.Y
	v.Y -= rotation * r.X
	return State{r, v}
}

// Place of an Earth-fixed position: by B. R. Bowring's iteration ("Transformation from
// spatial to geographical coordinates", Survey Review 23 (1976) 323-327) on sines and
// cosines, which has no poles. Four rounds are good to .1 mm from 4,000 km below the
// ground out to the moon and beyond. Near the centre it means nothing.
func (v Vector) Place() Place {
	p := math.Hypot(v.X, v.Y)
	sin, cos := v.Z, p*(1-flattening) // of the reduced latitude, times something
	north, out := 0., 0.
	for range 4 {
		n := math.Hypot(sin, cos)
		if n == 0 {
			return Place{Height: -equator}
		}
		sin, cos = sin/n, cos/n
		north = v.Z + oblate/(1-oblate)*polar*sin*sin*sin
		out = max(p-oblate*equator*cos*cos*cos, 0)
		sin, cos = (1-flattening)*north, out
	}
	n := math.Hypot(north, out)
	if n == 0 {
		return Place{Height: -equator}
	}
	sin, cos = north/n, out/n
	return Place{
		Latitude:  math.Atan2(north, out) / degree,
		Longitude: longitude(math.Atan2(v.Y, v.X)),
		Height:    p*cos + v.Z*sin - equator*math.Sqrt(1-oblate*sin*sin),
	}
}

// longitude in degrees of an angle in radians.
func longitude(x float64) float64 {
	x = math.Remainder(x, twoPi) / degree
	if x <= -180 {
		x = 180
	}
	return x
}

// EarthFixed coordinates of a place, km.
func (p Place) EarthFixed() Vector {
	up := p.up()
	n := equator / math.Sqrt(1-oblate*up.Z*up.Z)
	return Vector{(n + p.Height) * up.X, (n + p.Height) * up.Y, (n*(1-oblate) + p.Height) * up.Z}
}

// up is the unit vector away from the ellipsoid.
func (p Place) up() Vector {
	sinB, cosB := math.Sincos(p.Latitude * degree)
	sinL, cosL := math.Sincos(p.Longitude * degree)
	return Vector{cosB * cosL, cosB * sinL, sinB}
}

// Below is the point on the ground that has the object in its zenith, with the
// object's height. With [ErrDecayed] the place is what the equations give.
func (o *Orbit) Below(t time.Time) (Place, error) {
	s, err := o.AtTime(t)
	if err != nil && err != ErrDecayed {
		return Place{}, err
	}
	return s.Position.EarthFixed(UT1(t)).Place(), err
}

// Track is the way over the ground: the places from one moment to another at equal
// steps. Where the theory ends within, those before come back with its error.
func (o *Orbit) Track(from, to time.Time, step time.Duration) ([]Place, error) {
	if step <= 0 || to.Sub(from)/step > 1e6 {
		return nil, fmt.Errorf("orbit: a track from %v to %v in steps of %v; want at most a million steps forward", from, to, step)
	}
	var track []Place
	for t := from; !t.After(to); t = t.Add(step) {
		p, err := o.Below(t)
		if err != nil {
			return track, err
		}
		track = append(track, p)
	}
	return track, nil
}

// Footprint is the line from where the object stands on the horizon, as n places
// around it; within, it is above. The position is Earth-fixed. It is nil for an
// object that is not above the ground.
//
// The ellipsoid and its tangents become a unit sphere when the axes are scaled, and
// there the line is a circle around the direction of the object.
func (v Vector) Footprint(n int) []Place {
	w := Vector{v.X / equator, v.Y / equator, v.Z / polar}
	d := w.Norm()
	if !(d > 1) || n < 1 {
		return nil
	}
	up := Vector{w.X / d, w.Y / d, w.Z / d}
	side := Vector{-up.Y, up.X, 0} // east; any direction at the poles
	if l := side.Norm(); l > 1e-9 {
		side = Vector{side.X / l, side.Y / l, 0}
	} else {
		side = Vector{0, 1, 0}
	}
	north := up.cross(side)
	sinA := math.Sqrt(1-1/d) * math.Sqrt(1+1/d)
	ring := make([]Place, n)
	for i := range ring {
		sin, cos := math.Sincos(twoPi * float64(i) / float64(n)) // from north by east
		on := func(up, side, north float64) float64 { return up/d + sinA*(side*sin+north*cos) }
		p := Vector{equator * on(up.X, side.X, north.X), equator * on(up.Y, side.Y, north.Y), polar * on(up.Z, side.Z, north.Z)}
		ring[i] = p.Place()
		ring[i].Height = 0
	}
	return ring
}

func (v Vector) cross(w Vector) Vector {
	return Vector{v.Y*w.Z - v.Z*w.Y, v.Z*w.X - v.X*w.Z, v.X*w.Y - v.Y*w.X}
}

// Direction is where something is seen from a place. Refraction, which lifts what is on the
// horizon by half a degree, is left out.
type Direction struct {
	Azimuth   float64 // degrees, 0 north, 90 east
	Elevation float64 // degrees above the horizon
	Range     float64 // km
	RangeRate float64 // km/s, positive away
}

// Look from a place at a state, which is Earth-fixed.
func (p Place) Look(s State) Direction {
	d := s.Position.sub(p.EarthFixed())
	up := p.up()
	sinL, cosL := math.Sincos(p.Longitude * degree)
	east := d.Y*cosL - d.X*sinL
	north := d.Dot(Vector{-up.Z * cosL, -up.Z * sinL, math.Cos(p.Latitude * degree)})
	height := d.Dot(up)
	r := d.Norm()
	if r == 0 {
		return Direction{Elevation: 90}
	}
	a := math.Atan2(east, north) / degree
	if a < 0 {
		a += 360
	}
	if a >= 360 {
		a = 0
	}
	return Direction{a, math.Atan2(height, math.Hypot(east, north)) / degree, r, d.Dot(s.Velocity) / r}
}
