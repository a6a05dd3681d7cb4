package causal

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a command in a process group of its own, so that a Ctrl-C is for headway, which then ends it. It does not outlive headway.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // then
}

func (c *child) start() error {
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.cmd.WaitDelay = time.Second
	c.done = make(chan struct{})
	started := make(chan error)
	go func() {
		// Pdeathsig fires when the starting thread ends, so keep it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.err = c.cmd.Wait()
			if errors.Is(c.err, exec.ErrWaitDelay) {
				c.err = nil
			}
			close(c.done)
		}
	}()
	return <-started
}

// end ends the command and its group: first by asking.
func (c *child) end() {
	pid := c.cmd.Process.Pid
	select {
	case <-c.done:
	default:
		syscall.Kill(-pid, syscall.SIGTERM)
		select {
		case <-c.done:
		case <-time.After(3 * time.Second):
		}
	}
	syscall.Kill(-pid, syscall.SIGKILL) // what is left of the group
	<-c.done
}
