package sim

type queueSpec struct {
	next    Node
	workers int
	backlog int
	order   Order
}

// QueueOption changes a queue.
type QueueOption func(*queueSpec)

// Workers lets n requests pass at a time; one is usual.
func Workers(n int) QueueOption { return func(s *queueSpec) { s.workers = n } }

// Backlog refuses a request that would be the (n+1)-th to wait.
func Backlog(n int) QueueOption { return func(s *queueSpec) { s.backlog = n } }

// Ordered lets those who wait be served in another order than FIFO.
func Ordered(o Order) QueueOption { return func(s *queueSpec) { s.order = o } }

// Queue passes one request at a time and lets the others wait, first come first served.
func Queue(next Node, options ...QueueOption) Node {
	s := &queueSpec{next: next, workers: 1, backlog: -1}
	for _, o := range options {
		o(s)
	}
	return s
}

func (s *queueSpec) make(b *builder) *live {
	if s.workers < 1 {
		b.fail("queue: %d workers", s.workers)
		s.workers = 1
	}
	if s.backlog < -1 {
		b.fail("queue: a backlog of %d", s.backlog)
	}
	n := &queue{workers: s.workers, backlog: s.backlog}
	n.line.order = s.order
	switch s.order {
	case Priority:
		n.line.rank = func(r *request) float64 { return -b.priority(r) }
	case Shortest:
		n.line.rank = func(r *request) float64 { return r.size }
	}
	c := b.child(s.next, &n.next, b.role)
	// One worker passes the requests on in their order, several do not.
	c.scattered = s.workers > 1
	l := &live{kind: "queue", node: n, ordered: true, next: []*child{c}, stats: n.stats}
	if s.order == FIFO {
		l.known = n
	}
	return l
}

type queue struct {
	next             link
	workers, backlog int

	// Entered in time.
	busy    int
	line    line
	pumping bool

	// Known: when each of several workers will be free, the earliest first, and when those
	// who wait will start.
	soonest int64 // when there will be a free worker
	free    []int64
	starts  ring64

	served, refused int64
	waited, worked  int64
	until           int64
	longest         int
}

func (n *queue) enter(e *engine, r *request) {
	r.since = e.now
	switch {
	case r.canceled:
		e.refuse(r)
	case n.busy < n.workers && n.line.len() == 0:
		n.start(e, r)
	case n.backlog >= 0 && n.line.len() >= n.backlog:
		n.refused++
		e.refuse(r)
	default:
		n.line.push(r)
		n.longest = max(n.longest, n.line.len())
	}
}

func (n *queue) start(e *engine, r *request) {
	n.busy++
	n.served++
	n.waited += e.now - r.since
	r.waiting += e.now - r.since
	if r.split != nil {
		e.begun(r)
	}
	e.call(n.next, r, n, mark{t: e.now})
}

// pump starts those who wait for whom there are workers. A request that is
// answered at once comes back while it does, and is not to start it again.
func (n *queue) pump(e *engine) {
	if n.pumping {
		return
	}
	n.pumping = true
	for n.busy < n.workers && n.line.len() > 0 {
		n.start(e, n.line.pop())
	}
	n.pumping = false
}

func (n *queue) back(e *engine, r *request, m mark) {
	n.busy--
	n.worked += e.now - m.t
	n.until = e.now
	n.pump(e)
	e.answer(r)
}
func (n *queue) due(*engine, *request, mark) {}

func (n *queue) pass(e *engine, t int64, r *request) int64 {
	start, ok := n.begin(t, r)
	if !ok {
		return start
	}
	end := n.next.k.pass(e, start, r)
	n.finish(start, end)
	return end
}

// begin is when a known request that comes at t is served, or false if it is refused.
func (n *queue) begin(t int64, r *request) (int64, bool) {
	start := n.soonest
	if start <= t {
		start = t
	} else {
		for n.starts.len > 0 && n.starts.front() <= t {
			n.starts.pop()
		}
		if n.backlog >= 0 && n.starts.len >= n.backlog {
			n.refused++
			r.ok, r.refused = false, true
			return t, false
		}
		n.starts.push(start)
		n.longest = max(n.longest, n.starts.len)
		n.waited += start - t
		r.waiting += start - t
	}
	n.served++
	return start, true
}

// finish notes until when it is served.
func (n *queue) finish(start, end int64) {
	n.worked += end - start
	n.until = max(n.until, end)
	if n.workers == 1 {
		n.soonest = end
		return
	}
	if n.free == nil {
		n.free = make([]int64, n.workers)
	}
	n.occupy(end)
	n.soonest = n.free[0]
}

// occupy gives the worker who is free first until a new time to be free.
func (n *queue) occupy(end int64) {
	h := n.free
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if h[c] >= end {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = end
}

func (n *queue) stats() NodeStats {
	return NodeStats{Served: n.served, Refused: n.refused, waited: n.waited, worked: n.worked, until: n.until, bounded: n.backlog >= 0, Workers: n.workers, Longest: n.longest}
}

// ring64 is a line of times.
type ring64 struct {
	items     []int64
	head, len int
}

func (q *ring64) front() int64 { return q.items[q.head] }
func (q *ring64) pop() {
	q.head = (q.head + 1) & (len(q.items) - 1)
	q.len--
}
func (q *ring64) push(t int64) {
	if q.len == len(q.items) {
		items := make([]int64, max(8, 2*q.len))
		for i := range q.len {
			items[i] = q.items[(q.head+i)&(len(q.items)-1)]
		}
		q.items, q.head = items, 0
	}
	q.items[(q.head+q.len)&(len(q.items)-1)] = t
	q.len++
}
