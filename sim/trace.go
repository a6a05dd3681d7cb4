package sim

import "github.com/headway-lab/headway/dist"

// Span is a node's part in the history of a request. Times are in ms.
type Span struct {
	Request    int64  // by order of arrival
	Part       int    // 0 is the request, others are parts that it was split into
	Node       string // its name, or its kind
	Depth      int    // how many nodes wait for its answer
	Begin, End float64
	OK         bool
	Canceled   bool // taken back, as nobody waited for it any more
}

// tracer writes down the ways of some requests. It is for networks without foresight,
// where every step happens in its time.
type tracer struct {
	first, last int64 // requests
	labels      map[node]string
	open        map[*request][]opened
	parts       map[*request]int
	count       map[int64]int // parts of a request
	spans       []Span
}

type opened struct {
	span   int
	frames int
}

func newTracer(b *builder, first, last int64) *tracer {
	t := &tracer{first: first, last: last, labels: map[node]string{}, open: map[*request][]opened{}, parts: map[*request]int{}, count: map[int64]int{}}
	for _, l := range b.order {
		t.labels[l.node] = l.title().String()
	}
	return t
}

func (t *tracer) enter(now int64, n node, r *request) {
	if r.id < t.first || r.id >= t.last {
		return
	}
	if _, seen := t.open[r]; !seen {
		t.parts[r] = t.count[r.id]
		t.count[r.id]++
	}
	depth := int(r.depth) + len(r.frames)
	t.open[r] = append(t.open[r], opened{len(t.spans), len(r.frames)})
	t.spans = append(t.spans, Span{Request: r.id, Part: t.parts[r], Node: t.labels[n], Depth: depth, Begin: float64(now) / ms, End: -1})
}

func (t *tracer) leave(now int64, r *request) {
	stack, ok := t.open[r]
	if !ok {
		return
	}
	for len(stack) > 0 && stack[len(stack)-1].frames >= len(r.frames) {
		s := &t.spans[stack[len(stack)-1].span]
		s.End, s.OK, s.Canceled = float64(now)/ms, r.ok, r.canceled
		stack = stack[:len(stack)-1]
	}
	t.open[r] = stack
	if len(stack) == 0 { // it is at its end, and may be used again for another
		delete(t.open, r)
		delete(t.parts, r)
	}
}

// Trace runs the network until n requests from the beginning of the window on are
// answered, and returns their histories, in the order in which nodes were entered. What
// it shows is what Run measures under the same seed.
func Trace(c Config, root Node, n int) ([]Span, error) {
	e, b, err := prepare(&c, root, true)
	if err != nil {
		return nil, err
	}
	first, _ := c.Window(c.Requests)
	e.tracer = newTracer(b, int64(first), int64(first+n))
	if err := e.run(c.Arrivals, b.mix, int64(c.Requests), dist.NewStream(c.Seed, "load")); err != nil {
		return nil, err
	}
	return e.tracer.spans, nil
}
