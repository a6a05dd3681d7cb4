package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// work is the client inside of an emulator: it says when it begins, and at the end how many datagrams it has sent and how many
// packets its devices have sent and received meanwhile.
func work(text string) error {
	var t Task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	to := func(port int) string { return fmt.Sprintf("%s:%d", t.To, port) }
	var wg sync.WaitGroup
	end := make(chan struct{})
	var flows []net.Conn
	for range t.Flows {
		c, err := net.DialTimeout("tcp4", to(flowPort), 10*time.Second)
		if err != nil {
			return err
		}
		if t.Pace > 0 {
			raw, err := c.(*net.TCPConn).SyscallConn()
			if err != nil {
				return err
			}
			raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, int(t.Pace/8)) })
		}
		flows = append(flows, c)
	}
	probes, err := net.Dial("udp4", to(probePort))
	if err != nil {
		return err
	}
	before := packets()
	fmt.Println("begin")
	for _, c := range flows {
		wg.Go(func() {
			b := make([]byte, 1<<17)
			for {
				select {
				case <-end:
					return
				default:
				}
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
	}
	timer := time.AfterFunc(t.Each, func() {
		close(end)
		for _, c := range flows {
			c.SetWriteDeadline(time.Now())
		}
	})
	defer timer.Stop()
	sent := 0
	if t.Probes != 0 {
		sent, err = probe(probes, t, end)
	}
	wg.Wait()
	fmt.Println(sent, packets()-before)
	time.Sleep(300 * time.Millisecond) // until everybody's processor time has been read
	for _, c := range flows {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	return err
}

// probe sends datagrams with the time at which each leaves.
func probe(c net.Conn, t Task, end <-chan struct{}) (sent int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	raw, err := c.(*net.UDPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	b := make([]byte, t.Size)
	var next, now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &next)
	for t.Count == 0 || sent < t.Count {
		select {
		case <-end:
			if t.Count == 0 {
				return sent, nil
			}
		default:
		}
		if t.Probes > 0 {
			next = unix.NsecToTimespec(next.Nano() + int64(time.Second)/int64(t.Probes))
			for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &next, nil) == unix.EINTR {
			}
		}
		unix.ClockGettime(unix.CLOCK_REALTIME, &now)
		binary.BigEndian.PutUint64(b, uint64(now.Nano()))
		raw.Write(func(fd uintptr) bool { _, err = unix.Write(int(fd), b); return true })
		if err == unix.EAGAIN || err == unix.ENOBUFS || err == unix.ECONNREFUSED || err == unix.EINTR {
			err = nil
			continue
		}
		if err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// packets is how many the devices of this namespace have sent and received.
func packets() (n int64) {
	f, err := os.Open("/proc/thread-self/net/dev")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, counters, ok := strings.Cut(s.Text(), ":")
		if !ok || strings.TrimSpace(name) == "lo" {
			continue
		}
		var x [10]int64
		for i, w := range strings.Fields(counters)[:10] {
			fmt.Sscan(w, &x[i])
		}
		n += x[1] + x[9]
	}
	return n
}
