package run

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attend waits for a process to end and passes on signals to it. It also takes leave of those whose
// parents are gone, which is what process 1 is for.
func attend(pid int, signals <-chan os.Signal) unix.WaitStatus {
	ended := make(chan unix.WaitStatus)
	go func() {
		for {
			var w unix.WaitStatus
			p, err := unix.Wait4(-1, &w, 0, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || p == pid {
				ended <- w
				return
			}
		}
	}()
	for {
		select {
		case w := <-ended:
			return w
		case s := <-signals:
			unix.Kill(pid, s.(syscall.Signal))
		}
	}
}

// grace is how long what a command leaves running may take to end.
const grace = time.Second

// bury ends what the command has left running: without the link it would have no network.
func bury() {
	if os.Getpid() != 1 {
		return
	}
	for signal, end := unix.SIGTERM, time.Now().Add(grace); ; time.Sleep(time.Millisecond) {
		for {
			p, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return
			}
			if p <= 0 && err != unix.EINTR {
				break
			}
		}
		if signal != 0 || time.Now().After(end) {
			if time.Now().After(end) {
				signal = unix.SIGKILL
			}
			unix.Kill(-1, signal)
			// A stopped one ends when it goes on.
			unix.Kill(-1, unix.SIGCONT)
			signal = 0
		}
	}
}
