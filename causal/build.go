package causal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/usage"
)

// builder compiles the program with marks.
type builder struct {
	g      *goTool
	o      *Options
	self   string // what the go command calls as toolexec
	dir    string
	target string
	n      int
}

// BuildError is the go command's own message about a program that does not build.
type BuildError struct{ Output string }

func (e *BuildError) Error() string { return "the program does not build:\n" + e.Output }

// checkFlags refuses build flags that contradict what headway does itself.
func checkFlags(flags []string) error {
	for _, f := range flags {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch name {
		case "o", "toolexec", "n", "c", "exec", "buildmode":
			if name == "buildmode" && (strings.HasSuffix(f, "=exe") || strings.HasSuffix(f, "=pie") || strings.HasSuffix(f, "=default")) {
				continue
			}
			return usage.Errorf("--build: %s cannot be given: headway sets it itself", f)
		}
		if !strings.HasPrefix(f, "-") {
			return usage.Errorf("--build: %q is not a flag (write -flag=value as one word)", f)
		}
	}
	return nil
}

func (b *builder) build(ctx context.Context, conf *instrument.Config) (string, error) {
	b.n++
	confPath := filepath.Join(b.dir, fmt.Sprintf("config%d.json", b.n))
	bin := filepath.Join(b.dir, fmt.Sprintf("program%d", b.n))
	own := true
	for _, f := range b.o.BuildFlags {
		if strings.HasPrefix(strings.TrimLeft(f, "-"), "gcflags") {
			own = false
		}
	}
	for _, e := range b.g.env {
		if strings.HasPrefix(e, "GOFLAGS=") && strings.Contains(e, "-gcflags") {
			own = false
		}
	}
	flags := conf.Flags(b.self, own)
	if err := conf.Write(confPath); err != nil {
		return "", err
	}
	verb := []string{"build"}
	if b.o.Test {
		verb = []string{"test", "-c", "-vet=off"}
	}
	args := append(verb, "-o", bin)
	args = append(args, flags...)
	args = append(args, b.o.BuildFlags...)
	if !b.o.Test { // for go test the arguments of the test binary follow it, and go list has seen the target
		args = append(args, "--")
	}
	args = append(args, b.target)
	cmd := b.g.command(ctx, args...)
	cmd.Env = append(append([]string{}, cmd.Env...), instrument.ConfigEnv+"="+confPath)
	if !slices.ContainsFunc(b.g.env, func(e string) bool { return strings.HasPrefix(e, "GOTMPDIR=/") }) {
		cmd.Env = append(cmd.Env, "GOTMPDIR="+b.dir) // so that what a cancelled build leaves goes with the rest
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		msg := strings.TrimSpace(out.String())
		if msg == "" {
			msg = err.Error()
		}
		if i := strings.Index(msg, "this Go version is not supported"); i >= 0 {
			line, _, _ := strings.Cut(msg[i:], "\n")
			return "", usage.Errorf("%s", line)
		}
		return "", &BuildError{msg}
	}
	if _, err := os.Stat(bin); err != nil {
		return "", fmt.Errorf("the go command made no program of %s (no test files?)", b.target)
	}
	return bin, nil
}
