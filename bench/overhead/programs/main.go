// Command programs holds small programs that are bound by different things, for
// measuring what profiling costs. Each does its operation over and over for a
// time and says how often it did.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// programs start their work and return a function that says how many operations
// are done so far.
var programs = map[string]func() (done func() int64){
	"channel":    channel,
	"mutex":      mutex,
	"json":       jsonSort,
	"allocation": allocation,
}

const warmUp = 200 * time.Millisecond

func main() {
	lasts := flag.Duration("for", time.Second, "how long to measure")
	flag.Parse()
	start, ok := programs[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "usage: programs [-for DURATION] PROGRAM, one of %v\n", slices.Sorted(maps.Keys(programs)))
		os.Exit(2)
	}
	done := start()
	time.Sleep(warmUp)
	before, begin := done(), time.Now()
	time.Sleep(*lasts)
	n, d := done()-before, time.Since(begin).Seconds()
	fmt.Printf("%d operations in %.3f s: %.0f operations/s\n", n, d, float64(n)/d)
}
