// Command ends does its work for three seconds and comes to its end.
package main

import (
	"time"

	"github.com/headway-lab/headway/progress"
)

var sink uint64

//go:noinline
func work() {
	for i := range uint64(200_000) {
		sink = sink*31 + i
	}
}

func main() {
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		work()
		progress.Point("step")
	}
}
