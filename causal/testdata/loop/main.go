// Loop does the same step for ever: two thirds of it in one function, a third in another.
package main

var sink uint64

func main() {
	for {
		step()
	}
}

func step() {
	large()
	small()
}

//go:noinline
func large() { spin(200_000) }

//go:noinline
func small() {
	spin(100_000)
}

func spin(n int) {
	x := sink | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
