// Command soundness runs upstream's own short tests of the standard library on
// the rewritten runtime: once as built, once with sampling on and the whole
// program being delayed.
//
//	go run ./bench/soundness [-v] [packages...]
//
// Without packages: internal/sync, sync, time, os, net/http and runtime.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
)

// skips are tests whose subject is what headway changes, by package.
var skips = map[string]string{
	// It asserts the size of type g, which has four more words.
	"runtime": "^TestSizeof$",
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		os.Exit(instrument.Main(os.Args[2:]))
	}
	verbose := flag.Bool("v", false, "print the tests' output")
	goCmd := flag.String("go", "go", "the go command")
	limit := flag.Duration("timeout", 10*time.Minute, "for one package")
	only := flag.String("mode", "both", "idle, delayed or both")
	flag.Parse()
	pkgs := flag.Args()
	if len(pkgs) == 0 {
		pkgs = []string{"internal/sync", "sync", "time", "os", "net/http", "runtime"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, *goCmd, pkgs, *only, *limit, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soundness:", err)
		os.Exit(1)
	}
	if failed > 0 {
		fmt.Printf("%d of the runs failed\n", failed)
		os.Exit(1)
	}
	fmt.Println("all runs passed")
}

func run(ctx context.Context, goCmd string, pkgs []string, mode string, limit time.Duration, verbose bool) (failed int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "headway-soundness-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	root, err := exec.CommandContext(ctx, goCmd, "env", "GOROOT").Output()
	if err != nil {
		return 0, fmt.Errorf("asking for GOROOT: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	for _, pkg := range pkgs {
		bin := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
		conf := &instrument.Config{}
		args := append([]string{"test", "-c", "-vet=off", "-o", bin}, conf.Flags(self, true)...)
		cmd := exec.CommandContext(ctx, goCmd, append(args, pkg)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return failed, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
		}
		for _, delayed := range []bool{false, true} {
			if delayed && mode == "idle" || !delayed && mode == "delayed" {
				continue
			}
			ok, report := test(ctx, dir, filepath.Join(src, pkg), bin, pkg, delayed, limit, verbose)
			fmt.Println(report)
			if !ok {
				failed++
			}
			if ctx.Err() != nil {
				return failed, ctx.Err()
			}
		}
	}
	return failed, nil
}

var verdict = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// test runs one test binary and summarizes it.
func test(ctx context.Context, dir, src, bin, pkg string, delayed bool, limit time.Duration, verbose bool) (bool, string) {
	args := []string{"-test.short", "-test.v", "-test.timeout=" + limit.String()}
	skip := skips[pkg]
	if skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	name := "idle"
	var block *control.Block
	if delayed {
		name = "delayed"
		var err error
		if block, err = control.New(dir); err != nil {
			return false, err.Error()
		}
		defer block.Close()
		cmd.Env = append(cmd.Env, control.Env+"="+block.Path)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return false, fmt.Sprintf("%-14s %-8s %v", pkg, name, err)
	}
	stop := make(chan struct{})
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		if block != nil {
			disturb(block, stop)
		}
	}()
	err := cmd.Wait()
	close(stop)
	<-idle
	counts := map[string]int{}
	var bad []string
	for _, m := range verdict.FindAllStringSubmatch(out.String(), -1) {
		counts[m[1]]++
		if m[1] == "FAIL" {
			bad = append(bad, m[2])
		}
	}
	more := ""
	if block != nil {
		ns, times := block.Paid()
		more = fmt.Sprintf(", %d delays, together %.1f s", times, float64(ns)/1e9)
	}
	text := fmt.Sprintf("%-14s %-8s %d passed, %d failed, %d skipped in %.0f s%s", pkg, name, counts["PASS"], counts["FAIL"], counts["SKIP"], time.Since(start).Seconds(), more)
	if err != nil {
		text += ": " + err.Error() + " " + strings.Join(bad, " ")
		if len(bad) == 0 || verbose {
			text += "\n" + out.String()
		}
	} else if verbose {
		text += "\n" + out.String()
	}
	return err == nil, text
}

// disturb switches the accounting and the samples on and delays the program by
// a quarter of the time, a second on, a second off.
func disturb(b *control.Block, stop <-chan struct{}) {
	b.SetOn(true)
	b.SetSample(int64(time.Millisecond))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if int(time.Since(start).Seconds())%2 == 0 {
			b.AddDebt(int64(500 * time.Microsecond))
		}
		b.Samples()
	}
}
