package causal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/usage"
)

// goTool is the user's go command with the directory and environment it runs in.
type goTool struct {
	path string
	dir  string
	env  []string
	vars struct {
		GOVERSION, GOOS, GOARCH, GOROOT, GOMOD, GOEXE, GOFLAGS, GOHOSTOS, GOHOSTARCH string
	}
}

// pkg is what go list says about a package.
type pkg struct {
	ImportPath, Name, Dir, ForTest string
	Standard, DepOnly              bool
	GoFiles, CgoFiles, TestGoFiles []string
	CompiledGoFiles, Imports       []string
	Error                          *struct{ Err string }
}

func newGoTool(ctx context.Context, o *Options) (*goTool, error) {
	g := &goTool{path: o.Go, dir: cmp.Or(o.BuildDir, o.Dir), env: o.Env}
	if g.path == "" {
		g.path = "go"
	}
	if g.env == nil {
		g.env = os.Environ()
	}
	if _, err := exec.LookPath(g.path); err != nil {
		return nil, usage.Errorf("no go command: %w (install Go 1.26 or 1.27, or set --go)", err)
	}
	if err := g.ask(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// ask finds out which Go it is: a module may choose another.
func (g *goTool) ask(ctx context.Context) error {
	out, err := g.output(ctx, "env", "-json", "GOVERSION", "GOOS", "GOARCH", "GOROOT", "GOMOD", "GOEXE", "GOFLAGS", "GOHOSTOS", "GOHOSTARCH")
	if err != nil {
		return fmt.Errorf("asking the go command for its settings: %w", err)
	}
	if err := json.Unmarshal(out, &g.vars); err != nil {
		return fmt.Errorf("reading what %s env printed: %w", g.path, err)
	}
	return g.supported()
}

var goodVersion = regexp.MustCompile(`^go1\.(26|27)(\.|rc|beta|-|$)`)

// supported refuses, by name, what the rewriting of the runtime was not made for.
func (g *goTool) supported() error {
	v := &g.vars
	if runtime.GOOS != "linux" {
		return usage.Errorf("headway profile runs on linux, not on %s", runtime.GOOS)
	}
	if v.GOOS != "linux" || v.GOARCH != "amd64" && v.GOARCH != "arm64" {
		return usage.Errorf("cannot profile a %s/%s program: linux/amd64 and linux/arm64 work (unset GOOS and GOARCH)", v.GOOS, v.GOARCH)
	}
	if v.GOARCH != runtime.GOARCH {
		return usage.Errorf("cannot run a %s program on this %s machine (unset GOARCH)", v.GOARCH, runtime.GOARCH)
	}
	if !goodVersion.MatchString(v.GOVERSION) {
		return usage.Errorf("%s is not supported: Go 1.26 and 1.27 are (set --go, or GOTOOLCHAIN=go1.27.4)", v.GOVERSION)
	}
	return nil
}

func (g *goTool) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir = g.dir
	cmd.Env = g.env
	// It leaves its compilers running when it is ended alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// output runs the go command; its own message is the error.
func (g *goTool) output(ctx context.Context, args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := g.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if msg := GoComplaint(errs.String()); msg != "" {
			return nil, errors.New(msg)
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// GoComplaint is what the go command wrote to its standard error, without what it only tells of its progress.
func GoComplaint(stderr string) string {
	return strings.TrimSpace(downloading.ReplaceAllString(stderr, ""))
}

// downloading is what the go command says meanwhile, which is no error.
var downloading = regexp.MustCompile(`(?m)^go: (downloading|finding|found|added|upgraded) .*\n?`)

// list returns the package and everything it depends on, the package last.
func (g *goTool) list(ctx context.Context, o *Options, target string) ([]*pkg, error) {
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Name,Dir,ForTest,Standard,DepOnly,GoFiles,CgoFiles,TestGoFiles,Imports,Error"}
	if o.Test {
		args = append(args, "-test")
	}
	args = append(args, o.BuildFlags...)
	out, err := g.output(ctx, append(args, "--", target)...)
	if err != nil {
		return nil, usage.Errorf("package %s: %w", target, err)
	}
	var pkgs []*pkg
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		p := new(pkg)
		if err := dec.Decode(p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what %s list printed: %w", g.path, err)
		}
		if p.Error != nil && !p.DepOnly {
			return nil, usage.Errorf("package %s: %s", target, p.Error.Err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// atVersion makes a module around path@version, as go run does, and returns the path.
// The directory is that of the module; the go command was asked in one outside of any.
func (g *goTool) atVersion(ctx context.Context, target string) (string, error) {
	path, version, _ := strings.Cut(target, "@")
	lang := strings.TrimPrefix(g.vars.GOVERSION, "go")
	if parts := strings.SplitN(lang, ".", 3); len(parts) >= 2 {
		lang = parts[0] + "." + parts[1]
	}
	if err := os.WriteFile(filepath.Join(g.dir, "go.mod"), []byte("module headway.invalid/run\n\ngo "+lang+"\n"), 0o600); err != nil {
		return "", err
	}
	g.env = append(slices.Clone(g.env), "GOWORK=off", strings.TrimSpace("GOFLAGS="+g.vars.GOFLAGS+" -mod=mod"))
	if _, err := g.output(ctx, "get", path+"@"+version); err != nil {
		return "", usage.Errorf("package %s: %w", target, err)
	}
	// The language version of the program's own module decides the defaults of GODEBUG.
	out, err := g.output(ctx, "list", "-e", "-f", "{{with .Module}}{{.GoVersion}}{{end}}", "--", path)
	if err != nil {
		return "", usage.Errorf("package %s: %w", target, err)
	}
	if lang = strings.TrimSpace(string(out)); lang != "" {
		if _, err := g.output(ctx, "mod", "edit", "-go="+lang); err != nil {
			return "", fmt.Errorf("making a module around %s: %w", target, err)
		}
	}
	return path, g.ask(ctx)
}
