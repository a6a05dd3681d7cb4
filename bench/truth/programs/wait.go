package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("compute-sleep", 0, computeSleep)
	add("syscalls", 0, syscalls)
	add("syscalls-two", 0, syscallsTwo)
	add("signal", 0, signals)
	add("ticker", 0, ticker)
	add("select-guard", 0, selectGuard)
	add("select-timeout", 0, selectTimeout)
}

// computeSleep does A, then sleeps as long. (Go rounds a sleep of less than a
// millisecond up to one where no processor is busy: see the README.)
func computeSleep(c harness.Config) {
	na, wait := c.A(.5), c.Time(.5)
	for {
		siteA(na)
		time.Sleep(wait)
		progress()
	}
}

// syscalls is three goroutines that do A (.3) and wait .9 in a system call, as for a disk. The kernel may end a sleep 50 us late, and
// then two at a time, which is a whole step, so it is told to be exact for the time of the call.
func syscalls(c harness.Config) {
	na, wait := c.A(.3), unix.NsecToTimespec(int64(c.Time(.9)))
	for range 3 {
		go func() {
			for {
				siteA(na)
				slack(1)
				for left := wait; unix.Nanosleep(&left, &left) == unix.EINTR; {
				}
				slack(0)
				progress()
			}
		}()
	}
	select {}
}

// slack says how late, in ns, the kernel may end this thread's sleeps; 0: as ever.
func slack(ns uintptr) {
	if _, _, err := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, ns, 0); err != 0 {
		fatal(err)
	}
}

// syscallsTwo is the same where one system call begins what another waits for: it sets a timer, and reads the timer's descriptor.
func syscallsTwo(c harness.Config) {
	na, wait := c.A(.3), c.Time(.9)
	for range 3 {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
		if err != nil {
			fatal(err)
		}
		go func() {
			once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}
			var expired [8]byte
			for {
				siteA(na)
				if err := unix.TimerfdSettime(fd, 0, &once, nil); err != nil {
					fatal(err)
				}
				for {
					if _, err := unix.Read(fd, expired[:]); err == nil {
						break
					} else if err != unix.EINTR {
						fatal(err)
					}
				}
				progress()
			}
		}()
	}
	select {}
}

// signals sends itself a signal, at which another goroutine does A (.6) and answers; then it does B (.4).
func signals(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			siteA(na)
			done <- struct{}{}
		}
	}()
	for {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
			fatal(err)
		}
		<-done
		siteB(nb)
		progress()
	}
}

// ticker does A (1.28) and B (.1) and then waits for the next tick; ticks come every
// step. So an operation takes two ticks; with A at half it is .74, and takes one.
func ticker(c harness.Config) {
	na, nb := c.A(1.28), c.B(.1)
	every, start := c.Step, time.Now()
	for {
		siteA(na)
		siteB(nb)
		gone := time.Since(start)
		time.Sleep(every - gone%every)
		progress()
	}
}

// selectGuard asks a worker for A and waits for its answer or a timeout that never
// comes, then does B.
func selectGuard(c harness.Config) {
	na, nb, limit := c.A(.6), c.B(.4), 100*c.Step+time.Second
	ask, answer := worker(na)
	for {
		ask <- struct{}{}
		select {
		case <-answer:
		case <-time.After(limit):
			panic("the timeout came")
		}
		siteB(nb)
		progress()
	}
}

// selectTimeout asks a worker for A (.8) and gives up after .5; then it does B (.5)
// itself and takes the late answer. With A at half the answer comes in time.
func selectTimeout(c harness.Config) {
	na, nb, limit := c.A(.8), c.B(.5), c.Time(.5)
	ask, answer := worker(na)
	for {
		ask <- struct{}{}
		select {
		case <-answer:
		case <-time.After(limit):
			siteB(nb)
			<-answer
		}
		progress()
	}
}

// worker answers every question after doing A.
func worker(n int) (ask, answer chan struct{}) {
	ask, answer = make(chan struct{}), make(chan struct{}, 1)
	go func() {
		for range ask {
			siteA(n)
			answer <- struct{}{}
		}
	}()
	return ask, answer
}
