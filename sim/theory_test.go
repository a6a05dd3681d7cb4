package sim

import (
	"fmt"
	"math"
	"testing"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// replicated runs independent replications and returns the mean of a measure with the
// half width of its 99 % interval.
func replicated(t *testing.T, n int, c Config, network func() Node, value func(*Result) float64) (mean, half float64) {
	t.Helper()
	x := make([]float64, n)
	for i := range x {
		c.Seed = uint64(1000 + i)
		r, err := Run(c, network())
		if err != nil {
			t.Fatal(err)
		}
		x[i] = value(r)
		mean += x[i] / float64(n)
	}
	ss := 0.0
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	// Student's t with 19 degrees of freedom.
	return mean, 2.861 * math.Sqrt(ss/float64(n-1)/float64(n))
}

const runs = 20 // of each replicated figure

func latency(r *Result) float64 { return r.Latency.Mean }

// erlangC is the probability of having to wait for one of c servers under a load of a.
func erlangC(c int, a float64) float64 {
	inverse := 1.0 // of Erlang's B, by its recurrence
	for k := 1; k <= c; k++ {
		inverse = 1 + inverse*float64(k)/a
	}
	b := 1 / inverse
	rho := a / float64(c)
	return b / (1 - rho + rho*b)
}

// Mean latencies and losses at three loads, each within its own 99 % interval of what
// queueing theory says (L. Kleinrock, "Queueing Systems", volume 1, 1975).
func TestTheory(t *testing.T) {
	const s = 10. // mean service time, ms
	station := func(d dist.Dist, o ...QueueOption) func() Node {
		return func() Node { return Queue(Delay(d, Server("s")), o...) }
	}
	for _, rho := range []float64{.3, .6, .9} {
		pk := func(cv2 float64) float64 { return s + rho*s*(1+cv2)/(2*(1-rho)) }
		hyper := dist.HyperExponential(.9, 5, 55)
		for _, c := range []struct {
			name    string
			gap     float64
			network func() Node
			value   func(*Result) float64
			want    float64
		}{
			{"M/M/1", s / rho, station(dist.Exponential(s)), latency, s / (1 - rho)},
			{"M/D/1", s / rho, station(dist.Fixed(s)), latency, pk(0)},
			{"M/G/1, Erlang", s / rho, station(dist.Erlang(4, s)), latency, pk(.25)},
			{"M/G/1, hyperexponential", s / rho, station(hyper), latency, pk(hyper.Variance() / s / s)},
			{"M/M/3", s / rho / 3, station(dist.Exponential(s), Workers(3)), latency, s + erlangC(3, 3*rho)*s/(3*(1-rho))},
			{"M/M/1/5, refused", s / rho, station(dist.Exponential(s), Backlog(4)), func(r *Result) float64 { return float64(r.Failed) / float64(r.Requests) },
				(1 - rho) * math.Pow(rho, 5) / (1 - math.Pow(rho, 6))},
			{"M/G/infinity", s * rho, func() Node { return Delay(dist.LogNormal(8, .6), Server("s")) }, latency, 8 * math.Exp(.18)},
			{"utilisation", s / rho, station(dist.Uniform(0, 2*s)), func(r *Result) float64 { return r.Nodes[0].Utilisation }, rho},
		} {
			t.Run(fmt.Sprintf("%s/%g", c.name, rho), func(t *testing.T) {
				t.Parallel()
				mean, half := replicated(t, runs, Config{Arrivals: Poisson(c.gap), Requests: 60_000}, c.network, c.value)
				if !(math.Abs(mean-c.want) <= half) {
					t.Errorf("%.5g +- %.2g, theory says %.5g", mean, half, c.want)
				}
				if half > .17*c.want {
					t.Errorf("%.5g +- %.2g is no test of %.5g", mean, half, c.want)
				}
			})
		}
	}
}

// Of two choices the mean latency of a large pool of M/M/1 queues is the mean-field limit
// (N. D. Vvedenskaya and others, 1996): the sum of rho^((d^i-d)/(d-1)) over i >= 1, in services.
func TestTwoChoicesLimit(t *testing.T) {
	const n, s = 1000, 10.
	for _, rho := range []float64{.5, .8, .95} {
		want := 0.0
		for i := 1; i < 12; i++ {
			want += s * math.Pow(rho, math.Pow(2, float64(i))-2)
		}
		mean, half := replicated(t, runs, Config{Arrivals: Poisson(s / rho / n), Requests: 400_000}, func() Node {
			return LeastOf(2, Pool(n, func(int) Node { return Queue(Delay(dist.Exponential(s), Server("s"))) })...)
		}, latency)
		// The limit is of an infinite pool; a thousand are a little slower.
		if math.Abs(mean-want) > half+.01*want {
			t.Errorf("rho %g: %.4g +- %.2g, the limit is %.4g", rho, mean, half, want)
		}
	}
}

// The published study: a pool of 250 dynos behind one router. The figures are its own; the
// intervals those in which 95 % of the seeds of an independent simulation lie.
func TestPublished(t *testing.T) {
	dyno := func(int) Node {
		return Cable(2, Queue(Delay(dist.Fixed(20), Delay(dist.Exponential(100), Server("rails")))))
	}
	for _, c := range []struct {
		name             string
		router           func(...Node) Node
		median, p95, p99 [2]float64
	}{
		{"random", Random, [2]float64{159, 165}, [2]float64{608, 649}, [2]float64{910, 1003}},
		{"round robin", RoundRobin, [2]float64{103, 106}, [2]float64{371, 386}, [2]float64{551, 590}},
		{"least connections", func(n ...Node) Node { return LeastConnections(balance.LowestTies, n...) }, [2]float64{90, 92}, [2]float64{318, 325}, [2]float64{475, 491}},
	} {
		// Published latencies end at the server: without the 2 ms of the way back.
		for _, q := range []struct {
			name  string
			value func(*Result) float64
			want  [2]float64
		}{
			{"median", func(r *Result) float64 { return r.Latency.Median - 2 }, c.median},
			{"p95", func(r *Result) float64 { return r.Latency.P95 - 2 }, c.p95},
			{"p99", func(r *Result) float64 { return r.Latency.P99 - 2 }, c.p99},
		} {
			mean, _ := replicated(t, runs, Config{Arrivals: Poisson(1), Requests: 100_000, Round: 1}, func() Node { return c.router(Pool(250, dyno)...) }, q.value)
			if mean < q.want[0] || mean > q.want[1] {
				t.Errorf("%s: the %s is %.1f on average, %v for 95 %% of the seeds", c.name, q.name, mean, q.want)
			}
		}
	}
}
