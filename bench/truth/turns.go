package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/limits"
)

// settles is how long a process goes on before its window, in which caches fill and threads find their processors.
const settles = 60 * time.Millisecond

// leaves is how long a process goes on after its window, in which what runs in the site ends its visit.
const leaves = 60 * time.Millisecond

// A worker is a process that has turns with others: it goes on for a window at a time, and stands still in between.
type worker struct {
	cmd   *exec.Cmd
	block *control.Block
}

// turns compares one speed-up of a site with the really shortened program in windows of a given length by turns, without a profile: what a
// profile would choose and measure in minutes, a bias of it shows in one. Effects are in percent of the time per operation.
type turns struct {
	plain, kept   []float64 // ns an operation of the program as it is: without accounts, and with
	sped          []float64 // virtual ns with the site sped up
	short, shortp []float64 // the shortened program, with accounts and without
}

// instrumentAll builds the programs of the cells with their sites and their progress marked.
func instrumentAll(ctx context.Context, module, dir string, cells []Cell) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, pkg := range packagesOf(cells) {
		path := "github.com/headway-lab/headway" + strings.TrimPrefix(pkg, ".")
		c := &instrument.Config{Packages: map[string][]instrument.Mark{path: {
			{Kind: instrument.Entry, ID: 0, Func: "progress"},
			{Kind: instrument.Site, ID: 1, Func: "siteA"},
			{Kind: instrument.Site, ID: 2, Func: "siteB"},
		}}}
		file := filepath.Join(dir, filepath.Base(pkg)+".json")
		flags := c.Flags(self, true)
		if err := c.Write(file); err != nil {
			return err
		}
		args := append([]string{"build", "-o", instrumented(dir, pkg)}, append(flags, pkg)...)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = module
		cmd.Env = append(os.Environ(), instrument.ConfigEnv+"="+file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

func instrumented(dir, pkg string) string {
	return filepath.Join(dir, filepath.Base(pkg)+"-instrumented")
}

// hire starts a cell's program, with its site shortened by so many percent and its accounts kept or not, and lets it stand still.
func hire(ctx context.Context, c Cell, dir string, iters float64, edit int, accounts bool) (*worker, error) {
	block, err := control.New(dir)
	if err != nil {
		return nil, err
	}
	w := &worker{block: block}
	args := append(c.program.args(c.step, iters), "-edit-"+c.site.Edit, strconv.Itoa(edit))
	w.cmd = exec.CommandContext(ctx, instrumented(dir, c.program.pkg()), args...)
	w.cmd.Env = append(c.program.env(os.Environ()), control.Env+"="+block.Path)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := w.cmd.Start(); err != nil {
		block.Close()
		return nil, err
	}
	for limit := time.Now().Add(20 * time.Second); block.Count(0).N == 0; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(limit) {
			w.dismiss()
			return nil, errors.Join(fmt.Errorf("%s makes no progress", c.program.Name), ctx.Err())
		}
	}
	block.SetOn(accounts)
	return w, w.cmd.Process.Signal(syscall.SIGSTOP)
}

func (w *worker) dismiss() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
	w.block.Close()
}

// turn is the virtual time per operation in one window, in ns, with the site's weight.
func (w *worker) turn(ctx context.Context, id int, weight int32, d time.Duration) (float64, error) {
	w.block.SetWeight(id, weight)
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return 0, err
	}
	// What stands still in the site goes on in it by the clock: at the end of a window it has to have left it with its weight, or all would have
	// to pay for the time until the next one. A step is a part of an operation.
	defer func() {
		w.block.SetWeight(id, 1)
		time.Sleep(leaves)
		w.cmd.Process.Signal(syscall.SIGSTOP)
	}()
	look := func() (virtual int64, n uint64) {
		now := control.Now()
		return now - w.block.Debt(now), w.block.Count(0).N
	}
	time.Sleep(settles)
	v0, n0 := look()
	time.Sleep(d)
	v1, n1 := look()
	if ctx.Err() != nil { // which has ended the process
		return 0, ctx.Err()
	}
	if n1 == n0 {
		return 0, errNothing
	}
	return float64(v1-v0) / float64(n1-n0), nil
}

var errNothing = errors.New("in too many windows no operation ended: set -edit-for to more")

// takeTurns measures one cell at one speed-up in so many rounds, in each of whose windows some operation ended. Of those that an
// error or the context ends all before are given.
func takeTurns(ctx context.Context, c Cell, dir string, iters float64, speedup, rounds int, d time.Duration) (t turns, err error) {
	id := 1
	if c.site.Edit == "B" {
		id = 2
	}
	var all []*worker
	defer func() {
		for _, w := range all {
			w.dismiss()
		}
	}()
	for _, of := range []struct {
		edit     int
		accounts bool
	}{{0, false}, {0, true}, {speedup, true}, {speedup, false}} {
		w, err := hire(ctx, c, dir, iters, of.edit, of.accounts)
		if err != nil {
			return t, err
		}
		all = append(all, w)
	}
	plain, kept, short, shortp := all[0], all[1], all[2], all[3]
	windows := []struct {
		w      *worker
		weight int32
		to     *[]float64
	}{
		{plain, 1, &t.plain}, {kept, 1, &t.kept}, {kept, int32(speedup * control.One / 100), &t.sped},
		{short, 1, &t.short}, {shortp, 1, &t.shortp},
	}
	r := rand.New(rand.NewPCG(uint64(speedup), uint64(id)))
	for missed := 0; len(t.plain) < rounds; {
		ns := make([]float64, len(windows))
		for _, i := range r.Perm(len(windows)) {
			if ns[i], err = windows[i].w.turn(ctx, id, windows[i].weight, d); err != nil {
				break
			}
		}
		if errors.Is(err, errNothing) && missed < rounds { // others had the machine: the round does not count
			missed++
			continue
		}
		if err != nil {
			return t, err
		}
		for i, w := range windows {
			*w.to = append(*w.to, ns[i])
		}
	}
	return t, nil
}

// print writes one line: what the real edit did, what the same did while accounts were kept, what the experiment says, and by
// how much accounts slow the program down.
func (t turns) print(w io.Writer, c Cell, speedup int) {
	e := func(base, changed []float64) string {
		x := effect.Paired(base, changed, .95, 0)
		return fmt.Sprintf("%+.1f [%+.1f, %+.1f]", x.Percent, x.Low, x.High)
	}
	fmt.Fprintf(w, "%-26s %-5v %-11s %3d%%  %10.2f  %-22s  %-22s  %-22s  %s\n", c.program.Name, c.step, c.site.Name, speedup,
		mean(t.plain)/1000, e(t.plain, t.shortp), e(t.kept, t.short), e(t.kept, t.sped), e(t.plain, t.kept))
}

// allTurns is the whole of -turns.
func allTurns(ctx context.Context, cells []Cell, o options, module, dir string, iters float64, stdout io.Writer) error {
	if err := instrumentAll(ctx, module, dir, cells); err != nil {
		return err
	}
	if i, err := limits.Interrupted(time.Second); err == nil {
		fmt.Fprintf(stdout, "%d processors, %v. Effects in percent of the time per operation; accounts cost what they make the program as it is slower by.\n", runtime.NumCPU(), i)
	}
	fmt.Fprintf(stdout, "%-26s %-5s %-11s %4s  %10s  %-22s  %-22s  %-22s  %s\n", "program", "step", "site", "d%", "us/op",
		"shortened", "the same, accounts kept", "experiment", "accounts cost")
	for _, c := range cells {
		for _, d := range o.speedups {
			t, err := takeTurns(ctx, c, dir, iters, d, o.turns, o.editFor)
			if len(t.plain) > 1 {
				t.print(stdout, c, d)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%v: %w", c, err)
			}
		}
	}
	return nil
}
