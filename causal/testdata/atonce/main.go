// Atonce does the same in four goroutines at once, each on a processor of its own.
package main

import (
	"runtime"
	"sync"
)

var sink [4]struct {
	x uint64
	_ [56]byte
}

func main() {
	runtime.GOMAXPROCS(len(sink))
	for i := range sink {
		go func() {
			var mu sync.Mutex
			for {
				work(i)
				mu.Lock() // others may see this
				mu.Unlock()
			}
		}()
	}
	select {}
}

//go:noinline
func work(i int) {
	x := sink[i].x | 1
	for range 100_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink[i].x = x
}
