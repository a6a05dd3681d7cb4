// Command programs holds small endless programs whose answer to "what if this
// function were faster?" is known: from arithmetic, and from really shortening it.
//
//	programs -program pipeline -step 1ms -edit-A 50 -run-for 3s -report
//
// The work is in siteA and siteB, progress is a call of progress. The shares of a step
// in the program table below each file are the ones that bench/truth/closed.go
// reasons about.
package main

import "github.com/headway-lab/headway/bench/truth/harness"

// siteA is the code that a profile makes virtually faster and an edit really shorter.
// Every step of the loop needs the one before it, so that its speed does not hang on
// how the linker aligned it.
//
//go:noinline
func siteA(n int) uint64 {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// siteB is the other code: the same work under another name.
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

// other is work that is neither.
//
//go:noinline
func other(n int) uint64 {
	x := uint64(n) | 5
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// progress is called once for every operation done.
//
//go:noinline
func progress() { harness.Progress() }

// requestBegin is called when a request arrives.
//
//go:noinline
func requestBegin() { begun++ }

// requestEnd is called when a request has been answered.
//
//go:noinline
func requestEnd() { ended++ }

var begun, ended uint64 // each written by one goroutine

var programs = map[string]harness.Program{}

// add registers a program; procs 0 is two.
func add(name string, procs int, run func(harness.Config)) {
	programs[name] = harness.Program{Procs: procs, Run: run}
}

func main() {
	harness.Main(programs, func(n int) { siteA(n) }, child)
}
