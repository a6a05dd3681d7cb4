// Package dist draws random numbers: distributions of service times, gaps and
// sizes, and streams that give the same numbers for the same seed, on any
// machine and any number of cores.
//
//	s := dist.NewStream(seed, "dyno 17")
//	d := dist.Exponential(100)
//	wait := d.Draw(s)
//
// A distribution has no unit of its own: what it draws is in the unit of its
// parameters. Every distribution knows its mean and variance in closed form, so
// that theory can be computed beside a simulation, and the tests hold the draws
// against them.
package dist

import (
	"fmt"
	"math"
)

// Dist is a distribution of non-negative numbers. It has no state: one Dist may
// serve many streams at once.
type Dist interface {
	Draw(*Stream) float64
	Mean() float64
	Variance() float64 // +Inf where there is none
	String() string    // as it is written in a scenario
}

type fixed float64

// Fixed is always v.
func Fixed(v float64) Dist           { return fixed(v) }
func (d fixed) Draw(*Stream) float64 { return float64(d) }
func (d fixed) Mean() float64        { return float64(d) }
func (d fixed) Variance() float64    { return 0 }
func (d fixed) String() string       { return fmt.Sprintf("fixed(%g)", float64(d)) }

type uniform struct{ low, high float64 }

// Uniform is anywhere in [low, high) with equal probability.
func Uniform(low, high float64) Dist     { return uniform{low, high} }
func (d uniform) Draw(s *Stream) float64 { return d.low + (d.high-d.low)*s.Float64() }
func (d uniform) Mean() float64          { return (d.low + d.high) / 2 }
func (d uniform) Variance() float64      { return (d.high - d.low) * (d.high - d.low) / 12 }
func (d uniform) String() string         { return fmt.Sprintf("uniform(%g, %g)", d.low, d.high) }

type exponential float64

// Exponential has the mean given: the gaps of Poisson arrivals.
func Exponential(mean float64) Dist          { return exponential(mean) }
func (d exponential) Draw(s *Stream) float64 { return float64(d) * s.Exp() }
func (d exponential) Mean() float64          { return float64(d) }
func (d exponential) Variance() float64      { return float64(d * d) }
func (d exponential) String() string         { return fmt.Sprintf("exponential(%g)", float64(d)) }

type erlang struct {
	k    int
	mean float64
}

// Erlang is the sum of k exponentials, with the mean given for the sum.
func Erlang(k int, mean float64) Dist { return erlang{k, mean} }
func (d erlang) Draw(s *Stream) float64 {
	sum := 0.0
	for range d.k {
		sum += s.Exp()
	}
	return sum * d.mean / float64(d.k)
}
func (d erlang) Mean() float64     { return d.mean }
func (d erlang) Variance() float64 { return d.mean * d.mean / float64(d.k) }
func (d erlang) String() string    { return fmt.Sprintf("erlang(%d, %g)", d.k, d.mean) }

type gamma struct{ shape, mean float64 }

// Gamma has the shape and mean given; shape 1 is exponential, larger ones vary less.
func Gamma(shape, mean float64) Dist { return gamma{shape, mean} }

// Draw is G. Marsaglia and W. W. Tsang's method, "A simple method for generating
// gamma variables", ACM Trans. Math. Softw. 26 (2000) 363-372.
func (d gamma) Draw(s *Stream) float64 {
	a, boost := d.shape, 1.0
	if a < 1 {
		boost = math.Pow(s.Open(), 1/a)
		a++
	}
	c := a - 1.0/3
	k := 1 / math.Sqrt(9*c)
	for {
		x := s.Norm()
		v := 1 + k*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(s.Open()) < x*x/2+c-c*v+c*math.Log(v) {
			return c * v * boost * d.mean / d.shape
		}
	}
}
func (d gamma) Mean() float64     { return d.mean }
func (d gamma) Variance() float64 { return d.mean * d.mean / d.shape }
func (d gamma) String() string    { return fmt.Sprintf("gamma(%g, %g)", d.shape, d.mean) }

type logNormal struct{ median, sigma float64 }

// LogNormal is exp of a normal variable: its logarithm has the median's
// logarithm as mean and sigma as standard deviation.
func LogNormal(median, sigma float64) Dist { return logNormal{median, sigma} }
func (d logNormal) Draw(s *Stream) float64 { return d.median * math.Exp(d.sigma*s.Norm()) }
func (d logNormal) Mean() float64          { return d.median * math.Exp(d.sigma*d.sigma/2) }
func (d logNormal) Variance() float64 {
	return d.Mean() * d.Mean() * math.Expm1(d.sigma*d.sigma)
}
func (d logNormal) String() string { return fmt.Sprintf("lognormal(%g, %g)", d.median, d.sigma) }

type pareto struct{ low, alpha float64 }

// Pareto is at least low, with a tail that falls as x to the power of -alpha.
// Its mean is infinite for alpha <= 1, its variance for alpha <= 2.
func Pareto(low, alpha float64) Dist    { return pareto{low, alpha} }
func (d pareto) Draw(s *Stream) float64 { return d.low * math.Exp(s.Exp()/d.alpha) }
func (d pareto) Mean() float64 {
	if d.alpha <= 1 {
		return math.Inf(1)
	}
	return d.low * d.alpha / (d.alpha - 1)
}
func (d pareto) Variance() float64 {
	if d.alpha <= 2 {
		return math.Inf(1)
	}
	return d.low * d.low * d.alpha / ((d.alpha - 1) * (d.alpha - 1) * (d.alpha - 2))
}
func (d pareto) String() string { return fmt.Sprintf("pareto(%g, %g)", d.low, d.alpha) }

type weibull struct{ shape, scale float64 }

// Weibull with shape 1 is exponential with mean scale; shapes below 1 have a
// heavier tail, above 1 a lighter one.
func Weibull(shape, scale float64) Dist  { return weibull{shape, scale} }
func (d weibull) Draw(s *Stream) float64 { return d.scale * math.Pow(s.Exp(), 1/d.shape) }
func (d weibull) Mean() float64          { return d.scale * math.Gamma(1+1/d.shape) }
func (d weibull) Variance() float64 {
	m := math.Gamma(1 + 1/d.shape)
	return d.scale * d.scale * (math.Gamma(1+2/d.shape) - m*m)
}
func (d weibull) String() string { return fmt.Sprintf("weibull(%g, %g)", d.shape, d.scale) }

type hyper struct{ p, mean1, mean2 float64 }

// HyperExponential is exponential with mean1 in the share p of all draws and
// with mean2 in the rest: mostly short with some long ones.
func HyperExponential(p, mean1, mean2 float64) Dist { return hyper{p, mean1, mean2} }
func (d hyper) Draw(s *Stream) float64 {
	mean := d.mean2
	if s.Float64() < d.p {
		mean = d.mean1
	}
	return mean * s.Exp()
}
func (d hyper) Mean() float64 { return d.p*d.mean1 + (1-d.p)*d.mean2 }
func (d hyper) Variance() float64 {
	m := d.Mean()
	return 2*(d.p*d.mean1*d.mean1+(1-d.p)*d.mean2*d.mean2) - m*m
}
func (d hyper) String() string {
	return fmt.Sprintf("hyperexponential(%g, %g, %g)", d.p, d.mean1, d.mean2)
}

type scaled struct {
	d Dist
	k float64
}

// Scale is d times k: another unit, or a machine that is slower by k.
func Scale(d Dist, k float64) Dist {
	if k == 1 {
		return d
	}
	return scaled{d, k}
}
func (d scaled) Draw(s *Stream) float64 { return d.k * d.d.Draw(s) }
func (d scaled) Mean() float64          { return d.k * d.d.Mean() }
func (d scaled) Variance() float64      { return d.k * d.k * d.d.Variance() }
func (d scaled) String() string         { return fmt.Sprintf("%g * %v", d.k, d.d) }

// Check says what is wrong with a distribution's parameters, in words for the
// one who wrote them; nil if nothing is. Draws of a distribution that Check
// refuses are meaningless.
func Check(d Dist) error {
	bad := func(what string, x float64) error { return fmt.Errorf("%v: %s is %g", d, what, x) }
	positive := func(what string, x float64) error {
		if !(x > 0) || math.IsInf(x, 0) {
			return bad(what+" must be more than 0 and finite, and", x)
		}
		return nil
	}
	notNegative := func(what string, x float64) error {
		if !(x >= 0) || math.IsInf(x, 0) {
			return bad(what+" must not be negative or infinite, and", x)
		}
		return nil
	}
	first := func(errs ...error) error {
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
	switch d := d.(type) {
	case nil:
		return fmt.Errorf("there is no distribution")
	case fixed:
		return notNegative("the value", float64(d))
	case uniform:
		if err := first(notNegative("the low end", d.low), notNegative("the high end", d.high)); err != nil {
			return err
		}
		if d.low > d.high {
			return fmt.Errorf("%v: the low end lies above the high end", d)
		}
	case exponential:
		return notNegative("the mean", float64(d))
	case erlang:
		if d.k > 10_000 {
			return fmt.Errorf("%v: more than 10000 stages; use fixed or gamma", d)
		}
		return first(positive("the number of stages", float64(d.k)), notNegative("the mean", d.mean))
	case gamma:
		return first(positive("the shape", d.shape), notNegative("the mean", d.mean))
	case logNormal:
		return first(notNegative("the median", d.median), notNegative("sigma", d.sigma))
	case pareto:
		return first(positive("the low end", d.low), positive("alpha", d.alpha))
	case weibull:
		return first(positive("the shape", d.shape), notNegative("the scale", d.scale))
	case hyper:
		if !(d.p >= 0 && d.p <= 1) {
			return bad("the share must lie between 0 and 1, and", d.p)
		}
		return first(notNegative("the first mean", d.mean1), notNegative("the second mean", d.mean2))
	case *zipf:
		if d.n < 1 || d.n > 1e9 {
			return bad("the number of ranks must lie between 1 and 1e9, and", d.n)
		}
		return positive("the exponent", d.s)
	case scaled:
		return first(notNegative("the factor", d.k), Check(d.d))
	}
	return nil
}
