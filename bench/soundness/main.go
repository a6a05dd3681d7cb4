// Command soundness runs upstream's own short tests of the standard library on
// the rewritten runtime: as built; with sampling on and the whole program being
// delayed; and with a mark in every function and statement of the tests and of
// all that they import, of which every second is the site.
//
//	go run ./bench/soundness [-v] [-run REGEXP] [packages...]
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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
)

// skips are tests whose subject is what headway changes, by package.
var skips = map[string]string{
	// It asserts the size of type g, which has some words more.
	"runtime": "^TestSizeof$",
}

// skipsMarked are further tests that look for what a mark takes from a function (it is not inlined, its slices are not kept on
// the stack, other calls come first, it ends elsewhere), and one that times another process with its own clock, which runs slow.
var skipsMarked = map[string]string{
	"runtime": "^(TestAppendGrowthStack|TestFunctionAlignmentTraceback|TestGCTestMoveStackOnNextCall|TestSpuriousWakeupsNeverHangSemasleep|TestStackWrapperStackInlinePanic|TestStartLine|TestTracebackInlined)$",
}

var modes = []string{"idle", "delayed", "marked"}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		os.Exit(instrument.Main(os.Args[2:]))
	}
	var b bench
	flag.BoolVar(&b.verbose, "v", false, "print the tests' output")
	flag.StringVar(&b.goCmd, "go", "go", "the go command")
	flag.StringVar(&b.gcflags, "gcflags", "", "for the compiler: with all=-N defer statements are made otherwise")
	flag.DurationVar(&b.limit, "timeout", 10*time.Minute, "for one package")
	flag.StringVar(&b.only, "run", "", "only tests whose names match this")
	only := flag.String("mode", "all", "idle, delayed, marked or all")
	flag.Parse()
	if *only != "all" && !slices.Contains(modes, *only) {
		fmt.Fprintf(os.Stderr, "soundness: -mode is %s or all\n", strings.Join(modes, ", "))
		os.Exit(2)
	}
	pkgs := flag.Args()
	if len(pkgs) == 0 {
		pkgs = []string{"internal/sync", "sync", "time", "os", "net/http", "runtime"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := b.run(ctx, pkgs, *only)
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

// bench is how the tests are built and run.
type bench struct {
	goCmd, gcflags string
	only           string // of the tests
	self, dir      string // this program, and where to put others
	limit          time.Duration
	verbose        bool
}

func (b *bench) run(ctx context.Context, pkgs []string, mode string) (failed int, err error) {
	if b.self, err = os.Executable(); err != nil {
		return 0, err
	}
	if b.dir, err = os.MkdirTemp("", "headway-soundness-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(b.dir)
	root, err := exec.CommandContext(ctx, b.goCmd, "env", "GOROOT").Output()
	if err != nil {
		return 0, fmt.Errorf("asking for GOROOT: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	for _, pkg := range pkgs {
		bins := map[bool]string{} // by whether it is marked
		for _, m := range modes {
			if mode != "all" && mode != m {
				continue
			}
			marked := m == "marked"
			if bins[marked] == "" {
				if bins[marked], err = b.build(ctx, pkg, marked); err != nil {
					return failed, fmt.Errorf("building the tests of %s: %w", pkg, err)
				}
			}
			ok, report := b.test(ctx, filepath.Join(src, pkg), bins[marked], pkg, m)
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

// build compiles a package's tests on the rewritten runtime.
func (b *bench) build(ctx context.Context, pkg string, marked bool) (bin string, err error) {
	bin = filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	conf := &instrument.Config{}
	if marked {
		bin += "-marked"
		if conf.Packages, err = b.everywhere(ctx, pkg); err != nil {
			return "", err
		}
	}
	path := bin + ".json"
	args := append([]string{"test", "-c", "-vet=off", "-o", bin}, conf.Flags(b.self, b.gcflags == "")...)
	if b.gcflags != "" {
		args = append(args, "-gcflags="+b.gcflags)
	}
	if err := conf.Write(path); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, b.goCmd, append(args, pkg)...)
	cmd.Env = append(os.Environ(), instrument.ConfigEnv+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
}

var verdict = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// test runs one test binary and summarizes it.
func (b *bench) test(ctx context.Context, src, bin, pkg, mode string) (bool, string) {
	args := []string{"-test.short", "-test.v", "-test.timeout=" + b.limit.String()}
	if b.only != "" {
		args = append(args, "-test.run="+b.only)
	}
	skip := []string{}
	if s := skips[pkg]; s != "" {
		skip = append(skip, s)
	}
	if s := skipsMarked[pkg]; s != "" && mode == "marked" {
		skip = append(skip, s)
	}
	if len(skip) > 0 {
		args = append(args, "-test.skip="+strings.Join(skip, "|"))
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var block *control.Block
	if mode != "idle" {
		var err error
		if block, err = control.New(b.dir); err != nil {
			return false, err.Error()
		}
		defer block.Close()
		cmd.Env = append(cmd.Env, control.Env+"="+block.Path)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return false, fmt.Sprintf("%-14s %-8s %v", pkg, mode, err)
	}
	stop := make(chan struct{})
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		if block != nil {
			disturb(block, mode == "marked", stop)
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
	text := fmt.Sprintf("%-14s %-8s %d passed, %d failed, %d skipped in %.0f s%s", pkg, mode, counts["PASS"], counts["FAIL"], counts["SKIP"], time.Since(start).Seconds(), more)
	if err != nil {
		text += ": " + err.Error() + " " + strings.Join(bad, " ")
		if len(bad) == 0 || b.verbose {
			text += "\n" + out.String()
		}
	} else if b.verbose {
		text += "\n" + out.String()
	}
	return err == nil, text
}

// disturb switches the accounting and the samples on and delays the program, a second on, a second off: by a quarter of the
// time, or every second mark a quarter faster than the others.
func disturb(b *control.Block, marked bool, stop <-chan struct{}) {
	b.SetOn(true)
	b.SetSample(int64(time.Millisecond))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	start, was := time.Now(), false
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		on := int(time.Since(start).Seconds())%2 == 0
		switch {
		case marked && on != was:
			was = on
			for id := 1; id < control.MaxID; id += 2 {
				w := int32(0)
				if on {
					w = 1 << 14
				}
				b.SetWeight(id, w)
			}
		case !marked && on != was:
			was = on
			w := int64(0)
			if on {
				w = control.One / 4
			}
			b.SetPlacebo(w)
		}
		b.Samples()
	}
}
