package sim

// fused is a chain of known nodes with one queue in it, such as a cable, a queue, delays
// and a server: constant times in a row are one, and a request takes one call
// instead of one for each node.
type fused struct {
	q             *queue
	before, after int64 // of cables and constant delays around the queue
	constant      int64 // within it
	random        []*delay
	early, served int64 // of these, work before the queue and in it
	traveled      int64 // and time in cables, both ways
}

func (f *fused) pass(e *engine, t int64, r *request) int64 {
	r.traveling += f.traveled
	r.serving += f.early
	start, ok := f.q.begin(t+f.before, r)
	if !ok {
		return start + f.after
	}
	r.ok = true
	end := start + f.constant
	served := f.served
	for _, d := range f.random {
		x := e.whole(r.draw(d.d, d.role))
		served += x
		end += x
	}
	r.serving += served
	f.q.finish(start, end)
	return end + f.after
}

// fuse makes one of the chain that begins at a node, or nil if it is none.
func fuse(l *live) known {
	f := &fused{}
	within := int64(0) // way back inside the queue
	for {
		switch n := l.node.(type) {
		case *cable:
			f.traveled += 2 * n.length
			if f.q == nil {
				f.before += n.length
				f.after += n.length
			} else {
				f.constant += n.length
				within += n.length
			}
		case *delay:
			switch {
			case f.q == nil && n.always:
				f.before += n.fixed
				f.early += n.fixed
			case f.q == nil:
				return nil // it would have to be drawn first
			case n.always:
				f.constant += n.fixed
				f.served += n.fixed
			default:
				f.random = append(f.random, n)
			}
		case *queue:
			if f.q != nil {
				return nil
			}
			f.q = n
		case server:
			if f.q == nil {
				return nil
			}
			f.constant += within
			return f
		default:
			return nil
		}
		l = l.next[0].to
	}
}
