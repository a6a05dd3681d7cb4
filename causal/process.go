package causal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/causal/control"
)

// process is one run of the program.
type process struct {
	block *control.Block
	cmd   *exec.Cmd
	begun time.Time
	done  chan struct{} // closed when it has ended
	err   error
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
	p := &process{block: block, done: make(chan struct{}), begun: time.Now()}
	p.cmd = exec.Command(bin, o.Args...)
	p.cmd.Dir = o.Dir
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	p.cmd.Env = append(append([]string{}, env...), control.Env+"="+block.Path)
	if filepath.IsAbs(o.Dir) {
		p.cmd.Env = append(p.cmd.Env, "PWD="+o.Dir)
	}
	p.cmd.Stdout, p.cmd.Stderr = o.Stdout, o.Stderr
	// In a group of its own: a Ctrl-C is for headway, which then ends it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second
	started := make(chan error)
	go func() {
		// Pdeathsig fires when the starting thread ends, so keep it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			if errors.Is(p.err, exec.ErrWaitDelay) {
				p.err = nil
			}
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		block.Close()
		return nil, fmt.Errorf("starting the program: %w", err)
	}
	return p, nil
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

// stop ends the program and its group: first by asking.
func (p *process) stop() {
	p.block.SetOn(false)
	pid := p.cmd.Process.Pid
	select {
	case <-p.done:
	default:
		syscall.Kill(-pid, syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(3 * time.Second):
		}
	}
	syscall.Kill(-pid, syscall.SIGKILL) // what is left of the group
	<-p.done
	p.block.Close()
}
