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
	"time"

	"github.com/headway-lab/headway/bench/turn"
	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/limits"
)

// turns compares one speed-up of a site with the really shortened program in windows of a given length by turns, without a profile: what a
// profile would choose and measure in minutes, a bias of it shows in one. Effects are in percent of the time per operation.
type turns struct {
	plain, kept   []float64 // ns an operation of the program as it is: without accounts, and with
	sped          []float64 // virtual ns with the site sped up
	short, shortp []float64 // the shortened program, with accounts and without
}

// instrumentAll builds the programs of the cells with their sites and their progress marked.
func instrumentAll(ctx context.Context, module, dir string, cells []Cell) error {
	for _, pkg := range packagesOf(cells) {
		path := "github.com/headway-lab/headway" + strings.TrimPrefix(pkg, ".")
		c := &instrument.Config{Packages: map[string][]instrument.Mark{path: {
			{Kind: instrument.Entry, ID: 0, Func: "progress"},
			{Kind: instrument.Site, ID: 1, Func: "siteA"},
			{Kind: instrument.Site, ID: 2, Func: "siteB"},
		}}}
		if err := turn.Build(ctx, c, module, pkg, instrumented(dir, pkg)); err != nil {
			return err
		}
	}
	return nil
}

func instrumented(dir, pkg string) string {
	return filepath.Join(dir, filepath.Base(pkg)+"-instrumented")
}

// hire starts a cell's program, with its site shortened by so many percent and its accounts kept or not, and lets it stand still.
func hire(ctx context.Context, c Cell, dir string, iters float64, edit int, accounts bool) (*turn.Worker, error) {
	args := append(c.program.args(c.step, iters), "-edit-"+c.site.Edit, strconv.Itoa(edit))
	cmd := exec.CommandContext(ctx, instrumented(dir, c.program.pkg()), args...)
	cmd.Env = c.program.env(os.Environ())
	w, err := turn.Start(ctx, dir, cmd, nil, accounts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.program.Name, err)
	}
	return w, nil
}

var errNothing = errors.New("in too many windows no operation ended: set -edit-for to more")

// takeTurns measures one cell at one speed-up in so many rounds, in each of whose windows some operation ended. Of those that an
// error or the context ends all before are given.
func takeTurns(ctx context.Context, c Cell, dir string, iters float64, speedup, rounds int, d time.Duration) (t turns, err error) {
	id := 1
	if c.site.Edit == "B" {
		id = 2
	}
	var all []*turn.Worker
	defer func() {
		for _, w := range all {
			w.End()
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
		w      *turn.Worker
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
			if ns[i], err = windows[i].w.Window(ctx, id, windows[i].weight, d); err != nil {
				break
			}
		}
		if errors.Is(err, turn.ErrNothing) && missed < rounds { // others had the machine: the round does not count
			missed++
			continue
		}
		if errors.Is(err, turn.ErrNothing) {
			err = errNothing
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
