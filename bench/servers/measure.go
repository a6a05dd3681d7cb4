package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/headway-lab/headway/bench/turn"
	"github.com/headway-lab/headway/causal"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/stage"
)

// A host is a server that can be run and profiled here.
type host struct {
	Server
	o      options
	source string // its module, edited
	binary string // with its progress and its sites marked
	dir    string // where it runs
	self   string
	null   *os.File
	log    io.Writer // how profiles proceed
}

// A change leaves out so many percent of the work at a site.
type change struct{ site, percent int }

var asItIs = change{site: -1}

// unchanged is how many processes of the server as it is there are at a time: all changes are compared with them, so their luck would be in every row.
const unchanged = 3

const page = "page" // stands for a page in Files

// prepare fetches a server, edits it and builds it.
func prepare(ctx context.Context, s Server, o options, dir string, stderr io.Writer) (*host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	h := &host{Server: s, o: o, self: self, null: null, source: filepath.Join(dir, "source"), dir: filepath.Join(dir, "run"), binary: filepath.Join(dir, s.Name), log: io.Discard}
	if o.verbose {
		h.log = stderr
	}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range s.Files {
		if text == page {
			text = somePage()
		}
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if err := fetch(ctx, s.Module, h.source); err != nil {
		return nil, err
	}
	for _, site := range s.Sites {
		if err := site.edit(h.source); err != nil {
			return nil, fmt.Errorf("%s: %w", site.Name, err)
		}
	}
	return h, h.build(ctx)
}

// somePage is a page that compresses as pages do.
func somePage() string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("<!doctype html><title>Arrivals</title><table>\n")
	for i := range 60 {
		fmt.Fprintf(&b, "<tr class=row><td>%03d</td><td>flight %c%c%d</td><td>%02d:%02d</td></tr>\n", i, 'A'+r.IntN(26), 'A'+r.IntN(26), r.IntN(10000), r.IntN(24), r.IntN(60))
	}
	return b.String()
}

// fetch copies the source of a module that the go command downloads.
func fetch(ctx context.Context, module, to string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside any module
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &info); jsonErr == nil && info.Error != "" {
		return fmt.Errorf("go mod download: %s", info.Error)
	}
	if err != nil {
		return fmt.Errorf("go mod download %s: %w", module, err)
	}
	if err := os.CopyFS(to, os.DirFS(info.Dir)); err != nil {
		return fmt.Errorf("copy %s: %w", module, err)
	}
	return nil
}

// edit makes the site of a module's source.
func (s Site) edit(source string) error {
	in := filepath.Join(source, filepath.FromSlash(s.In))
	for _, p := range s.Patch {
		file := filepath.Join(in, p[0])
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte(p[1])); n != 1 {
			return fmt.Errorf("%s has %q %d times, want once", p[0], p[1], n)
		}
		if err := os.WriteFile(file, bytes.Replace(text, []byte(p[1]), []byte(p[2]), 1), 0o644); err != nil {
			return err
		}
	}
	name := filepath.Join(in, strings.ToLower(s.Env)+".go")
	return os.WriteFile(name, []byte("package "+path.Base(s.In)+"\n"+s.Code), 0o644)
}

// build builds the edited server with its progress and its sites marked.
func (h *host) build(ctx context.Context) error {
	c := &instrument.Config{Packages: map[string][]instrument.Mark{}}
	mark := func(in, f string, kind instrument.Kind, id uint32) {
		pkg := h.importPath(in)
		c.Packages[pkg] = append(c.Packages[pkg], instrument.Mark{Kind: kind, ID: id, Func: f})
	}
	mark(h.Progress[0], h.Progress[1], instrument.Entry, 0)
	for i, s := range h.Sites {
		mark(s.In, s.Func, instrument.Site, uint32(i+1))
	}
	return turn.Build(ctx, c, h.source, "./"+h.Package, h.binary, "-trimpath")
}

// processors is where a server (0) or its clients (1) run, as taskset takes it: a server gets the first ones for itself if that leaves any. Else they share all.
func (h *host) processors(of int) string {
	all := runtime.NumCPU()
	switch {
	case h.o.procs >= all:
		return fmt.Sprintf("0-%d", all-1)
	case of == 0:
		return fmt.Sprintf("0-%d", h.o.procs-1)
	}
	return fmt.Sprintf("%d-%d", h.o.procs, all-1)
}

// importPath is that of a package of the module.
func (s Server) importPath(in string) string {
	module, _, _ := strings.Cut(s.Module, "@")
	return path.Join(module, in)
}

// freePort is one of 127.0.0.1 that nobody has just now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// env is the environment and the arguments of a changed server.
func (h *host) env(c change) (env, args []string, err error) {
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	env = append(os.Environ(), "PORT="+port, "DIR="+h.dir, "SELF="+h.self, "HOME="+h.dir, "GOMAXPROCS="+strconv.Itoa(h.o.procs), "CLIENTS="+h.processors(1))
	for i, s := range h.Sites {
		n := s.Times
		if i == c.site {
			n = n * (100 - c.percent) / 100
		}
		env = append(env, s.Env+"="+strconv.Itoa(n))
	}
	for _, a := range h.Args {
		args = append(args, strings.ReplaceAll(a, "$PORT", port))
	}
	return env, args, nil
}

// hire starts one of them and its clients.
func (h *host) hire(ctx context.Context, c change) (*turn.Worker, error) {
	env, args, err := h.env(c)
	if err != nil {
		return nil, err
	}
	program := exec.CommandContext(ctx, "taskset", append([]string{"-c", h.processors(0), h.binary}, args...)...)
	load := exec.CommandContext(ctx, "sh", "-c", "while :; do "+h.Load+"; sleep .1; done")
	for _, cmd := range []*exec.Cmd{program, load} {
		cmd.Dir, cmd.Env = h.dir, env
		cmd.Stdout, cmd.Stderr = h.null, h.null
	}
	return turn.Start(ctx, h.dir, program, load, false)
}

// measure prints a row for each site and each change of it. Half of the windows of real changes are before the profile and half after it, for the
// machine's hours differ.
func (h *host) measure(ctx context.Context, stdout io.Writer) error {
	ns := map[change][]float64{}
	starts := func(from, to int) error {
		for n := from; n < to; n++ {
			if err := h.edits(ctx, ns, h.o.rounds/h.o.starts); err != nil {
				return err
			}
		}
		return nil
	}
	if err := starts(0, h.o.starts/2); err != nil {
		return err
	}
	var said map[change]report.Effect
	var err error
	if h.o.duration > 0 {
		said, err = h.profile(ctx)
	}
	if err := starts(h.o.starts/2, h.o.starts); err != nil {
		return err
	}
	for i, s := range h.Sites {
		for _, d := range h.o.speedups {
			real := effect.Paired(ns[asItIs], ns[change{i, d}], .95, 0)
			p, off := "", ""
			if e, ok := said[change{i, d}]; ok {
				p = fmt.Sprintf("%+.1f [%+.1f, %+.1f]", e.Percent, e.Low, e.High)
				off = fmt.Sprintf("%+.1f", e.Percent-real.Percent)
			}
			fmt.Fprintf(stdout, "%-12s %-32s %4d%% %9.1f  %-22s %-22s %7s\n", h.Name, s.Name, d, mean(ns[asItIs])/1000,
				fmt.Sprintf("%+.1f [%+.1f, %+.1f]", real.Percent, real.Low, real.High), p, off)
		}
	}
	return err
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// edits starts each server, and adds its mean time per operation in so many windows, by what was changed.
func (h *host) edits(ctx context.Context, ns map[change][]float64, rounds int) error {
	workers := map[change]*turn.Worker{}
	defer func() {
		for _, w := range workers {
			w.End()
		}
	}()
	var kinds []change
	for i := range unchanged {
		kinds = append(kinds, change{asItIs.site, i})
	}
	for i := range h.Sites {
		for _, d := range h.o.speedups {
			kinds = append(kinds, change{i, d})
		}
	}
	for _, k := range kinds {
		w, err := h.hire(ctx, k)
		if err != nil {
			return err
		}
		workers[k] = w
	}
	sum := map[change]float64{}
	r := rand.New(rand.NewPCG(1, uint64(len(ns[asItIs]))))
	for range rounds {
		for _, i := range r.Perm(len(kinds)) {
			x, err := workers[kinds[i]].Window(ctx, 1, 1, h.o.window)
			if err != nil {
				return err
			}
			sum[kinds[i]] += x
		}
	}
	base := 0.
	for _, k := range kinds {
		if k.site == asItIs.site {
			base += sum[k] / float64(rounds) / unchanged
			continue
		}
		ns[k] = append(ns[k], sum[k]/float64(rounds))
	}
	ns[asItIs] = append(ns[asItIs], base)
	return nil
}

// pin has each process of a profiled server run on the server's processors, from its first window on.
func (h *host) pin() func(pid, speedup int, run func() error) error {
	pinned := 0
	return func(pid, _ int, run func() error) error {
		if pid != pinned {
			if out, err := exec.Command("taskset", "-a", "-p", "-c", h.processors(0), strconv.Itoa(pid)).CombinedOutput(); err != nil {
				return fmt.Errorf("taskset: %w: %s", err, bytes.TrimSpace(out))
			}
			pinned = pid
		}
		return run()
	}
}

// profile is what headway says of the server as it is, by what was changed.
func (h *host) profile(ctx context.Context) (map[change]report.Effect, error) {
	env, args, err := h.env(asItIs)
	if err != nil {
		return nil, err
	}
	name := func(in, f string) string { return h.importPath(in) + "." + f }
	o := causal.Options{
		Dir: h.dir, BuildDir: h.source, Package: "./" + h.Package, BuildFlags: []string{"-trimpath"}, Args: args, Env: env, Load: h.Load,
		Throughput: []string{name(h.Progress[0], h.Progress[1])},
		Cumulative: true, Runs: h.o.runs, Speedups: h.o.speedups, Duration: h.o.duration,
		Stdout: h.null, Stderr: h.null,
		Around: h.pin(),
		Events: func(e stage.Event) { fmt.Fprintf(h.log, "    %s: %s\n", e.Phase, e.Text) },
	}
	for _, s := range h.Sites {
		o.Sites = append(o.Sites, name(s.In, s.Func))
	}
	r, err := causal.Run(ctx, o)
	if r == nil {
		return nil, err
	}
	said := map[change]report.Effect{}
	for _, c := range r.Cases {
		for i := range h.Sites {
			if c.Group != "" && (o.Sites[i] == c.Group || strings.HasSuffix(o.Sites[i], "/"+c.Group)) {
				for _, e := range c.Effects {
					said[change{i, int(c.Params["speedup"] + .5)}] = e
				}
			}
		}
	}
	if err == nil && len(said) == 0 {
		err = errors.New("the report has no effect of these sites")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(h.log, "    %s\n", w)
	}
	return said, err
}
