// Command sim (bench) compares the simulator with others at the published model: 250
// dynos behind one router, random and least connections. The programs are run one
// after another, in an order that changes, round by round; what they say of latencies is
// compared first, then requests a second, by ratios within each round, and peak memory.
//
//	go run ./bench/sim
//	go run ./bench/sim -timelike DIR    // with a checkout of Timelike, a JVM and Maven
//	go run ./bench/sim -scale           // large pools, many requests, every policy
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"text/tabwriter"

	"github.com/headway-lab/headway/effect"
)

//go:embed peers
var peers embed.FS

func main() {
	if len(os.Args) > 1 && os.Args[1] == "one" { // a run in a process of its own
		if err := one(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "sim:", err)
			os.Exit(1)
		}
		return
	}
	var (
		rounds   = flag.Int("rounds", 7, "how often each program is run")
		timelike = flag.String("timelike", "", "a `directory` with Timelike's source")
		large    = flag.Bool("scale", false, "instead: large pools, many requests, every policy")
		only     = flag.String("policies", ".", "with -scale: regular `expression`")
		requests = flag.Int("requests", 100_000_000, "with -scale: requests of the large run")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *large {
		var policies *regexp.Regexp
		if policies, err = regexp.Compile(*only); err == nil {
			err = scale(ctx, *requests, policies)
		}
	} else {
		err = compare(ctx, *rounds, *timelike)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

// figures of a run.
type figures struct {
	Requests, Seconds, Median, P95, P99 float64
	mb                                  float64 // peak memory
}

func (f figures) rate() float64 { return f.Requests / f.Seconds }

// compare prints the table, and fails if the programs do not agree on the latencies.
func compare(ctx context.Context, rounds int, timelike string) error {
	if rounds < effect.MinN {
		return fmt.Errorf("-rounds %d: want at least %d, for an interval", rounds, effect.MinN)
	}
	dir, err := os.MkdirTemp("", "headway-bench-sim-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := prepare(ctx, dir, timelike)
	if err != nil {
		return err
	}
	var disagree error
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, policy := range []string{"random", "least"} {
		seen := make([][]figures, len(all))
		for round := range rounds {
			for _, i := range rand.New(rand.NewPCG(1, uint64(round))).Perm(len(all)) {
				f, err := all[i].run(ctx, policy, round+1)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", all[i].name, policy, err)
				}
				seen[i] = append(seen[i], f)
				fmt.Fprintf(os.Stderr, "\r%s, round %d of %d: %-30s", policy, round+1, rounds, all[i].name)
			}
		}
		fmt.Fprintf(os.Stderr, "\r%60s\r", "")
		fmt.Fprintf(out, "%s\trequests\tmedian, ms\tp95\tp99\trequests/s\tHeadway is faster by\tpeak MB\t\n", policy)
		for i, e := range all {
			f := seen[i]
			ratio := "1"
			if i > 0 {
				r := ratioOf(seen[0], f)
				ratio = fmt.Sprintf("%.3g [%.3g, %.3g]", r.Value, r.Low, r.High)
			}
			fmt.Fprintf(out, "%s\t%.0f\t%.1f\t%.1f\t%.1f\t%.3g\t%s\t%.0f\t\n", e.name, f[0].Requests, mean(f, median), mean(f, p95), mean(f, p99), mean(f, figures.rate), ratio, mean(f, memory))
			against := seen[0]
			if e.rounded { // to whole milliseconds, which is another load: against Headway that does the same
				against = seen[1]
			}
			disagree = errors.Join(disagree, agree(e.name+", "+policy, f, against))
		}
		fmt.Fprintln(out, "\t\t\t\t\t\t\t\t")
	}
	out.Flush()
	if disagree != nil {
		return disagree
	}
	fmt.Println("All agree on median, p95 and p99.")
	return nil
}

func median(f figures) float64 { return f.Median }
func p95(f figures) float64    { return f.P95 }
func p99(f figures) float64    { return f.P99 }
func memory(f figures) float64 { return f.mb }

func of(f []figures, what func(figures) float64) []float64 {
	x := make([]float64, len(f))
	for i := range f {
		x[i] = what(f[i])
	}
	return x
}

func mean(f []figures, what func(figures) float64) float64 {
	sum := 0.0
	for _, x := range of(f, what) {
		sum += x / float64(len(f))
	}
	return sum
}

// ratioOf is the geometric mean of the ratios of rates, round by round.
func ratioOf(a, b []figures) effect.Estimate {
	x := make([]float64, len(a))
	for i := range a {
		x[i] = math.Log(a[i].rate() / b[i].rate())
	}
	e := effect.Of(x, .95, 1)
	e.Value, e.Low, e.High = math.Exp(e.Value), math.Exp(e.Low), math.Exp(e.High)
	return e
}

// agree reports whether two programs see the same latencies: their means over the rounds,
// whose seeds differ, are no further from each other than their 99.9 % intervals and half a percent
// allow.
func agree(name string, a, b []figures) error {
	for _, q := range []struct {
		name string
		of   func(figures) float64
	}{{"median", median}, {"p95", p95}, {"p99", p99}} {
		x, y := effect.Of(of(a, q.of), .999, 1), effect.Of(of(b, q.of), .999, 1)
		if d := math.Abs(x.Value - y.Value); d > math.Hypot(x.High-x.Low, y.High-y.Low)/2+.005*y.Value {
			return fmt.Errorf("%s: the %s is %.1f ms, %.1f in Headway", name, q.name, x.Value, y.Value)
		}
	}
	return nil
}
