package dist

import (
	"fmt"
	"math"
	"sync"
)

type zipf struct {
	n, s          float64
	first, last   float64 // the integral of the hat at 1.5, less 1, and at n + 1/2
	squeeze       float64
	once          sync.Once
	mean, squares float64
}

// Zipf is a rank from 1 to n, of which rank k has a probability in proportion to k to the
// power of -s: the keys that users ask for, with s near 1.
func Zipf(n int, s float64) Dist {
	d := &zipf{n: float64(n), s: s}
	d.first, d.last = d.area(1.5)-1, d.area(d.n+.5)
	d.squeeze = 2 - d.inverse(d.area(2.5)-math.Pow(2, -s))
	return d
}

// area is the integral of x^-s, and inverse its inverse.
func (d *zipf) area(x float64) float64 {
	l := math.Log(x)
	return expm1Over((1-d.s)*l) * l
}
func (d *zipf) inverse(a float64) float64 {
	t := max(a*(1-d.s), -1)
	return math.Exp(log1pOver(t) * a)
}

// expm1Over is (exp(x) - 1) / x, and log1pOver log(1 + x) / x, also near 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 + x/2
	}
	return math.Expm1(x) / x
}
func log1pOver(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 - x/2
	}
	return math.Log1p(x) / x
}

// Draw is rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to
// generate variates from monotone discrete distributions", ACM Trans. Model. Comput.
// Simul. 6 (1996) 169-184): the same time for any number of ranks.
func (d *zipf) Draw(s *Stream) float64 {
	for {
		u := d.last + s.Float64()*(d.first-d.last)
		x := d.inverse(u)
		k := min(max(math.Floor(x+.5), 1), d.n)
		if k-x <= d.squeeze || u >= d.area(k+.5)-math.Exp(-d.s*math.Log(k)) {
			return k
		}
	}
}

// moments are sums over all ranks: the first 100,000 one by one, the rest by the
// Euler-Maclaurin formula.
func (d *zipf) moments() {
	d.once.Do(func() {
		sum := func(s float64) float64 {
			m := min(d.n, 100_000)
			total := 0.0
			for k := m; k >= 1; k-- {
				total += math.Pow(k, -s)
			}
			if d.n > m {
				rest := func(x float64) float64 {
					l := math.Log(x)
					return expm1Over((1-s)*l) * l
				}
				total += rest(d.n) - rest(m) + (math.Pow(d.n, -s)-math.Pow(m, -s))/2
			}
			return total
		}
		norm := sum(d.s)
		d.mean, d.squares = sum(d.s-1)/norm, sum(d.s-2)/norm
	})
}
func (d *zipf) Mean() float64     { d.moments(); return d.mean }
func (d *zipf) Variance() float64 { d.moments(); return d.squares - d.mean*d.mean }
func (d *zipf) String() string    { return fmt.Sprintf("zipf(%g, %g)", d.n, d.s) }
