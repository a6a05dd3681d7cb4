package orbit

import (
	"math"
	"time"
)

// Vector has a component for each axis.
type Vector struct{ X, Y, Z float64 }

// Dot product of two vectors.
func (v Vector) Dot(w Vector) float64 { return v.X*w.X + v.Y*w.Y + v.Z*w.Z }

// Norm is the length of a vector.
func (v Vector) Norm() float64 { return math.Sqrt(v.Dot(v)) }

func (v Vector) sub(w Vector) Vector { return Vector{v.X - w.X, v.Y - w.Y, v.Z - w.Z} }

// State is where an object is and how it moves.
type State struct {
	Position Vector // km
	Velocity Vector // km/s
}

// AtTime is [Orbit.At] for a moment in UTC.
func (o *Orbit) AtTime(t time.Time) (State, error) { return o.At(o.Minutes(t)) }

// Minutes from the epoch to t, as all users of SGP4 count them: leap seconds between
// them are left out. Moments more than 292 years from the epoch are taken as 292 years.
func (o *Orbit) Minutes(t time.Time) float64 {
	return float64(t.Sub(o.epoch)) / float64(time.Minute)
}

// mean elements at some time.
type mean struct{ n, a, e, i, node, argp, m float64 }

// At propagates to a time in minutes from epoch, before or after. The state is
// inertial: true equator and mean equinox of date (TEME), see [State.EarthFixed]. A
// resonant orbit (one or two revolutions a day) is integrated from epoch, which takes
// some 100 ns for every 12 hours.
//
// The error is one of the Err variables as it is. With [ErrDecayed] the state is
// what the equations give; with the others it is zero. [ErrSuborbital] is never
// given: since 2006 the published code propagates elements below the ground, too,
// until ErrDecayed stops it.
func (o *Orbit) At(minutes float64) (State, error) {
	t := minutes
	if !(math.Abs(t) <= 300*365.25*1440) {
		return State{}, ErrTooFar
	}
	k := mean{
		n: o.n, a: o.a, e: o.e, i: o.i,
		node: o.node + o.nodeDot*t + o.nodeT2*(t*t),
		argp: o.argp + o.argpDot*t,
		m:    o.m + o.mDot*t,
	}
	shrink := 1 - o.c1*t
	de := o.bc4 * t
	lon := o.t2 * (t * t)
	if o.drag {
		x := 1 + o.eta*math.Cos(k.m)
		d := o.argpDrag*t + o.mDrag*(x*x*x-o.cosine3AtEpoch)
		k.m += d
		k.argp -= d
		shrink -= t * t * (o.d2 + t*(o.d3+t*o.d4))
		de += o.bc5 * (math.Sin(k.m) - o.sinOfM)
		lon += t * t * t * (o.t3 + t*(o.t4+t*o.t5))
	}
	if o.deep != nil {
		o.deep.secular(o, &k, t)
		if k.n <= 0 {
			return State{}, ErrMeanMotion
		}
	}
	k.a *= shrink * shrink
	k.n = o.field.ke / (k.a * math.Sqrt(k.a))
	k.e -= de
	if !(k.e < 1 && k.e >= -.001) {
		return State{}, ErrEccentricity
	}
	k.e = max(k.e, 1e-6)

	k.m += o.n * lon
	longitude := mod(k.m + k.argp + k.node)
	k.node = mod(k.node)
	k.argp = mod(k.argp)
	k.m = mod(longitude - k.argp - k.node)
	if o.deep == nil {
		return o.osculate(&k, &o.tilt)
	}
	o.deep.periodic(&k, t, o.mode)
	if k.i < 0 {
		k.i = -k.i
		k.node += math.Pi
		k.argp -= math.Pi
	}
	if !(k.e >= 0 && k.e <= 1) {
		return State{}, ErrPerturbed
	}
	sin, cos := sincos(k.i)
	tilt := o.field.tilt(sin, cos)
	return o.osculate(&k, &tilt)
}

// osculate adds the long- and short-period effects of J2 and J3 to mean elements,
// solves Kepler's equation between the two, and gives position and velocity.
func (o *Orbit) osculate(k *mean, i *tilt) (State, error) {
	f := o.field
	sin, cos := math.Sincos(k.argp)
	ax := k.e * cos
	p := 1 / (k.a * (1 - k.e*k.e))
	ay := k.e*sin + p*i.longAy
	u := mod(k.m + k.argp + p*i.longLon*ax)

	sinE, cosE := kepler(u, ax, ay)
	eCos := ax*cosE + ay*sinE
	eSin := ax*sinE - ay*cosE
	e2 := ax*ax + ay*ay
	semi := k.a * (1 - e2)
	if semi < 0 {
		return State{}, ErrSemiLatus
	}
	r := k.a * (1 - eCos)
	b := math.Sqrt(1 - e2)
	x := eSin / (1 + b)
	sinU := k.a / r * (sinE - ay - ax*x)
	cosU := k.a / r * (cosE - ax + ay*x)
	sin2U := 2 * cosU * sinU
	cos2U := 1 - 2*sinU*sinU

	p = 1 / semi
	k1 := .5 * f.j2 * p
	k2 := k1 * p
	radius := r*(1-1.5*k2*b*i.cos3) + .5*k1*i.sin2*cos2U
	rDot := math.Sqrt(k.a)*eSin/r - k.n*k1*i.sin2*sin2U/f.ke
	rvDot := math.Sqrt(semi)/r + k.n*k1*(i.sin2*cos2U+1.5*i.cos3)/f.ke

	// The reference takes the arc tangent here. sinU² + cosU² is 1 for every sinE and
	// cosE up to rounding, which the division takes out.
	norm := 1 / math.Sqrt(sinU*sinU+cosU*cosU)
	sinU, cosU = turn(sinU*norm, cosU*norm, -.25*k2*i.c7*sin2U)
	sinN, cosN := math.Sincos(k.node)
	sinN, cosN = turn(sinN, cosN, 1.5*k2*i.cos*sin2U)
	sinI, cosI := turn(i.sin, i.cos, 1.5*k2*i.cos*i.sin*cos2U)

	mx, my := -sinN*cosI, cosN*cosI
	to := Vector{mx*sinU + cosN*cosU, my*sinU + sinN*cosU, sinI * sinU}
	along := Vector{mx*cosU - cosN*sinU, my*cosU - sinN*sinU, sinI * cosU}
	km := radius * f.radius
	s := State{
		Vector{km * to.X, km * to.Y, km * to.Z},
		Vector{
			(rDot*to.X + rvDot*along.X) * f.speed,
			(rDot*to.Y + rvDot*along.Y) * f.speed,
			(rDot*to.Z + rvDot*along.Z) * f.speed,
		},
	}
	if radius < 1 {
		return s, ErrDecayed
	}
	return s, nil
}

// kepler solves Kepler's equation in equinoctial form, u = E - ax sin E + ay cos E, by
// Newton's method with steps of at most .95 radians, as AIAA 2006-6753 gives it: until
// the next step would be below 1e-12, and the tenth step is not made.
func kepler(u, ax, ay float64) (sin, cos float64) {
	e := u
	sin, cos = math.Sincos(e)
	for n := 1; ; n++ {
		slope := 1 - cos*ax - sin*ay
		d := (u - ay*cos + ax*sin - e) / slope
		if !(math.Abs(d) >= 1e-12) || n == 10 {
			return sin, cos
		}
		d = min(max(d, -.95), .95)
		bend := ax*sin - ay*cos
		e += d
		if d > 1./16 || d < -1./16 {
			sin, cos = math.Sincos(e)
			continue
		}
		sin, cos = turn(sin, cos, d)
		if math.Abs(d*d*bend) < 1e-13*slope { // the next step is half of d² bend/slope
			return sin, cos
		}
	}
}
