package sim

import (
	"math"
	"time"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// Scaling says how a pool grows and shrinks. Times are in ms.
type Scaling struct {
	Routing           // among the instances that are ready; the policy is random if there is none
	Least     int     // instances; 0 is 1
	Begin     int     // instances at first; 0 is Least
	Target    float64 // requests under way for each instance
	Interval  float64 // between decisions; 0 is 15,000
	Startup   float64 // until a new instance takes requests
	Hold      float64 // it shrinks to the most that was wanted within this time
	Tolerance float64 // relative difference from Target that changes nothing; 0 is .1
}

type scaleSpec struct {
	Scaling
	nodes []Node
}

// Autoscale is a pool of up to as many instances as there are nodes. At every interval
// it wants as many as would have Target requests each, by the mean number of requests
// under way since the last, as Kubernetes' horizontal autoscaler does with a metric
// of concurrency: ready x (mean / ready) / Target, rounded up.
func Autoscale(o Scaling, nodes ...Node) Node { return &scaleSpec{o, nodes} }

func (s *scaleSpec) make(b *builder) *live {
	o := s.Scaling
	if len(s.nodes) == 0 {
		b.fail("autoscale: an empty pool")
		return broken()
	}
	if o.Least == 0 {
		o.Least = 1
	}
	if o.Begin == 0 {
		o.Begin = o.Least
	}
	if o.Interval == 0 {
		o.Interval = 15_000
	}
	if o.Tolerance == 0 {
		o.Tolerance = .1
	}
	if o.Least < 1 || o.Begin < o.Least || len(s.nodes) < o.Begin {
		b.fail("autoscale: at least %d, %d at first, at most %d instances", o.Least, o.Begin, len(s.nodes))
	}
	if !(o.Target > 0) || math.IsInf(o.Target, 0) {
		b.fail("autoscale: a target of %g requests for each instance", o.Target)
	}
	if !(o.Interval >= .01) || o.Interval > 1e12 {
		b.fail("autoscale: an interval of %g ms", o.Interval)
	}
	for what, x := range map[string]float64{"startup": o.Startup, "hold": o.Hold, "tolerance": o.Tolerance} {
		b.check("autoscale: "+what, dist.Fixed(x))
	}
	if b.err != nil {
		return broken()
	}
	if o.Choose == nil {
		o.Choose = ByChance().Choose
	}
	n := &scale{Scaling: o, max: len(s.nodes), links: make([]link, len(s.nodes)), state: make([]uint8, len(s.nodes)), since: make([]int64, len(s.nodes))}
	n.policy = o.Choose(len(s.nodes), b.stream("router"))
	for i := range n.state {
		if i < o.Begin {
			n.state[i], n.ready = ready, n.ready+1
		} else {
			n.policy.Set(i, false)
		}
	}
	l := &live{kind: "autoscale", node: n, stats: n.stats}
	l.next = b.children(s.nodes, n.links)
	return l
}

const (
	off = iota
	starting
	ready
)

type scale struct {
	Scaling
	policy   balance.Policy
	links    []link
	state    []uint8
	since    []int64 // when it was asked to start
	max      int
	ready    int
	starting int
	ticking  bool

	open  int
	area  float64 // requests under way x ns since the last decision
	when  int64
	last  int64   // decision
	wants []wish  // within Hold
	size  float64 // instances x ns, those that start too
	most  int

	served, refused int64
}

type wish struct {
	t int64
	n int
}

// account brings the sums up to now.
func (n *scale) account(now int64) {
	n.area += float64(n.open) * float64(now-n.when)
	n.size += float64(n.ready+n.starting) * float64(now-n.when)
	n.when = now
	n.most = max(n.most, n.ready+n.starting)
}

func (n *scale) enter(e *engine, r *request) {
	n.account(e.now)
	if !n.ticking {
		n.ticking, n.last = true, e.now
		n.tell(e)
		e.schedule(e.now+int64(n.Interval*ms), event{n: n, op: opDue})
	}
	b := n.policy.Pick(time.Duration(e.now), r.key)
	if b == balance.None {
		n.refused++
		e.refuse(r)
		return
	}
	n.served++
	n.open++
	e.call(n.links[b], r, n, mark{a: int64(b), t: e.now})
}

func (n *scale) back(e *engine, r *request, m mark) {
	n.account(e.now)
	n.open--
	n.policy.Done(time.Duration(e.now), int(m.a), balance.Result{Failed: !r.ok && !r.canceled, Latency: time.Duration(e.now - m.t)})
	e.answer(r)
}

// due is a decision (mark 0) or an instance that has started (its number and 1).
func (n *scale) due(e *engine, _ *request, m mark) {
	n.account(e.now)
	defer n.tell(e)
	if m.a > 0 {
		if i := int(m.a - 1); n.state[i] == starting && n.since[i] == m.t {
			n.state[i] = ready
			n.starting--
			n.ready++
			n.policy.Set(i, true)
		}
		return
	}
	n.decide(e)
	if e.alive() {
		e.schedule(e.now+int64(n.Interval*ms), event{n: n, op: opDue})
	} else {
		n.ticking = false
	}
}

// tell notes the instances in the time series.
func (n *scale) tell(e *engine) {
	if e.measure.series != nil {
		e.measure.series.at(e.now).size = n.ready + n.starting + 1
	}
}

func (n *scale) decide(e *engine) {
	mean := n.area / float64(max(e.now-n.last, 1))
	n.area, n.last = 0, e.now
	have := n.ready + n.starting
	want := have
	if ratio := mean / float64(have) / n.Target; math.Abs(ratio-1) > n.Tolerance {
		want = int(min(math.Ceil(mean/n.Target), float64(n.max)))
	}
	want = min(max(want, n.Least), n.max)
	// It grows at once, and shrinks to what was wanted most of late.
	keep := n.wants[:0]
	for _, w := range n.wants {
		if w.t > e.now-int64(n.Hold*ms) {
			keep = append(keep, w)
		}
	}
	n.wants = append(keep, wish{e.now, want})
	if want < have {
		for _, w := range n.wants {
			want = max(want, min(w.n, have))
		}
	}
	for i := 0; i < n.max && have < want; i++ {
		if n.state[i] == off {
			n.state[i], n.since[i] = starting, e.now
			n.starting++
			have++
			e.schedule(e.now+int64(n.Startup*ms), event{n: n, m: mark{a: int64(i) + 1, t: e.now}, op: opDue})
		}
	}
	// Those that have not started yet go first, then the last ones.
	for _, s := range []uint8{starting, ready} {
		for i := n.max - 1; i >= 0 && have > want; i-- {
			if n.state[i] != s {
				continue
			}
			n.state[i] = off
			have--
			if s == starting {
				n.starting--
			} else {
				n.ready--
				n.policy.Set(i, false)
			}
		}
	}
	n.most = max(n.most, have)
}

func (n *scale) stats() NodeStats {
	s := NodeStats{Served: n.served, Refused: n.refused, Longest: n.most}
	if n.when > 0 {
		s.Size = n.size / float64(n.when)
	}
	return s
}
