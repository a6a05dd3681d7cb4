package sim

import (
	"math"

	"github.com/headway-lab/headway/dist"
)

type serverSpec struct{ name string }

// Server answers every request, at once.
func Server(name string) Node { return &serverSpec{name} }

func (s *serverSpec) make(*builder) *live {
	n := server{}
	return &live{kind: "server", node: n, known: n, name: s.name}
}

type server struct{}

func (server) enter(e *engine, r *request) {
	r.ok = true
	e.answer(r)
}
func (server) pass(_ *engine, t int64, r *request) int64 {
	r.ok = true
	return t
}
func (server) back(*engine, *request, mark) {}
func (server) due(*engine, *request, mark)  {}

type delaySpec struct {
	d    dist.Dist
	next Node
}

// Delay works for a time on each request, on any number at once, and passes it on.
func Delay(d dist.Dist, next Node) Node { return &delaySpec{d, next} }

func (s *delaySpec) make(b *builder) *live {
	if !b.check("delay", s.d) {
		return broken()
	}
	n := &delay{d: s.d, role: b.role}
	c := b.child(s.next, &n.next, n.role)
	if v := s.d.Variance(); v == 0 && !math.IsInf(s.d.Mean(), 0) {
		n.fixed, n.always = b.whole(s.d.Mean()), true
		c.shift = n.fixed
	} else {
		c.scattered = true
	}
	return &live{kind: "delay", node: n, known: n, next: []*child{c}}
}

type delay struct {
	d      dist.Dist
	role   uint64
	fixed  int64 // if it is always the same
	always bool
	next   link
}

func (n *delay) time(e *engine, r *request) int64 {
	if n.always {
		return n.fixed
	}
	return e.whole(r.draw(n.d, n.role))
}

func (n *delay) enter(e *engine, r *request) {
	t := n.time(e, r)
	r.serving += t
	e.schedule(e.now+t, event{r: r, n: n, op: opDue})
}
func (n *delay) due(e *engine, r *request, _ mark)  { e.call(n.next, r, n, mark{}) }
func (n *delay) back(e *engine, r *request, _ mark) { e.answer(r) }
func (n *delay) pass(e *engine, t int64, r *request) int64 {
	d := n.time(e, r)
	r.serving += d
	return n.next.k.pass(e, t+d, r)
}

type cableSpec struct {
	length float64
	next   Node
}

// Cable takes a time each way: to the next node, and back with the answer.
func Cable(length float64, next Node) Node { return &cableSpec{length, next} }

func (s *cableSpec) make(b *builder) *live {
	if !b.check("cable", dist.Fixed(s.length)) {
		return broken()
	}
	n := &cable{length: int64(s.length*ms + .5)}
	c := b.child(s.next, &n.next, b.role)
	c.shift = n.length
	return &live{kind: "cable", node: n, known: n, next: []*child{c}}
}

type cable struct {
	length int64
	next   link
}

func (n *cable) enter(e *engine, r *request) {
	r.traveling += 2 * n.length
	e.schedule(e.now+n.length, event{r: r, n: n, op: opDue})
}
func (n *cable) due(e *engine, r *request, _ mark) { e.call(n.next, r, n, mark{}) }
func (n *cable) back(e *engine, r *request, _ mark) {
	e.schedule(e.now+n.length, event{r: r, op: opAnswer})
}
func (n *cable) pass(e *engine, t int64, r *request) int64 {
	r.traveling += 2 * n.length
	return n.next.k.pass(e, t+n.length, r) + n.length
}

// Pool is n nodes alike.
func Pool(n int, each func(i int) Node) []Node {
	all := make([]Node, n)
	for i := range all {
		all[i] = each(i)
	}
	return all
}
