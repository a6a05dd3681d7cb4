package sim

import (
	"math"

	"github.com/headway-lab/headway/dist"
)

// Pauses stop all work of a server at times, as a garbage collector does: for Length
// ms, with Every ms from the end of one to the beginning of the next.
type Pauses struct{ Every, Length dist.Dist }

type sharedSpec struct {
	cores  int
	work   dist.Dist
	pauses *Pauses
	next   Node
}

// Shared is a machine with cores that are shared by all requests alike (processor
// sharing): each has work to do, in ms of a core, and never more than one core.
func Shared(cores int, work dist.Dist, next Node) Node { return &sharedSpec{cores, work, nil, next} }

// Collected is Shared with pauses.
func Collected(cores int, work dist.Dist, pauses Pauses, next Node) Node {
	return &sharedSpec{cores, work, &pauses, next}
}

func (s *sharedSpec) make(b *builder) *live {
	if s.cores < 1 {
		b.fail("shared: %d cores", s.cores)
	}
	b.check("shared: work", s.work)
	n := &shared{cores: s.cores, work: s.work, role: b.role}
	if p := s.pauses; p != nil {
		b.check("pauses: every", p.Every)
		b.check("pauses: length", p.Length)
		if b.err == nil && !turns(p.Every, p.Every) {
			b.fail("pauses: a pause every 0 ms")
		}
		if b.err == nil {
			n.stops = &phases{length: [2]dist.Dist{p.Every, p.Length}, luck: b.stream("pauses")}
		}
	}
	if b.err != nil {
		return broken()
	}
	c := b.child(s.next, &n.next, b.role)
	return &live{kind: "shared", node: n, next: []*child{c}, stats: n.stats}
}

// shared keeps the work that every request present has been given so far; as all get
// alike, it is one number, and a request is done when it has grown by its own work. The number
// grows with the time by rate.
type shared struct {
	cores int
	work  dist.Dist
	role  uint64
	stops *phases
	next  link

	given  float64   // ns of work that one request would have got since the beginning
	when   int64     // at which given was right
	jobs   heap[job] // by the given work at which they are done
	turn   int64     // the number of the only wake-up that counts
	came   int64
	served int64
	worked float64
	most   int
}

func (n *shared) rate() float64 {
	if n.stops != nil && n.stops.state == down {
		return 0
	}
	return min(1, float64(n.cores)/float64(max(len(n.jobs), 1)))
}

// catchUp brings what was given up to now. No change of the rate lies between.
func (n *shared) catchUp(e *engine) {
	d := float64(e.now-n.when) * n.rate()
	n.given += d
	n.worked += d * float64(len(n.jobs))
	n.when = e.now
}

func (n *shared) enter(e *engine, r *request) {
	if r.canceled {
		e.refuse(r)
		return
	}
	e.begun(r)
	if len(n.jobs) == 0 && n.stops != nil {
		n.stops.at(e, e.now) // nobody saw the pauses since
	}
	n.catchUp(e)
	n.served++
	r.since = e.now
	n.came++
	end := n.given + float64(e.whole(r.draw(n.work, n.role)))
	n.jobs.push(order(end), n.came, job{end, r})
	n.most = max(n.most, len(n.jobs))
	n.plan(e)
}

// plan sees that the node is woken at the next change.
func (n *shared) plan(e *engine) {
	n.turn++
	if len(n.jobs) == 0 {
		return
	}
	t := int64(math.MaxInt64)
	if rate := n.rate(); rate > 0 {
		t = e.now + int64(math.Ceil(max(n.jobs[0].x.end-n.given, 0)/rate))
	}
	if n.stops != nil {
		t = min(t, n.stops.until)
	}
	e.schedule(t, event{n: n, m: mark{a: n.turn}, op: opDue})
}

func (n *shared) due(e *engine, _ *request, m mark) {
	if m.a != n.turn {
		return
	}
	n.catchUp(e)
	if n.stops != nil {
		n.stops.at(e, e.now)
	}
	// What rounding leaves over is less than a nanosecond of work.
	for len(n.jobs) > 0 && n.jobs[0].x.end-n.given < 1 && n.rate() > 0 {
		r := n.jobs.pop().x.r
		r.serving += e.now - r.since
		e.call(n.next, r, n, mark{})
	}
	n.plan(e)
}

func (n *shared) back(e *engine, r *request, _ mark) { e.answer(r) }

func (n *shared) stats() NodeStats {
	return NodeStats{Served: n.served, Workers: n.cores, worked: int64(n.worked), until: n.when, Longest: n.most}
}

type job struct {
	end float64
	r   *request
}
