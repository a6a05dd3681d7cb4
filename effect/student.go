package effect

import "math"

// studentP is the probability that Student's t with df degrees of freedom lies
// farther from 0 than t. Its relative error is below 1e-10 for df up to 1e6.
func studentP(t, df float64) float64 {
	return beta(df/2, 0.5, df/(df+t*t))
}

// studentQuantile is the t that |t| does not exceed with probability confidence:
// the root of studentP by bisection, to the last bits.
func studentQuantile(confidence, df float64) float64 {
	alpha := 1 - confidence
	low, high := 0.0, 1.0
	for studentP(high, df) > alpha && high < 1e300 {
		high *= 2
	}
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			return high // so that P < 1-confidence outside the interval
		}
		if studentP(mid, df) > alpha {
			low = mid
		} else {
			high = mid
		}
	}
}

// beta is the regularised incomplete beta function I_x(a, b), by its continued
// fraction (DLMF 8.17.22) in Lentz's form.
func beta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - beta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a

	const tiny = 1e-300
	away := func(v float64) float64 { // from zero
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 1e5; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		f *= c * d
		if math.Abs(c*d-1) < 1e-16*4 {
			break
		}
	}
	return front * f
}
