package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// coz asks Coz, the causal profiler for C and C++, the same questions. It is preloaded
// into the programs, which for this are linked by the C linker, carry debug information
// that Coz can read (DWARF 4, not compressed), have the loop of every site on one line,
// and count progress where Coz looks: the build tag coz does all that.
type coz struct {
	dir    string // where the built programs are
	runFor time.Duration
	bases  map[string][]experiment // without a speed-up, by cell
}

// cozLine is the line that sites_coz.go gives each site's loop.
var cozLine = map[string]string{"main.siteA": "sites.go:100", "main.siteB": "sites.go:200"}

func newCoz(ctx context.Context, module, dir string) (*coz, error) {
	if _, err := exec.LookPath("coz"); err != nil {
		return nil, errors.New("there is no coz command (Debian's coz-profiler)")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "coz", "-ldflags", "-compressdwarf=false -linkmode=external",
		"-o", filepath.Join(dir, "coz-programs"), "./bench/truth/programs")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOEXPERIMENT=nodwarf5", "CGO_CFLAGS=-O2 -gdwarf-4")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the programs do not build for Coz: %w %s", err, oneLine(string(out)))
	}
	return &coz{dir: dir, runFor: 5 * time.Second, bases: map[string][]experiment{}}, nil
}

// predict gives Coz's answer for one speed-up, or why there is none.
func (z *coz) predict(ctx context.Context, c Cell, iters float64, d int) (*Interval, string) {
	if c.program.Cgo {
		return nil, "not tried: the loop in C has several lines"
	}
	base, ok := z.bases[c.String()]
	if !ok {
		var err error
		if base, err = z.profile(ctx, c, iters, 0); err != nil {
			return nil, "failed: " + oneLine(err.Error())
		}
		z.bases[c.String()] = base
	}
	if len(base) == 0 {
		return nil, "no experiment without a speed-up"
	}
	faster, err := z.profile(ctx, c, iters, d)
	switch {
	case err != nil:
		return nil, "failed: " + oneLine(err.Error())
	case len(faster) == 0:
		return nil, "no experiment"
	}
	i, note := compare(base, faster, c.program.Latency)
	return i, note
}

// profile runs the program under Coz with one line and one speed-up.
func (z *coz) profile(ctx context.Context, c Cell, iters float64, d int) ([]experiment, error) {
	ctx, cancel := context.WithTimeout(ctx, z.runFor+15*time.Second)
	defer cancel()
	out := filepath.Join(z.dir, "profile.coz")
	os.Remove(out)
	args := []string{"run", "--output", out, "--fixed-line", cozLine[c.site.Name], "--fixed-speedup", strconv.Itoa(d), "---",
		filepath.Join(z.dir, "coz-programs")}
	args = append(args, c.program.args(c.step, iters)...)
	cmd := exec.CommandContext(ctx, "coz", append(args, "-run-for", z.runFor.String())...)
	cmd.Env = c.program.env(os.Environ())
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	runErr := cmd.Run()
	f, err := os.Open(out)
	if err != nil {
		if runErr == nil {
			runErr = errors.New("no profile was written by Coz")
		}
		return nil, fmt.Errorf("%w %s", runErr, lastLine(said.String()))
	}
	defer f.Close()
	all, err := readProfile(f)
	if err == nil && runErr != nil { // what a crash leaves is no measurement
		return nil, fmt.Errorf("%w %s", runErr, lastLine(said.String()))
	}
	// When a program ends Coz waits for the experiment that is going on, in which the
	// thread that called exit stands still.
	return all[:max(0, len(all)-1)], err
}

// lastLine is the last line that is not indented: a crash ends with its stack.
func lastLine(s string) string {
	last := ""
	for line := range strings.Lines(s) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(line, " ") {
			last = t
		}
	}
	return last
}

// experiment is one of Coz's: its duration is already without the delays it inserted.
type experiment struct {
	seconds, speedup     float64
	progress             float64
	arrivals, difference float64 // of requests: how many began, how many were open
}

// readProfile reads profile.coz: tab-separated words, of which most say name=value.
func readProfile(r io.Reader) ([]experiment, error) {
	var all []experiment
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		value := map[string]string{}
		for _, f := range fields[1:] {
			k, v, _ := strings.Cut(f, "=")
			value[k] = v
		}
		number := func(k string) float64 {
			x, _ := strconv.ParseFloat(value[k], 64)
			return x
		}
		if fields[0] == "experiment" {
			all = append(all, experiment{seconds: number("duration") / 1e9, speedup: number("speedup")})
			continue
		}
		if len(all) == 0 {
			continue
		}
		e := &all[len(all)-1]
		switch fields[0] {
		case "throughput-point", "progress-point":
			e.progress += number("delta")
		case "latency-point":
			e.arrivals, e.difference = number("arrivals"), number("difference")
		}
	}
	return all, lines.Err()
}

// compare turns two sets of experiments into an effect, each set taken together as Coz's own
// viewer does: seconds over progress, and for latency the number of open requests over the
// rate of arrivals; nothing where time doubles or latency trebles. The interval is that of a ratio of sums (Cochran, Sampling Techniques).
func compare(base, faster []experiment, latency bool) (*Interval, string) {
	ratio := func(all []experiment) (ratio, relative float64) {
		x, y := make([]float64, len(all)), make([]float64, len(all))
		for i, e := range all {
			x[i], y[i] = e.seconds, e.progress
			if latency {
				x[i], y[i] = e.difference*e.seconds, e.arrivals
			}
		}
		mx, _ := meanVar(x)
		my, _ := meanVar(y)
		residuals := make([]float64, len(all))
		for i := range all {
			residuals[i] = x[i]/mx - y[i]/my
		}
		_, v := meanVar(residuals)
		return mx / my, v / float64(len(all))
	}
	if len(base) < 2 || len(faster) < 2 {
		return nil, "too few experiments"
	}
	rb, vb := ratio(base)
	rf, vf := ratio(faster)
	effect := math.Log(rf / rb)
	half := student95(min(len(base), len(faster))-1) * math.Sqrt(vb+vf)
	if math.IsNaN(effect) || math.IsInf(effect, 0) || math.IsNaN(half) {
		return nil, "too few experiments counted progress"
	}
	if r := rf / rb; r > 3 || r > 2 && !latency {
		return nil, "more than Coz's viewer shows"
	}
	percent := func(x float64) float64 { return 100 * (math.Exp(x) - 1) }
	return &Interval{percent(effect), percent(effect - half), percent(effect + half), len(faster), 0}, ""
}

func meanVar(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}
