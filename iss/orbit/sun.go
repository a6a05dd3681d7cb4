package orbit

import (
	"math"
	"time"
)

const (
	astronomicalUnit = 149597870.7 // km
	sunRadius        = 695700      // km
)

// Sun is where the sun is seen from the centre of the Earth, in the same inertial
// coordinates as an orbit (TEME), km: J. Meeus, "Astronomical Algorithms", second
// edition, chapter 25, lower accuracy. Good to .006 degrees, as tested from 1974 to 2025.
func Sun(t time.Time) Vector {
	utc := Julian(t)
	c := utc.add(taiLessUTC(utc.Day)+32.184).since2000() / 36525
	m := (357.52911 + c*(35999.05029-c*.0001537)) * degree
	sin, cos := math.Sincos(m)
	center := ((1.914602-c*(.004817+c*.000014))*sin + (.019993-c*.000101)*2*sin*cos + .000289*math.Sin(3*m)) * degree
	e := .016708634 - c*(.000042037+c*.0000001267)
	r := astronomicalUnit * 1.000001018 * (1 - e*e) / (1 + e*math.Cos(m+center))

	node := (125.04 - 1934.136*c) * degree // the moon's
	nutation := -.00478 * math.Sin(node) * degree
	// The pull of Venus, Jupiter and the moon on the Earth: from the author's
	// "Astronomical Formulae for Calculators", chapter 18, which counts from 1900.
	k := c + 1
	pull := .00134*math.Cos((153.23+22518.7541*k)*degree) + .00154*math.Cos((216.57+45037.5082*k)*degree) +
		.00200*math.Cos((312.69+32964.3577*k)*degree) + .00179*math.Sin((350.74+445267.1142*k)*degree)
	long := (280.46646+c*(36000.76983+c*.0003032)-.00569+pull)*degree + center + nutation
	sinT, cosT := math.Sincos((23.439291 - c*.0130042 + .00256*math.Cos(node)) * degree)
	sin, cos = math.Sincos(long)
	v := Vector{r * cos, r * sin * cosT, r * sin * sinT} // from the true equinox
	d := nutation * cosT                                 // to the mean one
	return Vector{v.X + d*v.Y, v.Y - d*v.X, v.Z}
}

// Light is what of the sun an object has.
type Light uint8

const (
	Sunlit   Light = iota // all of the disc
	Penumbra              // some
	Umbra                 // none
)

func (l Light) String() string {
	switch l {
	case Penumbra:
		return "penumbra"
	case Umbra:
		return "umbra"
	}
	return "sunlit"
}

// Light at a position, by the apparent discs of the sun and of an Earth that is a
// sphere with the equator's radius and no air: two cones. Position and sun are in the
// same coordinates, km.
func (v Vector) Light(sun Vector) Light {
	to := sun.sub(v)
	r, d := v.Norm(), to.Norm()
	if r <= equator {
		r = equator // on the ground half of the sky is Earth
	}
	earth := math.Asin(equator / r)
	disc := math.Asin(min(sunRadius/d, 1))
	apart := math.Atan2(v.cross(to).Norm(), -v.Dot(to))
	switch {
	case apart >= earth+disc:
		return Sunlit
	case apart > earth-disc:
		return Penumbra
	}
	return Umbra
}

// SubSolar is where on the Earth the sun is in the zenith. It is day within 90 degrees.
func SubSolar(t time.Time) Place {
	v := Sun(t).EarthFixed(UT1(t))
	return Place{
		Latitude:  math.Atan2(v.Z, math.Hypot(v.X, v.Y)) / degree,
		Longitude: longitude(math.Atan2(v.Y, v.X)),
	}
}

// SunElevation is how high the centre of the sun stands at a place, degrees, without
// refraction and parallax: day above 0 (with refraction, -.83), dark enough to see satellites below -6.
func (p Place) SunElevation(t time.Time) float64 {
	up, sun := p.up(), SubSolar(t).up()
	return math.Atan2(up.Dot(sun), up.cross(sun).Norm()) / degree
}
