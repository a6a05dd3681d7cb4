package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/headway-lab/headway/causal"
)

// checkPackage asks the go command whether o.Package is one that can be profiled,
// which takes a moment, where the build takes much longer to say the same. Where the
// command line names no progress point it chooses one, if the program has one.
func checkPackage(ctx context.Context, o *causal.Options) error {
	goCommand := o.Go
	if goCommand == "" {
		goCommand = "go"
	}
	if _, err := exec.LookPath(goCommand); err != nil {
		if o.Go != "" {
			return usagef("--go: %v", err)
		}
		return usagef("there is no go command in PATH; install Go or name it with --go")
	}
	unnamed := len(o.Throughput) == 0 && len(o.Latency) == 0
	if strings.Contains(o.Package, "@") { // the build fetches it
		if unnamed {
			o.Latency = []string{"http"}
		}
		return nil
	}
	const format = `{{if not .DepOnly}}={{.Name}}{{if or .TestGoFiles .XTestGoFiles}}+test{{end}}{{else}}{{.ImportPath}}{{end}}`
	args := []string{"list", "-deps", "-f", format}
	if o.Test {
		args = append(args, "-test")
	}
	args = append(append(args, o.BuildFlags...), "--", o.Package)
	list := exec.CommandContext(ctx, goCommand, args...)
	list.Dir = o.Dir
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		if _, flag, ok := strings.Cut(stderr.String(), "flag provided but not defined: "); ok {
			return usagef("--build: %s is no flag for this", strings.Fields(flag)[0])
		}
		return usagef("%s: %s", o.Package, stderr.String())
	case err != nil:
		return err
	}
	var named []string
	imports := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "="); ok {
			named = append(named, name)
		} else {
			imports[line] = true
		}
	}
	switch {
	case len(named) == 0:
		return usagef("%s: no such package", o.Package)
	case o.Test:
		if !strings.HasSuffix(named[0], "+test") {
			return usagef("%s: there are no tests to profile", o.Package)
		}
	case len(named) > 1:
		return usagef("%s is %d packages; profile one at a time", o.Package, len(named))
	case strings.TrimSuffix(named[0], "+test") != "main":
		return usagef("%s is package %s, not a program; name a main package, or profile its tests with --test", o.Package, strings.TrimSuffix(named[0], "+test"))
	}
	switch {
	case !unnamed || imports["github.com/headway-lab/headway/progress"]:
	case imports["net/http"]:
		o.Latency = []string{"http"}
	default:
		return usagef("what is progress for %s? Name a function with --throughput or --latency", o.Package)
	}
	return nil
}
