package sim

import (
	"container/list"

	"github.com/headway-lab/headway/dist"
)

// Caching says what a cache holds. Times are in ms.
type Caching struct {
	Ratio float64 // of requests that it answers, by chance; or, if 0:
	Size  int     // keys that it keeps, those that were not asked for longest go (LRU)
	Keep  float64 // for how long; 0: for ever
	Time  float64 // that an answer of the cache takes
}

type cacheSpec struct {
	Caching
	next Node
}

// Cache answers some requests itself. A key is in it when an answer has come back for it;
// requests for the same key that come before that are passed on, too.
func Cache(o Caching, next Node) Node { return &cacheSpec{o, next} }

func (s *cacheSpec) make(b *builder) *live {
	o := s.Caching
	if !(o.Ratio >= 0 && o.Ratio <= 1) || o.Size < 0 || o.Ratio == 0 && o.Size == 0 {
		b.fail("cache: a ratio of %g and a size of %d: want a ratio up to 1, or a size", o.Ratio, o.Size)
	}
	if o.Ratio > 0 && o.Size > 0 {
		b.fail("cache: both a ratio and a size")
	}
	if o.Size > 0 && !b.shallow && !b.mix.keyed() {
		b.fail("cache: requests have no keys, so none is asked for twice; give a class of them keys, such as zipf(1000, 1)")
	}
	b.check("cache: time", dist.Fixed(o.Time))
	b.check("cache: keep", dist.Fixed(o.Keep))
	if b.err != nil {
		return broken()
	}
	n := &cache{Caching: o, role: b.role, time: int64(o.Time*ms + .5), keep: int64(o.Keep*ms + .5)}
	c := b.child(s.next, &n.next, b.role)
	l := &live{kind: "cache", node: n, next: []*child{c}, stats: n.tally.stats}
	if o.Ratio > 0 {
		l.known = n
	} else {
		n.items, n.order = map[uint64]*list.Element{}, list.New()
	}
	return l
}

type cache struct {
	Caching
	time, keep int64
	role       uint64
	next       link
	items      map[uint64]*list.Element
	order      *list.List // of entries, the one asked for last in front
	tally
}

type cached struct {
	key   uint64
	until int64
}

// hit reports whether a request is answered here.
func (n *cache) hit(now int64, r *request) bool {
	if n.Ratio > 0 {
		return r.draw(dist.Uniform(0, 1), n.role) < n.Ratio
	}
	el := n.items[r.key]
	if el == nil {
		return false
	}
	if n.keep > 0 && el.Value.(cached).until <= now {
		n.order.Remove(el)
		delete(n.items, r.key)
		return false
	}
	n.order.MoveToFront(el)
	return true
}

func (n *cache) enter(e *engine, r *request) {
	n.served++
	if n.hit(e.now, r) {
		n.again++
		r.ok = true
		r.serving += n.time
		e.schedule(e.now+n.time, event{r: r, op: opAnswer})
		return
	}
	e.call(n.next, r, n, mark{})
}

func (n *cache) back(e *engine, r *request, _ mark) {
	if r.ok && n.items != nil {
		n.put(e.now, r.key)
	}
	e.answer(r)
}

func (n *cache) put(now int64, key uint64) {
	x := cached{key, now + n.keep}
	if el := n.items[key]; el != nil {
		el.Value = x
		n.order.MoveToFront(el)
		return
	}
	n.items[key] = n.order.PushFront(x)
	if n.order.Len() > n.Size {
		last := n.order.Back()
		delete(n.items, n.order.Remove(last).(cached).key)
	}
}
func (n *cache) due(*engine, *request, mark) {}

func (n *cache) pass(e *engine, t int64, r *request) int64 {
	n.served++
	if n.hit(t, r) {
		n.again++
		r.ok = true
		r.serving += n.time
		return t + n.time
	}
	return n.next.k.pass(e, t, r)
}
