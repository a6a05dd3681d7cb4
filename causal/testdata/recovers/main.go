// Recovers leaves a function by a panic, after its stack has been moved, and goes on. It begins when the file of its argument is there.
package main

import (
	"os"
	"time"
)

func main() {
	for {
		if _, err := os.Stat(os.Args[1]); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	outer()
	println("out")
	compute(time.Hour)
}

//go:noinline
func outer() {
	recovers()
	println("in")
	compute(time.Second)
}

//go:noinline
func recovers() {
	defer func() { recover() }()
	fails(compute(10 * time.Millisecond))
}

//go:noinline
func fails(n int) int { return deep(n) + 1 }

// deep needs more stack than a goroutine begins with.
//
//go:noinline
func deep(n int) int {
	var frame [1 << 10]byte
	if n == 64 {
		panic("deep enough")
	}
	frame[n%len(frame)] = 1
	return deep(n+1) + int(frame[(n+1)%len(frame)])
}

// compute returns 0, after a while.
//
//go:noinline
func compute(d time.Duration) int {
	n := 0
	for begin := time.Now(); time.Since(begin) < d; {
		n = 0
	}
	return n
}
