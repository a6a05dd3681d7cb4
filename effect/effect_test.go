package effect

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(b))
}

// Critical values of Student's t as printed in the NIST/SEMATECH e-Handbook, 1.3.6.7.2.
func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct{ confidence, df, want float64 }{
		{0.95, 1, 12.706}, {0.95, 2, 4.303}, {0.95, 3, 3.182}, {0.95, 5, 2.571},
		{0.95, 10, 2.228}, {0.95, 30, 2.042}, {0.95, 100, 1.984}, {0.95, 1e6, 1.960},
		{0.90, 4, 2.132}, {0.99, 2, 9.925}, {0.99, 20, 2.845}, {0.998, 10, 4.144},
	} {
		if got := studentQuantile(c.confidence, c.df); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("t(%g, df %g) = %.4f, want %.3f", c.confidence, c.df, got, c.want)
		}
	}
	// Closed forms: df 1 is Cauchy, df 2 is algebraic.
	for _, x := range []float64{1e-6, 0.1, 1, 3, 50, 1e5} {
		if got, want := studentP(x, 1), 2/math.Pi*math.Atan2(1, x); !near(got/want, 1, 1e-10) {
			t.Errorf("P(|t1| > %g) = %g, want %g", x, got, want)
		}
		root := math.Sqrt(2 + x*x)
		if got, want := studentP(x, 2), 2/(root*(root+x)); !near(got/want, 1, 1e-10) {
			t.Errorf("P(|t2| > %g) = %g, want %g", x, got, want)
		}
	}
}

// The self-awareness data of Dana (1990) in Wilcox, "Introduction to Robust Estimation
// and Hypothesis Testing", chapters 3 and 4: 20 % trimmed mean 282.7, standard error 56.1.
// Wilcox divides the winsorised variance by (0.6)^2 n(n-1), Yuen and we by h(h-1),
// where h = 13 of the n = 19 samples are kept.
func TestTrimmedWorkedExample(t *testing.T) {
	l := trimmed([]float64{77, 87, 88, 114, 151, 210, 219, 246, 253, 262,
		296, 299, 306, 376, 428, 515, 666, 1310, 2611})
	wilcox := l.se * math.Sqrt(13*12/(0.36*19*18))
	if math.Abs(l.mean-282.7) > 0.05 || math.Abs(wilcox-56.1) > 0.05 || l.df != 12 {
		t.Errorf("mean %.2f, standard error %.2f, df %g; want 282.7, 56.1, 12", l.mean, wilcox, l.df)
	}
}

func TestPaired(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name              string
		baseline, changed []float64
		want              Effect
	}{
		{"nothing", nil, nil, Effect{nan, -inf, inf, 0.95, 1, 0}},
		{"too few to carry an interval", []float64{10, 10, 10}, []float64{5, 5, 5}, Effect{-50, -inf, inf, 0.95, 1, 3}},
		{"exactly half", []float64{10, 20, 30, 40}, []float64{5, 10, 15, 20}, Effect{-50, -50, -50, 0.95, 0, 4}},
		{"exactly the same", []float64{1, 2, 3, 4, 5}, []float64{1, 2, 3, 4, 5}, Effect{0, 0, 0, 0.95, 1, 5}},
		{"unusable pairs are left out", []float64{0, -1, nan, inf, 8, 8, 8, 8, 7}, []float64{1, 1, 1, 1, 2, 2, 2, 2}, Effect{-75, -75, -75, 0.95, 0, 4}},
		{"one spoiled pair in five", []float64{10, 10, 10, 10, 10}, []float64{9, 9, 9, 9, 900}, Effect{-10, -99.9915, 90000, 0.95, 0.5, 5}},
	} {
		got := Paired(c.baseline, c.changed, 0.95, 1)
		if c.name == "one spoiled pair in five" { // only the location is certain
			if !near(got.Percent, -10, 1e-9) || got.P < 0.05 || !(got.Low < 0 && got.High > 0) {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) || near(a, b, 1e-9) }
		if !same(got.Percent, c.want.Percent) || !same(got.Low, c.want.Low) || !same(got.High, c.want.High) ||
			!near(got.P, c.want.P, 1e-9) || got.N != c.want.N || got.Confidence != 0.95 {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The fifteen p-values of Benjamini and Hochberg's own example (1995, section 3.2):
// at 0.05 their method finds four, Bonferroni's three.
func TestFDRWorkedExample(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000}
	slices.Reverse(p) // order must not matter
	for i, real := range FDR(p, 0.05) {
		if want := p[i] <= 0.0095; real != want {
			t.Errorf("p = %g: discovery %v, want %v", p[i], real, want)
		}
	}
}

func TestFDREdges(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		q    float64
		want []bool
	}{
		{nil, 0.05, []bool{}},
		{[]float64{0.01, math.NaN()}, 0.05, []bool{true, false}},
		{[]float64{0.04, math.NaN()}, 0.05, []bool{false, false}}, // a test without an answer still counts
		{[]float64{0, 0}, 0, []bool{false, false}},
		{[]float64{0, 0}, math.NaN(), []bool{false, false}},
		{[]float64{0.04, 0.05}, 0.05, []bool{true, true}}, // step up: the larger one carries both
	} {
		if got := FDR(c.p, c.q); !slices.Equal(got, c.want) {
			t.Errorf("FDR(%v, %g) = %v, want %v", c.p, c.q, got, c.want)
		}
	}
}

func TestPairedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(MinN, 40).Draw(t, "n")
		value := rapid.Float64Range(1e-3, 1e6)
		b := rapid.SliceOfN(value, n, n).Draw(t, "baseline")
		c := rapid.SliceOfN(value, n, n).Draw(t, "changed")
		confidence := rapid.Float64Range(0.5, 0.999).Draw(t, "confidence")
		e := Paired(b, c, confidence, 1)

		if !(e.Low <= e.Percent && e.Percent <= e.High && e.Low >= -100) {
			t.Fatalf("out of order: %+v", e)
		}
		if excludes := e.Low > 0 || e.High < 0; excludes != (e.P < 1-confidence) && !near(e.P, 1-confidence, 1e-9) {
			t.Fatalf("p-value and interval disagree: %+v", e)
		}
		// Another unit changes nothing.
		scaled := func(x []float64, by float64) []float64 {
			y := slices.Clone(x)
			for i := range y {
				y[i] *= by
			}
			return y
		}
		s := Paired(scaled(b, 1000), scaled(c, 1000), confidence, 1)
		if !near(s.Percent, e.Percent, 1e-6) || !near(s.Low, e.Low, 1e-6) {
			t.Fatalf("unit matters: %+v and %+v", e, s)
		}
		// Baseline and change swapped give the inverse ratio.
		r := Paired(c, b, confidence, 1)
		if !near((1+e.Percent/100)*(1+r.Percent/100), 1, 1e-6) || !near(r.P, e.P, 1e-6) {
			t.Fatalf("not antisymmetric: %+v and %+v", e, r)
		}
		// More confidence, wider interval.
		w := Paired(b, c, (1+confidence)/2, 1)
		if w.Low > e.Low || w.High < e.High {
			t.Fatalf("%g narrower than %g", w.Confidence, e.Confidence)
		}
	})
}

func TestOfProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := make([]float64, rapid.IntRange(MinN, 40).Draw(t, "n"))
		for i := range x { // sixteenths, so that a shift is exact and ties stay ties
			x[i] = float64(rapid.IntRange(-1e6, 1e6).Draw(t, "x")) / 16
		}
		e := Of(x, 0.95, 1)
		if !(e.Low <= e.Value && e.Value <= e.High) || e.Value < slices.Min(x) || e.Value > slices.Max(x) {
			t.Fatalf("%+v", e)
		}
		shift := slices.Clone(x)
		for i := range shift {
			shift[i] += 512
		}
		if s := Of(shift, 0.95, 1); !near(s.Value, e.Value+512, 1e-6) || !near(s.High-s.Low, e.High-e.Low, 1e-6) {
			t.Fatalf("shift matters: %+v and %+v", e, s)
		}
	})
}

func TestFDRProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		q := rapid.Float64Range(0.001, 1).Draw(t, "q")
		real := FDR(p, q)
		for i := range p {
			if real[i] && p[i] > q || !real[i] && p[i] <= q/float64(len(p)) {
				t.Fatalf("p = %g of %d, discovery %v", p[i], len(p), real[i])
			}
			for j := range p {
				if p[i] <= p[j] && real[j] && !real[i] {
					t.Fatalf("%g is a discovery and %g is not", p[j], p[i])
				}
			}
		}
	})
}

// FuzzAnything: whatever is measured, nothing panics and no interval is NaN.
func FuzzAnything(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, 5.0, 0.95)
	f.Add(math.MaxFloat64, 5e-324, 1.0, math.MaxFloat64, 5e-324, 0.999999)
	f.Add(-math.MaxFloat64, math.MaxFloat64, 0.0, math.Inf(1), math.NaN(), -1.0)
	f.Fuzz(func(t *testing.T, a, b, c, d, e, confidence float64) {
		x, y := []float64{a, b, c, d, e, a, b}, []float64{e, d, c, b, a, a}
		p := Paired(x, y, confidence, 1)
		if math.IsNaN(p.Low) || math.IsNaN(p.High) || p.Low > p.High || !(p.P >= 0 && p.P <= 1) ||
			p.N > 0 && !(p.Low <= p.Percent && p.Percent <= p.High) {
			t.Errorf("Paired(%v, %v, %v) = %+v", x, y, confidence, p)
		}
		o := Of(x, confidence, 1)
		if math.IsNaN(o.Low) || math.IsNaN(o.High) || o.N > 0 && !(o.Low <= o.Value && o.Value <= o.High) {
			t.Errorf("Of(%v, %v) = %+v", x, confidence, o)
		}
		FDR(x, confidence)
	})
}

// A part of the baseline that is in the change, too, is in neither.
func TestScaled(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ e, want Effect }{
		{Effect{Percent: -40, Low: -44, High: -36, P: .01, N: 7, Confidence: .95}, Effect{Percent: -50, Low: -55, High: -45, P: .01, N: 7, Confidence: .95}},
		{Effect{Percent: 40, Low: -4, High: 84}, Effect{Percent: 50, Low: -5, High: 105}},
		{Effect{Percent: -90, Low: -95, High: -70}, Effect{Percent: -100, Low: -100, High: -87.5}},
		{Effect{Percent: -10, Low: -inf, High: inf}, Effect{Percent: -12.5, Low: -inf, High: inf}},
	} {
		if got := c.e.Scaled(1.25); got != c.want {
			t.Errorf("%+v is %+v, want %+v", c.e, got, c.want)
		}
		if got := c.e.Scaled(1); got != c.e {
			t.Errorf("%+v times 1 is %+v", c.e, got)
		}
	}
	if got := (Effect{Percent: nan, Low: nan, High: nan}).Scaled(1.25); !math.IsNaN(got.Percent) || !math.IsNaN(got.Low) {
		t.Errorf("no estimate is %+v", got)
	}
}
