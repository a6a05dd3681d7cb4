// Brief calls a function that does next to nothing, and for as long does something else.
package main

func main() {
	for {
		nothing()
		for range 100 {
			something++
		}
	}
}

var something int

//go:noinline
func nothing() {}
