package sim

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// wild draws networks of all kinds of nodes.
func wild(t *rapid.T, depth int, locks []*Mutex) Node {
	if depth == 0 {
		return Delay(dist.Exponential(rapid.Float64Range(0, 20).Draw(t, "mean")), Server("s"))
	}
	next := func() Node { return wild(t, depth-1, locks) }
	several := func() []Node {
		return Pool(rapid.IntRange(1, 3).Draw(t, "n"), func(int) Node { return next() })
	}
	yes := func(what string) bool { return rapid.Bool().Draw(t, what) }
	number := func(what string, low, high int) int { return rapid.IntRange(low, high).Draw(t, what) }
	time := func(what string) float64 { return rapid.SampledFrom([]float64{0, .5, 5, 20}).Draw(t, what) }
	switch number("kind", 0, 21) {
	case 0:
		return Cable(time("length"), next())
	case 1, 2:
		o := []QueueOption{Workers(number("workers", 1, 3)), Ordered(Order(number("order", 0, 3)))}
		if yes("bounded") {
			o = append(o, Backlog(number("backlog", 0, 4)))
		}
		return Queue(next(), o...)
	case 3:
		return Shared(number("cores", 1, 3), dist.Exponential(time("work")), next())
	case 4:
		return Collected(1, dist.Fixed(time("work")), Pauses{dist.Exponential(50), dist.Exponential(time("pause"))}, next())
	case 5:
		return Faulty(dist.Exponential(100), dist.Exponential(30), next())
	case 6:
		return Slow(dist.Exponential(100), dist.Exponential(30), dist.Fixed(time("slow")), next())
	case 7:
		return Retry(Retrying{Most: number("most", 1, 3), Backoff: time("backoff"), Jitter: yes("jitter"), Budget: rapid.SampledFrom([]float64{0, .1, 1}).Draw(t, "budget")}, next())
	case 8, 9:
		return Timeout(time("limit"), yes("recall"), next())
	case 10:
		return Hedge(time("after"), number("most", 1, 3), yes("recall"), next())
	case 11:
		return Tied(number("d", 1, 3), time("lag"), several()...)
	case 12:
		pool := several()
		return Fan(number("need", 0, len(pool)), yes("recall"), pool...)
	case 13:
		return Batch(number("most", 1, 4), time("wait"), next())
	case 14:
		return Breaker(Breaking{Failures: number("failures", 1, 3), Rest: time("rest")}, next())
	case 15:
		return Limit(100, 3, yes("wait"), next())
	case 16:
		return Cache(Caching{Size: 3, Keep: time("keep"), Time: time("time")}, next())
	case 17:
		// Only the last lock, so that nobody waits for two in a circle.
		return locks[0].Lock(Delay(dist.Exponential(time("held")), Server("s")))
	case 18:
		pool := several()
		return Autoscale(Scaling{Target: 2, Interval: 20, Startup: time("startup")}, pool...)
	case 19:
		return ByClass(map[string]Node{"a": next(), "": next()})
	case 20:
		return Series(next(), next())
	}
	pool := several()
	r := Routing{Name: "r", Tries: number("tries", 0, 3)}
	switch number("policy", 0, 3) {
	case 0:
		r = ByChance()
	case 1:
		r.Choose = func(n int, _ balance.Rand) balance.Policy { return balance.OneEach(n) }
	case 2:
		r.Choose = func(n int, r balance.Rand) balance.Policy {
			return balance.LeastConnections(n, balance.RandomTies, 0, r)
		}
		if yes("viewed") {
			r.View = &View{Stale: time("stale")}
		}
	default:
		r.Choose = func(n int, r balance.Rand) balance.Policy { return balance.LeastOf(2, n, r) }
	}
	return r.To(pool...)
}

// Whatever the network, every request is answered once, every moment of those that
// succeed is accounted for, and a trace shows the run that is measured. (Foresight is not
// compared here: these networks are full of things that happen at the same moment, of which
// either may come first.)
func TestWildNetworks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		locks := []*Mutex{NewMutex("m")}
		root := wild(t, rapid.IntRange(0, 5).Draw(t, "depth"), locks)
		const n = 200
		c := Config{
			Arrivals: rapid.SampledFrom([]Load{Poisson(10), AtOnce(), Users(5, dist.Exponential(10)), Bursts(Burst{2, 50}, Burst{0, 100})}).Draw(t, "load"),
			Classes:  []Class{{Name: "a", Share: 1, Keys: dist.Zipf(10, 1)}, {Name: "b", Share: 2, Size: dist.Exponential(1), Priority: 1}},
			Requests: n, Seed: rapid.Uint64().Draw(t, "seed"), Window: All, Series: 10, Limit: 20_000_000,
		}
		r, err := Run(c, root)
		if err != nil {
			t.Fatal(err)
		}
		if r.Total != n || r.Requests != n {
			t.Fatalf("%d of %d requests are answered", r.Requests, n)
		}
		if sum := r.Waiting + r.Serving + r.Traveling; r.Failed < n && math.Abs(sum-r.Latency.Mean) > 1e-6*(1+r.Latency.Mean) {
			t.Fatalf("latency %g, and %g waiting + %g serving + %g traveling = %g", r.Latency.Mean, r.Waiting, r.Serving, r.Traveling, sum)
		}
		c.blind = true
		blind, err := Run(c, root)
		if err != nil {
			t.Fatal(err)
		}
		spans, err := Trace(c, root, n)
		if err != nil {
			t.Fatal(err)
		}
		ok := 0
		for _, s := range spans {
			if s.End < s.Begin {
				t.Fatalf("span %+v has no end", s)
			}
			if s.Part == 0 && s.Depth == 0 && s.OK {
				ok++
			}
		}
		if ok != n-blind.Failed {
			t.Fatalf("%d successes traced, %d measured", ok, n-blind.Failed)
		}
	})
}
