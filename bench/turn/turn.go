// Package turn lets processes that are compared with each other have turns: one of them runs for a window, the others stand still. So
// each meets the same hour of the machine.
package turn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
)

const (
	// settles is how long a process goes on before its window, in which caches fill and threads find their processors.
	settles = 60 * time.Millisecond
	// leaves is how long a process goes on after its window, in which what runs in the site ends its visit.
	leaves = 60 * time.Millisecond
	// patience is how long the first operation may take.
	patience = 30 * time.Second
)

// ErrNothing is a window in which no operation ended.
var ErrNothing = errors.New("no operation ended in the window")

// A Worker is an instrumented program that has turns with others: it goes on for a window at a time, and stands still in between.
type Worker struct {
	cmds  []*exec.Cmd // the program and what sends it its load, each with a process group of its own
	block *control.Block
}

// Build builds a package, named from a directory, as a profile would with these marks. The program that calls it is the go command's toolexec.
func Build(ctx context.Context, c *instrument.Config, dir, pkg, out string, flags ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	marked := c.Flags(self, true)
	if err := c.Write(out + ".json"); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", out}, flags, marked, []string{pkg})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), instrument.ConfigEnv+"="+out+".json")
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, b)
	}
	return nil
}

// Start starts an instrumented program, whose progress point is the one numbered 0, and its load, if it has one, waits until there is
// progress, and lets both stand still. The program's accounts are kept or not.
func Start(ctx context.Context, dir string, program, load *exec.Cmd, accounts bool) (*Worker, error) {
	block, err := control.New(dir)
	if err != nil {
		return nil, err
	}
	w := &Worker{block: block}
	if program.Env == nil {
		program.Env = os.Environ()
	}
	program.Env = append(program.Env, control.Env+"="+block.Path)
	for _, cmd := range []*exec.Cmd{program, load} {
		if cmd == nil {
			continue
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			w.End()
			return nil, fmt.Errorf("%s: %w", cmd.Path, err)
		}
		w.cmds = append(w.cmds, cmd)
	}
	for _, of := range []struct {
		what string
		done func() bool
	}{
		{"progress", func() bool { return block.Count(0).N > 0 }},
		{"answer to whether accounts are kept", func() bool { block.SetOn(accounts); return block.Kept() == accounts }},
	} {
		for limit := time.Now().Add(patience); !of.done(); time.Sleep(time.Millisecond) {
			if ctx.Err() != nil || time.Now().After(limit) {
				w.End()
				return nil, errors.Join(fmt.Errorf("no %s within %v", of.what, patience), ctx.Err())
			}
		}
	}
	return w, w.signal(syscall.SIGSTOP)
}

// signal sends a signal to all, first to what sends the load.
func (w *Worker) signal(s syscall.Signal) error {
	for i := len(w.cmds) - 1; i >= 0; i-- {
		if err := syscall.Kill(-w.cmds[i].Process.Pid, s); err != nil {
			return fmt.Errorf("%s: %w", w.cmds[i].Path, err)
		}
	}
	return nil
}

// End ends the processes.
func (w *Worker) End() {
	for i := len(w.cmds) - 1; i >= 0; i-- {
		syscall.Kill(-w.cmds[i].Process.Pid, syscall.SIGKILL)
		w.cmds[i].Wait()
	}
	w.block.Close()
}

// Window is the virtual time per operation in one window, in ns, while the site with that number has a weight, of control.One.
func (w *Worker) Window(ctx context.Context, site int, weight int32, d time.Duration) (float64, error) {
	w.block.SetWeight(site, weight)
	if err := w.signal(syscall.SIGCONT); err != nil {
		return 0, err
	}
	// What stands still in the site goes on in it by the clock: at the end of a window it has to have left it with its weight, or all would have
	// to pay for the time until the next one. A step is a part of an operation.
	defer func() {
		w.block.SetWeight(site, 1)
		time.Sleep(leaves)
		w.signal(syscall.SIGSTOP)
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
		return 0, ErrNothing
	}
	return float64(v1-v0) / float64(n1-n0), nil
}
