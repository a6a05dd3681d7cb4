package sim

import (
	"context"
	"fmt"

	"github.com/headway-lab/headway/dist"
)

// ms is a millisecond of virtual time, which is kept in whole nanoseconds.
const ms = 1e6

// maxInUse bounds the memory of a run: requests under way, and what they were split into.
const maxInUse = 4_000_000

// request is on its way through the network.
type request struct {
	id      int64
	key     uint64
	luck    uint64
	attempt uint64      // a retry has luck of its own
	stream  dist.Stream // here, as a local one would be allocated for each draw
	size    float64
	start   int64
	since   int64 // when it joined the line it is in
	frames  []frame

	waiting, serving, traveling int64

	class    int32
	depth    int32 // nodes that wait for the answer to what this is a part of
	ok       bool
	refused  bool // at once, by a node that had no room for it
	canceled bool // nobody waits for it any more

	split *split // that this is a part of
	parts *split // that it waits for
	line  *line  // that it waits in, and where
	slot  int64
}

// frame is a node that waits for the answer.
type frame struct {
	n node
	m mark
}

// mark is what a node remembers of a request that it has passed on.
type mark struct {
	a int64
	t int64
}

// draw takes a number from the request's luck. The role tells one use from another.
func (r *request) draw(d dist.Dist, role uint64) float64 {
	r.stream = dist.At(r.luck ^ role + r.attempt*0x9e3779b97f4a7c15)
	if p, ok := d.(perSize); ok {
		return r.size * p.Dist.Draw(&r.stream)
	}
	return d.Draw(&r.stream)
}

// refuse answers a request at once that there was no room for.
func (e *engine) refuse(r *request) {
	r.ok, r.refused = false, true
	e.answer(r)
}

// node is a part of a network at work. It takes a request at e.now, and sooner or
// later answers it, or passes it on and takes the answer back.
type node interface {
	enter(e *engine, r *request)
	back(e *engine, r *request, m mark)
	due(e *engine, r *request, m mark) // a time that it asked for has come
}

// known is a node that can say at once when it will have answered. Departures
// from a queue that serves in order are known on arrival (D. V. Lindley, "The theory
// of queues with a single server", 1952), so most networks need no event for
// each step of a request; fewer events beat faster ones.
type known interface {
	// pass takes a request at time t, not earlier than the one before, and
	// returns when it is answered.
	pass(e *engine, t int64, r *request) int64
}

// link is the way to a node; k is nil if it has to be entered in its time.
type link struct {
	n node
	k known
}

type op uint8

const (
	opBack op = iota
	opDue
	opAnswer
)

type event struct {
	r  *request
	n  node
	m  mark
	op op
}

// engine runs a network in virtual time.
type engine struct {
	now  int64
	seq  int64
	heap heap[event]
	root link
	free []*request
	clock
	seed    uint64
	ctx     context.Context // nil: nobody interrupts
	beyond  bool            // a time is too long
	inUse   int64           // requests and parts that are not free
	limit   int64
	measure *measure
	open    int  // requests on their way
	coming  bool // more will arrive
	ended   func(r *request, t int64)
	tracer  *tracer
	splits  []*split // to use again
}

// call passes a request on to l and sees that by gets it back, with the mark.
func (e *engine) call(l link, r *request, by node, m mark) {
	if l.k != nil {
		e.schedule(l.k.pass(e, e.now, r), event{r: r, n: by, m: m, op: opBack})
		return
	}
	r.frames = append(r.frames, frame{by, m})
	e.enter(l.n, r)
}

func (e *engine) enter(n node, r *request) {
	if e.tracer != nil {
		e.tracer.enter(e.now, n, r)
	}
	n.enter(e, r)
}

// answer gives a request back to the node that passed it on.
func (e *engine) answer(r *request) {
	if e.tracer != nil {
		e.tracer.leave(e.now, r)
	}
	if n := len(r.frames); n > 0 {
		f := r.frames[n-1]
		r.frames = r.frames[:n-1]
		f.n.back(e, r, f.m)
		return
	}
	e.open--
	e.finish(r, e.now)
	e.release(r)
}

// finish is the end of a request that came from outside.
func (e *engine) finish(r *request, t int64) {
	if t > horizon {
		e.beyond = true
		return
	}
	e.measure.end(r, t)
	if e.ended != nil {
		e.ended(r, t)
	}
}

func (e *engine) release(r *request) {
	e.inUse--
	*r = request{frames: r.frames[:0]}
	e.free = append(e.free, r)
}

func (e *engine) take() *request {
	if e.inUse++; e.inUse > maxInUse {
		e.limit = -1
	}
	if n := len(e.free); n > 0 {
		r := e.free[n-1]
		e.free = e.free[:n-1]
		return r
	}
	return new(request)
}

// No single time is longer than this, in ms, and no run: three and 37 years. What is
// longer is a mistake in a distribution's tail, and must not overflow.
const (
	longest = 1e11
	horizon = 1 << 60 // ns
)

// clock has the resolution of a run.
type clock struct{ round int64 }

// whole rounds a time in milliseconds to nanoseconds, or to what the run asks for.
func (c clock) whole(x float64) int64 {
	t := int64(min(x, longest)*ms + .5)
	if c.round > 0 {
		t = (t + c.round/2) / c.round * c.round
	}
	return t
}

// schedule puts an event into the heap. Events of the same time happen in the order in
// which they were scheduled.
func (e *engine) schedule(t int64, x event) {
	if t > horizon {
		e.beyond = true
		t = horizon
	}
	e.seq++
	e.heap.push(t, e.seq, x)
}

// spend reports whether one event more is allowed.
func (e *engine) spend() bool {
	e.limit--
	if e.limit&0xfff == 0 && e.interrupted() {
		e.limit = -1
	}
	return e.limit >= 0 && !e.beyond
}

// interrupted reports whether nobody waits for the result any more.
func (e *engine) interrupted() bool { return e.ctx != nil && e.ctx.Err() != nil }

// overspent says why a run cannot go on.
func (e *engine) overspent() error {
	switch {
	case e.interrupted():
		return e.ctx.Err()
	case e.beyond:
		return fmt.Errorf("times go beyond %.0f years: look at the tails of the distributions, and at the load", horizon/1e9/86400/365)
	case e.inUse > maxInUse:
		return fmt.Errorf("more than %d requests and parts of them are under way at %.0f ms of virtual time", int64(maxInUse), float64(e.now)/ms)
	}
	return fmt.Errorf("the network does not come to rest: too many events by %.0f ms of virtual time", float64(e.now)/ms)
}

// step handles the next event.
func (e *engine) step() error {
	if !e.spend() {
		return e.overspent()
	}
	top := e.heap.pop()
	x := top.x
	e.now = top.t
	switch x.op {
	case opBack:
		x.n.back(e, x.r, x.m)
	case opDue:
		x.n.due(e, x.r, x.m)
	case opAnswer:
		e.answer(x.r)
	}
	return nil
}

// until handles the events up to a time, that time included.
func (e *engine) until(t int64) error {
	for len(e.heap) > 0 && e.heap[0].t <= t {
		if err := e.step(); err != nil {
			return err
		}
	}
	return nil
}

// run sends n requests, or as many as the load has.
func (e *engine) run(load Load, mix *mixture, n int64, s *dist.Stream) error {
	arrivals := load.start(e, s)
	var one request // does for all of them where the network is known
	t := int64(0)
	e.coming = true
	for id := range n {
		var err error
		if t, err = arrivals(t); err != nil {
			return err
		}
		if t < 0 {
			break
		}
		if err := e.until(t); err != nil {
			return err
		}
		e.now = t
		r := &one
		if e.root.k == nil {
			r = e.take()
			*r = request{frames: r.frames[:0]}
		}
		r.id, r.start, r.size, r.class, r.ok, r.refused = id, t, 1, 0, false, false
		r.waiting, r.serving, r.traveling = 0, 0, 0
		r.luck = dist.Hash(e.seed ^ dist.Hash(uint64(id)))
		r.key = dist.Hash(r.luck)
		if mix != nil {
			mix.draw(r)
		}
		e.measure.begin(r, t)
		e.coming = id+1 < n
		if e.root.k != nil {
			e.finish(r, e.root.k.pass(e, t, r))
			if e.limit < 0 || e.beyond || id&0xfff == 0 && e.interrupted() {
				return e.overspent()
			}
			continue
		}
		e.open++
		e.enter(e.root.n, r)
	}
	e.coming = false
	return e.until(1<<63 - 1)
}

// alive reports whether there are requests under way or to come: what happens by the
// clock alone ends with them.
func (e *engine) alive() bool { return e.coming || e.open > 0 }
