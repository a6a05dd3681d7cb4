package sim

import "github.com/headway-lab/headway/dist"

// split is a request that has become several, its parts: because it is waited for
// only so long, because of hedges, or because the work is spread. The parent goes
// on as soon as the node that split it says so; parts that come back later find
// nobody.
type split struct {
	node   node
	parent *request
	parts  []*request // in the order in which they were sent; nil: back
	sent   int
	good   int
	bad    int
	done   bool     // the parent has gone on
	taken  bool     // tied: one of them is being served
	chosen *request // which
	refs   int      // parts under way, timers, and the node itself until it is done
	bell   request  // stands for the split in events, and is what its parts begin as
	batch  []*request
}

// split begins to split a request at a node.
func (e *engine) split(n node, r *request) *split {
	var s *split
	if k := len(e.splits); k > 0 {
		s, e.splits = e.splits[k-1], e.splits[:k-1]
	} else {
		s = new(split)
	}
	*s = split{node: n, parent: r, parts: s.parts[:0], batch: s.batch[:0], refs: 1}
	s.bell = request{id: r.id, key: r.key, luck: r.luck, attempt: r.attempt, class: r.class, size: r.size,
		start: r.start, depth: r.depth + int32(len(r.frames)), canceled: r.canceled, split: s}
	r.parts = s
	return s
}

// send sends one part more. The first has the luck of the whole.
func (e *engine) send(s *split, to link) {
	if e.limit < 0 {
		return // the run is over
	}
	k := e.take()
	frames := k.frames[:0]
	*k = s.bell
	k.frames = frames
	if s.sent > 0 {
		k.luck = dist.Hash(k.luck + uint64(s.sent)<<32)
	}
	slot := len(s.parts)
	s.parts = append(s.parts, k)
	s.sent++
	s.refs++
	e.call(to, k, s.node, mark{a: int64(slot), t: e.now})
}

// ring wakes the node of a split after a time, in ns.
func (e *engine) ring(s *split, after int64) {
	s.refs++
	e.schedule(e.now+after, event{r: &s.bell, n: s.node, op: opDue})
}

// join gives the parent its answer, which is that of a part, or a failure.
func (e *engine) join(s *split, part *request, ok bool) {
	p := s.parent
	s.done, s.parent, p.parts = true, nil, nil
	p.ok = ok
	if part != nil {
		p.refused = part.refused
		p.waiting += part.waiting
		p.serving += part.serving
		p.traveling += part.traveling
	}
	e.answer(p)
	e.drop(s)
}

// back notes that a part has come back, and forgets it once the node has looked at it.
func (s *split) back(k *request, m mark) {
	s.parts[m.a] = nil
	if k.ok {
		s.good++
	} else {
		s.bad++
	}
}

// drop ends one use of a split.
func (e *engine) drop(s *split) {
	if s.refs--; s.refs == 0 {
		e.splits = append(e.splits, s)
	}
}

// recall takes back the parts that nobody waits for: those that wait in a line leave
// it at once, those that travel will not join one; one that is being served is served
// to its end, as servers do that do not look whether their client is still there.
func (e *engine) recall(s *split) {
	for _, k := range s.parts {
		if k != nil {
			e.cancel(k)
		}
	}
}

func (e *engine) cancel(r *request) {
	if r.canceled {
		return
	}
	r.canceled = true
	if r.parts != nil {
		r.parts.bell.canceled = true
	}
	if r.line != nil {
		r.line.remove(r)
		r.ok = false
		e.answer(r)
		return
	}
	if r.parts != nil {
		e.recall(r.parts)
	}
}

// begun tells the splits that a request is part of that somebody serves it now.
func (e *engine) begun(r *request) {
	for s := r.split; s != nil && !s.done; s = r.split {
		whole := s.parent
		if t, ok := s.node.(*tied); ok && !s.taken {
			s.taken = true
			t.taken(e, s, r)
		}
		r = whole
	}
}
