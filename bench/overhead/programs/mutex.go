package main

import (
	"sync"
	"sync/atomic"
)

// mutex is four goroutines that contend for one lock: about 5 us of work inside
// for 10 us outside. An operation is one turn.
func mutex() *atomic.Int64 {
	var (
		mu sync.Mutex
		n  = new(atomic.Int64)
	)
	for range 4 {
		go func() {
			x := uint64(1)
			for {
				mu.Lock()
				x = inside(x)
				mu.Unlock()
				x = outside(x)
				n.Add(1)
			}
		}()
	}
	return n
}

func inside(x uint64) uint64  { return spin(x, 5_000) }
func outside(x uint64) uint64 { return spin(x, 10_000) }

// spin computes for about n ns.
//
//go:noinline
func spin(x uint64, n int) uint64 {
	for range n / 2 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
