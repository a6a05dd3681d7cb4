package sim

import (
	"fmt"
	"time"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// Choose makes the policy of a router over n backends.
type Choose func(n int, r balance.Rand) balance.Policy

type routerSpec struct {
	name     string
	choose   Choose
	feedback bool // the policy cares when requests end
	queues   bool // it may have nobody to choose; requests then wait at the router
	backends []Node
}

// Router sends every request to one of the backends, which a policy chooses. While
// the policy has nobody to choose, requests wait at the router.
func Router(name string, choose Choose, backends ...Node) Node {
	return &routerSpec{name, choose, true, true, backends}
}

// Random sends a request to any backend.
func Random(backends ...Node) Node {
	return &routerSpec{"random", func(n int, r balance.Rand) balance.Policy { return balance.Random(n, r) }, false, false, backends}
}

// RoundRobin sends requests to the backends in turn.
func RoundRobin(backends ...Node) Node {
	return &routerSpec{"round robin", func(n int, _ balance.Rand) balance.Policy { return balance.RoundRobin(n) }, false, false, backends}
}

// LeastConnections sends a request to one of the backends with the fewest open.
func LeastConnections(ties balance.Ties, backends ...Node) Node {
	return &routerSpec{"least connections", func(n int, r balance.Rand) balance.Policy {
		return balance.LeastConnections(n, ties, 0, r)
	}, true, false, backends}
}

// LeastOf looks at d backends and sends a request to the one with the fewest open.
func LeastOf(d int, backends ...Node) Node {
	return &routerSpec{fmt.Sprintf("least of %d", d), func(n int, r balance.Rand) balance.Policy {
		return balance.LeastOf(d, n, r)
	}, true, false, backends}
}

// OneEach sends one request at a time to each backend; the others wait at the router.
func OneEach(backends ...Node) Node {
	return &routerSpec{"one each", func(n int, _ balance.Rand) balance.Policy { return balance.OneEach(n) }, true, true, backends}
}

func (s *routerSpec) make(b *builder) *live {
	if len(s.backends) == 0 {
		b.fail("%s: an empty pool", s.name)
		return &live{node: nowhere{}}
	}
	n := &router{links: make([]link, len(s.backends)), feedback: s.feedback}
	luck := dist.At(b.seed ^ mix(uint64(len(b.order))+b.role))
	n.policy = s.choose(len(s.backends), &luck)
	l := &live{node: n, ordered: true, name: s.name, stats: n.stats}
	if !s.queues {
		l.known = n
	}
	role := b.role
	for i, to := range s.backends {
		l.next = append(l.next, b.child(to, &n.links[i], role))
	}
	return l
}

type router struct {
	policy   balance.Policy
	links    []link
	feedback bool
	open     returns // known requests on their way
	line     fifo

	served, refused int64
	waited          int64
	longest         int
}

func (n *router) enter(e *engine, r *request) {
	r.since = e.now
	if n.line.len() > 0 || !n.send(e, r) {
		n.line.push(r)
		n.longest = max(n.longest, n.line.len())
	}
}

func (n *router) send(e *engine, r *request) bool {
	b := n.policy.Pick(time.Duration(e.now), r.key)
	if b == balance.None {
		return false
	}
	n.served++
	n.waited += e.now - r.since
	r.waiting += e.now - r.since
	e.call(n.links[b], r, n, mark{a: int64(b), t: e.now})
	return true
}

func (n *router) back(e *engine, r *request, m mark) {
	n.policy.Done(time.Duration(e.now), int(m.a), balance.Result{Failed: !r.ok, Latency: time.Duration(e.now - m.t)})
	for n.line.len() > 0 {
		if !n.send(e, n.line.items[n.line.head]) {
			break
		}
		n.line.pop()
	}
	e.answer(r)
}
func (n *router) due(*engine, *request, mark) {}

func (n *router) pass(e *engine, t int64, r *request) int64 {
	for len(n.open) > 0 && n.open[0].t <= t {
		d := n.open.pop()
		n.policy.Done(time.Duration(d.t), int(d.who), balance.Result{Failed: d.failed, Latency: time.Duration(d.took)})
	}
	b := n.policy.Pick(time.Duration(t), r.key)
	if b == balance.None {
		n.refused++
		r.ok = false
		return t
	}
	n.served++
	end := n.links[b].k.pass(e, t, r)
	if n.feedback {
		n.open.push(returning{t: end, took: end - t, who: int32(b), failed: !r.ok})
	}
	return end
}

func (n *router) stats() NodeStats {
	return NodeStats{Served: n.served, Refused: n.refused, waited: n.waited, Longest: n.longest}
}

// returning is a request whose answer is on its way to the router.
type returning struct {
	t, took int64
	who     int32
	failed  bool
}

// returns is a four-ary heap, the earliest first; of equal ones the lowest backend.
type returns []returning

func (a *returning) before(b *returning) bool { return a.t < b.t || a.t == b.t && a.who < b.who }

func (q *returns) push(x returning) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !x.before(&h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = x
	*q = h
}

func (q *returns) pop() returning {
	h := *q
	top := h[0]
	n := len(h) - 1
	x := h[n]
	h = h[:n]
	*q = h
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
