// Cgo does half of its work in C.
package main

/*
static unsigned long spin(unsigned long x, int n) {
	for (int i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
	}
	return x;
}
*/
import "C"

var sink C.ulong = 1

func main() {
	for {
		step()
	}
}

func step() {
	inC()
	inGo()
}

//go:noinline
func inC() { sink = C.spin(sink, 200_000) }

//go:noinline
func inGo() {
	x := sink | 1
	for range 100_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
