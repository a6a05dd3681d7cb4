package sim

// Mutex is a lock that requests hold at one of several places of the network: whoever
// holds it keeps all others waiting, first come first served.
type Mutex struct{ name string }

// NewMutex makes a lock.
func NewMutex(name string) *Mutex { return &Mutex{name} }

type lockSpec struct {
	m    *Mutex
	next Node
}

// Lock holds the mutex from when a request is passed on until its answer is back.
func (m *Mutex) Lock(next Node) Node { return &lockSpec{m, next} }

func (s *lockSpec) make(b *builder) *live {
	if s.m == nil {
		b.fail("lock: no mutex")
		return broken()
	}
	held := b.mutexes[s.m]
	first := held == nil
	if first {
		held = &holding{}
		b.mutexes[s.m] = held
	}
	n := &lock{holding: held, at: int64(len(held.places))}
	held.places = append(held.places, n)
	c := b.child(s.next, &n.next, b.role)
	l := &live{kind: "mutex", name: s.m.name, node: n, next: []*child{c}}
	if first {
		l.stats = held.stats
	}
	return l
}

// holding is the lock itself, shared by the places where it is taken.
type holding struct {
	held    bool
	line    line
	places  []*lock
	pumping bool

	served, waited, worked, until int64
	longest                       int
}

type lock struct {
	*holding
	at   int64
	next link
}

func (n *lock) enter(e *engine, r *request) {
	r.since = e.now
	switch {
	case r.canceled:
		e.refuse(r)
	case !n.held && n.line.len() == 0:
		n.start(e, r)
	default:
		// The frame remembers the place, as all of them share the line.
		r.frames = append(r.frames, frame{n, mark{}})
		n.line.push(r)
		n.longest = max(n.longest, n.line.len())
	}
}

func (n *lock) start(e *engine, r *request) {
	n.held = true
	n.served++
	n.waited += e.now - r.since
	r.waiting += e.now - r.since
	if r.split != nil {
		e.begun(r)
	}
	e.call(n.next, r, n, mark{a: 1, t: e.now})
}

// back is called when the holder is done, and when one who waits is taken back.
func (n *lock) back(e *engine, r *request, m mark) {
	if m.a == 1 {
		n.held = false
		n.worked += e.now - m.t
		n.until = e.now
		n.pump(e)
	}
	e.answer(r)
}

func (h *holding) pump(e *engine) {
	if h.pumping {
		return
	}
	h.pumping = true
	for !h.held && h.line.len() > 0 {
		r := h.line.pop()
		at := r.frames[len(r.frames)-1].n.(*lock)
		r.frames = r.frames[:len(r.frames)-1]
		at.start(e, r)
	}
	h.pumping = false
}

func (n *lock) due(*engine, *request, mark) {}

func (h *holding) stats() NodeStats {
	return NodeStats{Served: h.served, Workers: 1, waited: h.waited, worked: h.worked, until: h.until, Longest: h.longest}
}
