package main

import (
	"math"
	"time"
)

// Program is one truth program and what arithmetic says about it.
type Program struct {
	Name    string
	Does    string // one line
	Run     string // the -program flag; "" is Name
	Package string // directory below bench/truth; "" is programs
	Procs   int    // GOMAXPROCS; 0 is 2
	Latency bool   // the metric is the mean latency, not the time per operation
	Cgo     bool   // needs a C compiler
	Steps   []time.Duration
	// Whole is how many times the work that the sites' times say there is at 50 us and 1 ms, so that an operation has the steps that the program is
	// named for: of "A 3 into B 1", where Time has .75 and .25, it is 4. At 10 ms, where that would be up to .2 s, an operation takes about one step. 0 is 1.
	Whole float64
	// Ideal is the shortest step at which the machine does what the closed form says. At
	// shorter ones wake-ups and timers take a share of the step that arithmetic does not
	// know; there only a real edit is the truth. 0 is all steps.
	Ideal time.Duration
	Sites []Site
	Open  bool                   // clients outside send by a schedule of their own
	Long  bool                   // arrivals are random: twice the time for the same precision
	More  bool                   // not run without -all or -program: beyond the kinds of program that every such tool should get right
	Paces map[time.Duration]pace // for steps where the usual one is not enough
	Limit string                 // what of it headway documents that it cannot see; the goals leave it out
	Short string                 // the same, but only below a millisecond, and not with whole steps
}

// limit is why the goals leave the program out at this step; "" if they do not.
func (p Program) limit(step time.Duration) string {
	if p.Limit == "" && step < ms1 && p.Whole == 0 {
		return p.Short
	}
	return p.Limit
}

// length is the time scale to run the program at, for this step.
func (p Program) length(step time.Duration) time.Duration {
	if p.Whole != 0 && step < ms10 {
		return time.Duration(p.Whole * float64(step))
	}
	return step
}

// Why the goals leave programs out at steps below a millisecond.
const (
	far  = "another process: how often it sleeps changes with how soon it is asked, waking it takes as long as the step, and nothing there is virtual"
	late = "A begins 60 to 80 us late, when a thief has slept: what is left of it then ends just as the lock is let go of, before or after, and a microsecond decides"
	tie  = "two branches as long as each other but for less than a wake-up: which ends first is the machine's minute, and with it whether the next wake-up finds a thread that is falling asleep"
	two  = "a wait that another system call began: what is paid between the two is taken from the wait, microseconds that are a part of such a step"
)

// Site is a function whose cost is varied. Time is the time per operation (or mean
// latency) in steps when only the fraction left of the site's work is left.
type Site struct {
	Name string // as a profiler is asked for it
	Edit string // "A" or "B": the flag that shortens it
	Time func(left float64) float64
}

// Closed is the effect of making the site d percent faster, in percent of the time per
// operation (or mean latency).
func (s Site) Closed(d float64) float64 {
	return 100 * (s.Time(1-d/100)/s.Time(1) - 1)
}

func siteA(time func(left float64) float64) Site { return Site{"main.siteA", "A", time} }
func siteB(time func(left float64) float64) Site { return Site{"main.siteB", "B", time} }

const (
	us2  = 2 * time.Microsecond
	us50 = 50 * time.Microsecond
	ms1  = time.Millisecond
	ms10 = 10 * time.Millisecond
)

// us2 is less than headway profile is made for, and asked for only by name.
var (
	allSteps   = []time.Duration{us2, us50, ms1, ms10}
	wholeSteps = allSteps[1:]
)

// never is longer than any step.
const never = time.Hour

// both gives the sites A and B of a program whose time per operation is time(a, b),
// where a and b are the work of the two sites.
func both(a, b float64, time func(a, b float64) float64) []Site {
	return []Site{
		siteA(func(left float64) float64 { return time(a*left, b) }),
		siteB(func(left float64) float64 { return time(a, b*left) }),
	}
}

func sum(a, b float64) float64  { return a + b }
func half(a, b float64) float64 { return (a + b) / 2 }

// Programs is the bench. In the derivations a and b are what is left of the work of
// sites A and B, in steps; two processors unless it says otherwise.
var Programs = withShort([]Program{
	// One goroutine: a + b.
	{Name: "seq-2-1", Does: "A 2, then B 1", Whole: 3, Steps: wholeSteps, Sites: both(2./3, 1./3, sum)},
	{Name: "seq-3-7", More: true, Does: "A .3, then B .7", Steps: allSteps, Sites: both(.3, .7, sum)},

	// Both branches have a processor; the operation is over when the longer one is. In forkjoin-6.7-6.4-short A, which is the
	// branch that another processor has to wake up for, starts some 40 us late at 1 ms: the .03 between the branches are
	// then .07, and A is worth -9% instead of -4.5%. At 50 us its branches are 1.5 us apart, 8 the other way with A at 25%,
	// which is what a wake-up takes.
	{Name: "forkjoin-6.7-6.4", Short: tie, Does: "A 6.7 beside B 6.4", Whole: 10, Steps: wholeSteps, Ideal: ms1, Sites: both(.67, .64, math.Max)},
	{Name: "forkjoin-2-1", Does: "A 2 beside B 1", Whole: 2.5, Steps: wholeSteps, Ideal: ms1, Sites: both(.8, .4, math.Max)},

	// One processor runs one branch after the other.
	{Name: "forkjoin-6.7-6.4-procs1", Paces: tens, Does: "the same on one processor", Procs: 1, Whole: 10, Steps: wholeSteps, Sites: both(.67, .64, sum)},
	{Name: "forkjoin-2-1-procs1", Does: "the same on one processor", Procs: 1, Whole: 2.5, Steps: wholeSteps, Sites: both(.8, .4, sum)},

	// A alone, then B on both processors at once: a + b, so half of the time each. At
	// 100% that is -50%; an operation that also pays for two wake-ups sees a little less.
	{Name: "serial-parallel", Paces: twenties, Does: "A 10 alone, then B 10 twice in parallel", Whole: 20, Steps: wholeSteps, Ideal: ms1, Sites: both(.5, .5, sum)},

	// The wait does not shrink: a + wait.
	{Name: "compute-sleep", Paces: tens, Does: "A 5, then sleep 5", Whole: 10, Steps: wholeSteps, Ideal: ms10, Sites: both(.5, 0, plus(.5))[:1]},
	{Name: "peer-inside", Paces: tens, Does: "A 5, then wait 5 for a TCP peer in the process", Whole: 10, Steps: wholeSteps, Ideal: ms10, Sites: both(.5, 0, plus(.5))[:1]},
	{Name: "peer-process", More: true, Short: far, Does: "A .5, then wait .5 for a TCP peer in another process", Steps: allSteps, Ideal: ms10, Sites: both(.5, 0, plus(.5))[:1]},

	// Stages run at the same time; in the long run the slower one sets the pace, with
	// any buffer.
	{Name: "pipeline-unbuffered", Does: "A 3 into B 1", Whole: 4, Steps: wholeSteps, Ideal: ms10, Sites: both(.75, .25, math.Max)},
	{Name: "pipeline-buffered", Does: "A 3 into B 1, buffer 8", Whole: 4, Steps: wholeSteps, Ideal: ms1, Sites: both(.75, .25, math.Max)},
	{Name: "cond", Does: "A .7 into B .3, a queue of 4 with sync.Cond", Steps: allSteps, Ideal: ms1, Sites: both(.7, .3, math.Max)},

	// Two bounds: the lock lets one A at a time through (a), and two processors do at
	// most two seconds of work a second ((a+b)/2). With four goroutines someone always
	// waits for the lock or for a processor, so the larger bound is reached. (At shorter
	// steps not quite: a sync.Mutex is handed over at once only to one who has waited for
	// more than a millisecond; others have to be woken first.)
	{Name: "mutex", Paces: contended, Does: "A .5 under a lock, B .2 outside, four goroutines", Steps: allSteps, Ideal: ms10,
		Sites: both(.5, .2, func(a, b float64) float64 { return max(a, (a+b)/2) })},

	// The same bounds with a third of A in the lock, a/3 and (a+b)/2: the processors are the larger one. Who holds the lock and who
	// comes for it have both been in A, so the two keep out of each other's way only if both their delays end exactly.
	{Name: "mutex-both", More: true, Does: "A .3 under a lock, A .6 and B .1 outside, four goroutines", Steps: allSteps, Ideal: ms1, Sites: both(.9, .1, half)},

	{Name: "token", More: true, Does: "A .5 with a byte from a pipe, B .2 without, four goroutines", Steps: allSteps, Ideal: ms10,
		Sites: both(.5, .2, func(a, b float64) float64 { return max(a, (a+b)/2) })},

	// The writer excludes the readers and a waiting writer excludes new readers, so the
	// write (a) and the two reads, at once (b), take turns.
	{Name: "rwmutex", Does: "a writer does A .5, two readers do B .5", Steps: allSteps, Ideal: ms1, Sites: both(.5, .5, sum)},

	// The goroutine that does A has a processor of its own and nobody waits for it.
	{Name: "unrelated", Does: "B; A in a busy goroutine nobody waits for", Steps: allSteps, Sites: both(1, 1, second)},
	{Name: "independent", More: true, Does: "B; A now and then in a goroutine nobody waits for", Steps: allSteps, Sites: both(.5, 1, second)},
	{Name: "never", Does: "B; A never runs", Steps: allSteps, Sites: both(1, 1, second)},

	// Each waits for the other: a + b.
	{Name: "pingpong", Does: "A .6 here, B .4 there, over channels", Steps: allSteps, Ideal: ms1, Sites: both(.6, .4, sum)},
	{Name: "gosched", More: true, Does: "the same over an atomic, for which each waits in a loop of runtime.Gosched", Steps: allSteps, Sites: both(.6, .4, sum)},
	{Name: "packets-inside", More: true, Does: "the same over UDP", Steps: allSteps, Ideal: ms1, Sites: both(.6, .4, sum)},
	{Name: "http-inside", More: true, Does: "the same over HTTP", Steps: []time.Duration{ms1, ms10}, Ideal: ms10, Sites: both(.6, .4, sum)},
	{Name: "signal", More: true, Does: "the same over a signal and a channel", Steps: allSteps, Ideal: ms1, Sites: both(.6, .4, sum)},
	{Name: "select-guard", Does: "A .6 by a worker under a timeout that never comes, then B .4", Steps: allSteps, Ideal: ms1, Sites: both(.6, .4, sum)},

	// More goroutines than processors: both processors are always busy.
	{Name: "sixteen", Does: "16 goroutines do A .6 and B .4", Steps: allSteps, Sites: both(.6, .4, half)},
	{Name: "tasks", Does: "a goroutine a task: A .6 and B .4, four at a time", Steps: allSteps, Ideal: ms1, Sites: both(.6, .4, half)},
	{Name: "http2-process", More: true, Does: "A .6 and B .4 in a handler of HTTP/2 over TLS, for a client in another process with 10 requests in flight", Steps: []time.Duration{ms1, ms10}, Ideal: ms10, Sites: both(.6, .4, half)},

	// Open loop: as many answers as arrivals, however fast the server.
	{Name: "open-loop", Does: "one arrival at a random time in each 2, served with A 1: throughput", Steps: allSteps,
		Sites: []Site{siteA(func(float64) float64 { return 2 })}},
	// Of n Poisson arrivals the number is uncertain by the root of n: at the long step a point takes an hour, which tells nothing of a profile.
	{Name: "open-loop-poisson", Paces: poissonArrivals, More: true, Does: "the same with Poisson arrivals", Long: true, Steps: []time.Duration{us50, ms1},
		Sites: []Site{siteA(func(float64) float64 { return 2 })}},
	// Its latency is the one of an M/D/1 queue; with arrivals from a Go timer only at the
	// long step, because the timer rounds shorter gaps to a millisecond.
	{Name: "open-loop-latency", Paces: poissonArrivals, Does: "Poisson arrivals every 2, served with A 1: mean latency", Run: "open-loop-poisson", Latency: true, Long: true, Steps: allSteps, Ideal: ms10,
		Sites: []Site{siteA(md1)}},
	{Name: "open-loop-connections-latency", Paces: poissonArrivals, More: true, Short: far, Does: "the same with arrivals from another process on many connections", Run: "open-loop-connections", Latency: true, Long: true,
		Open: true, Steps: allSteps, Ideal: ms1, Sites: []Site{siteA(md1)}},
	{Name: "open-loop-process-latency", More: true, Does: "the same with all of them on one connection", Run: "open-loop-process", Latency: true, Long: true,
		Limit: "a client outside that sends by a schedule of its own, several requests at once on one connection", Steps: allSteps, Ideal: ms1, Sites: []Site{siteA(md1)}},

	// The client waits .4 between an answer and its next request: a + b + .4.
	{Name: "client-process", Short: far, Does: "A .4 and B .2 for a client in another process that waits .4", Steps: allSteps, Ideal: ms1,
		Sites: both(.4, .2, func(a, b float64) float64 { return a + b + .4 })},

	{Name: "client-process-reader", More: true, Short: far, Does: "the same with a goroutine that reads and another that works and answers", Steps: allSteps, Ideal: ms1,
		Sites: both(.4, .2, func(a, b float64) float64 { return a + b + .4 })},

	// Three operations take a + .9: two processors are enough for three goroutines that each want one for a quarter of the time.
	{Name: "syscalls", More: true, Does: "three goroutines: A .3, then wait .9 in a system call", Steps: allSteps, Ideal: ms1,
		Sites: []Site{siteA(func(left float64) float64 { return (.3*left + .9) / 3 })}},
	{Name: "syscalls-two", More: true, Short: two, Does: "the same, waiting in one system call for what another has begun", Steps: allSteps, Ideal: ms1,
		Sites: []Site{siteA(func(left float64) float64 { return (.3*left + .9) / 3 })}},

	// While one asks the peer the other works, if it has not to wait for its own answer: two operations take a + .9, or, on
	// one processor, 2a if that is more.
	{Name: "peer-process-two", More: true, Short: far, Does: "two goroutines on one processor: A .3, then ask a peer in another process that needs .9", Procs: 1, Steps: allSteps, Ideal: ms1,
		Sites: []Site{siteA(func(left float64) float64 { return max(.3*left, (.3*left+.9)/2) })}},

	// One processor, always with a request in hand, unless the client, who needs .2 for each, is slower.
	{Name: "client-process-limit", More: true, Short: far, Does: "A .4 and B .2 on one processor for four connections of a client that needs .2 each", Procs: 1, Steps: allSteps, Ideal: ms1,
		Sites: both(.4, .2, func(a, b float64) float64 { return max(a+b, .2) })},

	// Three clients, each with a cycle of a + .75; the processor has time for all of them.
	{Name: "client-process-packets", More: true, Short: far, Does: "A .25 on one processor for three clients of one UDP socket, each of which waits .75", Procs: 1, Steps: allSteps, Ideal: ms1,
		Sites: []Site{siteA(func(left float64) float64 { return (.25*left + .75) / 3 })}},
	{Name: "client-process-packets-both", More: true, Short: far, Does: "the same with one of the three in this process, which sleeps", Procs: 1,
		Limit: "one socket for packets from within and from outside: one from outside that is early keeps the reader from those behind it",
		Steps: []time.Duration{ms1, ms10}, Ideal: ms10, Sites: []Site{siteA(func(left float64) float64 { return (.25*left + .75) / 3 })}},

	// The lock is held from 0 to b. If A takes at least that long, the lock is free
	// again. If not, 2.4 of other work follow. The operation ends when both sides are
	// done. So A from 25% on: 4.2, 3.6, 3, 2.4 against 2.4. With B shorter nothing changes. As it is A ends .4 after B, or a B that the machine
	// interrupts is late by itself. At 50 us the two are 20 us
	// apart, and at 25% 10: less than a wake-up, which decides who comes first. With 8.6 and 8 they are 77 us apart at 25 %,
	// longer than a wake-up or a thief's short sleep.
	{Name: "trylock", Paces: backOffs, Short: late, Does: "A 2.4, then TryLock of a lock held for B 2; if taken, back off 2.4", Steps: allSteps, Ideal: ms10, Sites: both(2.4, 2, backOff(2.4))},
	{Name: "trylock-long", Paces: longBackOffs, Does: "A 8.6, then TryLock of a lock held for B 8; if taken, back off 8.6", Steps: []time.Duration{us50, ms1}, Ideal: ms1, Sites: both(8.6, 8, backOff(8.6))},

	// Work of a + b, rounded up to whole ticks. A sleep ends up to a millisecond late and an operation begins with that, and loops are calibrated by
	// the fastest. So with A at half the work ends a quarter of a tick before the next: with A 1.05 and B .3 it was .175, and real edits missed every second tick.
	{Name: "ticker", Paces: ticks, Does: "A 1.28 and B .1, then wait for the next tick of 1", Steps: []time.Duration{ms10},
		Sites: both(1.28, .1, func(a, b float64) float64 { return math.Ceil(a + b) })},

	// In time: a. Else the timeout (.5), then B beside what is left of A. The timeout is a millisecond away from A at half: with A .9 it was half a
	// millisecond, and in an hour with many interruptions a real edit gained as much less as if it missed it every tenth time.
	{Name: "select-timeout", Does: "A .8 by a worker; after .5 give up, do B .5, take the late answer", Steps: []time.Duration{ms10},
		Sites: both(.8, .5, func(a, b float64) float64 {
			if a < .5 {
				return a
			}
			return max(a, .5+b)
		})},

	// The collector is at work for a third of the time: what it takes, and when it makes others help or stand still, is
	// no arithmetic, so a real edit is the truth. The closed forms leave it out.
	{Name: "collector", More: true, Does: "A .5, B .2, then replace a part of what is kept, beside a busy collector", Steps: allSteps, Ideal: never,
		Sites: both(.5, .2, plus(.3))},
	{Name: "collector-eight", More: true, Does: "the same in eight goroutines", Steps: allSteps, Ideal: never,
		Sites: both(.5, .2, func(a, b float64) float64 { return (a + b + .3) / 2 })},

	// One goroutine again, with A in C.
	{Name: "cgo", Does: "A .5 in C, then B .5", Package: "programs/cgowork", Cgo: true, Steps: allSteps, Sites: both(.5, .5, sum)},
})

// withShort adds to each program of whole steps the one whose operation takes about a single step at 50 us and 1 ms, too: at 50 us
// much of that is wake-ups, and what ends first is decided by microseconds.
func withShort(programs []Program) []Program {
	all := programs
	for _, p := range programs {
		if p.Whole != 0 {
			p.Run, p.Name, p.Does = p.Name, p.Name+"-short", p.Does+", in about one step in all"
			p.Whole, p.Paces, p.More, p.Steps = 0, nil, true, []time.Duration{us2, us50, ms1}
			if p.Ideal != 0 {
				p.Ideal = ms10
			}
			all = append(all, p)
		}
	}
	return all
}

// backOff is the time of an operation that does so much other work where A, which takes a, finds a lock taken that is held for b.
func backOff(other float64) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		if a >= b {
			return a
		}
		return max(a+other, b)
	}
}

func plus(wait float64) func(a, b float64) float64 {
	return func(a, b float64) float64 { return a + b + wait }
}

func second(_, b float64) float64 { return b }

// md1 is the mean latency of an M/D/1 queue whose service takes left and whose load was
// .5 when it took 1. Pollaczek and Khinchine: the mean wait is rho*s*(1+cv^2)/(2(1-rho)),
// and a constant service has cv = 0. Load and service both shrink with left:
// 1.5 at first, .583 at half, which is 61% less.
func md1(left float64) float64 {
	rho := .5 * left
	return left + rho*left/(2*(1-rho))
}
