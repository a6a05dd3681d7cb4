package balance

import "time"

// Ties says which of several backends with the fewest connections is chosen.
// Where several balancers share a pool this decides more than the policy: with
// LowestTies all of them herd onto the same few.
type Ties int

// The ways to break a tie.
const (
	RandomTies Ties = iota // any of them
	LowestTies             // the lowest number
)

type least struct {
	conns []int32
	in    []bool
	hold  time.Duration
	held  heap // connections that count as open for a while yet
	ties  Ties
	r     Rand
	// Random ties: the backends by their number of connections.
	levels [][]int32
	at     []int32 // where in its level
	low    int     // no level below holds any
	size   int
	// Lowest ties: a tournament; tree[1] is the winner.
	tree []int32
	leaf int
}

// LeastConnections gives a request to one of the backends with the fewest open.
// A connection that failed counts as open for hold longer, so that a backend
// that fails fast does not draw all requests.
func LeastConnections(n int, ties Ties, hold time.Duration, r Rand) Policy {
	newMembers(n)
	p := &least{conns: make([]int32, n), in: make([]bool, n), hold: hold, ties: ties, r: r, size: n}
	for i := range p.in {
		p.in[i] = true
	}
	if ties == LowestTies {
		for p.leaf = 1; p.leaf < n; p.leaf *= 2 {
		}
		p.tree = make([]int32, 2*p.leaf)
		for i := range p.leaf {
			p.tree[p.leaf+i] = int32(i)
			if i >= n {
				p.tree[p.leaf+i] = None
			}
		}
		for i := p.leaf - 1; i > 0; i-- {
			p.tree[i] = p.better(p.tree[2*i], p.tree[2*i+1])
		}
		return p
	}
	p.at = make([]int32, n)
	p.levels = [][]int32{make([]int32, n)}
	for i := range n {
		p.levels[0][i], p.at[i] = int32(i), int32(i)
	}
	return p
}

func (p *least) Pick(now time.Duration, key uint64) int {
	b := p.Peek(now, key)
	if b != None {
		p.change(int32(b), +1)
	}
	return b
}

func (p *least) Count(b, by int) { p.change(int32(b), int32(by)) }

func (p *least) Peek(now time.Duration, _ uint64) int {
	for len(p.held) > 0 && p.held[0].when <= int64(now) {
		p.change(p.held.pop().who, -1)
	}
	if p.size == 0 {
		return None
	}
	var b int32
	if p.ties == LowestTies {
		b = p.tree[1]
	} else {
		for len(p.levels[p.low]) == 0 {
			p.low++
		}
		level := p.levels[p.low]
		b = level[p.r.IntN(len(level))]
	}
	return int(b)
}

func (p *least) Done(now time.Duration, b int, r Result) {
	if r.Failed && p.hold > 0 {
		p.held.push(item{int64(now + p.hold), int32(b)})
		return
	}
	p.change(int32(b), -1)
}

func (p *least) Set(b int, in bool) {
	if p.in[b] == in {
		return
	}
	if p.in[b] = in; in {
		p.size++
	} else {
		p.size--
	}
	if p.ties == LowestTies {
		p.replay(int32(b))
	} else if in {
		p.enter(int32(b))
	} else {
		p.leave(int32(b))
	}
}

func (p *least) change(b, by int32) {
	if p.ties == LowestTies {
		p.conns[b] += by
		p.replay(b)
		return
	}
	if !p.in[b] {
		p.conns[b] += by
		return
	}
	p.leave(b)
	p.conns[b] += by
	p.enter(b)
}

func (p *least) leave(b int32) {
	level := p.levels[p.conns[b]]
	last := level[len(level)-1]
	level[p.at[b]], p.at[last] = last, p.at[b]
	p.levels[p.conns[b]] = level[:len(level)-1]
}

func (p *least) enter(b int32) {
	c := int(p.conns[b])
	for len(p.levels) <= c {
		p.levels = append(p.levels, nil)
	}
	p.at[b] = int32(len(p.levels[c]))
	p.levels[c] = append(p.levels[c], b)
	p.low = min(p.low, c)
}

// better is the winner of two: fewer connections, or the lower number.
func (p *least) better(a, b int32) int32 {
	switch {
	case a == None || !p.in[a]:
		if b != None && p.in[b] {
			return b
		}
		return a
	case b == None || !p.in[b] || p.conns[a] <= p.conns[b]:
		return a
	}
	return b
}

func (p *least) replay(b int32) {
	for i := (p.leaf + int(b)) / 2; i > 0; i /= 2 {
		p.tree[i] = p.better(p.tree[2*i], p.tree[2*i+1])
	}
}

// item is something that happens to a backend at a time.
type item struct {
	when int64
	who  int32
}

func (a item) less(b item) bool { return a.when < b.when || a.when == b.when && a.who < b.who }

// heap is a binary heap, the earliest first and the lowest of those that are equal.
type heap []item

func (h *heap) push(x item) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 && x.less(a[(i-1)/2]) {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = x
	*h = a
}

func (h *heap) pop() item {
	a := *h
	top := a[0]
	x := a[len(a)-1]
	a = a[:len(a)-1]
	if len(a) > 0 {
		a.down(0, x)
	}
	*h = a
	return top
}

// down puts x in at i or below.
func (h heap) down(i int, x item) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(x) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = x
}
