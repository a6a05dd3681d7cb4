// Left works for a while, and after that its processors have nothing to do. It must have no C in it, for with C a processor has something to do.
package main

import (
	"fmt"
	"time"
)

func main() {
	time.Sleep(time.Second) // in which somebody may give the site its weight
	work()
	fmt.Println("done")
	time.Sleep(time.Hour)
}

//go:noinline
func work() {
	for begin := time.Now().UnixNano(); time.Now().UnixNano()-begin < int64(3*time.Second); { // of wall-clock time, which is real
	}
}
