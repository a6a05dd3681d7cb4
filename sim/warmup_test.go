package sim

import (
	"math"
	"testing"

	"github.com/headway-lab/headway/dist"
)

// MSER-5 finds where a level begins. The series is 0.8^k above 10, with noise of known sign, so
// that it could be done by hand: what lies above the noise does not count.
func TestMSER(t *testing.T) {
	const n = 5000
	b := newBatches(n)
	for i := range int64(n) {
		level := 1000.
		if i < 500 {
			level += 2000 * (1 - float64(i)/500)
		}
		level += float64(i%2*20 - 10)
		b.add(i, int64(level), true)
	}
	if w := b.warmUp(); w < 400 || w > 520 {
		t.Errorf("a warm-up of 500 requests is found to be %d", w)
	}
	// Nothing to leave out.
	b = newBatches(n)
	for i := range int64(n) {
		b.add(i, 1000+i%7, true)
	}
	if w := b.warmUp(); w > 50 {
		t.Errorf("no warm-up is found to be %d", w)
	}
	// Failures have no latency.
	b = newBatches(20)
	for i := range int64(20) {
		b.add(i, 5, false)
	}
	if w := b.warmUp(); w != 0 {
		t.Errorf("only failures: %d", w)
	}
}

// The definition, word for word: the d that makes the sum of squares of the rest, over the
// square of their number, the least.
func TestMSERDefinition(t *testing.T) {
	s := dist.At(7)
	b := newBatches(1000)
	for i := range int64(1000) {
		b.add(i, int64(1000*s.Exp())+int64(5000*math.Exp(-float64(i)/60)), true)
	}
	var x []float64
	for i := range b.sum {
		x = append(x, b.sum[i]/float64(b.n[i]))
	}
	best, least := 0, math.Inf(1)
	for d := 0; d <= len(x)/2; d++ {
		mean, ss := 0., 0.
		for _, v := range x[d:] {
			mean += v / float64(len(x)-d)
		}
		for _, v := range x[d:] {
			ss += (v - mean) * (v - mean)
		}
		if z := ss / float64((len(x)-d)*(len(x)-d)); z < least {
			best, least = d, z
		}
	}
	if w := b.warmUp(); w != 5*best || best == 0 {
		t.Errorf("%d requests, want %d", w, 5*best)
	}
}

// With detection a queue that begins empty gives the same mean as theory says, and the
// window begins after the start. (In short runs at high load the rule also cuts after
// bursts, which makes the mean of the rest small: at load .9 and 20,000 requests a tenth.)
func TestDetect(t *testing.T) {
	c := Config{Arrivals: Poisson(10), Requests: 100_000, Detect: true}
	network := func() Node { return Queue(Delay(dist.Exponential(7), Server("s"))) }
	mean, half := replicated(t, runs, c, network, latency)
	if want := 7 / (1 - .7); math.Abs(mean-want) > half || half > .2*want {
		t.Errorf("%.4g +- %.2g, theory says %.4g", mean, half, want)
	}
	first, _ := replicated(t, runs, c, network, func(r *Result) float64 { return float64(r.First) })
	if first == 0 || first > 50_000 {
		t.Errorf("the window begins at %g on average", first)
	}
	r, err := Run(c, network())
	if err != nil || r.First+r.Requests != r.Total {
		t.Errorf("%v: %d from %d of %d", err, r.Requests, r.First, r.Total)
	}
}

// The pieces of a time series hold all requests, whatever the length of the run.
func TestSeries(t *testing.T) {
	for _, gap := range []float64{.001, 1, 1e5} {
		r, err := Run(Config{Arrivals: Poisson(gap), Requests: 5000, Series: 20}, Queue(Delay(dist.Exponential(.8*gap), Server("s")), Backlog(5)))
		if err != nil {
			t.Fatal(err)
		}
		ok, failed, sum := int64(0), int64(0), 0.
		for i, p := range r.Series {
			if i > 0 && p.Begin != r.Series[i-1].End {
				t.Errorf("piece %d begins at %g, the last ended at %g", i, p.Begin, r.Series[i-1].End)
			}
			ok += p.OK
			failed += p.Failed
			sum += p.Mean * float64(p.OK)
			if p.OK > 0 && p.P99 < p.Mean/1.1 {
				t.Errorf("piece %d: p99 %g, mean %g", i, p.P99, p.Mean)
			}
		}
		if ok+failed != 5000 || failed == 0 || len(r.Series) > 40 || gap >= 1 && len(r.Series) < 10 {
			t.Errorf("gap %g: %d and %d requests in %d pieces", gap, ok, failed, len(r.Series))
		}
		all, err := Run(Config{Arrivals: Poisson(gap), Requests: 5000, Window: All}, Queue(Delay(dist.Exponential(.8*gap), Server("s")), Backlog(5)))
		if err != nil || math.Abs(all.Latency.Mean-sum/float64(ok)) > 1e-6*all.Latency.Mean {
			t.Errorf("the mean of the pieces is %g, of the run %g (%v)", sum/float64(ok), all.Latency.Mean, err)
		}
	}
}
