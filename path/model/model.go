// Package model says how fast TCP is in theory, to hold measured transfers against.
//
// Rates are in segments a second, for round trips in seconds and losses as the probability that a
// segment is lost, independent of others.
package model

import "math"

// Mathis is the rate of additive increase and multiplicative decrease under periodic loss
// (Mathis, Semke, Mahdavi, Ott 1997, equation 3, every segment counted for the increase, as
// Linux does whatever the receiver acknowledges): sqrt(3/2) / (rtt sqrt(p)). It knows no timeouts.
//
// It holds for CUBIC, too, where that grows as Reno would (RFC 9438, section 4.3).
func Mathis(rtt, p float64) float64 { return math.Sqrt(1.5/p) / rtt }

// MathisRandom is the same for independent losses: their irregular spacing makes it a little
// larger (Mathis et al., table 2 of the paper: 1.31 instead of 1.22, by simulation).
func MathisRandom(rtt, p float64) float64 { return 1.31 / (rtt * math.Sqrt(p)) }

// PFTK is the send rate of Reno with timeouts (Padhye, Firoiu, Towsley, Kurose 1998, equation 30 with
// one acknowledgement a segment and no limit by the receiver's window). rto is the first
// timeout in seconds.
func PFTK(rtt, p, rto float64) float64 {
	const b = 1
	c := (2. + b) / (3 * b)
	w := c + math.Sqrt(8*(1-p)/(3*b*p)+c*c)
	q := min(1, (1-pow(1-p, 3))*(1+pow(1-p, 3)*(1-pow(1-p, w-3)))/(1-pow(1-p, w)))
	f := 1 + p + 2*p*p + 4*pow(p, 3) + 8*pow(p, 4) + 16*pow(p, 5) + 32*pow(p, 6)
	return ((1-p)/p + w + q/(1-p)) / (rtt*(b/2.*w+1) + q*rto*f/(1-p))
}

// Cubic is the rate of CUBIC where its own function rules (RFC 9438, figure 5: C = 0.4, beta =
// 0.7, periodic loss); where that is less than what Reno gets, CUBIC grows as Reno would.
func Cubic(rtt, p float64) float64 {
	own := math.Pow(.4*(3+.7)/(4*(1-.7)), .25) * math.Pow(rtt, .75) / math.Pow(p, .75) / rtt
	return max(own, Mathis(rtt, p))
}

// SlowStart is how many round trips it takes to deliver n segments from a window of initial
// segments that doubles each time, without loss or a limit.
func SlowStart(n, initial int64) int {
	rounds := 0
	for w := initial; n > 0; w *= 2 {
		n -= w
		rounds++
	}
	return rounds
}

func pow(x, y float64) float64 { return math.Pow(x, y) }
