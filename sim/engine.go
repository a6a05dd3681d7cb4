package sim

import (
	"fmt"

	"github.com/headway-lab/headway/dist"
)

// ms is a millisecond of virtual time, which is kept in whole nanoseconds.
const ms = 1e6

// request is on its way through the network.
type request struct {
	id      int64
	key     uint64
	luck    uint64
	attempt uint64 // a retry has luck of its own
	ok      bool
	start   int64
	since   int64 // when it joined the queue it is in
	frames  []frame

	waiting, serving, traveling int64
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
	s := dist.At(r.luck ^ role + r.attempt*0x9e3779b97f4a7c15)
	return d.Draw(&s)
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
	opEnter
	opAnswer
)

type event struct {
	t   int64
	seq int64
	r   *request
	n   node
	m   mark
	op  op
}

// engine runs a network in virtual time.
type engine struct {
	now     int64
	seq     int64
	heap    []event
	root    link
	free    []*request
	round   int64
	seed    uint64
	limit   int64
	measure *measure
}

// call passes a request on to l and sees that by gets it back, with the mark.
func (e *engine) call(l link, r *request, by node, m mark) {
	if l.k != nil {
		e.schedule(l.k.pass(e, e.now, r), event{r: r, n: by, m: m, op: opBack})
		return
	}
	r.frames = append(r.frames, frame{by, m})
	l.n.enter(e, r)
}

// answer gives a request back to the node that passed it on.
func (e *engine) answer(r *request) {
	if n := len(r.frames); n > 0 {
		f := r.frames[n-1]
		r.frames = r.frames[:n-1]
		f.n.back(e, r, f.m)
		return
	}
	e.measure.end(r, e.now)
	e.release(r)
}

func (e *engine) release(r *request) {
	*r = request{frames: r.frames[:0]}
	e.free = append(e.free, r)
}

func (e *engine) take() *request {
	if n := len(e.free); n > 0 {
		r := e.free[n-1]
		e.free = e.free[:n-1]
		return r
	}
	return new(request)
}

// whole rounds a time in milliseconds to nanoseconds, or to what the run asks for.
func (e *engine) whole(x float64) int64 {
	t := int64(x*ms + .5)
	if e.round > 0 {
		t = (t + e.round/2) / e.round * e.round
	}
	return t
}

// schedule puts an event into the four-ary heap. Events of the same time happen in
// the order in which they were scheduled.
func (e *engine) schedule(t int64, x event) {
	e.seq++
	x.t, x.seq = t, e.seq
	h := append(e.heap, x)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 4
		if h[p].t < t || h[p].t == t { // an equal one is older
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = x
	e.heap = h
}

func (a *event) before(b *event) bool { return a.t < b.t || a.t == b.t && a.seq < b.seq }

func (e *engine) pop() event {
	h := e.heap
	top := h[0]
	n := len(h) - 1
	x := h[n]
	h[n] = event{}
	h = h[:n]
	e.heap = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for j := c + 1; j < min(c+4, n); j++ {
			if h[j].before(&h[least]) {
				least = j
			}
		}
		if !h[least].before(&x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
	return top
}

// until handles the events up to a time, that time included.
func (e *engine) until(t int64) error {
	for len(e.heap) > 0 && e.heap[0].t <= t {
		if e.limit--; e.limit < 0 {
			return fmt.Errorf("the network does not come to rest: too many events by %.0f ms of virtual time", float64(e.now)/ms)
		}
		x := e.pop()
		e.now = x.t
		switch x.op {
		case opBack:
			x.n.back(e, x.r, x.m)
		case opDue:
			x.n.due(e, x.r, x.m)
		case opEnter:
			x.n.enter(e, x.r)
		case opAnswer:
			e.answer(x.r)
		}
	}
	return nil
}

// run sends n requests.
func (e *engine) run(load Load, n int, s *dist.Stream) error {
	arrivals := load.start(e, s)
	var one request // does for all of them where the network is known
	t := int64(0)
	for id := range int64(n) {
		t = arrivals(t)
		if err := e.until(t); err != nil {
			return err
		}
		e.now = t
		r := &one
		if e.root.k == nil {
			r = e.take()
		}
		*r = request{id: id, luck: mix(e.seed ^ mix(uint64(id))), start: t, frames: r.frames[:0]}
		r.key = mix(r.luck)
		e.measure.begin(r, t)
		if e.root.k != nil {
			e.measure.end(r, e.root.k.pass(e, t, r))
			continue
		}
		e.root.n.enter(e, r)
	}
	return e.until(1<<63 - 1)
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
