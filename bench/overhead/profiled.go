package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headway-lab/headway/causal/instrument"
)

// profiled is the subject as causal would treat it: the same build, the same shared
// block, the same switches. The marks are given, not found, so that every round has
// the same.
type profiled struct {
	dir      string
	programs []program
	linked   []string // flags that put all functions in the same order
	same     bool     // all states are the ordinary build
}

func (s *profiled) binary(pkg string, instrumented bool) string {
	name := filepath.Base(pkg)
	if instrumented {
		name += "-instrumented"
	}
	return filepath.Join(s.dir, name)
}

func (s *profiled) build(ctx context.Context, layout uint32) error {
	s.linked = []string{fmt.Sprintf("-ldflags=-randlayout=%d", layout)}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ids := uint32(0)
	configs := map[string]*instrument.Config{}
	points := map[string]uint32{}
	dirs := map[string]string{}
	for _, p := range s.programs {
		c := configs[p.pkg]
		if c == nil {
			c = &instrument.Config{Packages: map[string][]instrument.Mark{}}
			configs[p.pkg], dirs[p.pkg] = c, p.dir
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
			ids++
			c.Packages[pkg] = append(c.Packages[pkg], instrument.Mark{Kind: instrument.Site, ID: ids, Func: name})
		}
	}
	for pkg, c := range configs {
		if err := s.goBuild(ctx, dirs[pkg], s.binary(pkg, false), pkg, nil, nil); err != nil {
			return err
		}
		if s.same {
			continue
		}
		file := filepath.Join(s.dir, filepath.Base(pkg)+".json")
		flags := c.Flags(self, true)
		if err := c.Write(file); err != nil {
			return err
		}
		if err := s.goBuild(ctx, dirs[pkg], s.binary(pkg, true), pkg, flags, []string{instrument.ConfigEnv + "=" + file}); err != nil {
			return err
		}
	}
	return nil
}

func (s *profiled) goBuild(ctx context.Context, dir, out, pkg string, flags, env []string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", out}, s.linked, flags, []string{pkg})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, b)
	}
	return nil
}
