package main

import (
	"sync"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("forkjoin-6.7-6.4", 0, forkjoin(.67, .64))
	add("forkjoin-2-1", 0, forkjoin(.8, .4))
	add("forkjoin-6.7-6.4-procs1", 1, forkjoin(.67, .64))
	add("forkjoin-2-1-procs1", 1, forkjoin(.8, .4))
	add("serial-parallel", 0, serialParallel)
}

// forkjoin does A and B at the same time, in two fresh goroutines, and waits for both.
func forkjoin(a, b float64) func(harness.Config) {
	return func(c harness.Config) {
		na, nb := c.A(a), c.B(b)
		for {
			var wg sync.WaitGroup
			wg.Add(2)
			go func() {
				defer wg.Done()
				siteA(na)
			}()
			go func() {
				defer wg.Done()
				siteB(nb)
			}()
			wg.Wait()
			progress()
		}
	}
}

// serialParallel does A alone, then B twice at the same time.
func serialParallel(c harness.Config) {
	na, nb := c.A(.5), c.B(.5)
	for {
		siteA(na)
		var wg sync.WaitGroup
		wg.Add(2)
		for range 2 {
			go func() {
				defer wg.Done()
				siteB(nb)
			}()
		}
		wg.Wait()
		progress()
	}
}
