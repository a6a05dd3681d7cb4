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
	// To, if not nil, gets those signals in the inner process that came to the outer one alone, and nobody
	// else in the process gets any: for a program that starts another and leaves it in its process group, where it has
	// those that came to all of them already.
	To chan<- os.Signal
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
	if e.To != nil {
		signal.Reset(e.Signals...)
	}
	got := make(chan os.Signal, 8)
	signal.Notify(got, e.Signals...)
	outer = fd
	go func() {
		for range got {
			unix.Write(fd, []byte{0})
		}
	}()
	if e.To == nil {
		return nil
	}
	go func() {
		b := make([]byte, 1)
		for {
			n, err := unix.Read(fd, b)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			e.To <- syscall.Signal(b[0])
		}
	}()
	return nil
}

// outer is where the outer process listens; -1 if there is none.
var outer = -1

// EndBy makes the outer process, when this one ends, end by a signal as a program has that this one ran for it: so
// that a shell sees an interrupt as one.
func EndBy(s syscall.Signal) {
	if outer >= 0 {
		unix.Write(outer, []byte{byte(s)})
	}
}

// again runs this program in new namespaces, with a new user namespace where it takes one, and returns how it ended.
func (e Entry) again(user bool) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("finding this program to run it in a namespace: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	own, theirs := os.NewFile(uintptr(pair[0]), "own"), os.NewFile(uintptr(pair[1]), "theirs")
	defer own.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: os.Args, Env: append(os.Environ(), marker+"=3"),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: []*os.File{theirs},
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
				// All that the kernel has: a new namespace begins with every one.
				if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil {
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
		theirs.Close()
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
	heard := make(chan time.Time, 64) // when the inner process had a signal
	by := make(chan syscall.Signal, 1)
	go func() {
		defer close(by)
		for b := make([]byte, 1); ; {
			if n, err := own.Read(b); n == 0 || err != nil {
				return
			}
			if b[0] == 0 {
				heard <- time.Now()
			} else {
				by <- syscall.Signal(b[0])
			}
		}
	}()
	for {
		select {
		case err = <-ended:
			if s, ok := <-by; ok && (s == unix.SIGINT || s == unix.SIGTERM || s == unix.SIGHUP) {
				signal.Reset(s)
				unix.Kill(os.Getpid(), s)
				time.Sleep(time.Second) // it is not blocked, so this is not waited for
			}
			return exitCode(cmd.ProcessState, err)
		case s := <-signals:
			if cameToBoth(heard) {
				continue
			}
			if e.To != nil {
				own.Write([]byte{byte(s.(syscall.Signal))})
				continue
			}
			cmd.Process.Signal(s)
			select {
			case <-heard:
			case <-time.After(time.Second):
			}
		}
	}
}

// cameToBoth waits for the inner process to say that it has the signal, too.
func cameToBoth(heard <-chan time.Time) bool {
	begin := time.Now()
	for end := time.After(patience); ; {
		select {
		case at := <-heard:
			// One that is older was its own.
			if begin.Sub(at) < patience {
				return true
			}
		case <-end:
			return false
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
