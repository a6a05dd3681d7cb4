package health

import "math"

// Chance is how probable it is that a pod to which each of total requests goes with probability
// share, independently, gets at most served of them: the lower tail of the binomial
// distribution. Relative error below 1e-8 up to a total of 1e9.
func Chance(served, total uint64, share float64) float64 {
	switch {
	case served >= total || share <= 0:
		return 1
	case share >= 1:
		return 0
	}
	n, k := float64(total), float64(served)
	// Above the mode the terms of the lower tail do not fall from its end on; take the upper tail.
	if k > n*share {
		return 1 - tail(n, k+1, share, 1)
	}
	return tail(n, k, share, -1)
}

// tail sums the terms from k on, downwards or upwards, where each is smaller than the one before.
func tail(n, k, share, way float64) float64 {
	odds := share / (1 - share)
	sum, term := 1., 1.
	for at := k; term > sum*1e-17; at += way {
		if way < 0 {
			term *= at / ((n - at + 1) * odds)
		} else {
			term *= (n - at) / (at + 1) * odds
		}
		sum += term
	}
	return min(binomial(n, k, share)*sum, 1)
}

// binomial is the probability of k of n. The logarithms of factorials would leave no digits where n is
// large; C. Loader, "Fast and accurate computation of binomial probabilities" (2000),
// takes what they have in common out beforehand.
func binomial(n, k, share float64) float64 {
	switch k {
	case 0:
		return math.Exp(n * math.Log1p(-share))
	case n:
		return math.Exp(n * math.Log(share))
	}
	log := stirling(n) - stirling(k) - stirling(n-k) - deviance(k, n*share) - deviance(n-k, n*(1-share))
	return math.Sqrt(n/(2*math.Pi*k*(n-k))) * math.Exp(log)
}

// stirling is what Stirling's formula for ln(n!) lacks.
func stirling(n float64) float64 {
	if n < 16 {
		f, _ := math.Lgamma(n + 1)
		return f - (n+.5)*math.Log(n) + n - .5*math.Log(2*math.Pi)
	}
	m := n * n
	return (1./12 - (1./360-(1./1260-(1./1680-1./1188/m)/m)/m)/m) / n
}

// deviance is x ln(x/m) + m - x, also where x is near m.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) >= .1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := (x - m) / (x + m)
	sum, power := (x-m)*v, 2*x*v
	for i := 3.; ; i += 2 {
		power *= v * v
		if next := sum + power/i; next != sum {
			sum = next
			continue
		}
		return sum
	}
}

// Enough is the least total of which a pod that got none is short by more than chance: the least
// N with (1 - share)^N <= alarm. For a small share that is ln(1/alarm)/share.
func Enough(share, alarm float64) uint64 {
	return uint64(math.Ceil(math.Log(alarm) / math.Log1p(-share) * (1 - 1e-14)))
}
