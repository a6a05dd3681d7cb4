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

// progress is called once for every operation done.
//
//go:noinline
func progress() { harness.Progress() }

// requestBegin is called when a request arrives.
//
//go:noinline
func requestBegin() { harness.Begin() }

// requestEnd is called when a request has been answered.
//
//go:noinline
func requestEnd() { harness.End() }

var programs = map[string]harness.Program{}

// add registers a program; procs 0 is two.
func add(name string, procs int, run func(harness.Config)) {
	programs[name] = harness.Program{Procs: procs, Run: run}
}

func main() {
	harness.Main(programs, func(n int) { siteA(n) }, child)
}
