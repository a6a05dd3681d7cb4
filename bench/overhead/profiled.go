package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
)

// profiled is the subject as causal would treat it: the same build, the same shared
// block, the same switches. The marks are given, not found, so that every round has
// the same.
type profiled struct {
	dir      string
	programs []program
	ids      map[string]int // of a site, as written in program.sites
}

const (
	samplePeriod = 5 * time.Millisecond   // as causal samples
	window       = 250 * time.Millisecond // of one experiment, and of the baseline before it
)

// speedups are tried in turn, in percent.
var speedups = []int{25, 50, 75, 100}

func (s *profiled) binary(pkg string, instrumented bool) string {
	name := filepath.Base(pkg)
	if instrumented {
		name += "-instrumented"
	}
	return filepath.Join(s.dir, name)
}

func (s *profiled) build(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.ids = map[string]int{}
	configs := map[string]*instrument.Config{}
	points := map[string]uint32{}
	for _, p := range s.programs {
		c := configs[p.pkg]
		if c == nil {
			c = &instrument.Config{Packages: map[string][]instrument.Mark{}}
			configs[p.pkg] = c
		}
		for i, site := range p.sites {
			pkg, name, ok := strings.Cut(site, " ")
			if !ok {
				return fmt.Errorf("site %q: want a package and a function", site)
			}
			if pkg == "main" {
				pkg = p.pkg
			}
			if i == 0 {
				c.Packages[pkg] = append(c.Packages[pkg], instrument.Mark{Kind: instrument.Entry, ID: points[p.pkg], Func: name})
				points[p.pkg]++
			}
			s.ids[site] = len(s.ids) + 1
			c.Packages[pkg] = append(c.Packages[pkg], instrument.Mark{Kind: instrument.Site, ID: uint32(s.ids[site]), Func: name})
		}
	}
	for pkg, c := range configs {
		if err := s.goBuild(ctx, s.binary(pkg, false), pkg, nil, nil); err != nil {
			return err
		}
		file := filepath.Join(s.dir, filepath.Base(pkg)+".json")
		flags := c.Flags(self, true)
		if err := c.Write(file); err != nil {
			return err
		}
		if err := s.goBuild(ctx, s.binary(pkg, true), pkg, flags, []string{instrument.ConfigEnv + "=" + file}); err != nil {
			return err
		}
	}
	return nil
}

func (s *profiled) goBuild(ctx context.Context, out, pkg string, flags, env []string) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", out}, flags...), pkg)...)
	cmd.Env = append(os.Environ(), env...)
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, b)
	}
	return nil
}

var summary = regexp.MustCompile(`^(\d+) \w+ in ([0-9.]+) s`)

func (s *profiled) run(ctx context.Context, p program, st state, d time.Duration, round int) (float64, error) {
	args := append([]string{"-for", d.String()}, p.args...)
	cmd := exec.CommandContext(ctx, s.binary(p.pkg, st != stock), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var block *control.Block
	if st != stock {
		var err error
		if block, err = control.New(s.dir); err != nil {
			return 0, err
		}
		defer block.Close()
		cmd.Env = append(os.Environ(), control.Env+"="+block.Path)
		switch st {
		case sampled:
			block.SetSample(samplePeriod.Nanoseconds())
		case experiments:
			block.SetOn(true)
		}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	samples, err := s.conduct(block, p, st, round, done)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	m := summary.FindStringSubmatch(stdout.String())
	if m == nil {
		return 0, fmt.Errorf("it printed %q, not how much it did", stdout.String())
	}
	switch {
	case st != stock && block.Pid() == 0:
		return 0, errors.New("it ran without the hooks")
	case st == sampled && samples == 0:
		return 0, errors.New("it was not sampled")
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	seconds, _ := strconv.ParseFloat(m[2], 64)
	if n == 0 || seconds == 0 {
		return 0, errors.New("it did nothing")
	}
	return n / seconds, nil
}

// conduct does to the running program what its state says, until it ends, as
// causal does: samples are read; a baseline and a change alternate.
func (s *profiled) conduct(block *control.Block, p program, st state, round int, done <-chan error) (samples int, err error) {
	if st != sampled && st != experiments {
		return 0, <-done
	}
	period := window
	if st == sampled {
		period = 20 * time.Millisecond
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	var forgiven int64
	for n := 0; ; n++ {
		select {
		case err := <-done:
			return samples, err
		case <-tick.C:
		}
		if st == sampled {
			got, _ := block.Samples()
			samples += len(got)
			continue
		}
		// Odd windows are changes. Each run tries other ones: over the rounds, all.
		try := round*3 + n/2
		for i, site := range p.sites {
			weight := int32(0)
			if i == try%len(p.sites) {
				weight = 1 // a baseline reads the clock as its experiments do
				if n%2 == 1 {
					weight = int32(math.Round(float64(speedups[try/len(p.sites)%len(speedups)]) / 100 * control.One))
				}
			}
			block.SetWeight(s.ids[site], weight)
		}
		debt := block.Debt(control.Now())
		block.SetForgive(forgiven)
		forgiven = debt
	}
}
