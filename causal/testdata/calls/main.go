// Calls works in one goroutine and waits in system calls in three others, and for a while in forty whose threads end with them. Then it prints how many descriptors it has
// open that it has not opened, of how many threads; then it closes them, as a daemon does, has zeros to be read in their place, and
// prints "closed" when it has called as often again.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const calls = 300

var n atomic.Int64

func main() {
	go func() {
		for {
			work()
		}
	}()
	for range 3 {
		go func() {
			for {
				call()
			}
		}()
	}
	wait(calls)
	for range 10 {
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				runtime.LockOSThread() // and no unlock: the thread ends with the goroutine
				for range 20 {
					call()
				}
			})
		}
		done.Wait()
	}
	time.Sleep(20 * time.Millisecond)
	foreign := descriptors("schedstat")
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(foreign), len(threads))
	zero, err := syscall.Open("/dev/zero", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	for _, fd := range foreign {
		if err := syscall.Dup3(zero, fd, syscall.O_CLOEXEC); err != nil {
			panic(err)
		}
	}
	wait(n.Load() + calls)
	fmt.Println("closed")
	select {}
}

func call() {
	ts := syscall.NsecToTimespec(int64(500 * time.Microsecond))
	syscall.Nanosleep(&ts, nil)
	n.Add(1)
}

func wait(until int64) {
	for n.Load() < until {
		time.Sleep(time.Millisecond)
	}
}

// descriptors are those open on a file of that name.
func descriptors(name string) (fds []int) {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, e := range all {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && strings.HasSuffix(to, "/"+name) {
			fd, _ := strconv.Atoi(e.Name())
			fds = append(fds, fd)
		}
	}
	return fds
}

var sink uint64

//go:noinline
func work() {
	x := sink | 1
	for range 10_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
