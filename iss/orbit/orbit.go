package orbit

import (
	"fmt"
	"math"
	"time"
)

// Orbit is an element set made ready to propagate. It does not change after [New]:
// any number of goroutines may use one.
//
// Lengths are in Earth radii, angles in radians, times in minutes from epoch.
type Orbit struct {
	field *field
	mode  Mode
	drag  bool // the full drag equations: perigee above 220 km, and not deep space

	n, a, e, i, node, argp, m float64 // mean elements at epoch; n is Brouwer's mean motion
	nodeDot, argpDot, mDot    float64 // secular rates by J2 and J4

	c1, bc4, bc5, eta      float64 // drag, named as in Spacetrack Report #3; bc4 is B*C4
	d2, d3, d4             float64
	nodeT2                 float64 // radians a minute²
	t2, t3, t4, t5         float64 // mean longitude by powers of time
	argpDrag, mDrag        float64
	cosine3AtEpoch, sinOfM float64 // (1 + eta cos m)³, sin m

	tilt tilt
	deep *deep // nil for periods below 225 minutes

	epoch time.Time
	e0    *Elements
}

// tilt is what the equations need of an inclination.
type tilt struct {
	sin, cos        float64
	cos3, sin2, c7  float64 // 3cos²-1, 1-cos², 7cos²-1
	longAy, longLon float64 // coefficients of the long-period terms by J3
}

func (f *field) tilt(sin, cos float64) tilt {
	cos2 := cos * cos
	over := 1 + cos
	if math.Abs(over) <= 1.5e-12 {
		over = 1.5e-12 // the published guard at 180 degrees
	}
	return tilt{
		sin: sin, cos: cos,
		cos3: 3*cos2 - 1, sin2: 1 - cos2, c7: 7*cos2 - 1,
		longAy:  -.5 * f.j3j2 * sin,
		longLon: -.25 * f.j3j2 * sin * (3 + 5*cos) / over,
	}
}

// New makes an element set ready to propagate. It refuses elements that no orbit
// around the Earth has; whether the theory holds at some time, [Orbit.At] says.
func New(e Elements, g Gravity, mode Mode) (*Orbit, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if int(g) >= len(fields) || mode > AFSPC {
		return nil, fmt.Errorf("orbit: there is no gravity model %d with mode %d", g, mode)
	}
	o := &Orbit{
		field: fields[g], mode: mode, epoch: e.Epoch, e0: &e,
		e: e.Eccentricity, i: e.Inclination * degree, node: e.Node * degree,
		argp: e.ArgPerigee * degree, m: e.MeanAnomaly * degree,
	}
	sin, cos := sincos(o.i)
	o.tilt = o.field.tilt(sin, cos)
	o.unKozai(e.MeanMotion / (1440 / twoPi))
	o.rates()
	o.atmosphere(e.BStar)
	if twoPi/o.n >= 225 {
		o.drag = false
		o.deep = newDeep(o, Julian(e.Epoch))
	}
	return o, nil
}

// Elements that the orbit was made from.
func (o *Orbit) Elements() Elements { return *o.e0 }

// Epoch of the elements.
func (o *Orbit) Epoch() time.Time { return o.epoch }

// Period of a revolution, from perigee to perigee, at epoch.
func (o *Orbit) Period() time.Duration {
	return time.Duration(twoPi / o.mDot * float64(time.Minute))
}

// unKozai finds Brouwer's mean motion (and the semi-major axis) from Kozai's, which
// is the one that element sets carry: Spacetrack Report #3, section 6, first equations.
func (o *Orbit) unKozai(kozai float64) {
	f := o.field
	b2 := 1 - o.e*o.e
	d := .75 * f.j2 * o.tilt.cos3 / (math.Sqrt(b2) * b2)
	a1 := math.Pow(f.ke/kozai, 2./3)
	d1 := d / (a1 * a1)
	a0 := a1 * (1 - d1*d1 - d1*(1./3+134*d1*d1/81))
	o.n = kozai / (1 + d/(a0*a0))
	o.a = math.Pow(f.ke/o.n, 2./3)
}

// rates are the secular effects of J2 and J4.
func (o *Orbit) rates() {
	f, cos := o.field, o.tilt.cos
	c2 := cos * cos
	c4 := c2 * c2
	b2 := 1 - o.e*o.e
	b := math.Sqrt(b2)
	p := 1 / (o.a * b2 * o.a * b2)
	k2 := 1.5 * f.j2 * p * o.n
	k22 := .5 * k2 * f.j2 * p
	k4 := -.46875 * f.j4 * p * p * o.n
	o.mDot = o.n + .5*k2*b*o.tilt.cos3 + .0625*k22*b*(13-78*c2+137*c4)
	o.argpDot = -.5*k2*(1-5*c2) + .0625*k22*(7-114*c2+395*c4) + k4*(3-36*c2+49*c4)
	o.nodeDot = -k2*cos + (.5*k22*(4-19*c2)+2*k4*(3-7*c2))*cos
	o.nodeT2 = 3.5 * b2 * -k2 * cos // times C1, once that is known
}

// atmosphere finds the effects of drag in a power-law atmosphere (B* in 1/Earth
// radii): Spacetrack Report #3, section 6, C1 to C5 and D2 to D4.
func (o *Orbit) atmosphere(bstar float64) {
	f, e, a := o.field, o.e, o.a
	b2 := 1 - e*e
	perigee := a * (1 - e)
	height := (perigee - 1) * f.radius // km
	o.drag = perigee >= 220/f.radius+1

	// The density falls from height s, which low perigees pull down.
	s, q := 78.0, 120.0-78
	if height < 156 {
		s = height - 78
		if height < 98 {
			s = 20
		}
		q = 120 - s
	}
	s = s/f.radius + 1
	q /= f.radius
	q *= q
	q *= q // (q0 - s)⁴

	xi := 1 / (a - s)
	o.eta = a * e * xi
	eta2, ee := o.eta*o.eta, e*o.eta
	psi := math.Abs(1 - eta2)
	coef := q * (xi * xi * xi * xi)
	coef1 := coef / (psi * psi * psi * math.Sqrt(psi))
	c2 := coef1 * o.n * (a*(1+1.5*eta2+ee*(4+eta2)) +
		.375*f.j2*xi/psi*o.tilt.cos3*(8+3*eta2*(8+eta2)))
	o.c1 = bstar * c2
	c3 := 0.0
	if e > 1e-4 {
		c3 = -2 * coef * xi * f.j3j2 * o.n * o.tilt.sin / e
		o.mDrag = -2. / 3 * coef * bstar / ee
	}
	o.bc4 = bstar * (2 * o.n * coef1 * a * b2 * (o.eta*(2+.5*eta2) + e*(.5+2*eta2) -
		f.j2*xi/(a*psi)*(-3*o.tilt.cos3*(1-2*ee+eta2*(1.5-.5*ee))+
			.75*o.tilt.sin2*(2*eta2-ee*(1+eta2))*math.Cos(2*o.argp))))
	o.bc5 = bstar * (2 * coef1 * a * b2 * (1 + 2.75*(eta2+ee) + ee*eta2))
	o.argpDrag = bstar * c3 * math.Cos(o.argp)
	o.nodeT2 *= o.c1
	o.t2 = 1.5 * o.c1

	sin, cos := math.Sincos(o.m)
	x := 1 + o.eta*cos
	o.cosine3AtEpoch = x * x * x
	o.sinOfM = sin

	c1 := o.c1
	o.d2 = 4 * a * xi * c1 * c1
	t := o.d2 * xi * c1 / 3
	o.d3 = (17*a + s) * t
	o.d4 = .5 * t * a * xi * (221*a + 31*s) * c1
	o.t3 = o.d2 + 2*c1*c1
	o.t4 = .25 * (3*o.d3 + c1*(12*o.d2+10*c1*c1))
	o.t5 = .2 * (3*o.d4 + 12*c1*o.d3 + 6*o.d2*o.d2 + 15*c1*c1*(2*o.d2+c1*c1))
}
