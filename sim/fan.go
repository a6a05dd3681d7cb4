package sim

import (
	"slices"

	"github.com/headway-lab/headway/dist"
)

type fanSpec struct {
	need   int
	recall bool
	nodes  []Node
}

// Fan sends a part of the request to every node and joins their answers: it succeeds
// with the need-th success (0: all of them; 1: the first; more: a quorum) and fails when
// that cannot be reached any more. With recall the parts that nobody needs leave their lines.
func Fan(need int, recall bool, nodes ...Node) Node { return &fanSpec{need, recall, nodes} }

func (s *fanSpec) make(b *builder) *live {
	need := s.need
	if need == 0 {
		need = len(s.nodes)
	}
	if len(s.nodes) == 0 {
		b.fail("fan: no node to send to")
		return broken()
	}
	if need < 0 || need > len(s.nodes) {
		b.fail("fan: %d of %d answers", need, len(s.nodes))
		return broken()
	}
	n := &fan{need: need, recall: s.recall, links: make([]link, len(s.nodes))}
	l := &live{kind: "fan", node: n, stats: n.tally.stats, recalls: s.recall}
	l.next = b.children(s.nodes, n.links)
	return l
}

type fan struct {
	need   int
	recall bool
	links  []link
	tally
}

func (n *fan) enter(e *engine, r *request) {
	n.served++
	s := e.split(n, r)
	s.refs++ // it must not be used again while parts are sent
	for _, l := range n.links {
		e.send(s, l)
	}
	e.drop(s)
}

func (n *fan) back(e *engine, k *request, m mark) {
	s := k.split
	s.back(k, m)
	if !s.done && (s.good == n.need || s.bad == len(n.links)-n.need+1) {
		e.join(s, k, k.ok)
		if n.recall {
			e.recall(s)
		}
	}
	e.drop(s)
	e.release(k)
}
func (n *fan) due(*engine, *request, mark) {}

type tiedSpec struct {
	d     int
	lag   float64
	nodes []Node
}

// Tied sends a request to d of the nodes, chosen at random; the first that begins to
// serve it tells the others, which takes lag ms, and takes it out of their lines (J. Dean
// and L. A. Barroso, "The tail at scale", CACM 56, 2013). It is also a client that
// connects to d servers and keeps the connection that is accepted first.
func Tied(d int, lag float64, nodes ...Node) Node { return &tiedSpec{d, lag, nodes} }

func (s *tiedSpec) make(b *builder) *live {
	b.check("tied: lag", dist.Fixed(s.lag))
	if s.d < 1 {
		b.fail("tied: %d of the nodes", s.d)
	}
	if len(s.nodes) == 0 {
		b.fail("tied: an empty pool")
	}
	if b.err != nil {
		return broken()
	}
	n := &tied{d: min(s.d, len(s.nodes)), lag: int64(s.lag*ms + .5), links: make([]link, len(s.nodes)), luck: b.stream("tied")}
	l := &live{kind: "tied", node: n, stats: n.tally.stats, recalls: true}
	l.next = b.children(s.nodes, n.links)
	return l
}

type tied struct {
	d     int
	lag   int64
	links []link
	luck  *dist.Stream
	picks []int
	tally
}

func (n *tied) enter(e *engine, r *request) {
	n.served++
	s := e.split(n, r)
	s.refs++
	// Floyd's sample of d different ones.
	picks := n.picks[:0]
	for j := len(n.links) - n.d; j < len(n.links); j++ {
		i := n.luck.IntN(j + 1)
		if slices.Contains(picks, i) {
			i = j
		}
		picks = append(picks, i)
	}
	n.picks = picks
	for _, i := range picks {
		if s.done || s.taken && n.lag == 0 {
			break
		}
		if s.sent > 0 {
			n.again++
		}
		e.send(s, n.links[i])
	}
	e.drop(s)
}

// taken is called when a part begins to be served for the first time.
func (n *tied) taken(e *engine, s *split, r *request) {
	s.chosen = r
	if n.lag > 0 {
		e.ring(s, n.lag)
		return
	}
	n.keep(e, s)
}

// keep recalls all parts but the one that was chosen.
func (n *tied) keep(e *engine, s *split) {
	for _, k := range s.parts {
		if k != nil && k != s.chosen {
			e.cancel(k)
		}
	}
}

func (n *tied) due(e *engine, bell *request, _ mark) {
	if s := bell.split; !s.done {
		n.keep(e, s)
	}
	e.drop(bell.split)
}

func (n *tied) back(e *engine, k *request, m mark) {
	s := k.split
	s.back(k, m)
	if !s.done && (k.ok || s.bad == s.sent) {
		e.join(s, k, k.ok)
		e.recall(s)
	}
	e.drop(s)
	e.release(k)
}

type batchSpec struct {
	most int
	wait float64
	next Node
}

// Batch collects requests, at most most of them and for at most wait ms, and passes
// them on as one.
func Batch(most int, wait float64, next Node) Node { return &batchSpec{most, wait, next} }

func (s *batchSpec) make(b *builder) *live {
	b.check("batch", dist.Fixed(s.wait))
	if s.most < 1 {
		b.fail("batch: at most %d requests", s.most)
	}
	if b.err != nil {
		return broken()
	}
	n := &batch{most: s.most, wait: int64(s.wait*ms + .5)}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "batch", node: n, next: []*child{c}, stats: n.stats}
}

type batch struct {
	most   int
	wait   int64
	next   link
	now    *split // that is being collected
	waited int64
	tally
}

func (n *batch) enter(e *engine, r *request) {
	n.served++
	r.since = e.now
	s := n.now
	if s == nil {
		s = e.split(n, r)
		r.parts = nil // it cannot leave the others
		n.now = s
		if n.most > 1 {
			e.ring(s, n.wait)
		}
	}
	s.batch = append(s.batch, r)
	if len(s.batch) >= n.most {
		n.pass(e, s)
	}
}

func (n *batch) pass(e *engine, s *split) {
	n.now = nil
	for _, r := range s.batch {
		n.waited += e.now - r.since
		r.waiting += e.now - r.since
	}
	s.taken = true
	e.send(s, n.next)
}

func (n *batch) due(e *engine, bell *request, _ mark) {
	if s := bell.split; s == n.now && !s.taken {
		n.pass(e, s)
	}
	e.drop(bell.split)
}

func (n *batch) back(e *engine, k *request, _ mark) {
	s := k.split
	s.done, s.parent = true, nil
	for _, r := range s.batch {
		r.ok, r.refused = k.ok, k.refused
		r.waiting += k.waiting
		r.serving += k.serving
		r.traveling += k.traveling
		e.answer(r)
	}
	e.drop(s) // the part
	e.drop(s) // the node
	e.release(k)
}

func (n *batch) stats() NodeStats {
	s := n.tally.stats()
	s.waited = n.waited
	return s
}
