// Package limits knows what a process and its machine run out of when there are many
// connections: open files, local ports, memory for sockets, room on a disk. It tells the
// current figures, and turns the error that the kernel gives into a sentence that says
// what ran out, why, and which setting to change.
//
//	if s := limits.Explain(err); s != "" {
//		fmt.Fprintln(os.Stderr, s)
//	}
package limits

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// TimeWaitSeconds is how long Linux keeps the port of a connection that this side ended. It
// is a constant of the kernel (TCP_TIMEWAIT_LEN).
const TimeWaitSeconds = 60

// Files returns how many files the process may have open, and how far it may raise that itself.
// Go raises the first to the second when a program starts.
func Files() (soft, hard uint64, err error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, 0, err
	}
	return r.Cur, r.Max, nil
}

// RaiseFiles raises the limit on open files to at least want, beyond the hard limit where
// the process may, and returns what the limit is now. It never lowers it. The error is
// of the last attempt; got is right all the same.
func RaiseFiles(want uint64) (got uint64, err error) {
	soft, hard, err := Files()
	if err != nil || soft >= want {
		return soft, err
	}
	r := unix.Rlimit{Cur: want, Max: max(hard, want)}
	if err = unix.Setrlimit(unix.RLIMIT_NOFILE, &r); err == nil {
		return want, nil
	}
	if soft < hard {
		r = unix.Rlimit{Cur: min(want, hard), Max: hard}
		if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &r); e == nil {
			soft = r.Cur
			if soft >= want {
				err = nil
			}
		}
	}
	return soft, err
}

// OpenFiles returns how many files the process has open.
func OpenFiles() (int, error) {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return len(names) - 1, err // one is d
}

// Ports returns the first and the last port that outgoing connections take.
func Ports() (low, high int, err error) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil || low < 0 || high < low {
		return 0, 0, fmt.Errorf("ip_local_port_range %q: want two ports", bytes.TrimSpace(b))
	}
	return low, high, nil
}

// TimeWait returns how many ended connections still hold their port.
func TimeWait() (int, error) {
	b, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0, err
	}
	return timeWait(string(b))
}

func timeWait(stat string) (int, error) {
	for line := range strings.Lines(stat) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(words); i += 2 {
			if words[i] == "tw" {
				return strconv.Atoi(words[i+1])
			}
		}
	}
	return 0, errors.New("/proc/net/sockstat does not say how many TCP sockets are in TIME_WAIT")
}

// ConnectionRate returns how many new connections a second the ports from low to high
// allow to one address of one server when this side ends them: each keeps its port for
// [TimeWaitSeconds]. 32768 to 61000 gives 470.
func ConnectionRate(low, high int) float64 { return float64(high-low) / TimeWaitSeconds }

// Explain says in one sentence what ran out, why, and which setting to change, with the
// figures of this moment. It returns "" for errors that are not about something that
// ran out.
func Explain(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	switch errno {
	case unix.EMFILE:
		soft, hard, _ := Files()
		s := fmt.Sprintf("this process may have %d files and connections open and has them", soft)
		if hard > soft {
			return s + fmt.Sprintf(": raise the limit with ulimit -n, up to %d, or use fewer connections", hard)
		}
		return s + fmt.Sprintf(": raise the limit with ulimit -n as root (LimitNOFILE= under systemd; fs.nr_open, now %s, is the most), or use fewer connections", sysctl("fs/nr_open"))
	case unix.ENFILE:
		used, _, _ := strings.Cut(sysctl("fs/file-nr"), "\t")
		return fmt.Sprintf("the whole machine has %s files and connections open, of the %s that fs.file-max allows: raise fs.file-max", used, sysctl("fs/file-max"))
	case unix.EADDRNOTAVAIL:
		low, high, e := Ports()
		if e != nil {
			return "no local port, or no such local address, is free for another connection: keep more idle connections, or widen net.ipv4.ip_local_port_range"
		}
		waiting := "an unknown number of"
		if n, e := TimeWait(); e == nil {
			waiting = strconv.Itoa(n)
		}
		return fmt.Sprintf("no local port is free for another connection to that address: ports %d to %d allow %.0f new connections a second, because each ended one holds its port for %d s, and %s are in TIME_WAIT now: keep more idle connections so that they are used again, or widen net.ipv4.ip_local_port_range",
			low, high, ConnectionRate(low, high), TimeWaitSeconds, waiting)
	case unix.ENOBUFS:
		return fmt.Sprintf("the kernel has no memory for another socket: use fewer connections, or raise net.ipv4.tcp_mem, now %q pages", sysctl("net/ipv4/tcp_mem"))
	case unix.ENOMEM:
		return "the kernel has no memory left for this process: use fewer connections, or allow it more memory (the machine's, or the memory limit of its control group)"
	case unix.ENOSPC:
		return "the disk is full, in bytes or in files (df -h and df -i tell which): make room, or take another disk"
	case unix.EDQUOT:
		return "the user's quota on the disk is used up, in bytes or in files (quota -s tells which): make room, or have it raised"
	case unix.EROFS:
		return "the file system is mounted read-only: mount it for writing, or take another directory"
	}
	return ""
}

// sysctl reads a kernel setting, "?" where it cannot be read.
func sysctl(name string) string {
	b, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(b))
}
