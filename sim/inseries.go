package sim

type seriesSpec struct{ nodes []Node }

// Series asks its nodes one after the other, each when the one before has answered, as a
// handler does that calls two services. It fails with the first that fails.
func Series(nodes ...Node) Node { return &seriesSpec{nodes} }

func (s *seriesSpec) make(b *builder) *live {
	if len(s.nodes) == 0 {
		b.fail("series: nothing in it")
		return broken()
	}
	n := &inSeries{links: make([]link, len(s.nodes))}
	l := &live{kind: "series", node: n, known: n}
	role := b.role
	for i, to := range s.nodes {
		c := b.child(to, &n.links[i], role+uint64(i)) // each has luck of its own
		c.scattered = i > 0
		l.next = append(l.next, c)
	}
	return l
}

type inSeries struct{ links []link }

func (n *inSeries) enter(e *engine, r *request) { e.call(n.links[0], r, n, mark{a: 1}) }
func (n *inSeries) back(e *engine, r *request, m mark) {
	if !r.ok || m.a == int64(len(n.links)) {
		e.answer(r)
		return
	}
	e.call(n.links[m.a], r, n, mark{a: m.a + 1})
}
func (n *inSeries) due(*engine, *request, mark) {}
func (n *inSeries) pass(e *engine, t int64, r *request) int64 {
	for _, l := range n.links {
		if t = l.k.pass(e, t, r); !r.ok {
			break
		}
	}
	return t
}
