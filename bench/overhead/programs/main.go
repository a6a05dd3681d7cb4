// Command programs holds small programs that are bound by different things, for
// measuring what profiling costs. Each does its operation over and over until it is ended.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
)

// programs start their work and return what counts the operations that are done.
var programs = map[string]func() (done *atomic.Int64){
	"channel":    channel,
	"mutex":      mutex,
	"json":       jsonSort,
	"allocation": allocation,
}

// operations is where bench/overhead finds how many are done.
var operations atomic.Pointer[atomic.Int64]

func main() {
	if len(os.Args) != 2 || programs[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: programs PROGRAM, one of %v\n", slices.Sorted(maps.Keys(programs)))
		os.Exit(2)
	}
	operations.Store(programs[os.Args[1]]())
	select {}
}
