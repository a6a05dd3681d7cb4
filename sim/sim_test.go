package sim

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// anyNode draws a network.
func anyNode(t *rapid.T, depth int) Node {
	kind := rapid.IntRange(0, 11).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	next := func() Node { return anyNode(t, depth-1) }
	switch kind {
	case 0:
		return Delay(dist.Exponential(rapid.Float64Range(1, 20).Draw(t, "mean")), Server("s"))
	case 1:
		return Cable(rapid.Float64Range(0, 5).Draw(t, "length"), next())
	case 2, 3:
		o := []QueueOption{Workers(rapid.IntRange(1, 3).Draw(t, "workers"))}
		if b := rapid.IntRange(-1, 5).Draw(t, "backlog"); b >= 0 {
			o = append(o, Backlog(b))
		}
		return Queue(next(), o...)
	case 4:
		return Delay(dist.Uniform(1, 9), next())
	case 8:
		return Faulty(dist.Exponential(100), dist.Exponential(20), next())
	case 9:
		return Limit(80, 3, rapid.Bool().Draw(t, "wait"), next())
	case 10:
		return Cache(Caching{Ratio: .3, Time: 1}, next())
	case 11:
		return Series(next(), next())
	}
	shared := next()
	var pool []Node
	for i := range rapid.IntRange(1, 4).Draw(t, "n") {
		if rapid.IntRange(0, 2).Draw(t, "shared") == 0 {
			pool = append(pool, Cable(float64(i%2), shared))
		} else {
			pool = append(pool, next())
		}
	}
	switch kind {
	case 5:
		return Random(pool...)
	case 6:
		return LeastConnections(balance.LowestTies, pool...)
	}
	return OneEach(pool...)
}

// What is foreseen is what happens: a run in which every step is an event gives the
// same figures.
func TestForesight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := anyNode(t, 4)
		c := Config{Arrivals: Poisson(rapid.Float64Range(2, 20).Draw(t, "gap")), Requests: 400, Seed: rapid.Uint64().Draw(t, "seed"), Window: All}
		seeing, err := Run(c, root)
		if err != nil {
			t.Fatal(err)
		}
		c.blind = true
		blind, err := Run(c, root)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(blind, seeing, cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.IgnoreUnexported(NodeStats{}, Result{}), cmpopts.IgnoreFields(NodeStats{}, "Longest")); d != "" {
			t.Fatalf("every step an event (-) and foreseen (+):\n%s", d)
		}
	})
}

// A queue that is reached on ways of different length is entered when it is time.
func TestUnequalWays(t *testing.T) {
	shared := Queue(Delay(dist.Fixed(10), Server("s")))
	r, err := Run(Config{Arrivals: Constant(1), Requests: 2, Window: All}, RoundRobin(Cable(5, shared), Cable(1, shared)))
	if err != nil {
		t.Fatal(err)
	}
	// The second request arrives at 1 + 1 = 2, before the first at 5: it is answered at 13,
	// after 12 ms; the first waits from 5 to 12 and is answered at 27.
	if r.Latency.Min != 12 || r.Latency.Max != 27 {
		t.Errorf("latencies of %g and %g", r.Latency.Min, r.Latency.Max)
	}
}

func TestErrors(t *testing.T) {
	s := Server("s")
	loop := &cableSpec{length: 1}
	loop.next = loop
	for _, c := range []struct {
		c    Config
		root Node
	}{
		{Config{}, s},
		{Config{Arrivals: Poisson(-1)}, s},
		{Config{Arrivals: Poisson(math.NaN())}, s},
		{Config{Arrivals: Poisson(1), Requests: -1}, s},
		{Config{Arrivals: Poisson(1), Round: -1}, s},
		{Config{Arrivals: Poisson(1)}, nil},
		{Config{Arrivals: Poisson(1)}, Cable(-1, s)},
		{Config{Arrivals: Poisson(1)}, Cable(1, nil)},
		{Config{Arrivals: Poisson(1)}, loop},
		{Config{Arrivals: Poisson(1)}, Delay(dist.Exponential(-1), s)},
		{Config{Arrivals: Poisson(1)}, Delay(nil, s)},
		{Config{Arrivals: Poisson(1)}, Queue(s, Workers(0))},
		{Config{Arrivals: Poisson(1)}, Queue(s, Backlog(-2))},
		{Config{Arrivals: Poisson(1)}, Random()},
	} {
		if _, err := Run(c.c, c.root); err == nil {
			t.Errorf("%+v passes", c)
		}
	}
}

func TestCoarseBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Int64Range(0, 1<<46).Draw(t, "x")
		bucket := coarseBucket
		if m := coarseMiddle(bucket(x)); math.Abs(m-float64(x)) > float64(x)/coarse+.5 {
			t.Fatalf("%d becomes %g", x, m)
		}
		if x > 0 && bucket(x) < bucket(x-1) {
			t.Fatalf("bucket %d of %d lies below %d of %d", bucket(x), x, bucket(x-1), x-1)
		}
	})
}

func ExampleRun() {
	pool := Pool(250, func(int) Node {
		return Cable(2, Queue(Delay(dist.Fixed(20), Delay(dist.Exponential(100), Server("rails")))))
	})
	for _, router := range []func(...Node) Node{Random, RoundRobin} {
		r, err := Run(Config{Arrivals: Poisson(1.5), Seed: 1}, router(pool...))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("median %.0f ms, p99 %.0f ms\n", r.Latency.Median, r.Latency.P99)
	}
	// Output:
	// median 125 ms, p99 701 ms
	// median 95 ms, p99 497 ms
}

func BenchmarkRequests(b *testing.B) {
	for name, router := range map[string]func(...Node) Node{
		"random": Random,
		"least":  func(n ...Node) Node { return LeastConnections(balance.RandomTies, n...) },
	} {
		for _, n := range []int{250, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				root := router(Pool(n, func(int) Node {
					return Cable(2, Queue(Delay(dist.Fixed(20), Delay(dist.Exponential(100), Server("rails")))))
				})...)
				if _, err := Run(Config{Arrivals: Poisson(250. / float64(n)), Requests: b.N, Seed: 1}, root); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
