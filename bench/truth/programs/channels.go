package main

import (
	"runtime"
	"sync/atomic"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("pipeline-unbuffered", 0, pipeline(0))
	add("pipeline-buffered", 0, pipeline(8))
	add("pingpong", 0, pingpong)
	add("gosched", 0, gosched)
}

// pipeline does A (.75) in one goroutine and then B (.25) in the next.
func pipeline(buffer int) func(harness.Config) {
	return func(c harness.Config) {
		na, nb := c.A(.75), c.B(.25)
		ch := make(chan struct{}, buffer)
		go func() {
			for {
				siteA(na)
				ch <- struct{}{}
			}
		}()
		for range ch {
			siteB(nb)
			progress()
		}
	}
}

// pingpong does A here and B there, in turn.
func pingpong(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	ping, pong := make(chan struct{}), make(chan struct{})
	go func() {
		for range ping {
			siteB(nb)
			pong <- struct{}{}
		}
	}()
	for {
		siteA(na)
		ping <- struct{}{}
		<-pong
		progress()
	}
}

// gosched does A and B in turn, too, and each spins until it is its turn.
func gosched(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	var turn atomic.Int32
	await := func(n int32) {
		for turn.Load() != n {
			runtime.Gosched()
		}
	}
	go func() {
		for {
			await(1)
			siteB(nb)
			turn.Store(0)
		}
	}()
	for {
		siteA(na)
		turn.Store(1)
		await(0)
		progress()
	}
}
