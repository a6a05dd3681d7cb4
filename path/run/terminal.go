package run

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Terminal returns what gives the terminal back to this process's group if it has it now: a shell
// that was started here takes it, and cannot know whose it was.
func Terminal() (restore func()) {
	fd := int(os.Stdin.Fd())
	group := unix.Getpgrp()
	if now, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || now != group {
		return func() {}
	}
	return func() {
		now, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err != nil || now == group {
			return
		}
		// Who is in the background is stopped when it takes the terminal, unless it does not listen.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var block, old unix.Sigset_t
		block.Val[(unix.SIGTTOU-1)/64] |= 1 << ((unix.SIGTTOU - 1) % 64)
		if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old) != nil {
			return
		}
		unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, group)
		unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	}
}
