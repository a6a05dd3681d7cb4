package orbit

import "math"

// deep is what the theory adds for periods of 225 minutes and more: the pull of sun
// and moon, and resonance with the Earth's rotation. Equations: F. R. Hoots, P. W.
// Schumacher, R. A. Glover, "History of analytical orbit modeling in the U.S. space
// surveillance system", J. Guidance, Control, and Dynamics 27 (2004) 174-185,
// appendix A; constants as in Spacetrack Report #3.
type deep struct {
	sun, moon pull
	// secular rates by both, a minute
	eDot, iDot, nodeDot, argpDot, mDot float64

	resonance *resonance // nil for most
}

// pull is the effect of one third body, whose own mean anomaly runs from m at rate
// (radians a minute) with eccentricity e.
type pull struct {
	m, rate, e float64

	e2, e3     float64 // eccentricity
	i2, i3     float64 // inclination
	l2, l3, l4 float64 // mean longitude
	g2, g3, g4 float64 // argument of perigee
	h2, h3     float64 // node, times sin i

	eDot, iDot, nodeDot, argpDot, mDot float64
}

// body is a third body as the theory sees it: how strongly it pulls, and how its
// orbit lies to the equator: perigee g, inclination i, node h less the satellite's.
type body struct {
	strength, rate, e      float64
	sinG, cosG, sinI, cosI float64
	sinH, cosH             float64
}

const (
	sunRate, sunE   = 1.19459e-5, .01675
	moonRate, moonE = 1.5835218e-4, .05490
	earthRate       = 4.37526908801129966e-3 // radians a minute
)

func newDeep(o *Orbit, epoch JulianDate) *deep {
	// The published code holds the epoch in one float64, and so do we: the 40
	// microseconds move the moon enough to show in 1e-6 km of the highest orbits.
	epoch = JulianDate{epoch.Day + epoch.Fraction, 0}
	day := epoch.Day - 2415020 // from 1900 January 0.5

	// The moon's orbit: its node on the ecliptic goes round in 18.6 years.
	node := math.Mod(4.5236020-9.2422029e-4*day, twoPi)
	sinN, cosN := math.Sincos(node)
	cosI := .91375164 - .03568096*cosN
	sinI := math.Sqrt(1 - cosI*cosI)
	sinH := .089683511 * sinN / sinI
	cosH := math.Sqrt(1 - sinH*sinH)
	c := 5.8351514 + .0019443680*day
	sinG, cosG := math.Sincos(c + math.Atan2(.39785416*sinN/sinI, cosH*cosN+.91744867*sinH*sinN) - node)

	sinO, cosO := math.Sincos(o.node)
	d := new(deep)
	d.sun = o.pull(body{
		strength: 2.9864797e-6, rate: sunRate, e: sunE,
		sinG: -.98088458, cosG: .1945905, sinI: .39785416, cosI: .91744867,
		sinH: sinO, cosH: cosO,
	})
	d.sun.m = math.Mod(6.2565837+.017201977*day, twoPi)
	d.moon = o.pull(body{
		strength: 4.7968065e-7, rate: moonRate, e: moonE,
		sinG: sinG, cosG: cosG, sinI: sinI, cosI: cosI,
		sinH: sinO*cosH - cosO*sinH, cosH: cosH*cosO + sinH*sinO,
	})
	d.moon.m = math.Mod(4.7199672+.22997150*day-c, twoPi)

	d.eDot = d.sun.eDot + d.moon.eDot
	d.iDot = d.sun.iDot + d.moon.iDot
	d.nodeDot = d.sun.nodeDot + d.moon.nodeDot
	d.argpDot = d.sun.argpDot + d.moon.argpDot
	d.mDot = d.sun.mDot + d.moon.mDot
	d.resonance = newResonance(o, d, siderealAtEpoch(epoch, o.mode))
	return d
}

// pull finds what a body does to an orbit.
func (o *Orbit) pull(b body) pull {
	sinW, cosW := math.Sincos(o.argp)
	sin, cos := o.tilt.sin, o.tilt.cos
	e, e2 := o.e, o.e*o.e
	b2 := 1 - e2
	beta := math.Sqrt(b2)

	a1 := b.cosG*b.cosH + b.sinG*b.cosI*b.sinH
	a3 := -b.sinG*b.cosH + b.cosG*b.cosI*b.sinH
	a7 := -b.cosG*b.sinH + b.sinG*b.cosI*b.cosH
	a8 := b.sinG * b.sinI
	a9 := b.sinG*b.sinH + b.cosG*b.cosI*b.cosH
	a10 := b.cosG * b.sinI
	a2 := cos*a7 + sin*a8
	a4 := cos*a9 + sin*a10
	a5 := -sin*a7 + cos*a8
	a6 := -sin*a9 + cos*a10

	x1 := a1*cosW + a2*sinW
	x2 := a3*cosW + a4*sinW
	x3 := -a1*sinW + a2*cosW
	x4 := -a3*sinW + a4*cosW
	x5, x6 := a5*sinW, a6*sinW
	x7, x8 := a5*cosW, a6*cosW

	z31 := 12*x1*x1 - 3*x3*x3
	z32 := 24*x1*x2 - 6*x3*x4
	z33 := 12*x2*x2 - 3*x4*x4
	z1 := 2*(3*(a1*a1+a2*a2)+z31*e2) + b2*z31
	z2 := 2*(6*(a1*a3+a2*a4)+z32*e2) + b2*z32
	z3 := 2*(3*(a3*a3+a4*a4)+z33*e2) + b2*z33
	z11 := -6*a1*a5 + e2*(-24*x1*x7-6*x3*x5)
	z12 := -6*(a1*a6+a3*a5) + e2*(-24*(x2*x7+x1*x8)-6*(x3*x6+x4*x5))
	z13 := -6*a3*a6 + e2*(-24*x2*x8-6*x4*x6)
	z21 := 6*a2*a5 + e2*(24*x1*x5-6*x3*x7)
	z22 := 6*(a4*a5+a2*a6) + e2*(24*(x2*x5+x1*x6)-6*(x4*x7+x3*x8))
	z23 := 6*a4*a6 + e2*(24*x2*x6-6*x4*x8)

	s3 := b.strength / o.n
	s2 := -.5 * s3 / beta
	s4 := s3 * beta
	s1 := -15 * e * s4
	s5 := x1*x3 + x2*x4
	s6 := x2*x3 + x1*x4
	s7 := x2*x4 - x1*x3

	p := pull{
		rate: b.rate, e: b.e,
		e2: 2 * s1 * s6, e3: 2 * s1 * s7,
		i2: 2 * s2 * z12, i3: 2 * s2 * (z13 - z11),
		l2: -2 * s3 * z2, l3: -2 * s3 * (z3 - z1), l4: -2 * s3 * (-21 - 9*e2) * b.e,
		g2: 2 * s4 * z32, g3: 2 * s4 * (z33 - z31), g4: -18 * s4 * b.e,
		h2: -2 * s2 * z22, h3: -2 * s2 * (z23 - z21),

		eDot: s1 * b.rate * s5,
		iDot: s2 * b.rate * (z11 + z13),
		mDot: -b.rate * s3 * (z1 + z3 - 14 - 6*e2),
	}
	// The node has no use near the equator: within 3 degrees of it, and retrograde.
	const near = 5.2359877e-2
	if o.i >= near && o.i <= math.Pi-near {
		p.nodeDot = -b.rate * s2 * (z21 + z23) / sin
	}
	p.argpDot = s4*b.rate*(z31+z33-6) - cos*p.nodeDot
	return p
}

// at gives the periodic effects t minutes from epoch; node is times sin i.
func (p *pull) at(t float64) (e, i, l, argp, node float64) {
	m := p.m + p.rate*t
	sin, cos := math.Sincos(m + 2*p.e*math.Sin(m))
	f2 := .5*sin*sin - .25
	f3 := -.5 * sin * cos
	return p.e2*f2 + p.e3*f3,
		p.i2*f2 + p.i3*f3,
		p.l2*f2 + p.l3*f3 + p.l4*sin,
		p.g2*f2 + p.g3*f3 + p.g4*sin,
		p.h2*f2 + p.h3*f3
}

// secular moves the elements as sun, moon and resonance do in the long run.
func (d *deep) secular(o *Orbit, k *mean, t float64) {
	k.e += d.eDot * t
	k.i += d.iDot * t
	k.node += d.nodeDot * t
	k.argp += d.argpDot * t
	k.m += d.mDot * t
	if r := d.resonance; r != nil {
		r.move(k, t)
		if k.n > 0 {
			x := math.Cbrt(o.field.ke / k.n)
			k.a = x * x
		}
	}
}

// periodic adds what sun and moon do in the course of a month and a year.
func (d *deep) periodic(k *mean, t float64, mode Mode) {
	e, i, l, argp, node := d.sun.at(t)
	e2, i2, l2, argp2, node2 := d.moon.at(t)
	e, i, l, argp, node = e+e2, i+i2, l+l2, argp+argp2, node+node2

	k.i += i
	k.e += e
	sin, cos := sincos(k.i)
	if k.i >= .2 {
		node /= sin
		k.argp += argp - cos*node
		k.node += node
		k.m += l
		return
	}
	// Below .2 radians R. H. Lyddane's way, which needs no division by sin i.
	sinN, cosN := math.Sincos(k.node)
	x := sin*cosN + (-node*sinN + i*cos*cosN)
	y := sin*sinN + (node*cosN + i*cos*sinN)
	before := mod(k.node)
	if before < 0 && mode == AFSPC {
		before += twoPi
	}
	sum := k.m + k.argp + l + argp + (cos-i*sin)*before
	k.node = math.Atan2(y, x)
	if k.node < 0 && mode == AFSPC {
		k.node += twoPi
	}
	if math.Abs(before-k.node) > math.Pi {
		k.node += math.Copysign(twoPi, before-k.node)
	}
	k.m += l
	k.argp = sum - k.m - cos*k.node
}
