package main

import (
	"container/heap"
	"iter"
	"math/rand/v2"
)

// A tiny discrete-event simulator, so that the closed forms are checked against
// something that shares no formula with them: goroutines as coroutines, a FIFO run
// queue, procs processors that run a goroutine until it blocks, no cost for anything
// but work.

type world struct {
	now    float64
	idle   int
	ready  []*proc
	events events
	seq    int
	done   int // operations
	doneAt float64
	lat    float64
	nlat   int
}

type proc struct {
	w      *world
	yield  func(struct{}) bool
	resume func() (struct{}, bool)
}

type event struct {
	at  float64
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any     { x := (*e)[len(*e)-1]; *e = (*e)[:len(*e)-1]; return x }

func (w *world) after(d float64, do func()) {
	w.seq++
	heap.Push(&w.events, event{w.now + d, w.seq, do})
}

func (w *world) start(body func(p *proc)) {
	p := &proc{w: w}
	p.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		body(p)
		p.w.idle++
	})
	w.wake(p)
}

// wake makes p runnable; dispatch gives it a processor.
func (w *world) wake(p *proc) { w.ready = append(w.ready, p) }

func (w *world) dispatch() {
	for w.idle > 0 && len(w.ready) > 0 {
		p := w.ready[0]
		w.ready = w.ready[1:]
		w.idle--
		p.resume()
	}
}

func (w *world) run(until float64) {
	w.dispatch()
	for len(w.events) > 0 && w.events[0].at < until {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
		w.dispatch()
	}
}

// work keeps the processor for d.
func (p *proc) work(d float64) {
	p.w.after(d, func() { p.resume() })
	p.yield(struct{}{})
}

// park gives the processor up until someone wakes p.
func (p *proc) park() {
	p.w.idle++
	p.yield(struct{}{})
}

func (p *proc) sleep(d float64) {
	p.w.after(d, func() { p.w.wake(p) })
	p.park()
}

func (p *proc) progress() { p.w.done++; p.w.doneAt = p.w.now }

// semaphore with FIFO waiters; a mutex, a condition and a channel are made of it.
type sem struct {
	n    int
	wait []*proc
}

func (s *sem) acquire(p *proc) {
	if s.n > 0 {
		s.n--
		return
	}
	s.wait = append(s.wait, p)
	p.park()
}

func (s *sem) release(p *proc) {
	if len(s.wait) > 0 {
		p.w.wake(s.wait[0])
		s.wait = s.wait[1:]
		return
	}
	s.n++
}

// join runs the bodies as fresh goroutines and waits for all.
func (p *proc) join(bodies ...func(p *proc)) {
	var all sem
	for _, b := range bodies {
		p.w.start(func(q *proc) { b(q); all.release(q) })
	}
	for range bodies {
		all.acquire(p)
	}
}

func loop(body func(p *proc)) func(p *proc) {
	return func(p *proc) {
		for {
			body(p)
		}
	}
}

// simulated mirrors bench/truth/programs in virtual time; a and b are the work of the sites.
var simulated = map[string]func(w *world, a, b float64){
	"seq-2-1":                 simSequential,
	"seq-3-7":                 simSequential,
	"cgo":                     simSequential,
	"forkjoin-6.7-6.4":        simForkjoin,
	"forkjoin-2-1":            simForkjoin,
	"forkjoin-6.7-6.4-procs1": simForkjoin,
	"forkjoin-2-1-procs1":     simForkjoin,
	"serial-parallel": func(w *world, a, b float64) {
		w.start(loop(func(p *proc) {
			p.work(a)
			p.join(func(p *proc) { p.work(b) }, func(p *proc) { p.work(b) })
			p.progress()
		}))
	},
	"compute-sleep": simWait(.5),
	"peer-inside":   simWait(.5),
	"peer-process":  simWait(.5),
	"syscalls":      simThree,
	"syscalls-two":  simThree,
	"peer-process-two": func(w *world, a, b float64) {
		simWait(.9)(w, a, b)
		simWait(.9)(w, a, b)
	},
	// The client waits .4 of its own: for the server that is a wait like any other.
	"client-process":        simWait(.4),
	"client-process-reader": simWait(.4),
	"client-process-limit": func(w *world, a, b float64) {
		requests := &sem{n: 4}
		free := 0. // when the client is
		w.start(loop(func(p *proc) {
			requests.acquire(p)
			p.work(a)
			p.work(b)
			free = max(free, w.now) + .2
			w.after(free-w.now, func() { requests.release(p) })
			p.progress()
		}))
	},
	"client-process-packets":      simPackets,
	"client-process-packets-both": simPackets,
	"pipeline-unbuffered":         simPipeline(1), // one item in the sender's hand
	"pipeline-buffered":           simPipeline(9),
	"cond":                        simPipeline(4),
	"mutex":                       simLock(func(a, b float64) (inside, outside float64) { return a, b }),
	"token":                       simLock(func(a, b float64) (inside, outside float64) { return a, b }),
	"mutex-both":                  simLock(func(a, b float64) (inside, outside float64) { return a / 3, a*2/3 + b }),
	"rwmutex": func(w *world, a, b float64) {
		var mayRead, mayWrite sem
		mayWrite.n = 2
		for range 2 {
			w.start(loop(func(p *proc) {
				mayRead.acquire(p)
				p.work(b)
				mayWrite.release(p)
			}))
		}
		w.start(loop(func(p *proc) {
			mayWrite.acquire(p)
			mayWrite.acquire(p)
			p.work(a)
			p.progress()
			mayRead.release(p)
			mayRead.release(p)
		}))
	},
	"unrelated": func(w *world, a, b float64) {
		w.start(loop(func(p *proc) { p.work(max(a, 1e-3)) }))
		w.start(loop(func(p *proc) { p.work(b); p.progress() }))
	},
	"independent": func(w *world, a, b float64) {
		w.start(loop(func(p *proc) { p.work(a); p.sleep(.5) }))
		w.start(loop(func(p *proc) { p.work(b); p.progress() }))
	},
	"never": func(w *world, _, b float64) {
		w.start(loop(func(p *proc) { p.work(b); p.progress() }))
	},
	"pingpong":        simTurns,
	"gosched":         simTurns,
	"packets-inside":  simTurns,
	"http-inside":     simTurns,
	"signal":          simTurns,
	"select-guard":    simTurns,
	"sixteen":         simCrowd(16, 0),
	"http2-process":   simCrowd(10, 0), // with a client that needs no time
	"collector":       simCrowd(1, .3), // with a collector that takes no time
	"collector-eight": simCrowd(8, .3),
	"tasks": func(w *world, a, b float64) {
		room := &sem{n: 4}
		w.start(loop(func(p *proc) {
			room.acquire(p)
			w.start(func(p *proc) {
				p.work(a)
				p.work(b)
				p.progress()
				room.release(p)
			})
		}))
	},
	"open-loop":                     simOpenLoop(slotted),
	"open-loop-poisson":             simOpenLoop(poisson),
	"open-loop-latency":             simOpenLoop(poisson),
	"open-loop-connections-latency": simOpenLoop(poisson),
	"open-loop-process-latency":     simOpenLoop(poisson),
	"trylock":                       simTryLock(2.4),
	"trylock-long":                  simTryLock(8.6),
	"ticker": func(w *world, a, b float64) {
		tick := 1
		w.start(loop(func(p *proc) {
			p.work(a)
			p.work(b)
			for float64(tick) < p.w.now {
				tick++
			}
			p.sleep(float64(tick) - p.w.now)
			p.progress()
		}))
	},
	"select-timeout": func(w *world, a, b float64) {
		w.start(loop(func(p *proc) {
			answered, waiting := false, true
			var got sem
			p.w.start(func(q *proc) {
				q.work(a)
				answered = true
				got.release(q)
			})
			p.w.after(.5, func() {
				if waiting && !answered {
					got.release(p)
				}
			})
			got.acquire(p)
			waiting = false
			if !answered {
				p.work(b)
				got.acquire(p)
			}
			p.progress()
		}))
	},
}

func simTryLock(other float64) func(w *world, a, b float64) {
	return func(w *world, a, b float64) {
		w.start(loop(func(p *proc) {
			heldUntil := p.w.now + b
			p.join(func(p *proc) { p.work(b) }, func(p *proc) {
				p.work(a)
				if p.w.now < heldUntil {
					p.work(other)
				}
			})
			p.progress()
		}))
	}
}

func simSequential(w *world, a, b float64) {
	w.start(loop(func(p *proc) { p.work(a); p.work(b); p.progress() }))
}

func simForkjoin(w *world, a, b float64) {
	w.start(loop(func(p *proc) {
		p.join(func(p *proc) { p.work(a) }, func(p *proc) { p.work(b) })
		p.progress()
	}))
}

func simThree(w *world, a, b float64) {
	for range 3 {
		simWait(.9)(w, a, b)
	}
}

func simWait(wait float64) func(w *world, a, b float64) {
	return func(w *world, a, b float64) {
		w.start(loop(func(p *proc) { p.work(a); p.work(b); p.sleep(wait); p.progress() }))
	}
}

// simLock is four processes that work with a lock and then without it.
func simLock(work func(a, b float64) (inside, outside float64)) func(w *world, a, b float64) {
	return func(w *world, a, b float64) {
		inside, outside := work(a, b)
		mu := &sem{n: 1}
		for range 4 {
			w.start(loop(func(p *proc) {
				mu.acquire(p)
				p.work(inside)
				mu.release(p)
				p.work(outside)
				p.progress()
			}))
		}
	}
}

func simPipeline(room int) func(w *world, a, b float64) {
	return func(w *world, a, b float64) {
		full, empty := &sem{}, &sem{n: room}
		w.start(loop(func(p *proc) { p.work(a); empty.acquire(p); full.release(p) }))
		w.start(loop(func(p *proc) { full.acquire(p); empty.release(p); p.work(b); p.progress() }))
	}
}

func simTurns(w *world, a, b float64) {
	var ping, pong sem
	w.start(loop(func(p *proc) { ping.acquire(p); p.work(b); pong.release(p) }))
	w.start(loop(func(p *proc) { p.work(a); ping.release(p); pong.acquire(p); p.progress() }))
}

// poisson and slotted give the time of the next arrival, every 2 on average, of the last one's number and time.
func poisson(rng *rand.Rand, _ int, last float64) float64 { return last + rng.ExpFloat64()*2 }
func slotted(rng *rand.Rand, n int, _ float64) float64    { return 2 * (float64(n) + rng.Float64()) }

func simOpenLoop(next func(rng *rand.Rand, n int, last float64) float64) func(w *world, a, _ float64) {
	return func(w *world, a, _ float64) {
		rng := rand.New(rand.NewPCG(7, 7))
		var waiting sem
		var arrived []float64
		n, at := 0, 0.
		w.start(loop(func(p *proc) {
			at = next(rng, n, at)
			n++
			p.sleep(at - p.w.now)
			arrived = append(arrived, p.w.now)
			waiting.release(p)
		}))
		w.start(loop(func(p *proc) {
			waiting.acquire(p)
			at := arrived[0]
			arrived = arrived[1:]
			p.work(a)
			p.w.lat += p.w.now - at
			p.w.nlat++
			p.progress()
		}))
	}
}

// simulate gives the time per operation, or the mean latency.
func simulate(p Program, a, b, until float64) float64 {
	w := &world{idle: p.Procs}
	if w.idle == 0 {
		w.idle = 2
	}
	simulated[p.base()](w, a, b)
	w.run(until / 10)
	skipped, from, lat, nlat := w.done, w.doneAt, w.lat, w.nlat
	w.run(until)
	if p.Latency {
		return (w.lat - lat) / float64(w.nlat-nlat)
	}
	return (w.doneAt - from) / float64(w.done-skipped)
}

func simPackets(w *world, a, _ float64) {
	requests := &sem{n: 3}
	w.start(loop(func(p *proc) {
		requests.acquire(p)
		w.start(func(p *proc) {
			p.work(a)
			w.after(.75, func() { requests.release(p) })
			p.progress()
		})
	}))
}

// simCrowd is n goroutines that do A, B and a rest, on two processors.
func simCrowd(n int, rest float64) func(w *world, a, b float64) {
	return func(w *world, a, b float64) {
		for range n {
			w.start(loop(func(p *proc) {
				p.work(a)
				p.work(b)
				p.work(rest)
				p.progress()
			}))
		}
	}
}
