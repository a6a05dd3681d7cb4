// Command cgowork is the truth program whose site A is a loop in C. It stands apart so
// that the others build, and stay pure Go, without a C compiler.
package main

import (
	"fmt"
	"os"

	"github.com/headway-lab/headway/bench/truth/harness"
)

// siteB is work in Go.
//
//go:noinline
func siteB(n int) uint64 {
	x := uint64(n) | 3
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func progress() { harness.Progress() }

func main() {
	if !haveC {
		fmt.Fprintln(os.Stderr, "cgowork: built without cgo, so there is no C to run")
		os.Exit(1)
	}
	harness.Main(map[string]harness.Program{"cgo": {Run: sequential}}, func(n int) { siteB(n) }, nil)
}

// sequential does A (.5), in C, then B (.5).
func sequential(c harness.Config) {
	na, nb := c.A(.5), c.B(.5)
	for {
		siteA(na)
		siteB(nb)
		progress()
	}
}
