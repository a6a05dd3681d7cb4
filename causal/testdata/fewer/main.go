// Fewer takes processors away, its own among them, prints a line and does nothing more.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

func main() {
	for range 100 {
		runtime.GOMAXPROCS(8)
		var all sync.WaitGroup
		for range 8 {
			all.Go(lower)
		}
		all.Wait()
	}
	fmt.Println("done")
	time.Sleep(time.Hour)
}

func lower() {
	for t := time.Now(); time.Since(t) < time.Millisecond; {
	}
	runtime.GOMAXPROCS(1)
}
