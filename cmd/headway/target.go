package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
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
	called := o.Package
	out, err := list(ctx, goCommand, o, called)
	// Where the module here knows nothing of the package, its own does.
	if dir := elsewhere(o.Dir, o.Package); err != nil && dir != "" && ctx.Err() == nil {
		o.BuildDir, o.Package = dir, "."
		out, err = list(ctx, goCommand, o, called)
	}
	if err != nil {
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
		return usagef("%s: no such package", called)
	case o.Test:
		if !strings.HasSuffix(named[0], "+test") {
			return usagef("%s: there are no tests to profile", called)
		}
	case len(named) > 1:
		return usagef("%s is %d packages; profile one at a time", called, len(named))
	case strings.TrimSuffix(named[0], "+test") != "main":
		return usagef("%s is package %s, not a program; name a main package, or profile its tests with --test", called, strings.TrimSuffix(named[0], "+test"))
	}
	switch {
	case !unnamed || imports["github.com/headway-lab/headway/progress"]:
	case imports["net/http"]:
		o.Latency = []string{"http"}
	default:
		return usagef("what is progress for %s? Name a function with --throughput or --latency", called)
	}
	return nil
}

// list asks the go command for the package, which the user called by that name, and for what it depends on.
func list(ctx context.Context, goCommand string, o *causal.Options, called string) ([]byte, error) {
	const format = `{{if not .DepOnly}}={{.Name}}{{if or .TestGoFiles .XTestGoFiles}}+test{{end}}{{else}}{{.ImportPath}}{{end}}`
	args := []string{"list", "-deps", "-f", format}
	if o.Test {
		args = append(args, "-test")
	}
	args = append(append(args, o.BuildFlags...), "--", o.Package)
	cmd := exec.CommandContext(ctx, goCommand, args...)
	cmd.Dir = cmp.Or(o.BuildDir, o.Dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit):
		if _, flag, ok := strings.Cut(stderr.String(), "flag provided but not defined: "); ok {
			return nil, usagef("--build: %s is no flag for this", strings.Fields(flag)[0])
		}
		return nil, usagef("%s: %s", called, causal.GoComplaint(stderr.String()))
	}
	return out, err
}

// elsewhere is the directory that target names if that lies in another module than dir does; else it is empty.
func elsewhere(dir, target string) string {
	if !build.IsLocalImport(target) && !filepath.IsAbs(target) {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	if info, err := os.Stat(target); err != nil || !info.IsDir() {
		return ""
	}
	if own := moduleRoot(target); own == "" || own == moduleRoot(dir) {
		return ""
	}
	return target
}

// moduleRoot is the nearest directory with a go.mod, or nothing.
func moduleRoot(dir string) string {
	dir, err := filepath.Abs(dir)
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
