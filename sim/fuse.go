package sim

import (
	"reflect"

	"github.com/headway-lab/headway/dist"
)

// fused is a chain of known nodes with one queue in it, such as a cable, a queue, delays
// and a server: constant times in a row are one, and a request takes one call
// instead of one for each node.
type fused struct {
	q *queue
	*chain
}

// chain is all of it but the queue. Servers alike have one between them, which stays in
// the processor's cache when there are many.
type chain struct {
	before, after int64 // of cables and constant delays around the queue
	constant      int64 // within it
	early, served int64 // of these, work before the queue and in it
	traveled      int64 // and time in cables, both ways
	random        [3]work
	n             int // of random
}

type work struct {
	d    dist.Dist
	role uint64
}

func (f *fused) pass(e *engine, t int64, r *request) int64 {
	c := f.chain
	r.traveling += c.traveled
	r.serving += c.early
	start, ok := f.q.begin(t+c.before, r)
	if !ok {
		return start + c.after
	}
	r.ok = true
	end := start + c.constant
	served := c.served
	for i := range c.n {
		x := e.whole(r.draw(c.random[i].d, c.random[i].role))
		served += x
		end += x
	}
	r.serving += served
	f.q.finish(start, end)
	return end + c.after
}

// fuse makes one of the chain that begins at a node, or nil if it is none.
func (b *builder) fuse(l *live) known {
	var q *queue
	var c chain
	within := int64(0) // way back inside the queue
	for {
		switch n := l.node.(type) {
		case *cable:
			c.traveled += 2 * n.length
			if q == nil {
				c.before += n.length
				c.after += n.length
			} else {
				c.constant += n.length
				within += n.length
			}
		case *delay:
			switch {
			case q == nil && n.always:
				c.before += n.fixed
				c.early += n.fixed
			case q == nil:
				return nil // it would have to be drawn first
			case n.always:
				c.constant += n.fixed
				c.served += n.fixed
			case c.n == len(c.random) || !reflect.TypeOf(n.d).Comparable():
				return nil
			default:
				c.random[c.n] = work{n.d, n.role}
				c.n++
			}
		case *queue:
			if q != nil {
				return nil
			}
			q = n
		case server:
			if q == nil {
				return nil
			}
			c.constant += within
			shared := b.chains[c]
			if shared == nil {
				shared = &c
				b.chains[c] = shared
			}
			return &fused{q, shared}
		default:
			return nil
		}
		l = l.next[0].to
	}
}
