package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/sim"
)

// scale runs many requests over a large pool, and every policy over pools of all sizes. No
// policy may become slower in proportion to the pool.
func scale(ctx context.Context, requests int, only *regexp.Regexp) error {
	begin := time.Now()
	const pool = 100_000
	r, err := sim.Run(sim.Config{Arrivals: sim.Poisson(1.5 * 250 / pool), Requests: requests, Seed: 1}, sim.LeastOf(2, dynos(pool)...))
	if err != nil {
		return err
	}
	took := time.Since(begin)
	fmt.Printf("%d requests over %d dynos, least of 2: %v, %.3g requests/s, peak %.0f MB; median %.1f ms, p99 %.1f ms\n\n", r.Total, pool,
		took.Round(time.Second), float64(r.Total)/took.Seconds(), peak(), r.Latency.Median, r.Latency.P99)

	policies := []struct {
		name   string
		choose sim.Choose
	}{
		{"random", func(n int, r balance.Rand) balance.Policy { return balance.Random(n, r) }},
		{"round robin", func(n int, _ balance.Rand) balance.Policy { return balance.RoundRobin(n) }},
		{"weighted", func(n int, _ balance.Rand) balance.Policy {
			w := make([]float64, n)
			for i := range w {
				w[i] = float64(1 + i%3)
			}
			return balance.Weighted(w)
		}},
		{"least connections, random ties", func(n int, r balance.Rand) balance.Policy {
			return balance.LeastConnections(n, balance.RandomTies, 0, r)
		}},
		{"least connections, lowest ties", func(n int, r balance.Rand) balance.Policy {
			return balance.LeastConnections(n, balance.LowestTies, 0, r)
		}},
		{"one each", func(n int, _ balance.Rand) balance.Policy { return balance.OneEach(n) }},
		{"least of 2", func(n int, r balance.Rand) balance.Policy { return balance.LeastOf(2, n, r) }},
		{"peak EWMA", func(n int, r balance.Rand) balance.Policy { return balance.PeakEWMA(2, n, 10*time.Second, r) }},
		{"consistent hash", func(n int, _ balance.Rand) balance.Policy { return balance.ConsistentHash(n, 10, 1.25) }},
		{"maglev", func(n int, _ balance.Rand) balance.Policy { return balance.Maglev(n, 0) }},
		{"sticky", func(n int, r balance.Rand) balance.Policy { return balance.Sticky(balance.Random(n, r)) }},
	}
	sizes := []int{100, 1000, 10_000, 100_000, 1_000_000}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "ns a request, pool of\t")
	for _, n := range sizes {
		fmt.Fprintf(out, "%d\t", n)
	}
	fmt.Fprintln(out)
	for _, p := range policies {
		if !only.MatchString(p.name) {
			continue
		}
		fmt.Fprintf(out, "%s\t", p.name)
		for _, n := range sizes {
			if ctx.Err() != nil {
				out.Flush()
				return ctx.Err()
			}
			if p.name == "maglev" && n > 100_000 {
				fmt.Fprint(out, "-\t") // its table of 100 million entries takes minutes to fill
				continue
			}
			ns, err := cost(p.name, p.choose, n)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%.0f\t", ns)
		}
		fmt.Fprintln(out)
		out.Flush()
	}
	return nil
}

// cost is what a request takes, in ns. Making the pool does not count: the window is
// asked for when that is done.
func cost(name string, choose sim.Choose, n int) (float64, error) {
	runtime.GC()
	const requests = 3_000_000
	var begin time.Time
	window := func(n int) (int, int) {
		begin = time.Now()
		return sim.Middle(n)
	}
	_, err := sim.Run(sim.Config{Arrivals: sim.Poisson(1.5 * 250 / float64(n)), Requests: requests, Seed: 1, Window: window}, sim.Router(name, choose, dynos(n)...))
	return float64(time.Since(begin)) / requests, err
}

// peak memory of this process, in MB.
func peak() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024
}
