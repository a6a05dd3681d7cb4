package causal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/goproxytest"

	"github.com/headway-lab/headway/usage"
)

func TestCheckFlags(t *testing.T) {
	for flag, good := range map[string]bool{
		"-race": true, "--race": true, "-tags=x": true, "-ldflags=-s -w": true, "-gcflags=-N": true, "-pgo=off": true, "-mod=vendor": true, "-cover": true,
		"-buildmode=pie": true, "-buildmode=exe": true, "-buildmode=default": true, "-trimpath": true,
		"-buildmode=plugin": false, "-buildmode=c-shared": false, "-buildmode": false,
		"-o=x": false, "--o=x": false, "-o": false, "-toolexec=x": false, "-exec=x": false, "-c": false, "-n": false,
		"x": false, "./pkg": false, "": false,
	} {
		err := checkFlags([]string{"-v", flag})
		var wrong *usage.Error
		if good != (err == nil) || err != nil && (!errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "--build: ")) {
			t.Errorf("%q gives %v", flag, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for says, o := range map[string]Options{
		`--by: "word" is not func, line or callsite`: {Package: ".", By: "word"},
		"--speedups: 0 is not between 1 and 100":     {Package: ".", Speedups: []int{50, 0}},
		"--speedups: 101 is not between 1 and 100":   {Package: ".", Speedups: []int{101}},
		"--duration: 1ms is too short":               {Package: ".", Duration: time.Millisecond},
		"no package given":                           {},
		"--build: -o=x cannot be given":              {Package: ".", BuildFlags: []string{"-o=x"}},
	} {
		rep, err := Run(context.Background(), o)
		var wrong *usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) || rep != nil {
			t.Errorf("%v, want %s", err, says)
		}
	}
	o := defaults(Options{Package: "."})
	if err := check(&o); err != nil || o.By != ByFunc || o.Duration != time.Minute || len(o.Speedups) != 4 || o.Stdout == nil {
		t.Errorf("the defaults are %+v, %v", o, err)
	}
}

func TestSupported(t *testing.T) {
	for _, c := range []struct {
		version, os, arch, says string
	}{
		{"go1.26.8", "linux", runtime.GOARCH, ""},
		{"go1.26", "linux", runtime.GOARCH, ""},
		{"go1.27rc1", "linux", runtime.GOARCH, ""},
		{"go1.27.4", "linux", runtime.GOARCH, ""},
		{"go1.27-abcdef", "linux", runtime.GOARCH, ""},
		{"go1.25.1", "linux", runtime.GOARCH, "go1.25.1 is not supported: Go 1.26 and 1.27 are"},
		{"go1.28", "linux", runtime.GOARCH, "go1.28 is not supported"},
		{"go1.2", "linux", runtime.GOARCH, "go1.2 is not supported"},
		{"devel +abc", "linux", runtime.GOARCH, "devel +abc is not supported"},
		{"go1.26.8", "darwin", "arm64", "cannot profile a darwin/arm64 program: linux/amd64 and linux/arm64 work (unset GOOS and GOARCH)"},
		{"go1.26.8", "linux", "riscv64", "cannot profile a linux/riscv64 program"},
		{"go1.26.8", "linux", map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH], "unset GOARCH"},
	} {
		g := &goTool{}
		g.vars.GOVERSION, g.vars.GOOS, g.vars.GOARCH = c.version, c.os, c.arch
		err := g.supported()
		var wrong *usage.Error
		if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %s/%s gives %v, want %q", c.version, c.os, c.arch, err, c.says)
		}
	}
}

// What the go command says is what the user reads.
func TestGoCommandErrors(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		goCmd string
		says  string
		usage bool
	}{
		{filepath.Join(dir, "none"), "no go command", true},
		{script("broken", "echo it is broken >&2; exit 3"), "asking the go command for its settings: it is broken", false},
		{script("fetches", "echo 'go: downloading example.org/x v1.0.0' >&2; echo 'go: it is broken' >&2; exit 3"), "asking the go command for its settings: go: it is broken", false},
		{script("silent", "exit 3"), "asking the go command for its settings: exit status 3", false},
		{script("words", "echo hello"), "reading what", false},
		{script("old", `echo '{"GOVERSION":"go1.25.1","GOOS":"linux","GOARCH":"`+runtime.GOARCH+`"}'`), "go1.25.1 is not supported", true},
		{script("newer", `[ $1 = env ] && echo '{"GOVERSION":"go1.26.9","GOOS":"linux","GOARCH":"`+runtime.GOARCH+`"}' || echo hello`), "reading what", false},
		{script("empty", `[ $1 = env ] && echo '{"GOVERSION":"go1.26.9","GOOS":"linux","GOARCH":"`+runtime.GOARCH+`"}'; true`), "nothing to build", true},
	} {
		rep, err := Run(t.Context(), Options{Package: ".", Go: c.goCmd, Throughput: []string{"main.x"}})
		var wrong *usage.Error
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.As(err, &wrong) != c.usage || rep != nil {
			t.Errorf("%s: %v, want %s", filepath.Base(c.goCmd), err, c.says)
		}
	}
}

func TestContainsVersion(t *testing.T) {
	for s, want := range map[string]bool{"example.org/x@latest": true, "./x": false, "@x": false, "x@": true, "": false} {
		if containsVersion(s) != want {
			t.Errorf("%q", s)
		}
	}
}

// A program of a module at a version is built as go install builds it: with the defaults of its own module's Go, and the user's flags.
func TestAtVersion(t *testing.T) {
	proxy, err := goproxytest.NewServer("testdata/mod", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	o := &Options{BuildDir: t.TempDir(), Env: append(os.Environ(), "GOPROXY="+proxy.URL, "GOSUMDB=off", "GOMODCACHE="+t.TempDir(), "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw -tags=tagged")}
	g, err := newGoTool(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.atVersion(t.Context(), "example.org/old/cmd/serve@v1.9.9"); err == nil || !strings.HasPrefix(err.Error(), "package example.org/old/cmd/serve@v1.9.9: ") {
		t.Errorf("a version that is not there: %v", err)
	}
	path, err := g.atVersion(t.Context(), "example.org/old/cmd/serve@latest")
	if err != nil || path != "example.org/old/cmd/serve" {
		t.Fatalf("%q, %v", path, err)
	}
	out, err := g.output(t.Context(), "list", "-f", "{{.DefaultGODEBUG}} {{.GoFiles}}", path)
	if err != nil || !strings.Contains(string(out), "randseednop=0") || !strings.HasSuffix(string(out), " [main.go tagged.go]\n") {
		t.Errorf("%s%v", out, err)
	}
}
