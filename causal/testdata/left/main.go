// Left works for a while, in Go or, asked for C, in C, and after that its processors have nothing to do.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	time.Sleep(time.Second) // in which somebody may give the site its weight
	work(os.Args[1])
	fmt.Println("done")
	time.Sleep(time.Hour)
}

//go:noinline
func work(in string) {
	if in == "C" {
		rest()
		return
	}
	for begin := time.Now().UnixNano(); time.Now().UnixNano()-begin < int64(3*time.Second); { // of wall-clock time, which is real
	}
}
