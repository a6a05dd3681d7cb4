package load

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
)

// Gaps of Poisson arrivals are exponential: their mean and the coefficient of variation
// are those of theory, and the seed decides them.
func TestArrivals(t *testing.T) {
	o := Options{Rate: 1000}
	draw := func(seed uint64) []int64 {
		next := o.arrivals(dist.NewStream(seed, "arrivals"), int64(20*time.Second))
		var all []int64
		for at, ok := next(); ok; at, ok = next() {
			all = append(all, at)
		}
		return all
	}
	all := draw(1)
	// Poisson with mean 20,000: standard deviation 141.
	if len(all) < 19_400 || len(all) > 20_600 || !slices.IsSorted(all) {
		t.Errorf("%d arrivals", len(all))
	}
	sum, squares := 0.0, 0.0
	for i := 1; i < len(all); i++ {
		g := float64(all[i]-all[i-1]) / 1e6
		sum += g
		squares += g * g
	}
	n := float64(len(all) - 1)
	mean := sum / n
	if cv := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(mean-1) > .03 || math.Abs(cv-1) > .04 {
		t.Errorf("gaps of mean %g ms and coefficient of variation %g, want 1 and 1", mean, cv)
	}
	if !slices.Equal(all, draw(1)) || slices.Equal(all, draw(2)) {
		t.Error("the seed does not decide the arrivals")
	}
	o.Arrivals = Constant
	all = draw(1)
	if len(all) != 20_000 || all[0] != 0 || all[19_999] != int64(19_999*time.Millisecond) {
		t.Errorf("%d at equal gaps, the last at %d", len(all), all[len(all)-1])
	}
}

// The pacer never returns before the time, and ends with its context.
func TestPacer(t *testing.T) {
	for _, rate := range []float64{0, 10, 100_000} {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := newPacer(ctx, rate)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		for i := range 50 {
			at := time.Now().Add(time.Duration(i*i) * time.Microsecond)
			if err := p.until(at); err != nil {
				t.Fatal(err)
			}
			if early := time.Until(at); early > 0 {
				t.Errorf("at %g a second: %v too early", rate, early)
			}
		}
		time.AfterFunc(20*time.Millisecond, cancel)
		if err := p.until(time.Now().Add(time.Hour)); err == nil {
			t.Error("an hour was over at once")
		}
	}
}

func TestObjective(t *testing.T) {
	o, err := ParseObjective("p99<50ms, median<=3ms,failed<0.1%,p99.9<1s,max<2s")
	if err != nil {
		t.Fatal(err)
	}
	want := []Term{
		{"p99<50ms", .99, 50 * time.Millisecond, 0}, {"median<=3ms", .5, 3 * time.Millisecond, 0},
		{"failed<0.1%", 0, 0, .001}, {"p99.9<1s", .9990000000000001, time.Second, 0}, {"max<2s", 1, 2 * time.Second, 0},
	}
	for i, w := range want {
		g := o.Terms[i]
		if g.Name != w.Name || math.Abs(g.Quantile-w.Quantile) > 1e-9 || g.Latency != w.Latency || math.Abs(g.Share-w.Share) > 1e-12 {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
	for _, s := range []string{"", "p99", "p99<", "p99<50", "p0<1ms", "p101<1ms", "p99<-1ms", "failed<0", "failed<1", "failed<100%", "q99<1ms", "p99>50ms", "p99<50ms,"} {
		if o, err := ParseObjective(s); err == nil {
			t.Errorf("%q is taken as %v", s, o)
		}
	}
}

func FuzzParseObjective(f *testing.F) {
	f.Add("p99<50ms,failed<0.1%")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseObjective(s)
		if err != nil {
			return
		}
		for _, term := range o.Terms {
			if !(term.Quantile >= 0 && term.Quantile <= 1) || term.Quantile > 0 && term.Latency <= 0 || term.Quantile == 0 && !(term.Share > 0 && term.Share < 1) {
				t.Errorf("%q: %+v", s, term)
			}
		}
	})
}

// Where the distance is a straight line over the logarithm of the rate, the crossing is where it is 0.
func TestCrossing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(110, 190).Draw(t, "limit")
		slope := rapid.Float64Range(.1, 10).Draw(t, "slope")
		var probes []probe
		for _, rate := range []float64{100, 120, 150, 170, 200} {
			probes = append(probes, probe{rate: rate, distance: slope * math.Log(rate/limit)})
		}
		if got := crossing(probes); math.Abs(got/limit-1) > 1e-9 {
			t.Fatalf("%g, want %g", got, limit)
		}
	})
	for _, c := range []struct {
		distances []float64
		want      float64
	}{
		{[]float64{1, 2, 3}, 100}, {[]float64{-3, -2, -1}, 400},
		{[]float64{-1, 1, 1}, math.Sqrt(100 * 200)},
		{[]float64{1, -1, 3}, math.Sqrt(200 * 200)}, // the first two are pooled to 0
	} {
		var probes []probe
		for i, d := range c.distances {
			probes = append(probes, probe{rate: 100 * math.Pow(2, float64(i)), distance: d})
		}
		if got := crossing(probes); math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("%v: %g, want %g", c.distances, got, c.want)
		}
	}
}

// The intervals of the block bootstrap hold the truth about as often as they say, for
// requests that do not depend on each other.
func TestIntervalsCover(t *testing.T) {
	luck := dist.NewStream(3, "latencies")
	const runs, requests = 120, 2000
	held := map[string]int{}
	truth := map[string]float64{middling: math.Ln2, "latency.mean": 1, "latency.p95": -math.Log(.05)}
	for i := range runs {
		r := &Result{Duration: time.Second, blocks: make([]piece, blocks)}
		for k := range requests {
			b := &r.blocks[k%blocks]
			x := int64(luck.Exp() * 1e6)
			b.ok++
			b.latency.Add(x)
			r.Latency.Add(x)
			r.Succeeded++
		}
		for name, v := range r.intervals(uint64(i), figures) {
			if want, ok := truth[name]; ok && v.Low <= want && want <= v.High {
				held[name]++
			}
		}
	}
	for name := range truth {
		// At 90 % (twenty blocks are few) 97 of 120 has a probability below .001.
		if held[name] < 97 {
			t.Errorf("%s: %d of %d intervals hold the truth", name, held[name], runs)
		}
	}
}

// What is written as an HDR log comes back as a distribution with the same mean and quantiles.
func TestHDRRoundTrip(t *testing.T) {
	luck := dist.NewStream(1, "latencies")
	r := &Result{Duration: time.Second, Begun: time.Unix(1e9, 0)}
	for i := range pieces {
		p := Piece{Begin: time.Duration(i) * time.Second / pieces, End: time.Duration(i+1) * time.Second / pieces}
		p.Latency = &r.Latency
		if i == 0 {
			p.OK = 5000
			for range p.OK {
				r.Latency.Add(int64(luck.Exp() * 5e6))
			}
		} else {
			p.Latency = &histogram.Histogram{}
		}
		r.Pieces = append(r.Pieces, p)
	}
	r.Succeeded = 5000
	var b bytes.Buffer
	if err := r.WriteHDR(&b); err != nil {
		t.Fatal(err)
	}
	d, err := dist.ReadHDR("log", &b, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if want := r.Latency.Mean() / 1e6; math.Abs(d.Mean()/want-1) > .002 {
		t.Errorf("mean %g ms, want %g", d.Mean(), want)
	}
}

func TestMixReadsFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, "requests")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var o Options
	m := Mix{}
	err := m.ReadFile(&o, write("# what users do\n/a?x=1\n\nPOST /b\nhttp://other.example:81/c\n/a?x=1\n"), "http://h.example/base/", false, 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range o.Targets {
		got = append(got, x.name())
	}
	want := []string{"GET http://h.example/a?x=1", "POST http://h.example/b", "GET http://other.example:81/c", "GET http://h.example/a?x=1"}
	if !slices.Equal(got, want) || !o.InOrder || o.Targets[0].Request != o.Targets[3].Request {
		t.Errorf("got %q", got)
	}
	log := `h - - [10/Oct/2000:13:55:38 -0700] "GET /late HTTP/1.1" 200 1
h - - [10/Oct/2000:13:55:36 -0700] "GET /early HTTP/1.1" 200 1
h - - [10/Oct/2000:13:55:37 -0700] "DELETE /never HTTP/1.1" 200 1
h - - [10/Oct/2000:13:55:37 -0700] "HEAD /middle HTTP/1.1" 200 1
`
	o, m = Options{}, Mix{}
	if err := m.ReadFile(&o, write(log), "http://h.example", true, 2); err != nil {
		t.Fatal(err)
	}
	if len(o.Targets) != 3 || o.Targets[0].Request.URL.Path != "/early" || o.Targets[1].Request.Method != "HEAD" || o.Targets[2].Request.URL.Path != "/late" || m.Skipped != 1 {
		t.Errorf("%+v, %d skipped", o.Targets, m.Skipped)
	}
	if !slices.IsSorted(o.Times) || o.Times[0] != 0 || o.Times[2] < 500*time.Millisecond || o.Times[2] > 1500*time.Millisecond {
		t.Errorf("times %v", o.Times)
	}
	for text, want := range map[string]string{
		"": "holds no request", "nonsense\n": `requests:1: "nonsense" is no path`, "/a\nFROB /\x01\n": "requests:2:",
	} {
		if err := m.ReadFile(&o, write(text), "http://h.example", false, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add("/a\nPOST /b\n")
	f.Add(`h - - [10/Oct/2000:13:55:38 -0700] "GET /late HTTP/1.1" 200 1`)
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Skip()
		}
		for _, timed := range []bool{false, true} {
			var o Options
			m := Mix{}
			if m.ReadFile(&o, name, "http://h.example/", timed, 1) != nil {
				continue
			}
			if len(o.Targets) == 0 || timed && len(o.Times) != len(o.Targets) || !slices.IsSorted(o.Times) {
				t.Errorf("%q: %d targets, %d times", text, len(o.Targets), len(o.Times))
			}
		}
	})
}
