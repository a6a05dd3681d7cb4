package causal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/causal/control"
)

// process is one run of the program.
type process struct {
	child
	block *control.Block
	begun time.Time
	load  *driver // nil: somebody else sends it
}

// errEnded says that the program ended by itself.
type errEnded struct{ err error }

func (e *errEnded) Error() string {
	var exit *exec.ExitError
	if errors.As(e.err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return fmt.Sprintf("the program was ended by signal %d (%v) during the profile", ws.Signal(), ws.Signal())
		}
		return fmt.Sprintf("the program ended with status %d during the profile", exit.ExitCode())
	}
	if e.err != nil {
		return "the program ended during the profile: " + e.err.Error()
	}
	return "the program ended by itself during the profile; it has to run for as long as the experiments take (--duration), or repeat its work"
}

func start(o *Options, dir, bin string) (*process, error) {
	block, err := control.New(dir)
	if err != nil {
		return nil, err
	}
	block.SetOpen(o.Open)
	p := &process{block: block, begun: time.Now()}
	p.cmd = exec.Command(bin, o.Args...)
	p.cmd.Dir = cmp.Or(o.programDir, o.Dir)
	p.cmd.Env = append(environ(o), control.Env+"="+block.Path)
	if filepath.IsAbs(p.cmd.Dir) {
		p.cmd.Env = append(p.cmd.Env, "PWD="+p.cmd.Dir)
	}
	p.cmd.Stdout, p.cmd.Stderr = o.Stdout, o.Stderr
	if err := p.child.start(); err != nil {
		block.Close()
		return nil, fmt.Errorf("starting the program: %w", err)
	}
	if o.Load != "" {
		p.load = drive(o)
	}
	return p, nil
}

// environ is a copy of the environment that the user has asked for.
func environ(o *Options) []string {
	if o.Env != nil {
		return slices.Clone(o.Env)
	}
	return os.Environ()
}

// cpu is the processor time that the program has used.
func (p *process) cpu() (time.Duration, error) {
	var t unix.Timespec
	// The number of another process's clock is made as in the kernel's posix-timers.h; 2 is CPUCLOCK_SCHED.
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("reading how much processor time the program has used: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// sleep waits, unless the context ends or the program does.
func (p *process) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return &errEnded{p.err}
	}
}

// keep has the program keep accounts, or not, and returns when it does.
func (p *process) keep(ctx context.Context, on bool) error {
	p.block.SetOn(on)
	const patience = 20 * time.Second
	for limit := time.Now().Add(patience); p.block.Kept() != on; {
		if time.Now().After(limit) {
			return fmt.Errorf("the program has not answered for %v: it is stopped, or gets no processor", patience)
		}
		if err := p.sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the program, and before it what sends it load.
func (p *process) stop() {
	if p.load != nil {
		p.load.stop()
	}
	p.block.SetOn(false)
	p.child.end()
	p.block.Close()
}
