package sim

import (
	"math"

	"github.com/headway-lab/headway/dist"
)

// phases is a process that alternates between two states, for times from two
// distributions, by the clock and not by what happens. It is asked in the order of time.
type phases struct {
	length [2]dist.Dist
	luck   *dist.Stream
	begun  bool
	state  int
	until  int64
}

// at is the state at a time.
func (p *phases) at(e *engine, t int64) int {
	for p.until <= t && e.spend() {
		p.turn(e)
	}
	return p.state
}

// turns reports whether two states take time: a microsecond on average.
func turns(first, second dist.Dist) bool { return first.Mean()+second.Mean() >= .001 }

// turn goes on to the next state, the first one at the beginning.
func (p *phases) turn(e *engine) {
	if p.begun {
		p.state = 1 - p.state
	}
	p.begun = true
	p.until += max(e.whole(p.length[p.state].Draw(p.luck)), 1) // no state is so short that time stands still
}

const (
	up = iota
	down
)

type faultySpec struct {
	up, down, slow dist.Dist
	next           Node
}

// Faulty passes requests on while it is up and fails them at once while it is down; up
// and down times, in ms, are by the clock. What was passed on before is not lost.
func Faulty(up, down dist.Dist, next Node) Node { return &faultySpec{up, down, nil, next} }

// Slow is a node that is not down but slow: then a request takes extra ms more.
func Slow(up, down, extra dist.Dist, next Node) Node {
	if extra == nil {
		extra = dist.Fixed(-1) // refused by name
	}
	return &faultySpec{up, down, extra, next}
}

func (s *faultySpec) make(b *builder) *live {
	b.check("faulty: up", s.up)
	b.check("faulty: down", s.down)
	if s.slow != nil {
		b.check("faulty: slow", s.slow)
	}
	if b.err == nil && !turns(s.up, s.down) {
		b.fail("faulty: up and down times of 0")
	}
	if b.err != nil {
		return broken()
	}
	n := &faulty{phases: phases{length: [2]dist.Dist{s.up, s.down}, luck: b.stream("faulty")}, slow: s.slow, role: b.role}
	c := b.child(s.next, &n.next, b.role)
	c.scattered = s.slow != nil
	return &live{kind: "faulty", node: n, known: n, ordered: true, next: []*child{c}, stats: n.tally.stats}
}

type faulty struct {
	phases
	slow dist.Dist
	role uint64
	next link
	tally
}

func (n *faulty) enter(e *engine, r *request) {
	n.served++
	switch {
	case n.at(e, e.now) == up:
		e.call(n.next, r, n, mark{})
	case n.slow == nil:
		n.refused++
		e.refuse(r)
	default:
		n.again++
		t := e.whole(r.draw(n.slow, n.role))
		r.serving += t
		e.schedule(e.now+t, event{r: r, n: n, op: opDue})
	}
}
func (n *faulty) due(e *engine, r *request, _ mark)  { e.call(n.next, r, n, mark{}) }
func (n *faulty) back(e *engine, r *request, _ mark) { e.answer(r) }
func (n *faulty) pass(e *engine, t int64, r *request) int64 {
	n.served++
	switch {
	case n.at(e, t) == up:
	case n.slow == nil:
		n.refused++
		r.ok, r.refused = false, true
		return t
	default:
		n.again++
		d := e.whole(r.draw(n.slow, n.role))
		r.serving += d
		t += d
	}
	return n.next.k.pass(e, t, r)
}

// Breaking says when a circuit breaker opens and closes. Times are in ms.
type Breaking struct {
	Failures int     // in a row that open it; 0 is 5
	Rest     float64 // for which it stays open; 0 is 1000
	Probes   int     // successes that close it again, one at a time; 0 is 1
}

type breakerSpec struct {
	Breaking
	next Node
}

// Breaker fails requests at once after several failures in a row, lets one through
// after a rest, and closes when that succeeds (M. Nygard, "Release It!", 2007).
func Breaker(o Breaking, next Node) Node { return &breakerSpec{o, next} }

func (s *breakerSpec) make(b *builder) *live {
	o := s.Breaking
	if o.Failures < 0 || o.Probes < 0 {
		b.fail("breaker: %d failures, %d probes", o.Failures, o.Probes)
	}
	b.check("breaker: rest", dist.Fixed(o.Rest))
	if b.err != nil {
		return broken()
	}
	n := &breaker{failures: max(o.Failures, 0), probes: max(o.Probes, 1), rest: int64(o.Rest*ms + .5)}
	if n.failures == 0 {
		n.failures = 5
	}
	if n.rest == 0 {
		n.rest = 1000 * ms
	}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "breaker", node: n, next: []*child{c}, stats: n.tally.stats}
}

type breaker struct {
	failures, probes int
	rest             int64
	next             link

	row     int // failures in a row, or successes while half open
	open    bool
	half    bool
	probing bool
	until   int64
	period  int64 // answers to requests of an earlier period do not count
	tally
}

func (n *breaker) enter(e *engine, r *request) {
	n.served++
	if n.open && e.now >= n.until {
		n.open, n.half, n.probing, n.row = false, true, false, 0
		n.period++
	}
	if n.open || n.half && n.probing {
		n.refused++
		e.refuse(r)
		return
	}
	n.probing = n.half
	e.call(n.next, r, n, mark{a: n.period})
}

func (n *breaker) back(e *engine, r *request, m mark) {
	if m.a == n.period && !n.open && !r.canceled {
		n.note(e, r.ok)
	} else if m.a == n.period {
		n.probing = false
	}
	e.answer(r)
}

func (n *breaker) note(e *engine, ok bool) {
	switch {
	case n.half && ok:
		n.probing = false
		if n.row++; n.row >= n.probes {
			n.half, n.row = false, 0
			n.period++
		}
	case n.half:
		n.trip(e)
	case ok:
		n.row = 0
	default:
		if n.row++; n.row >= n.failures {
			n.trip(e)
		}
	}
}

func (n *breaker) trip(e *engine) {
	n.gaveUp++ // times that it opened
	n.open, n.half, n.row = true, false, 0
	n.until = e.now + n.rest
}
func (n *breaker) due(*engine, *request, mark) {}

type limitSpec struct {
	rate, burst float64
	wait        bool
	next        Node
}

// Limit lets rate requests a second pass, and bursts of burst (a token bucket). What is
// too much fails at once, or waits its turn.
func Limit(rate, burst float64, wait bool, next Node) Node {
	return &limitSpec{rate, burst, wait, next}
}

func (s *limitSpec) make(b *builder) *live {
	if !(s.rate > 0) || !(s.burst >= 1) || math.IsInf(s.rate+s.burst, 0) {
		b.fail("limit: a rate of %g and a burst of %g: want more than 0, and at least 1", s.rate, s.burst)
		return broken()
	}
	n := &limiter{gap: max(int64(1e9/s.rate+.5), 1), burst: s.burst, wait: s.wait}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "limit", node: n, known: n, ordered: true, next: []*child{c}, stats: n.stats}
}

// limiter keeps the time at which its bucket will be full (the generic cell rate
// algorithm of ATM, ITU-T I.371): one number instead of a count and a time.
type limiter struct {
	gap    int64
	burst  float64
	wait   bool
	full   int64
	next   link
	waited int64
	tally
}

// turn is when a request that comes at t may pass.
func (n *limiter) turn(t int64) (int64, bool) {
	n.full = max(n.full, t)
	at := max(t, n.full-int64((n.burst-1)*float64(n.gap)))
	if at > t && !n.wait {
		n.refused++
		return t, false
	}
	n.full += n.gap
	n.waited += at - t
	return at, true
}

func (n *limiter) enter(e *engine, r *request) {
	n.served++
	at, ok := n.turn(e.now)
	switch {
	case !ok:
		e.refuse(r)
	case at > e.now:
		r.waiting += at - e.now
		e.schedule(at, event{r: r, n: n, op: opDue})
	default:
		e.call(n.next, r, n, mark{})
	}
}
func (n *limiter) due(e *engine, r *request, _ mark)  { e.call(n.next, r, n, mark{}) }
func (n *limiter) back(e *engine, r *request, _ mark) { e.answer(r) }
func (n *limiter) pass(e *engine, t int64, r *request) int64 {
	n.served++
	at, ok := n.turn(t)
	if !ok {
		r.ok, r.refused = false, true
		return t
	}
	r.waiting += at - t
	return n.next.k.pass(e, at, r)
}
func (n *limiter) stats() NodeStats {
	s := n.tally.stats()
	s.waited = n.waited
	if n.wait { // a server that takes a gap for each
		s.Workers, s.worked, s.until = 1, (n.served-n.refused)*n.gap, n.full
	}
	return s
}
