// Deep calls a function from far down the stack, as a server does behind its middleware, that calls as many again; says when it has
// come to the end of them, works for a second, and when the function is left goes on from there.
package main

import (
	"os"
	"strconv"
	"time"
)

func main() {
	deep, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	here(20, func() {
		work(deep)
		println("out")
		compute(time.Hour)
	})
}

//go:noinline
func work(n int) {
	here(n, func() {
		println("in")
		compute(time.Second)
	})
}

//go:noinline
func here(n int, end func()) {
	if n == 0 {
		end()
		return
	}
	there(n-1, end)
}

//go:noinline
func there(n int, end func()) {
	if n == 0 {
		end()
		return
	}
	here(n-1, end)
}

func compute(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
		here(2, func() {})
	}
}
