package main

import (
	"os"
	"sync"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("mutex", 0, mutex)
	add("mutex-both", 0, mutexBoth)
	add("token", 0, token)
	add("rwmutex", 0, rwmutex)
	add("cond", 0, cond)
	add("trylock", 0, func(c harness.Config) { trylock(c, 2.4, 2) })
	add("trylock-long", 0, func(c harness.Config) { trylock(c, 8.6, 8) })
}

// mutex: four goroutines do A (.5) under a lock and B (.2) outside it.
func mutex(c harness.Config) {
	na, nb := c.A(.5), c.B(.2)
	four(new(sync.Mutex), func() { siteA(na) }, func() { siteB(nb) })
}

// mutexBoth: four goroutines do A (.3) under a lock, and A (.6) and B (.1) outside it.
func mutexBoth(c harness.Config) {
	inside, outside, nb := c.A(.3), c.A(.6), c.B(.1)
	four(new(sync.Mutex), func() { siteA(inside) }, func() { siteA(outside); siteB(nb) })
}

// token: the same as mutex, but the lock is a byte in a pipe, as make and its children have it. Only one waits for the
// byte at a time, the others for the right to.
func token(c harness.Config) {
	na, nb := c.A(.5), c.B(.2)
	r, w, err := os.Pipe()
	if err != nil {
		fatal(err)
	}
	t := &tokens{r: r, w: w, b: make([]byte, 1)}
	t.Unlock()
	four(t, func() { siteA(na) }, func() { siteB(nb) })
}

// tokens is a lock that is held by whoever has read the byte.
type tokens struct {
	r, w *os.File
	b    []byte
}

func (t *tokens) Lock()   { mustRead(t.r, t.b) }
func (t *tokens) Unlock() { mustWrite(t.w, t.b) }

// four goroutines work under a lock and outside it.
func four(l sync.Locker, inside, outside func()) {
	for range 4 {
		go func() {
			for {
				l.Lock()
				inside()
				l.Unlock()
				outside()
				progress()
			}
		}()
	}
	select {}
}

// rwmutex: a writer does A (.5) under the write lock, two readers do B (.5) under the
// read lock; each side waits for the other, so that they take turns.
func rwmutex(c harness.Config) {
	na, nb := c.A(.5), c.B(.5)
	var mu sync.RWMutex
	for range 2 {
		go func() {
			for {
				mu.RLock()
				siteB(nb)
				mu.RUnlock()
			}
		}()
	}
	for {
		mu.Lock()
		siteA(na)
		mu.Unlock()
		progress()
	}
}

// cond: one goroutine does A (.7) and puts, the other takes and does B (.3); the queue
// between them holds four and is guarded by condition variables.
func cond(c harness.Config) {
	na, nb := c.A(.7), c.B(.3)
	var mu sync.Mutex
	notEmpty, notFull := sync.NewCond(&mu), sync.NewCond(&mu)
	queued := 0
	go func() {
		for {
			siteA(na)
			mu.Lock()
			for queued == 4 {
				notFull.Wait()
			}
			queued++
			notEmpty.Signal()
			mu.Unlock()
		}
	}()
	for {
		mu.Lock()
		for queued == 0 {
			notEmpty.Wait()
		}
		queued--
		notFull.Signal()
		mu.Unlock()
		siteB(nb)
		progress()
	}
}

// trylock gets slower when A gets faster. Each step, a holder takes the lock and keeps
// it for B. At the same time A runs, a little longer, then the lock is tried: it is free
// again. A faster A finds it taken and backs off, which costs as much other work as A.
func trylock(c harness.Config, a, b float64) {
	na, nb, penalty := c.A(a), c.B(b), c.Other(a)
	var mu sync.Mutex
	// held has room, so that the holder goes on at once and it is A that a slow wake-up
	// delays: later still than the end of B.
	begin, held, done := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	go func() {
		for range begin {
			mu.Lock()
			held <- struct{}{}
			siteB(nb)
			mu.Unlock()
			done <- struct{}{}
		}
	}()
	for {
		begin <- struct{}{}
		<-held
		siteA(na)
		if !mu.TryLock() {
			other(penalty)
			mu.Lock()
		}
		mu.Unlock()
		<-done
		progress()
	}
}
