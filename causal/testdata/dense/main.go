// Dense does one thing again and again that accounts make slower.
package main

import (
	"os"
	"sync"
	"syscall"
	"time"
)

const times = 64

var (
	mu     sync.Mutex
	rw     sync.RWMutex
	ch     = make(chan int, 1)
	at     time.Time
	kinds  = map[string]func(){"lock": lock, "rlock": rlock, "channel": channel, "marks": marks, "clock": clock, "call": call, "compute": compute}
	number int
)

func main() {
	does := kinds[os.Args[1]]
	for {
		site(does)
		done()
	}
}

//go:noinline
func site(does func()) { does() }

//go:noinline
func done() {}

func lock() {
	for range times {
		mu.Lock()
		mu.Unlock()
	}
}

func rlock() {
	for range times {
		rw.RLock()
		rw.RUnlock()
	}
}

func channel() {
	for range times {
		ch <- 1
		<-ch
	}
}

func marks() {
	for range times {
		inner()
	}
}

//go:noinline
func inner() {
	number = number*31 + 7
}

func clock() {
	for range times {
		at = time.Now()
	}
}

func call() {
	for range times {
		syscall.Getuid()
	}
}

func compute() {
	n := number
	for range 20 * times {
		n = n*31 + 7
	}
	number = n
}
