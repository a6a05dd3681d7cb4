// Package loop does over and over what some of the programs do by which the Go team judges its compiler and runtime (Sweet, in
// golang.org/x/benchmarks), for measuring what profiling costs real ones. Chosen are all of Sweet that can be
// had as modules and need no processes or data of their own.
package loop

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Operations is where bench/overhead finds how many are done: in a variable of package main of that name.
type Operations = atomic.Pointer[atomic.Int64]

// Run prepares the work, and does one operation after the other in so many goroutines, until the program is ended or an operation fails.
func Run(operations *Operations, prepare func() (operation func() error, atOnce int, err error)) {
	do, atOnce, err := prepare()
	if err != nil {
		fail(err)
	}
	n := new(atomic.Int64)
	operations.Store(n)
	for range atOnce {
		go func() {
			for {
				if err := do(); err != nil {
					fail(err)
				}
				n.Add(1)
				done()
			}
		}()
	}
	select {}
}

// done is what a profile takes for progress.
//
//go:noinline
func done() {}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
	os.Exit(1)
}
