// Pair hands each piece of work from one goroutine to another.
package main

var sink [2]uint64

func main() {
	pieces := make(chan int, 4)
	go func() {
		for {
			finish(<-pieces)
		}
	}()
	for n := 0; ; n++ {
		begin()
		spin(0, 100_000)
		pieces <- n
	}
}

//go:noinline
func begin() {}

//go:noinline
func finish(int) { spin(1, 200_000) }

//go:noinline
func spin(i, n int) {
	x := sink[i] | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
	}
	sink[i] = x
}
