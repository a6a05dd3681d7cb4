package main

import (
	"time"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("sixteen", 0, sixteen)
	add("tasks", 0, tasks)
	add("unrelated", 0, unrelated)
	add("never", 0, never)
	add("independent", 0, independent)
}

// sixteen independent goroutines do A (.6) and B (.4) each. Each is at another part of its first operation as it begins: they run by turns of the
// scheduler, all alike, and if they began together they would end operations of 10 ms in the same turns for ever, so that a count over a few
// turns of all would have too many of them or too few. Those whose turns come one after another are far apart in it.
func sixteen(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	for i := range 16 {
		go func() {
			other((na + nb) * (7 * i % 16) / 16)
			for {
				siteA(na)
				siteB(nb)
				progress()
			}
		}()
	}
	select {}
}

// tasks starts a goroutine for every task of A (.6) and B (.4), four at a time.
func tasks(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	room := make(chan struct{}, 4)
	for {
		room <- struct{}{}
		go func() {
			siteA(na)
			siteB(nb)
			progress()
			<-room
		}()
	}
}

// unrelated does B; a goroutine that nobody waits for does A all the time.
func unrelated(c harness.Config) {
	na, nb := c.A(1), c.B(1)
	go func() {
		for {
			siteA(na)
		}
	}()
	for {
		siteB(nb)
		progress()
	}
}

// never does B and would do A on a day that never comes.
func never(c harness.Config) {
	na, nb := c.A(1), c.B(1)
	for {
		if c.Step < 0 {
			siteA(na)
		}
		siteB(nb)
		progress()
	}
}

// independent does B; a goroutine that nobody waits for does A now and then.
func independent(c harness.Config) {
	na, nb, wait := c.A(.5), c.B(1), c.Time(.5)
	go func() {
		for {
			siteA(na)
			time.Sleep(wait)
		}
	}()
	for {
		siteB(nb)
		progress()
	}
}
