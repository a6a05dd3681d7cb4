package orbit

import "math"

// resonance is the pull of the Earth's uneven field on orbits that pass the same
// ground again and again: one revolution a sidereal day, or two on an eccentric orbit.
// It is integrated numerically from epoch in steps of 720 minutes. The published code
// keeps the last step in the element set for the next call; here every call starts
// from epoch and makes the same steps, so that calls do not depend on each other.
type resonance struct {
	half bool // two revolutions a day

	// Coefficients, radians a minute². One revolution: by multiple of the longitude.
	day [3]float64
	// Two: d for each pair of multiples of perigee and longitude, in groups that share a phase.
	d2201, d2211, d3210, d3222, d4410, d4422, d5220, d5232, d5421, d5433 float64

	longitude, n  float64 // at epoch
	rate          float64 // of the longitude, less the mean motion
	sidereal      float64 // Greenwich, at epoch
	argp, argpDot float64
}

func newResonance(o *Orbit, d *deep, sidereal float64) *resonance {
	n, e := o.n, o.e
	r := &resonance{n: n, sidereal: sidereal, argp: o.argp, argpDot: o.argpDot}
	theta := math.Mod(sidereal, twoPi)
	switch {
	case n > .0034906585 && n < .0052359877:
		r.once(o)
		r.longitude = math.Mod(o.m+o.node+o.argp-theta, twoPi)
		r.rate = o.mDot + (o.argpDot + o.nodeDot) - earthRate + d.mDot + d.argpDot + d.nodeDot - n
	case n >= 8.26e-3 && n <= 9.24e-3 && e >= .5:
		r.half = true
		r.twice(o)
		r.longitude = math.Mod(o.m+2*o.node-2*theta, twoPi)
		r.rate = o.mDot + d.mDot + 2*(o.nodeDot+d.nodeDot-earthRate) - n
	default:
		return nil
	}
	return r
}

// once finds the coefficients for one revolution a day: q31, q22, q33 are those of
// the field, f functions of inclination, g of eccentricity.
func (r *resonance) once(o *Orbit) {
	const q22, q31, q33 = 1.7891679e-6, 2.1460748e-6, 2.2123015e-7
	e2, sin, cos := o.e*o.e, o.tilt.sin, o.tilt.cos
	u := math.Pow(o.n/o.field.ke, 2./3) // 1/a
	g200 := 1 + e2*(-2.5+.8125*e2)
	g310 := 1 + 2*e2
	g300 := 1 + e2*(-6+6.60937*e2)
	c := 1 + cos
	f220 := .75 * c * c
	f311 := .9375*sin*sin*(1+3*cos) - .75*c
	f330 := 1.875 * c * c * c
	k := 3 * o.n * o.n * u * u
	r.day = [3]float64{
		k * f311 * g310 * q31 * u,
		2 * k * f220 * g200 * q22,
		3 * k * f330 * g300 * q33 * u,
	}
}

// twice finds the coefficients for two revolutions a day: f are functions of
// inclination, g polynomials in the eccentricity, fitted in pieces.
func (r *resonance) twice(o *Orbit) {
	const root22, root32, root44, root52, root54 = 1.7891679e-6, 3.7393792e-7, 7.3636953e-9, 1.1428639e-7, 2.1765803e-9
	e, sin, c := o.e, o.tilt.sin, o.tilt.cos
	cubic := func(a0, a1, a2, a3 float64) float64 { return a0 + e*a1 + e*e*a2 + e*e*e*a3 }

	g201 := -.306 - (e-.64)*.440
	var g211, g310, g322, g410, g422, g520, g521, g532, g533 float64
	if e <= .65 {
		g211 = cubic(3.616, -13.2470, 16.2900, 0)
		g310 = cubic(-19.302, 117.3900, -228.4190, 156.5910)
		g322 = cubic(-18.9068, 109.7927, -214.6334, 146.5816)
		g410 = cubic(-41.122, 242.6940, -471.0940, 313.9530)
		g422 = cubic(-146.407, 841.8800, -1629.014, 1083.4350)
		g520 = cubic(-532.114, 3017.977, -5740.032, 3708.2760)
	} else {
		g211 = cubic(-72.099, 331.819, -508.738, 266.724)
		g310 = cubic(-346.844, 1582.851, -2415.925, 1246.113)
		g322 = cubic(-342.585, 1554.908, -2366.899, 1215.972)
		g410 = cubic(-1052.797, 4758.686, -7193.992, 3651.957)
		g422 = cubic(-3581.690, 16178.110, -24462.770, 12422.520)
		g520 = cubic(1464.74, -4664.75, 3763.64, 0)
		if e > .715 {
			g520 = cubic(-5149.66, 29936.92, -54087.36, 31324.56)
		}
	}
	if e < .7 {
		g521 = cubic(-822.71072, 4568.6173, -8491.4146, 5337.524)
		g532 = cubic(-853.66600, 4690.2500, -8624.7700, 5341.4)
		g533 = cubic(-919.22770, 4988.6100, -9064.7700, 5542.21)
	} else {
		g521 = cubic(-51752.104, 218913.95, -309468.16, 146349.42)
		g532 = cubic(-40023.880, 170470.89, -242699.48, 115605.82)
		g533 = cubic(-37995.780, 161616.52, -229838.20, 109377.94)
	}

	c2, s2 := c*c, sin*sin
	f220 := .75 * (1 + 2*c + c2)
	f221 := 1.5 * s2
	f321 := 1.875 * sin * (1 - 2*c - 3*c2)
	f322 := -1.875 * sin * (1 + 2*c - 3*c2)
	f441 := 35 * s2 * f220
	f442 := 39.3750 * s2 * s2
	f522 := 9.84375 * sin * (s2*(1-2*c-5*c2) + .33333333*(-2+4*c+6*c2))
	f523 := sin * (4.92187512*s2*(-2-4*c+10*c2) + 6.56250012*(1+2*c-3*c2))
	f542 := 29.53125 * sin * (2 - 8*c + c2*(-12+8*c+10*c2))
	f543 := 29.53125 * sin * (-2 - 8*c + c2*(12+8*c-10*c2))

	u := math.Pow(o.n/o.field.ke, 2./3) // 1/a
	k := 3 * o.n * o.n * u * u
	r.d2201 = k * root22 * f220 * g201
	r.d2211 = k * root22 * f221 * g211
	k *= u
	r.d3210 = k * root32 * f321 * g310
	r.d3222 = k * root32 * f322 * g322
	k *= u
	r.d4410 = 2 * k * root44 * f441 * g410
	r.d4422 = 2 * k * root44 * f442 * g422
	k *= u
	r.d5220 = k * root52 * f522 * g520
	r.d5232 = k * root52 * f523 * g532
	r.d5421 = 2 * k * root54 * f542 * g521
	r.d5433 = 2 * k * root54 * f543 * g533
}

// wave is the sine and cosine of an angle.
type wave struct{ sin, cos float64 }

func newWave(x float64) wave { s, c := math.Sincos(x); return wave{s, c} }

func (a wave) plus(b wave) wave {
	return wave{a.sin*b.cos + a.cos*b.sin, a.cos*b.cos - a.sin*b.sin}
}
func (a wave) minus(b wave) wave {
	return wave{a.sin*b.cos - a.cos*b.sin, a.cos*b.cos + a.sin*b.sin}
}

// Phases of the field, radians.
var (
	g22, g32, g44, g52, g54 = newWave(5.7686396), newWave(.95240898), newWave(1.8014998), newWave(1.0508330), newWave(4.4108898)
	day1, day2, day3        = newWave(.13130908), newWave(2 * 2.8843198), newWave(3 * .37448087)
)

// pull gives the acceleration in longitude, radians a minute², and its derivative by
// longitude. All sines come from those of two angles.
func (r *resonance) pull(longitude, t float64) (acc, slope float64) {
	l := newWave(longitude)
	l2 := l.plus(l)
	if !r.half {
		a, b, c := l.minus(day1), l2.minus(day2), l2.plus(l).minus(day3)
		return r.day[0]*a.sin + r.day[1]*b.sin + r.day[2]*c.sin,
			r.day[0]*a.cos + 2*r.day[1]*b.cos + 3*r.day[2]*c.cos
	}
	w := newWave(r.argp + r.argpDot*t)
	w2 := w.plus(w)
	a, b := w2.plus(l).minus(g22), l.minus(g22)
	c, d := w.plus(l).minus(g32), l.minus(w).minus(g32)
	e, f := w2.plus(l2).minus(g44), l2.minus(g44)
	g, h := w.plus(l).minus(g52), l.minus(w).minus(g52)
	i, j := w.plus(l2).minus(g54), l2.minus(w).minus(g54)
	acc = r.d2201*a.sin + r.d2211*b.sin + r.d3210*c.sin + r.d3222*d.sin + r.d4410*e.sin +
		r.d4422*f.sin + r.d5220*g.sin + r.d5232*h.sin + r.d5421*i.sin + r.d5433*j.sin
	slope = r.d2201*a.cos + r.d2211*b.cos + r.d3210*c.cos + r.d3222*d.cos + r.d5220*g.cos +
		r.d5232*h.cos + 2*(r.d4410*e.cos+r.d4422*f.cos+r.d5421*i.cos+r.d5433*j.cos)
	return acc, slope
}

// move integrates to time t (Euler and Maclaurin's second order) and sets mean motion
// and mean anomaly.
func (r *resonance) move(k *mean, t float64) {
	const step = 720. // minutes
	longitude, n, at := r.longitude, r.n, 0.
	h := math.Copysign(step, t)
	for {
		acc, slope := r.pull(longitude, at)
		speed := n + r.rate
		jerk := slope * speed
		if math.Abs(t-at) < step {
			h = t - at
		}
		longitude += speed*h + acc*(h*h*.5)
		n += acc*h + jerk*(h*h*.5)
		if math.Abs(t-at) < step {
			break
		}
		at += h
	}
	k.n = n
	theta := math.Mod(r.sidereal+t*earthRate, twoPi)
	if r.half {
		k.m = longitude - 2*k.node + 2*theta
	} else {
		k.m = longitude - k.node - k.argp + theta
	}
}
