// Left works for a while, and after that its processors have nothing to do.
package main

import (
	"fmt"
	"time"
)

func main() {
	fmt.Println("begins")
	work()
	fmt.Println("done")
	time.Sleep(time.Hour)
}

//go:noinline
func work() {
	for begin := time.Now().UnixNano(); time.Now().UnixNano()-begin < int64(3*time.Second); { // of wall-clock time, which is real
	}
}
