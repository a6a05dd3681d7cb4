package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/sim"
)

// engine is a program that simulates the model.
type engine struct {
	name    string
	rounded bool // to whole milliseconds
	argv    func(policy string, seed int) []string
	env     []string
}

// run is one run in a process of its own, which prints its figures as JSON.
func (e engine) run(ctx context.Context, policy string, seed int) (figures, error) {
	argv := e.argv(policy, seed)
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = append(os.Environ(), e.env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return figures{}, fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, strings.TrimSpace(errs.String()))
	}
	var f figures
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		return f, fmt.Errorf("%w in %q", err, out.String())
	}
	f.mb = float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	return f, nil
}

// prepare builds the programs that can be had here, and says which cannot.
func prepare(ctx context.Context, dir, timelike string) ([]engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, peers); err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(dir, "peers", name) }
	own := func(procs, requests int, round string) func(string, int) []string {
		return func(policy string, seed int) []string {
			return []string{self, "one", policy, strconv.Itoa(requests), strconv.Itoa(seed), strconv.Itoa(procs), round}
		}
	}
	all := []engine{
		{name: "Headway", argv: own(1, 2_000_000, "0")},
		{name: "Headway, whole ms", rounded: true, argv: own(1, 2_000_000, "1")},
		{name: "Headway, 100,000", argv: own(1, 100_000, "0")},
		{name: fmt.Sprintf("Headway, %d runs at once", runtime.NumCPU()), argv: own(runtime.NumCPU(), 2_000_000, "0")},
	}
	absent := func(what, why string) { fmt.Fprintf(os.Stderr, "sim: without %s: %s\n", what, why) }
	if cc, err := exec.LookPath("cc"); err != nil {
		absent("the loop in C", "no cc; install gcc")
	} else if out, err := exec.CommandContext(ctx, cc, "-O3", "-march=native", "-o", at("loop"), at("loop.c"), "-lm").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, out)
	} else {
		all = append(all, engine{name: "event loop in C", argv: func(policy string, seed int) []string {
			return []string{at("loop"), policy, "2000000", strconv.Itoa(seed)}
		}})
	}
	if err := exec.CommandContext(ctx, "python3", "-c", "import simpy").Run(); err != nil {
		absent("SimPy", "python3 cannot import simpy; pip install simpy")
	} else {
		all = append(all, engine{name: "SimPy", argv: func(policy string, seed int) []string {
			return []string{"python3", at("dynos.py"), policy, "100000", strconv.Itoa(seed)}
		}})
	}
	if timelike == "" {
		absent("Timelike", "say -timelike DIR with a checkout of github.com/aphyr/timelike")
		return all, nil
	}
	path, err := clojure(ctx, dir, timelike)
	if err != nil {
		return nil, err
	}
	return append(all, engine{name: "Timelike", rounded: true, argv: func(policy string, _ int) []string {
		return []string{"java", "-Xmx4g", "-cp", path, "clojure.main", at("dynos.clj"), policy, "10000"}
	}}), nil
}

const pom = `<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version><dependencies>
<dependency><groupId>org.clojure</groupId><artifactId>clojure</artifactId><version>1.4.0</version></dependency>
<dependency><groupId>org.clojure</groupId><artifactId>math.numeric-tower</artifactId><version>0.0.1</version></dependency>
</dependencies></project>`

// clojure is a class path for Timelike: its source, the libraries that it names, and what it takes from Incanter.
func clojure(ctx context.Context, dir, timelike string) (string, error) {
	if _, err := os.Stat(filepath.Join(timelike, "src/timelike/node.clj")); err != nil {
		return "", fmt.Errorf("-timelike: %w", err)
	}
	shim := filepath.Join(dir, "shim", "incanter")
	src, err := peers.ReadFile("peers/distributions.clj")
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.MkdirAll(shim, 0o755), os.WriteFile(filepath.Join(shim, "distributions.clj"), src, 0o644), os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(pom), 0o644)); err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "mvn", "-q", "-f", filepath.Join(dir, "pom.xml"), "dependency:copy-dependencies", "-DoutputDirectory="+filepath.Join(dir, "jars"))
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mvn: %w: %s", err, out)
	}
	return strings.Join([]string{filepath.Join(dir, "jars", "*"), filepath.Join(timelike, "src"), filepath.Dir(shim)}, string(os.PathListSeparator)), nil
}

func dynos(n int) []sim.Node {
	return sim.Pool(n, func(int) sim.Node {
		return sim.Cable(2, sim.Queue(sim.Delay(dist.Fixed(20), sim.Delay(dist.Exponential(100), sim.Server("rails")))))
	})
}

// one simulates in this process: policy, requests, seed, runs at once, rounding.
func one(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("one: %q", args)
	}
	var n [4]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(args[i+1]); err != nil {
			return err
		}
	}
	runtime.GOMAXPROCS(n[2])
	router := sim.Random
	if args[0] == "least" {
		router = func(b ...sim.Node) sim.Node { return sim.LeastConnections(balance.RandomTies, b...) }
	}
	results, errs := make([]*sim.Result, n[2]), make([]error, n[2])
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range results {
		wg.Go(func() {
			results[i], errs[i] = sim.Run(sim.Config{Arrivals: sim.Poisson(1.5), Requests: n[0], Seed: uint64(n[1]*100 + i), Round: float64(n[3])}, router(dynos(250)...))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	l := results[0].Latency
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"requests": float64(n[0] * n[2]), "seconds": time.Since(begin).Seconds(), "median": l.Median, "p95": l.P95, "p99": l.P99})
}
