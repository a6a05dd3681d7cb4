package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// closedForm is a figure of a network that theory knows.
type closedForm struct {
	name    string
	config  Config
	network func() Node
	value   func(*Result) float64
	want    float64
}

func (c closedForm) check(t *testing.T) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		t.Parallel()
		if c.config.Requests == 0 {
			c.config.Requests = 40_000
		}
		mean, half := replicated(t, runs, c.config, c.network, c.value)
		if !(math.Abs(mean-c.want) <= max(half, 1e-9*c.want)) {
			t.Errorf("%.5g +- %.2g, theory says %.5g", mean, half, c.want)
		}
		if half > .17*c.want {
			t.Errorf("%.5g +- %.2g is no test of %.5g", mean, half, c.want)
		}
	})
}

func failed(r *Result) float64 { return float64(r.Failed) / float64(r.Requests) }

// Processor sharing has the mean sojourn of M/M/1 whatever the distribution of the work
// is (L. Kleinrock, "Queueing Systems", volume 2, 1976, section 4.4); on c cores, with
// exponential work, it is M/M/c.
func TestProcessorSharing(t *testing.T) {
	const s = 10.
	for _, rho := range []float64{.3, .6, .9} {
		for name, d := range map[string]dist.Dist{"exponential": dist.Exponential(s), "fixed": dist.Fixed(s), "hyperexponential": dist.HyperExponential(.9, 5, 55)} {
			closedForm{fmt.Sprintf("%s/%g", name, rho), Config{Arrivals: Poisson(s / rho)}, func() Node { return Shared(1, d, Server("s")) }, latency, s / (1 - rho)}.check(t)
		}
		closedForm{fmt.Sprintf("3 cores/%g", rho), Config{Arrivals: Poisson(s / rho / 3)}, func() Node { return Shared(3, dist.Exponential(s), Server("s")) }, latency,
			s + erlangC(3, 3*rho)*s/(3*(1-rho))}.check(t)
		closedForm{fmt.Sprintf("utilisation/%g", rho), Config{Arrivals: Poisson(s / rho / 3), Window: All}, func() Node { return Shared(3, dist.Uniform(5, 15), Server("s")) },
			func(r *Result) float64 { return r.Nodes[0].Utilisation }, rho}.check(t)
	}
}

// A job of fixed work that is alone on a machine that pauses takes work x (1 + length/every) on average
// and what is left of a pause when it comes: length^2/2 in a share of 1/(every+length).
func TestPauses(t *testing.T) {
	const work, every, length = 20., 90., 10.
	want := work*(1+length/every) + length*length/(every+length) // left of an exponential pause is a whole one
	closedForm{"alone", Config{Arrivals: Constant(10_000), Requests: 20_000, Window: All}, func() Node {
		return Collected(1, dist.Fixed(work), Pauses{dist.Exponential(every), dist.Exponential(length)}, Server("s"))
	}, latency, want}.check(t)
}

// Closed networks by mean value analysis (M. Reiser and S. S. Lavenberg, "Mean-value
// analysis of closed multichain queuing networks", J. ACM 27, 1980): users who think,
// then pass two queues.
func TestClosedNetwork(t *testing.T) {
	const think = 100.
	demand := []float64{10, 6}
	for _, users := range []int{1, 8, 25} {
		length := make([]float64, len(demand))
		var response float64
		for n := 1; n <= users; n++ {
			response = 0
			sojourn := make([]float64, len(demand))
			for i, d := range demand {
				sojourn[i] = d * (1 + length[i])
				response += sojourn[i]
			}
			for i := range demand {
				length[i] = float64(n) / (think + response) * sojourn[i]
			}
		}
		network := func() Node {
			// One after the other: the first queue is left before the second is joined.
			return Series(Queue(Delay(dist.Exponential(demand[0]), Server("a"))), Queue(Delay(dist.Exponential(demand[1]), Server("b"))))
		}
		closedForm{fmt.Sprintf("response/%d", users), Config{Arrivals: Users(users, dist.Exponential(think))}, network, latency, response}.check(t)
		closedForm{fmt.Sprintf("rate/%d", users), Config{Arrivals: Users(users, dist.Exponential(think))}, network, func(r *Result) float64 { return r.Served },
			1000 * float64(users) / (think + response)}.check(t)
	}
}

// The order of service does not change the mean wait where it does not look at the work;
// two classes by priority wait as A. Cobham says ("Priority assignment in waiting line
// problems", Operations Research 2, 1954).
func TestOrders(t *testing.T) {
	const s = 10.
	rush := []Class{{Name: "rush", Share: 1, Priority: 1}, {Name: "rest", Share: 2}}
	of := func(i int) func(*Result) float64 {
		return func(r *Result) float64 { return r.Classes[i].Latency.Mean }
	}
	for _, rho := range []float64{.3, .6, .9} {
		residual := rho * s
		closedForm{fmt.Sprintf("LIFO/%g", rho), Config{Arrivals: Poisson(s / rho)}, func() Node { return Queue(Delay(dist.Exponential(s), Server("s")), Ordered(LIFO)) }, latency, s / (1 - rho)}.check(t)
		queue := func() Node { return Queue(Delay(dist.Exponential(s), Server("s")), Ordered(Priority)) }
		closedForm{fmt.Sprintf("first/%g", rho), Config{Arrivals: Poisson(s / rho), Classes: rush}, queue, of(0), s + residual/(1-rho/3)}.check(t)
		closedForm{fmt.Sprintf("second/%g", rho), Config{Arrivals: Poisson(s / rho), Classes: rush}, queue, of(1), s + residual/(1-rho/3)/(1-rho)}.check(t)
		// Shortest job first is Cobham with a class for every size (T. E. Phipps, 1956); two sizes do.
		sizes := []Class{{Name: "short", Share: 1, Size: dist.Fixed(5)}, {Name: "long", Share: 1, Size: dist.Fixed(15)}}
		sjf := func() Node { return Queue(Delay(PerSize(dist.Fixed(1)), Server("s")), Ordered(Shortest)) }
		r0 := rho / s * (25 + 225) / 2 / 2
		closedForm{fmt.Sprintf("short/%g", rho), Config{Arrivals: Poisson(s / rho), Classes: sizes}, sjf, of(0), 5 + r0/(1-rho/4)}.check(t)
		closedForm{fmt.Sprintf("long/%g", rho), Config{Arrivals: Poisson(s / rho), Classes: sizes}, sjf, of(1), 15 + r0/(1-rho/4)/(1-rho)}.check(t)
	}
}

// Parts, tries and faults, where requests do not meet each other.
func TestTries(t *testing.T) {
	const s = 10.
	lone := Config{Arrivals: Poisson(5), Requests: 20_000, Window: All}
	free := func() Node { return Delay(dist.Exponential(s), Server("s")) }
	many := func(n int) []Node { return Pool(n, func(int) Node { return free() }) }
	// A server that fails every request with probability p is one that is down for p of the time, if
	// its phases are short against the time between tries.
	coin := func(p float64) Node { return Faulty(dist.Exponential(1-p), dist.Exponential(p), Server("s")) }
	for _, c := range []closedForm{
		{"all of 4", lone, func() Node { return Fan(0, false, many(4)...) }, latency, s * (1 + 1./2 + 1./3 + 1./4)},
		{"first of 4", lone, func() Node { return Fan(1, false, many(4)...) }, latency, s / 4},
		{"2 of 3", lone, func() Node { return Fan(2, false, many(3)...) }, latency, s * (1./2 + 1./3)},
		// min(S1, after + S2) of exponentials: the integral of exp(-t/s) up to after, then of exp(-(2t - after)/s).
		{"hedge", lone, func() Node { return Hedge(7, 1, false, free()) }, latency, s * (1 - math.Exp(-.7) + math.Exp(-.7)/2)},
		{"timeout", lone, func() Node { return Timeout(7, false, free()) }, failed, math.Exp(-.7)},
		{"down", lone, func() Node { return coin(.3) }, failed, .3},
		{"slow", lone, func() Node { return Slow(dist.Exponential(7), dist.Exponential(3), dist.Exponential(20), Server("s")) }, latency, .3 * 20},
		{"3 tries", lone, func() Node { return Retry(Retrying{Most: 2, Backoff: 40}, coin(.3)) }, failed, .027},
		{"backoff", lone, func() Node { return Retry(Retrying{Most: 20, Backoff: 40, Cap: 40}, coin(.3)) }, latency, 40 * .3 / .7},
		{"jitter", lone, func() Node { return Retry(Retrying{Most: 20, Backoff: 40, Cap: 40, Jitter: true}, coin(.3)) }, latency, 20 * .3 / .7},
		// A bucket of one is filled by ten requests, and emptied by the first failure then, for which one of two is enough.
		{"budget", lone, func() Node { return Retry(Retrying{Most: 20, Backoff: 40, Budget: .1, Burst: 1}, coin(.5)) }, func(r *Result) float64 {
			return float64(r.Nodes[slices.IndexFunc(r.Nodes, func(n NodeStats) bool { return n.Again > 0 })].Again) / float64(r.Total)
		}, 1. / 11},
		{"cache by chance", lone, func() Node { return Cache(Caching{Ratio: .75, Time: 1}, Delay(dist.Fixed(9), Server("s"))) }, latency, .75 + .25*9},
		// In a batch of 4 the first waits for 3 gaps, and so on.
		{"batch", Config{Arrivals: Constant(2), Requests: 20_000, Window: All}, func() Node { return Batch(4, 1000, Delay(dist.Fixed(9), Server("s"))) }, latency, 9 + (6+4+2)/4.},
		{"batch by time", Config{Arrivals: Constant(100), Requests: 2000, Window: All}, func() Node { return Batch(4, 30, Delay(dist.Fixed(9), Server("s"))) }, latency, 39},
		{"limit", Config{Arrivals: Poisson(2), Requests: 40_000, Window: All}, func() Node { return Limit(100, 1, false, Server("s")) },
			// A bucket of one is a server of 10 ms without a line: Erlang's B with a load of 5.
			failed, 5. / 6},
		{"limit that waits", Config{Arrivals: Poisson(20)}, func() Node { return Limit(100, 1, true, Server("s")) }, latency, .5 * s / (2 * .5)}, // the wait of M/D/1
		{"refused by all", Config{Arrivals: Poisson(2)}, func() Node {
			return Routing{Name: "r", Choose: func(n int, _ balance.Rand) balance.Policy { return balance.RoundRobin(n) }, Tries: 5}.To(
				Pool(5, func(int) Node { return Queue(free(), Backlog(0)) })...)
		}, failed, erlangB(5, 5)},
	} {
		c.check(t)
	}
}

// erlangB is the loss of c servers under a load of a.
func erlangB(c int, a float64) float64 {
	inverse := 1.
	for k := 1; k <= c; k++ {
		inverse = 1 + inverse*float64(k)/a
	}
	return 1 / inverse
}

// A cache of the keys asked for last hits as R. Fagin and T. G. Price computed for
// independent requests ("Efficient calculation of expected miss ratios", 1978), known as Che's
// approximation: a key is in it if it was asked for within a time T that makes the expected number of keys the
// size. It is right to a few thousandths for a few hundred keys.
func TestCache(t *testing.T) {
	const keys, s = 500, .9
	for _, size := range []int{10, 50, 200} {
		p, norm := make([]float64, keys), 0.
		for k := range p {
			p[k] = math.Pow(float64(k+1), -s)
			norm += p[k]
		}
		inside := func(T float64) (n, hit float64) {
			for _, x := range p {
				in := -math.Expm1(-x / norm * T)
				n += in
				hit += x / norm * in
			}
			return
		}
		low, high := 0., 1e6
		for range 200 {
			if n, _ := inside((low + high) / 2); n < float64(size) {
				low = (low + high) / 2
			} else {
				high = (low + high) / 2
			}
		}
		_, want := inside(low)
		mean, half := replicated(t, runs, Config{Arrivals: Constant(10), Requests: 20_000, Classes: []Class{{Name: "k", Share: 1, Keys: dist.Zipf(keys, s)}}},
			func() Node { return Cache(Caching{Size: size}, Delay(dist.Fixed(1), Server("s"))) },
			func(r *Result) float64 { return 1 - r.Latency.Mean }) // a hit takes no time
		if math.Abs(mean-want) > half+.004 {
			t.Errorf("%d of %d keys: hits %.4f +- %.4f, theory says %.4f", size, keys, mean, half, want)
		}
	}
}

// Bursts with silence between them are arrivals with hyperexponential gaps (A. Kuczura,
// "The interrupted Poisson process as an overflow process", 1973), so the queue is GI/M/1:
// the mean latency is 1/(mu(1-sigma)), sigma the root of A*(mu(1-sigma)) (Kleinrock, volume 1, section 6.4).
func TestBursts(t *testing.T) {
	const s, gap = 10., 4.
	for _, silence := range []float64{60, 100, 300} {
		const length = 50.
		lambda, alpha, beta := 1/gap, 1/length, 1/silence // rate in a burst, ends of bursts, ends of silences
		// The transform of the gaps.
		transform := func(x float64) float64 { return lambda * (x + beta) / (x*x + (lambda+alpha+beta)*x + lambda*beta) }
		sigma := .5
		for range 5000 {
			sigma = transform((1 - sigma) / s)
		}
		if rate := lambda * length / (length + silence); rate*s > .95 {
			continue // not stable
		}
		closedForm{fmt.Sprint("silence ", silence), Config{Arrivals: Bursts(Burst{gap, length}, Burst{0, silence}), Requests: 80_000},
			func() Node { return Queue(Delay(dist.Exponential(s), Server("s"))) }, latency, s / (1 - sigma)}.check(t)
	}
}

// A ramp brings as many requests as the area below it.
func TestRamp(t *testing.T) {
	const end = 60_000.
	for name, c := range map[string]struct {
		load Load
		want float64 // requests until the end
	}{
		"ramp":  {Ramp(Rate{0, 100}, Rate{end / 2, 300}, Rate{end, 0}), (200 + 150) * end / 2 / 1000},
		"steps": {Steps(Rate{0, 100}, Rate{end / 3, 0}, Rate{2 * end / 3, 200}, Rate{end, 0}), 300 * end / 3 / 1000},
	} {
		mean, half := replicated(t, runs, Config{Arrivals: c.load, Requests: 100_000, Window: All}, func() Node { return Server("s") }, func(r *Result) float64 { return float64(r.Total) })
		if math.Abs(mean-c.want) > half {
			t.Errorf("%s: %.0f +- %.0f requests, want %.0f", name, mean, half, c.want)
		}
		// The number is Poisson, so its variance is the mean.
		if sd := half / 2.861 * math.Sqrt(runs); sd < .5*math.Sqrt(c.want) || sd > 1.8*math.Sqrt(c.want) {
			t.Errorf("%s: a standard deviation of %.0f, want about %.0f", name, sd, math.Sqrt(c.want))
		}
	}
}

// Requests that two routers send by one stale view herd; with a fresh one they do not. With no staleness
// at all, routers that share a view are one router.
func TestViews(t *testing.T) {
	const s = 10.
	pool := func() []Node {
		return Pool(50, func(int) Node { return Queue(Delay(dist.Exponential(s), Server("s"))) })
	}
	least := func(v *View) Routing {
		return Routing{Name: "least", View: v, Choose: func(n int, r balance.Rand) balance.Policy {
			return balance.LeastConnections(n, balance.LowestTies, 0, r)
		}}
	}
	several := func(stale float64) func() Node {
		return func() Node {
			v, dynos := &View{Stale: stale}, pool()
			return RoundRobin(Pool(4, func(int) Node { return least(v).To(dynos...) })...)
		}
	}
	c := Config{Arrivals: Poisson(s / .7 / 50), Requests: 20_000}
	one, _ := replicated(t, runs, c, func() Node { return RoundRobin(least(nil).To(pool()...)) }, latency)
	if shared, _ := replicated(t, runs, c, several(0), latency); math.Abs(shared-one) > 1e-9*one {
		t.Errorf("four routers with one fresh view: %g, one router: %g", shared, one)
	}
	last := one
	for _, stale := range []float64{5, 50, 500} {
		mean, _ := replicated(t, runs, c, several(stale), latency)
		if mean < last {
			t.Errorf("stale by %g ms: %g, less stale %g", stale, mean, last)
		}
		last = mean
	}
	if last < 10*one {
		t.Errorf("a view that is stale by 50 services costs %g against %g", last, one)
	}
}
