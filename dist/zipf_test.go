package dist

import (
	"math"
	"testing"
)

// The draws have the probabilities of the definition, by a chi-squared test, and the
// moments are those sums.
func TestZipf(t *testing.T) {
	for _, c := range []struct {
		n int
		s float64
	}{{1, 1}, {2, .5}, {10, 1}, {10, 2.5}, {100, .8}, {100, 1}, {1000, 1.2}} {
		p, norm := make([]float64, c.n+1), 0.
		for k := 1; k <= c.n; k++ {
			p[k] = math.Pow(float64(k), -c.s)
			norm += p[k]
		}
		mean, squares := 0., 0.
		for k := range p {
			p[k] /= norm
			mean += p[k] * float64(k)
			squares += p[k] * float64(k) * float64(k)
		}
		d := Zipf(c.n, c.s)
		if math.Abs(d.Mean()-mean) > 1e-9*mean || math.Abs(d.Variance()-(squares-mean*mean)) > 1e-6*(1+squares) {
			t.Errorf("%v: mean %g and variance %g, want %g and %g", d, d.Mean(), d.Variance(), mean, squares-mean*mean)
		}
		const draws = 200_000
		count := make([]float64, c.n+1)
		s := NewStream(1, d.String())
		for range draws {
			k := d.Draw(s)
			if k != math.Trunc(k) || k < 1 || k > float64(c.n) {
				t.Fatalf("%v draws %g", d, k)
			}
			count[int(k)]++
		}
		chi, cells := 0., 0.
		for k := 1; k <= c.n; k++ {
			if e := draws * p[k]; e >= 5 {
				chi += (count[k] - e) * (count[k] - e) / e
				cells++
			}
		}
		// Wilson and Hilferty's approximation of the 99.9 % point.
		df := max(cells-1, 1)
		limit := df * math.Pow(1-2/(9*df)+3.09*math.Sqrt(2/(9*df)), 3)
		if chi > limit {
			t.Errorf("%v: chi-squared %.1f with %g degrees of freedom", d, chi, df)
		}
	}
}

// Large pools of keys: the sums beyond 100,000 ranks are as good as those one by one.
func TestZipfMoments(t *testing.T) {
	const n = 1_000_000
	norm, mean := 0., 0.
	for k := n; k >= 1; k-- {
		norm += 1 / float64(k)
		mean++
	}
	if d := Zipf(n, 1); math.Abs(d.Mean()-mean/norm) > 1e-7*d.Mean() {
		t.Errorf("mean %g, want %g", d.Mean(), mean/norm)
	}
	for _, d := range []Dist{Zipf(0, 1), Zipf(10, 0), Zipf(10, math.NaN()), Zipf(10, math.Inf(1)), Zipf(2_000_000_000, 1)} {
		if Check(d) == nil {
			t.Errorf("%v passes", d)
		}
	}
}
