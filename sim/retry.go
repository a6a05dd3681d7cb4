package sim

import (
	"math"

	"github.com/headway-lab/headway/dist"
)

type timeoutSpec struct {
	limit  float64
	recall bool
	next   Node
}

// Timeout gives up on a request that is not answered within limit ms: it fails. What
// was asked goes on being served, and takes the place of others; with recall it leaves the
// line that it waits in.
func Timeout(limit float64, recall bool, next Node) Node { return &timeoutSpec{limit, recall, next} }

func (s *timeoutSpec) make(b *builder) *live {
	if !b.check("timeout", dist.Fixed(s.limit)) {
		return broken()
	}
	n := &timeout{limit: int64(s.limit*ms + .5), recall: s.recall}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "timeout", node: n, next: []*child{c}, stats: n.tally.stats, recalls: s.recall}
}

type timeout struct {
	limit  int64
	recall bool
	next   link
	tally
}

func (n *timeout) enter(e *engine, r *request) {
	n.served++
	s := e.split(n, r)
	e.ring(s, n.limit)
	e.send(s, n.next)
}

func (n *timeout) due(e *engine, bell *request, _ mark) {
	s := bell.split
	if !s.done {
		n.gaveUp++
		s.parent.waiting += n.limit
		e.join(s, nil, false)
		if n.recall {
			e.recall(s)
		}
	}
	e.drop(s)
}

func (n *timeout) back(e *engine, k *request, m mark) {
	s := k.split
	s.back(k, m)
	if !s.done {
		e.join(s, k, k.ok)
	}
	e.drop(s)
	e.release(k)
}

// Retrying says how a request is tried again. Times are in ms.
type Retrying struct {
	Most    int     // tries after the first; 0 is 1
	Backoff float64 // before the first of them; the wait doubles from one to the next
	Cap     float64 // of the wait; 0: none
	// Jitter makes the wait uniform between 0 and what it would be: "full jitter"
	// (M. Brooker, "Exponential backoff and jitter", 2015).
	Jitter bool
	// Budget bounds the tries again to this share of the requests, but for a burst of
	// Burst; 0: no bound. It is a bucket to which every request adds Budget, and
	// from which a try takes 1 (Finagle's RetryBudget).
	Budget float64
	Burst  float64 // 0 is 10
}

type retrySpec struct {
	Retrying
	next Node
}

// Retry asks again when a request has failed.
func Retry(o Retrying, next Node) Node { return &retrySpec{o, next} }

func (s *retrySpec) make(b *builder) *live {
	o := s.Retrying
	if o.Most < 0 || o.Most > 1000 {
		b.fail("retry: %d tries", o.Most)
	}
	for what, x := range map[string]float64{"retry: backoff": o.Backoff, "retry: longest backoff": o.Cap, "retry: budget": o.Budget, "retry: burst": o.Burst} {
		b.check(what, dist.Fixed(x))
	}
	if o.Most == 0 {
		o.Most = 1
	}
	if o.Burst == 0 {
		o.Burst = 10
	}
	n := &retry{Retrying: o, tokens: o.Burst, role: b.role}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "retry", node: n, next: []*child{c}, stats: n.tally.stats}
}

type retry struct {
	Retrying
	tokens float64
	role   uint64
	next   link
	tally
}

func (n *retry) enter(e *engine, r *request) {
	n.served++
	n.tokens = min(n.tokens+n.Budget, n.Burst)
	e.call(n.next, r, n, mark{})
}

func (n *retry) back(e *engine, r *request, m mark) {
	if r.ok || r.canceled || m.a >= int64(n.Most) {
		e.answer(r)
		return
	}
	if n.Budget > 0 {
		if n.tokens < 1-1e-9 { // ten tenths are a little less than 1
			n.gaveUp++
			e.answer(r)
			return
		}
		n.tokens--
	}
	n.again++
	r.attempt++
	r.refused = false
	wait := n.Backoff * math.Exp2(float64(m.a))
	if n.Cap > 0 {
		wait = min(wait, n.Cap)
	}
	if n.Jitter {
		wait = r.draw(dist.Uniform(0, wait), n.role)
	}
	t := e.whole(min(wait, 1e12))
	r.waiting += t
	e.schedule(e.now+t, event{r: r, n: n, m: mark{a: m.a + 1}, op: opDue})
}

func (n *retry) due(e *engine, r *request, m mark) { e.call(n.next, r, n, m) }

type hedgeSpec struct {
	after  float64
	most   int
	recall bool
	next   Node
}

// Hedge asks once more, at most most times, when there is no answer after ms, and at
// once when there is a failure; the first success counts (J. Dean and L. A. Barroso,
// "The tail at scale", CACM 56, 2013). With recall the others leave their lines then.
func Hedge(after float64, most int, recall bool, next Node) Node {
	return &hedgeSpec{after, most, recall, next}
}

func (s *hedgeSpec) make(b *builder) *live {
	b.check("hedge", dist.Fixed(s.after))
	if s.most < 1 || s.most > 1000 {
		b.fail("hedge: %d more requests", s.most)
	}
	if b.err != nil {
		return broken()
	}
	n := &hedge{after: int64(s.after*ms + .5), most: s.most, recall: s.recall}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "hedge", node: n, next: []*child{c}, stats: n.tally.stats, recalls: s.recall}
}

type hedge struct {
	after  int64
	most   int
	recall bool
	next   link
	tally
}

func (n *hedge) enter(e *engine, r *request) {
	n.served++
	r.since = e.now
	s := e.split(n, r)
	e.ring(s, n.after)
	e.send(s, n.next)
}

func (n *hedge) more(e *engine, s *split) {
	n.again++
	if s.sent < n.most {
		e.ring(s, n.after)
	}
	e.send(s, n.next)
}

func (n *hedge) due(e *engine, bell *request, _ mark) {
	s := bell.split
	if !s.done && s.sent <= n.most {
		n.more(e, s)
	}
	e.drop(s)
}

func (n *hedge) back(e *engine, k *request, m mark) {
	s := k.split
	s.back(k, m)
	if !s.done {
		k.waiting += m.t - s.parent.since // until it was sent
	}
	switch {
	case s.done:
	case k.ok:
		e.join(s, k, true)
		if n.recall {
			e.recall(s)
		}
	case s.parent.canceled || s.sent > n.most:
		if s.bad == s.sent {
			e.join(s, k, false)
		}
	default:
		n.more(e, s)
	}
	e.drop(s)
	e.release(k)
}

// tally counts what a node does that is no queue.
type tally struct{ served, again, gaveUp, refused int64 }

func (n *tally) stats() NodeStats {
	return NodeStats{Served: n.served, Again: n.again, GaveUp: n.gaveUp, Refused: n.refused}
}
