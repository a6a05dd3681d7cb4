package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// marker is set in the environment of a process that Enter has started: the descriptor on which it
// says that it has got a signal.
const marker = "HEADWAY_LINK_ENTERED"

// Entry says what Enter makes.
type Entry struct {
	// Always starts another process, even where this one may make links.
	Always bool
	// Processes puts it into a process namespace of its own: whatever it starts ends with it,
	// however it ends. It is process 1 there, and must wait for those whose parents are gone.
	Processes bool
	// Signals are passed on; none is SIGINT and SIGTERM.
	Signals []os.Signal
	// Files are handed over: descriptor 4 and so on.
	Files []*os.File
}

// Enter makes sure that the process may make links. Where it may not, for want of root, it runs
// itself again, with the same arguments, environment and files, in a user and a mount namespace of its
// own, and waits: then done is true, and the caller exits with code. Else the caller goes on.
//
// The network is still the host's. The user stays the one who called, with every capability over the
// namespaces that the process makes, and none beyond.
// Either process ends when the other does. A signal reaches the inner one once: when it came to both, as an
// interrupt from the terminal does, it is not passed on again.
//
// Call it before anything that cannot be done twice. Where user namespaces are not allowed either,
// the error says which setting forbids them.
func Enter(ctx context.Context) (done bool, code int, err error) { return Entry{}.Enter(ctx) }

// entered says that this process is the inner one.
var entered bool

// Enter is the function of that name, as e says.
func (e Entry) Enter(ctx context.Context) (done bool, code int, err error) {
	if len(e.Signals) == 0 {
		e.Signals = []os.Signal{unix.SIGINT, unix.SIGTERM}
	}
	if ack := os.Getenv(marker); ack != "" {
		os.Unsetenv(marker)
		entered = true
		return false, 0, e.inside(ack)
	}
	mayJoin := permitted()
	if entered || mayJoin == nil && !e.Always {
		return false, 0, nil
	}
	if err := ctx.Err(); err != nil {
		return false, 0, err
	}
	code, err = e.again(mayJoin != nil)
	return err == nil, code, err
}

// permitted says what keeps this process from making network namespaces.
func permitted() error {
	return onThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
}

// inside is what the inner process does first.
func (e Entry) inside(ack string) error {
	var fd int
	if _, err := fmt.Sscanf(ack, "%d", &fd); err != nil {
		return fmt.Errorf("%s=%q in the environment: that is for headway's own use", marker, ack)
	}
	unix.CloseOnExec(fd)
	// What is mounted from now on is nobody else's.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if e.Processes {
		// Where /proc is covered in parts, as in containers, the kernel refuses a new one; the old one shows the
		// processes outside, and still this one as self.
		unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	got := make(chan os.Signal, 8)
	signal.Notify(got, e.Signals...)
	go func() {
		for range got {
			unix.Write(fd, []byte{1})
		}
	}()
	return nil
}

// again runs this program in new namespaces, with a new user namespace where it takes one, and returns how it ended.
func (e Entry) again(user bool) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("finding this program to run it in a namespace: %w", err)
	}
	acks, ack, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer acks.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: os.Args, Env: append(os.Environ(), marker+"=3"),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: append([]*os.File{ack}, e.Files...),
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL},
	}
	if _, err := os.Stat(cmd.Path); err != nil {
		cmd.Path = self
	}
	a := cmd.SysProcAttr
	if e.Processes {
		a.Cloneflags |= unix.CLONE_NEWPID
	}
	if user {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		if os.Geteuid() != 0 {
			for c := range uintptr(unix.CAP_LAST_CAP + 1) {
				if r, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && r == 1 {
					a.AmbientCaps = append(a.AmbientCaps, c)
				}
			}
		}
	}
	// Whoever else listens for these signals would end this process, and the inner one with it.
	signal.Reset(e.Signals...)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, e.Signals...)
	defer signal.Stop(signals)

	ended := make(chan error)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the signal of a parent's death is that of its thread
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		ack.Close()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		if user {
			return 0, forbidden(err)
		}
		return 0, fmt.Errorf("running itself in namespaces of its own: %w", err)
	}
	heard := make(chan struct{}, 64)
	go func() {
		defer close(heard)
		for b := make([]byte, 1); ; {
			if n, err := acks.Read(b); n == 0 || err != nil {
				return
			}
			heard <- struct{}{}
		}
	}()
	for {
		select {
		case err = <-ended:
			return exitCode(cmd.ProcessState, err)
		case s := <-signals:
			select {
			case <-heard: // it came to both
			case <-time.After(patience):
				cmd.Process.Signal(s)
				select {
				case <-heard:
				case <-time.After(time.Second):
				}
			}
		}
	}
}

// patience is how long a signal that came to both processes may take to be answered.
const patience = 100 * time.Millisecond

// exitCode is what a shell would say of how a process ended.
func exitCode(s *os.ProcessState, err error) (int, error) {
	if s == nil {
		return 0, err
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), nil
	}
	return s.ExitCode(), nil
}

// ErrForbidden is that neither root nor a user namespace is to be had.
var ErrForbidden = errors.New("network namespaces are not allowed here")

// forbidden says which setting forbids user namespaces, as far as it can be known.
func forbidden(err error) error {
	read := func(name string) string {
		b, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	why := ""
	switch {
	case read("user/max_user_namespaces") == "0":
		why = "user.max_user_namespaces is 0; set it to 10000"
	case read("kernel/unprivileged_userns_clone") == "0":
		why = "kernel.unprivileged_userns_clone is 0; set it to 1"
	case read("kernel/apparmor_restrict_unprivileged_userns") == "1":
		why = "kernel.apparmor_restrict_unprivileged_userns is 1; set it to 0, or give this program an AppArmor profile that says userns"
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		why = "this kernel has no user namespaces"
	case errors.Is(err, unix.ENOSPC):
		why = "no more user namespaces: user.max_user_namespaces, or too many nested"
	default:
		why = "user namespaces are refused, as containers do: allow unshare and clone there, in docker with --security-opt seccomp=unconfined or --privileged"
	}
	return fmt.Errorf("%w: it takes root, or a user namespace, and %s (%w)", ErrForbidden, why, err)
}
