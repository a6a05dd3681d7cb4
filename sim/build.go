package sim

import (
	"errors"
	"fmt"

	"github.com/headway-lab/headway/dist"
)

// live is a node that has been made, and what the builder has to know of it.
type live struct {
	node  node
	known known // what it can do if its children are known; nil: nothing
	next  []*child
	// ordered: a known node that wants its requests in order of time.
	ordered bool

	kind  string
	name  string
	stats func() NodeStats // nil: nothing to tell
	// recalls: the node takes requests back, so that nothing below it can be foreseen.
	recalls bool

	forbidden, seen, scattered, blindfolded bool
	offset                                  int64
	state                                   int // of the search for known nodes
}

// child is a way on from a node.
type child struct {
	to        *live
	link      *link
	shift     int64 // fixed time before the child gets the request
	scattered bool  // or one that is not fixed
}

// title is what those who read call a node: its name, or its kind and the name of
// the first one below that has one.
type title struct{ kind, of string }

func (l *live) title() title {
	if l.name != "" {
		return title{of: l.name}
	}
	d, kind := l, l.kind
	for d.name == "" && len(d.next) > 0 {
		if d = d.next[0].to; d.name == "" && d.kind == l.kind && d.stats != nil {
			kind += " of " + d.kind // of several tiers
		}
	}
	return title{kind, d.name}
}

func (t title) String() string {
	switch {
	case t.kind == "":
		return t.of
	case t.of == "":
		return t.kind
	}
	return t.kind + " of " + t.of
}

type builder struct {
	made  map[Node]*live
	order []*live
	open  map[Node]bool
	count map[string]int // nodes of a kind that have luck of their own
	seed  uint64
	blind bool
	clock
	// A shallow builder makes one node to see whether it can be made.
	shallow bool
	err     error
	mix     *mixture
	// What several nodes share.
	mutexes map[*Mutex]*holding
	boards  map[*View]*board
	chains  map[chain]*chain
	role    uint64 // of the node that is being made
}

func newBuilder(seed uint64) *builder {
	return &builder{made: map[Node]*live{}, open: map[Node]bool{}, count: map[string]int{},
		mutexes: map[*Mutex]*holding{}, boards: map[*View]*board{}, chains: map[chain]*chain{}, seed: dist.Hash(seed)}
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// node makes a node live, once. The role tells its luck from that of others: it
// depends on the kinds of the nodes above it, not on which of a pool it is, so that
// a request finds the same luck in all of them.
func (b *builder) node(n Node, role uint64) *live {
	if l := b.made[n]; l != nil {
		return l
	}
	if n == nil {
		b.fail("a node leads nowhere")
	} else if b.open[n] {
		b.fail("the network leads back into itself")
	}
	if b.err != nil {
		return broken()
	}
	b.open[n] = true
	b.role = role
	l := n.make(b)
	delete(b.open, n)
	b.made[n] = l
	b.order = append(b.order, l)
	return l
}

// child makes what a node passes its requests on to.
func (b *builder) child(n Node, into *link, role uint64) *child {
	if b.shallow && n != nil {
		return &child{to: broken(), link: into}
	}
	return &child{to: b.node(n, dist.Hash(role+1)), link: into}
}

// children makes all that a node may pass its requests on to, alike to their luck.
func (b *builder) children(nodes []Node, into []link) []*child {
	role := b.role
	all := make([]*child, len(nodes))
	for i, n := range nodes {
		all[i] = b.child(n, &into[i], role)
	}
	return all
}

// stream is the luck of a node, not of requests: when it fails, whom it chooses. It
// depends on the node's kind and its number among those, so that other nodes may
// come and go.
func (b *builder) stream(kind string) *dist.Stream {
	b.count[kind]++
	return dist.NewStream(b.seed, fmt.Sprint(kind, " ", b.count[kind]))
}

// check reports whether a distribution is one.
func (b *builder) check(what string, d dist.Dist) bool {
	err := checkDist(d)
	if err != nil {
		b.fail("%s: %w", what, err)
	}
	return err == nil
}

// foresee finds the nodes that may be asked on arrival when they will answer: those that
// can tell, whose children can, and which get their requests in order of time.
// On ways of different length to the same queue, requests would overtake each
// other; such a queue is entered when it is time.
func (b *builder) foresee(root *live) {
	for _, l := range b.order {
		if b.blind {
			l.known = nil
		}
		if l.recalls {
			blindfold(l)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, l := range b.order {
			l.state, l.seen = 0, false
		}
		b.visit(root, 0, false, &changed)
	}
	for _, l := range b.order {
		for _, c := range l.next {
			*c.link = link{c.to.node, nil}
			if tells(c.to) {
				if c.link.k = b.fuse(c.to); c.link.k == nil {
					c.link.k = c.to.known
				}
			}
		}
	}
	if !tells(root) {
		root.known = nil
	} else if k := b.fuse(root); k != nil {
		root.known = k
	}
}

// blindfold makes all steps below a node events.
func blindfold(l *live) {
	for _, c := range l.next {
		if !c.to.blindfolded {
			c.to.blindfolded, c.to.known = true, nil
			blindfold(c.to)
		}
	}
}

// tells reports whether a node can say at once when it will answer.
func tells(l *live) bool {
	const yes, no = 1, 2
	if l.state == 0 {
		l.state = yes
		if l.known == nil || l.forbidden {
			l.state = no
		}
		for _, c := range l.next {
			if !tells(c.to) {
				l.state = no
			}
		}
	}
	return l.state == yes
}

func (b *builder) visit(l *live, offset int64, scattered bool, changed *bool) {
	if l.seen && l.offset == offset && l.scattered == scattered {
		return
	}
	if tells(l) && l.ordered && (scattered || l.seen) && !l.forbidden {
		l.forbidden, *changed = true, true
	}
	again := l.seen
	l.seen, l.offset, l.scattered = true, offset, scattered
	if !tells(l) {
		if again {
			return // its children are entered in their time, whatever the way to it
		}
		offset, scattered = 0, false
	}
	for _, c := range l.next {
		if tells(l) {
			b.visit(c.to, offset+c.shift, scattered || c.scattered, changed)
		} else {
			b.visit(c.to, 0, false, changed)
		}
	}
}

// priority of a request's class.
func (b *builder) priority(r *request) float64 {
	if b.mix == nil {
		return 0
	}
	return b.mix.classes[r.class].Priority
}

type namedSpec struct {
	name string
	node Node
}

// Named gives a node a name of its own, for those who read.
func Named(name string, n Node) Node { return &namedSpec{name, n} }

func (s *namedSpec) make(b *builder) *live {
	if s.node == nil {
		b.fail("named: no node")
		return broken()
	}
	l := s.node.make(b)
	l.name = s.name
	return l
}

// Check says what is wrong with a node, apart from those that it leads to; nil if nothing is.
func Check(n Node) error {
	b := newBuilder(0)
	b.shallow = true
	if n == nil {
		return errors.New("there is no node")
	}
	n.make(b)
	return b.err
}

// broken stands for a node that could not be made; the reason is in the builder.
func broken() *live { return &live{node: nowhere{}} }

// nowhere stands in for nodes that could not be made.
type nowhere struct{}

func (nowhere) enter(*engine, *request)      {}
func (nowhere) back(*engine, *request, mark) {}
func (nowhere) due(*engine, *request, mark)  {}
