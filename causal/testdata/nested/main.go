// Nested runs in two functions that never return, as a server's loop around connections does.
package main

var sink uint64

func main() { outer() }

//go:noinline
func outer() {
	for {
		inner()
	}
}

//go:noinline
func inner() {
	for range uint64(1) << 60 {
		step()
	}
}

//go:noinline
func step() {
	x := sink | 1
	for range 200_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
