package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headway-lab/headway/dist"
)

// Class is a kind of request.
type Class struct {
	Name     string
	Share    float64   // of all requests, in proportion to those of the others
	Size     dist.Dist // nil: 1
	Keys     dist.Dist // what it asks for, in whole numbers; nil: something else every time
	Priority float64   // the highest goes first in a queue ordered by it
}

// mixture gives requests their classes.
type mixture struct {
	classes []Class
	upto    []float64
}

const (
	roleClass = 0x636c617373 + iota
	roleSize
	roleKey
)

func newMixture(classes []Class) (*mixture, error) {
	if len(classes) == 0 {
		return nil, nil
	}
	m := &mixture{classes: classes}
	sum := 0.0
	names := map[string]bool{}
	for _, c := range classes {
		if !(c.Share >= 0) || c.Share > 1e12 {
			return nil, fmt.Errorf("class %s: a share of %g", c.Name, c.Share)
		}
		if c.Priority != c.Priority {
			return nil, fmt.Errorf("class %s: a priority of NaN", c.Name)
		}
		if names[c.Name] {
			return nil, fmt.Errorf("two classes %q", c.Name)
		}
		names[c.Name] = true
		for what, d := range map[string]dist.Dist{"size": c.Size, "keys": c.Keys} {
			if d == nil {
				continue
			}
			if err := dist.Check(d); err != nil {
				return nil, fmt.Errorf("class %s: %s: %w", c.Name, what, err)
			}
		}
		sum += c.Share
		m.upto = append(m.upto, sum)
	}
	if sum == 0 {
		return nil, fmt.Errorf("all classes have a share of 0")
	}
	return m, nil
}

func (m *mixture) draw(r *request) {
	if last := len(m.upto) - 1; last > 0 {
		x := r.draw(dist.Uniform(0, m.upto[last]), roleClass)
		for m.upto[r.class] <= x && int(r.class) < last {
			r.class++
		}
	}
	c := &m.classes[r.class]
	if r.size = 1; c.Size != nil {
		r.size = r.draw(c.Size, roleSize)
	}
	if c.Keys != nil {
		r.key = dist.Hash(uint64(r.draw(c.Keys, roleKey)))
	}
}

type sortSpec struct {
	names []string
	nodes []Node
}

// ByClass sends each class of requests its own way: the name of a class and its node, in
// turn. The name "" is all others.
func ByClass(ways map[string]Node) Node {
	s := &sortSpec{}
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		s.names, s.nodes = append(s.names, name), append(s.nodes, ways[name])
	}
	return s
}

func (s *sortSpec) make(b *builder) *live {
	if len(s.nodes) == 0 {
		b.fail("by class: no way at all")
	}
	if b.shallow {
		return broken()
	}
	if b.mix == nil {
		b.fail("by class: the load has no classes")
		return broken()
	}
	n := &sorter{links: make([]link, len(s.nodes)), way: make([]int, len(b.mix.classes))}
	for i, c := range b.mix.classes {
		n.way[i] = -1
		for j, name := range s.names {
			if name == c.Name || name == "" && n.way[i] < 0 {
				n.way[i] = j
			}
		}
		if n.way[i] < 0 {
			b.fail("by class: no way for %q", c.Name)
		}
	}
	for _, name := range s.names {
		if name != "" && !b.mix.has(name) {
			b.fail("by class: there is no class %q", name)
		}
	}
	l := &live{kind: "by class", node: n, known: n}
	l.next = b.children(s.nodes, n.links)
	return l
}

// keyed reports whether some requests ask for the same thing.
func (m *mixture) keyed() bool {
	return m != nil && slices.ContainsFunc(m.classes, func(c Class) bool { return c.Keys != nil })
}

func (m *mixture) has(name string) bool {
	for _, c := range m.classes {
		if c.Name == name {
			return true
		}
	}
	return false
}

type sorter struct {
	links []link
	way   []int
}

func (n *sorter) enter(e *engine, r *request)        { e.call(n.links[n.way[r.class]], r, n, mark{}) }
func (n *sorter) back(e *engine, r *request, _ mark) { e.answer(r) }
func (n *sorter) due(*engine, *request, mark)        {}
func (n *sorter) pass(e *engine, t int64, r *request) int64 {
	return n.links[n.way[r.class]].k.pass(e, t, r)
}
