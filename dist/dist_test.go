package dist

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// cdf of each distribution, from the textbooks, not from this package.
var shapes = []struct {
	d   Dist
	cdf func(x float64) float64
}{
	{Uniform(2, 6), func(x float64) float64 { return min(1, max(0, (x-2)/4)) }},
	{Exponential(100), func(x float64) float64 { return 1 - math.Exp(-x/100) }},
	{Erlang(3, 30), func(x float64) float64 { x /= 10; return 1 - math.Exp(-x)*(1+x+x*x/2) }},
	{Gamma(3, 30), func(x float64) float64 { x /= 10; return 1 - math.Exp(-x)*(1+x+x*x/2) }},
	{Gamma(1, 7), func(x float64) float64 { return 1 - math.Exp(-x/7) }},
	{Gamma(.5, 5), func(x float64) float64 { return math.Erf(math.Sqrt(x / 10)) }}, // chi squared with 1 degree, times 5
	{LogNormal(10, .8), func(x float64) float64 { return .5 * math.Erfc(-math.Log(x/10)/(.8*math.Sqrt2)) }},
	{Pareto(5, 2.5), func(x float64) float64 { return max(0, 1-math.Pow(5/x, 2.5)) }},
	{Weibull(.7, 40), func(x float64) float64 { return 1 - math.Exp(-math.Pow(x/40, .7)) }},
	{HyperExponential(.9, 10, 200), func(x float64) float64 { return 1 - .9*math.Exp(-x/10) - .1*math.Exp(-x/200) }},
	{Scale(Exponential(10), 10), func(x float64) float64 { return 1 - math.Exp(-x/100) }},
}

// The draws follow the distribution function (Kolmogorov and Smirnov at 0.1 %), and their
// mean and variance are the ones that the distribution tells.
func TestShapes(t *testing.T) {
	const n = 200_000
	for _, c := range shapes {
		t.Run(c.d.String(), func(t *testing.T) {
			if err := Check(c.d); err != nil {
				t.Fatal(err)
			}
			s := NewStream(1, c.d.String())
			x := make([]float64, n)
			sum := 0.0
			for i := range x {
				x[i] = c.d.Draw(s)
				sum += x[i]
			}
			sort.Float64s(x)
			worst := 0.0
			for i, v := range x {
				f := c.cdf(v)
				worst = max(worst, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
			}
			if limit := 1.95 / math.Sqrt(n); worst > limit {
				t.Errorf("differs from its distribution function by %.5f, more than %.5f", worst, limit)
			}
			mean, sd := sum/n, math.Sqrt(c.d.Variance())
			if math.Abs(mean-c.d.Mean()) > 4*sd/math.Sqrt(n) {
				t.Errorf("the mean of the draws is %g, it says %g", mean, c.d.Mean())
			}
			// The variance and the mean it tells against an integral over the distribution function.
			m1, m2 := 0.0, 0.0
			for i := 0; i < 4_000_000; i++ { // in logarithmic steps from 1e-9 to 1e9
				const step = 41.4465 / 4_000_000
				a := 1e-9 * math.Exp(step*float64(i))
				b := a * math.Exp(step)
				tail := 1 - (c.cdf(a)+c.cdf(b))/2
				m1 += tail * (b - a)
				m2 += tail * (b*b - a*a)
			}
			if math.Abs(m1/c.d.Mean()-1) > 1e-3 {
				t.Errorf("it says a mean of %g, the integral %g", c.d.Mean(), m1)
			}
			if v := m2 - m1*m1; math.Abs(v/c.d.Variance()-1) > 2e-2 {
				t.Errorf("it says a variance of %g, the integral %g", c.d.Variance(), v)
			}
		})
	}
}

func TestFixed(t *testing.T) {
	s := NewStream(1, "")
	if d := Fixed(7); d.Draw(s) != 7 || d.Mean() != 7 || d.Variance() != 0 {
		t.Errorf("%v draws %g with mean %g and variance %g", d, d.Draw(s), d.Mean(), d.Variance())
	}
	for _, d := range []Dist{Pareto(1, 1), Pareto(1, .5)} {
		if !math.IsInf(d.Mean(), 1) || !math.IsInf(d.Variance(), 1) {
			t.Errorf("%v has mean %g and variance %g", d, d.Mean(), d.Variance())
		}
	}
}

func TestCheck(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, d := range []Dist{nil, Fixed(-1), Fixed(nan), Fixed(inf), Uniform(3, 1), Uniform(-1, 1), Uniform(0, inf), Exponential(-1), Exponential(nan),
		Erlang(0, 1), Erlang(-1, 1), Erlang(1e9, 1), Erlang(2, nan), Gamma(0, 1), Gamma(1, -1), LogNormal(1, nan), LogNormal(-1, 1), Pareto(0, 1), Pareto(1, 0),
		Weibull(0, 1), Weibull(1, inf), HyperExponential(1.1, 1, 1), HyperExponential(nan, 1, 1), HyperExponential(.5, -1, 1), Scale(Fixed(1), -2), Scale(Fixed(-1), 2)} {
		if err := Check(d); err == nil {
			t.Errorf("%v passes", d)
		}
	}
	for _, c := range shapes {
		if err := Check(c.d); err != nil {
			t.Error(err)
		}
	}
}

// The published first numbers of SplitMix64 for seed 1234567 with the usual increment
// (S. Vigna's reference code).
func TestSplitMix(t *testing.T) {
	s := Stream{1234567, golden}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.Uint64(); got != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

// The first numbers of streams with neighbouring keys are as good as those of one stream.
func TestNeighbours(t *testing.T) {
	const n = 200_000
	x := make([]float64, n)
	dot := 0.0
	for i := range x {
		s := At(uint64(i))
		x[i] = s.Float64()
		dot += 12 * (x[i] - .5) * (s.Float64() - .5) / n
		if i > 0 {
			dot += 12 * (x[i] - .5) * (x[i-1] - .5) / n
		}
	}
	if math.Abs(dot) > 5.6/math.Sqrt(n) {
		t.Errorf("the first two numbers of neighbours have correlation %g", dot)
	}
	sort.Float64s(x)
	for i, v := range x {
		if math.Abs(v-float64(i)/n) > 1.95/math.Sqrt(n) {
			t.Fatalf("the first numbers are not uniform: %g of %g", v, float64(i)/n)
		}
	}
}

// Streams repeat, and those of other names and seeds are not correlated with them.
func TestStreams(t *testing.T) {
	draw := func(s *Stream, n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = s.Float64() - .5
		}
		return x
	}
	const n = 100_000
	a := draw(NewStream(1, "a"), n)
	for i, x := range draw(NewStream(1, "a"), n) {
		if x != a[i] {
			t.Fatal("the same stream differs")
		}
	}
	for _, other := range []*Stream{NewStream(2, "a"), NewStream(1, "b"), NewStream(0, "a"), NewStream(1<<63, "a")} {
		dot := 0.0
		for i, x := range draw(other, n) {
			dot += 12 * a[i] * x / n
		}
		if math.Abs(dot) > 4/math.Sqrt(n) {
			t.Errorf("another stream has correlation %.4f", dot)
		}
	}
	// Golden numbers: a change of the generator changes every published result.
	s := NewStream(1, "headway")
	got := fmt.Sprintf("%x %x", s.Uint64(), s.Uint64())
	if want := first; got != want {
		t.Errorf("the stream begins with %s, not %s", got, want)
	}
}

func TestIntN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, math.MaxInt).Draw(t, "n")
		s := NewStream(rapid.Uint64().Draw(t, "seed"), "")
		for range 100 {
			if i := s.IntN(n); i < 0 || i >= n {
				t.Fatalf("IntN(%d) = %d", n, i)
			}
		}
	})
	s, counts := NewStream(3, "n"), make([]float64, 7)
	for range 70_000 {
		counts[s.IntN(7)]++
	}
	chi := 0.0
	for _, c := range counts {
		chi += (c - 10_000) * (c - 10_000) / 10_000
	}
	if chi > 22.5 { // chi squared with 6 degrees of freedom, 0.1 %
		t.Errorf("%v is not uniform", counts)
	}
}

func TestEmpirical(t *testing.T) {
	d, err := Empirical("v", []float64{1, 2, 10}, []float64{5, 3, 2})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(d.Mean()-3.1) > 1e-12 || math.Abs(d.Variance()-(5*2.1*2.1+3*1.1*1.1+2*6.9*6.9)/10) > 1e-9 {
		t.Errorf("mean %g, variance %g", d.Mean(), d.Variance())
	}
	s, counts := NewStream(1, "e"), map[float64]float64{}
	for range 100_000 {
		counts[d.Draw(s)]++
	}
	chi := 0.0
	for v, want := range map[float64]float64{1: 50_000, 2: 30_000, 10: 20_000} {
		chi += (counts[v] - want) * (counts[v] - want) / want
	}
	if chi > 13.8 || len(counts) != 3 {
		t.Errorf("drew %v", counts)
	}
	for _, c := range []struct{ v, w []float64 }{{nil, nil}, {[]float64{1}, []float64{0}}, {[]float64{1}, []float64{1, 2}}, {[]float64{-1}, nil},
		{[]float64{math.NaN()}, nil}, {[]float64{1}, []float64{-1}}, {[]float64{math.MaxFloat64, math.MaxFloat64}, []float64{math.MaxFloat64, math.MaxFloat64}}} {
		if _, err := Empirical("bad", c.v, c.w); err == nil {
			t.Errorf("values %v with weights %v pass", c.v, c.w)
		}
	}
}

func TestRead(t *testing.T) {
	if d, err := ReadValues("f", strings.NewReader("# ms\n1\n\n 2.5 \n4.5e0\n")); err != nil || math.Abs(d.Mean()-8./3) > 1e-12 {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := ReadValues("f.txt", strings.NewReader("1\nx\n")); err == nil || !strings.Contains(err.Error(), "f.txt:2") {
		t.Errorf("%v does not name the line", err)
	}
	text := "path,ms\n/a,10\n/b,\"20\"\n"
	if d, err := ReadCSV("f", strings.NewReader(text), "ms"); err != nil || d.Mean() != 15 {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := ReadCSV("f", strings.NewReader(text), "us"); err == nil || !strings.Contains(err.Error(), "path, ms") {
		t.Errorf("%v does not name the columns", err)
	}
	if _, err := ReadCSV("f.csv", strings.NewReader(text), "path"); err == nil || !strings.Contains(err.Error(), "f.csv:2") {
		t.Errorf("%v does not name the line", err)
	}
	if _, err := ReadCSV("f", strings.NewReader(""), "ms"); err == nil {
		t.Error("an empty file passes")
	}
	if _, err := ReadHDR("f", strings.NewReader("no log"), 1); err == nil {
		t.Error("no log passes")
	}
}

// A log of two intervals, written by the format's own library.
func TestReadHDR(t *testing.T) {
	var log bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&log)
	if err := w.OutputLogFormatVersion(); err != nil {
		t.Fatal(err)
	}
	for _, values := range [][]int64{{1000, 1000, 3000}, {5000}} {
		h := hdrhistogram.New(1, 1_000_000, 3)
		for _, v := range values {
			h.RecordValue(v)
		}
		if err := w.OutputIntervalHistogram(h); err != nil {
			t.Fatal(err)
		}
	}
	d, err := ReadHDR("f", &log, .001)
	if err != nil || math.Abs(d.Mean()-2.5) > .005 {
		t.Errorf("%v, %v", d, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("1\n2\n", "ms")
	f.Add("ms,b\n1,2\n", "ms")
	f.Add("#[Histogram log format version 1.3]\n0.1,0.2,0.3,HISTFAAAABx4nJNpmSzMwMDAxQABzFCaEUoz2X+AsQA/awKU\n", "")
	f.Fuzz(func(t *testing.T, text, column string) {
		for _, read := range []func() (Dist, error){
			func() (Dist, error) { return ReadValues("f", strings.NewReader(text)) },
			func() (Dist, error) { return ReadCSV("f", strings.NewReader(text), column) },
			func() (Dist, error) { return ReadHDR("f", strings.NewReader(text), 1) },
		} {
			if d, err := read(); err == nil {
				if v := d.Draw(NewStream(1, "")); !(v >= 0) || math.IsInf(v, 0) {
					t.Errorf("drew %g", v)
				}
			}
		}
	})
}

func BenchmarkExponential(b *testing.B) {
	s, d := NewStream(1, ""), Exponential(100)
	for b.Loop() {
		d.Draw(s)
	}
}

// first is what the stream "headway" of seed 1 begins with.
const first = "d2388d66b1812619 368406c8ac07e5f2"
