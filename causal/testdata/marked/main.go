// Marked says itself where it makes progress.
package main

import "github.com/headway-lab/headway/progress"

var sink uint64

func main() {
	for {
		for range 3 {
			progress.Begin("message")
			work()
			progress.End("message")
		}
		progress.Point("batch")
	}
}

//go:noinline
func work() {
	x := sink | 1
	for range 100_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
