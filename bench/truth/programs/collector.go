package main

import (
	"runtime/debug"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("collector", 0, collected(1))
	add("collector-eight", 0, collected(8))
}

// node is what the collector has to look at.
type node struct {
	next *node
	_    [6]uint64
}

// collected has so many goroutines that do A (.5) and B (.2) and then replace some of what they keep, so that the collector
// is at work for a third of the time: beside a single goroutine, which has to stand still now and then and
// to help, or among those that wait for a processor.
func collected(goroutines int) func(harness.Config) {
	return func(c harness.Config) {
		debug.SetGCPercent(25)
		na, nb, nodes := c.A(.5), c.B(.2), int(c.Time(.3).Nanoseconds()/nodeNs)
		for range goroutines {
			go func() {
				root := new(node)
				kept := make([]*node, kept/goroutines)
				for i := range kept { // at once: while that grows the collector comes more often
					kept[i] = &node{next: root}
				}
				for at := 0; ; {
					siteA(na)
					siteB(nb)
					for range nodes {
						kept[at] = &node{next: root}
						at = (at + 1) % len(kept)
					}
					progress()
				}
			}()
		}
		select {}
	}
}

const (
	nodeNs = 50      // about what one takes
	kept   = 1 << 17 // of them live, 8 MB
)
