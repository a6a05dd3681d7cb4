// Collector is one goroutine beside a busy collector: it computes, then replaces a part of what it keeps.
package main

import "runtime/debug"

type node struct {
	next *node
	_    [6]uint64
}

var (
	sink uint64
	root node
	kept = make([]*node, 1<<17)
	at   int
)

func main() {
	debug.SetGCPercent(25)
	for {
		step()
	}
}

func step() {
	large()
	replace()
}

//go:noinline
func large() {
	x := sink | 1
	for range 50_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}

//go:noinline
func replace() {
	for range 1000 {
		kept[at] = &node{next: &root}
		at = (at + 1) % len(kept)
	}
}
