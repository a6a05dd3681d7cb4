package orbit

import "math"

const (
	twoPi  = 2 * math.Pi
	degree = math.Pi / 180 // radians

	// twoPiHigh and twoPiLow add up to float64(twoPi) exactly, and have so few bits
	// each that multiples up to 2^20 of them are exact, too.
	twoPiHigh = float64(0x3243f6a) / (1 << 23)
	twoPiLow  = float64(float64(twoPi) - twoPiHigh)
)

// mod is math.Mod(x, 2π), bit by bit, in a tenth of the time. All products and
// differences are exact, so a fused multiply-add gives the same.
func mod(x float64) float64 {
	if x < twoPi && x > -twoPi {
		return x
	}
	k := math.Trunc(x / twoPi)
	if !(math.Abs(k) < 1<<20) {
		return math.Mod(x, twoPi)
	}
	r := (x - k*twoPiHigh) - k*twoPiLow
	// The quotient may have been rounded up to a whole number.
	if r != 0 && (r < 0) != (x < 0) {
		r += math.Copysign(twoPi, x)
	}
	return r
}

// turn gives the sine and cosine of an angle that is d radians further than the one
// whose sine and cosine are s and c: by their series for small d (remainder below
// 5e-17), which are most.
func turn(s, c, d float64) (sin, cos float64) {
	if d > 1./16 || d < -1./16 {
		sd, cd := math.Sincos(d)
		return s*cd + c*sd, c*cd - s*sd
	}
	d2 := d * d
	sd := d * (1 - d2*(1./6-d2*(1./120-d2*(1./5040))))
	cd := -d2 * (1./2 - d2*(1./24-d2*(1./720-d2*(1./40320)))) // cosine less 1
	return s + (s*cd + c*sd), c + (c*cd - s*sd)
}

// sincos is math.Sincos, but near 180 degrees rounded to the nearest: there the theory
// divides by 1 + cos and by sin, and the last bit of either would show.
func sincos(x float64) (sin, cos float64) {
	if x < 3 || x > 3.3 {
		return math.Sincos(x)
	}
	d := (math.Pi - x) + 1.2246467991473531772e-16 // π less float64(π)
	half := math.Sin(d / 2)
	return math.Sin(d), -(1 - 2*half*half)
}
