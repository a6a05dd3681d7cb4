package sim

import (
	"fmt"
	"time"

	"github.com/headway-lab/headway/balance"
)

// Choose makes the policy of a router over n backends.
type Choose func(n int, r balance.Rand) balance.Policy

// Routing is how a router chooses among its backends.
type Routing struct {
	Name   string
	Choose Choose
	// Deaf policies do not care when requests end.
	Deaf bool
	// Tries is how many backends a request is offered to while they refuse it at once, for
	// want of room; 0 is 1.
	Tries int
	// View, if there is one, says what the router knows of its backends. Without it a
	// router counts what it has sent itself.
	View *View
}

// View is what routers know of a pool: all that any of them sends there and gets back
// is in it, but only after Stale ms. The policy must be a [balance.Counter].
type View struct{ Stale float64 }

type routerSpec struct {
	Routing
	backends []Node
}

// To sends every request to one of the backends. While the policy has nobody to choose,
// requests wait at the router.
func (o Routing) To(backends ...Node) Node { return &routerSpec{o, backends} }

// Router is Routing with a name and a policy, and nothing else.
func Router(name string, choose Choose, backends ...Node) Node {
	return Routing{Name: name, Choose: choose}.To(backends...)
}

// Random sends a request to any backend.
func Random(backends ...Node) Node { return ByChance().To(backends...) }

// ByChance is the routing of Random.
func ByChance() Routing {
	return Routing{Name: "random", Deaf: true, Choose: func(n int, r balance.Rand) balance.Policy { return balance.Random(n, r) }}
}

// RoundRobin sends requests to the backends in turn.
func RoundRobin(backends ...Node) Node {
	return Routing{Name: "round robin", Deaf: true, Choose: func(n int, _ balance.Rand) balance.Policy { return balance.RoundRobin(n) }}.To(backends...)
}

// LeastConnections sends a request to one of the backends with the fewest open.
func LeastConnections(ties balance.Ties, backends ...Node) Node {
	return Router("least connections", func(n int, r balance.Rand) balance.Policy {
		return balance.LeastConnections(n, ties, 0, r)
	}, backends...)
}

// LeastOf looks at d backends and sends a request to the one with the fewest open.
func LeastOf(d int, backends ...Node) Node {
	return Router(fmt.Sprintf("least of %d", d), func(n int, r balance.Rand) balance.Policy {
		return balance.LeastOf(d, n, r)
	}, backends...)
}

// OneEach sends one request at a time to each backend; the others wait at the router.
func OneEach(backends ...Node) Node {
	return Router("one each", func(n int, _ balance.Rand) balance.Policy { return balance.OneEach(n) }, backends...)
}

func (s *routerSpec) make(b *builder) *live {
	if len(s.backends) == 0 {
		b.fail("%s: an empty pool", s.Name)
		return broken()
	}
	if s.Tries < 0 {
		b.fail("%s: %d tries", s.Name, s.Tries)
	}
	n := &router{links: make([]link, len(s.backends)), feedback: !s.Deaf, tries: int64(max(s.Tries, 1))}
	luck := b.stream("router")
	n.policy = s.Choose(len(s.backends), luck)
	l := &live{kind: s.Name, node: n, ordered: true, stats: n.stats}
	if s.View != nil {
		n.view(b, s)
	} else if _, waits := n.policy.(balance.Waiter); !waits && n.tries == 1 {
		l.known = n
	}
	l.next = b.children(s.backends, n.links)
	return l
}

type router struct {
	policy   balance.Policy
	links    []link
	feedback bool
	open     heap[int64] // known requests on their way: who answers when, whether in vain, and how long it took
	line     line
	pumping  bool
	tries    int64
	board    *board

	served, refused int64
	again           int64
	waited          int64
	longest         int
}

func (n *router) enter(e *engine, r *request) {
	r.since = e.now
	if r.canceled {
		e.refuse(r)
		return
	}
	if n.line.len() == 0 {
		if b := n.pick(e, r); b != balance.None {
			n.served++
			n.send(e, r, b, 1)
			return
		}
	}
	n.line.push(r)
	n.longest = max(n.longest, n.line.len())
}

func (n *router) pick(e *engine, r *request) int {
	if n.board != nil {
		return n.board.pick(e.now, r.key)
	}
	return n.policy.Pick(time.Duration(e.now), r.key)
}

// send passes a request on for the try-th time.
func (n *router) send(e *engine, r *request, b int, try int64) {
	e.call(n.links[b], r, n, mark{a: int64(b) | try<<32, t: e.now})
}

// pump sends those who wait while there is a backend to choose.
func (n *router) pump(e *engine) {
	if n.pumping {
		return
	}
	n.pumping = true
	for n.line.len() > 0 {
		b := n.pick(e, n.line.front())
		if b == balance.None {
			break
		}
		r := n.line.pop()
		n.served++
		n.waited += e.now - r.since
		r.waiting += e.now - r.since
		n.send(e, r, b, 1)
	}
	n.pumping = false
}

func (n *router) back(e *engine, r *request, m mark) {
	from, try := int(int32(m.a)), m.a>>32
	if n.board != nil {
		n.board.done(e.now, from)
	} else {
		n.policy.Done(time.Duration(e.now), from, balance.Result{Failed: !r.ok && !r.canceled, Latency: time.Duration(e.now - m.t)})
	}
	if r.refused && !r.canceled && try < n.tries {
		if b := n.other(e, r, from); b != balance.None {
			n.again++
			r.refused = false
			n.send(e, r, b, try+1)
			n.pump(e)
			return
		}
	}
	n.pump(e)
	e.answer(r)
}

// other is a backend that is not the one that has just refused, if a few picks find one.
func (n *router) other(e *engine, r *request, from int) int {
	for range 8 {
		b := n.pick(e, r)
		if b != from || len(n.links) == 1 {
			return b
		}
		if n.board != nil {
			n.board.done(e.now, b)
		} else {
			n.policy.Done(time.Duration(e.now), b, balance.Result{})
		}
	}
	return balance.None
}

func (n *router) due(*engine, *request, mark) {}

func (n *router) pass(e *engine, t int64, r *request) int64 {
	for len(n.open) > 0 && n.open[0].t <= t {
		d := n.open.pop()
		n.policy.Done(time.Duration(d.t), int(d.tie>>1), balance.Result{Failed: d.tie&1 == 1, Latency: time.Duration(d.x)})
	}
	b := n.policy.Pick(time.Duration(t), r.key)
	if b == balance.None {
		n.refused++
		r.ok, r.refused = false, true
		return t
	}
	n.served++
	end := n.links[b].k.pass(e, t, r)
	if n.feedback {
		who := int64(b) << 1
		if !r.ok {
			who |= 1
		}
		n.open.push(end, who, end-t)
	}
	return end
}

func (n *router) stats() NodeStats {
	return NodeStats{Served: n.served, Refused: n.refused, Again: n.again, waited: n.waited, Longest: n.longest}
}
