// Package balance chooses a backend for each request. It knows nothing of
// sockets and nothing of simulation: headway sim tries a policy in virtual time,
// and headway proxy runs the very same code on real connections.
//
//	p := balance.LeastConnections(250, balance.RandomTies, 0, rng)
//	b := p.Pick(now, key)          // a request goes to backend b
//	p.Done(now, b, balance.Result{Latency: took})
//
// No choice costs time in proportion to the number of backends. A policy is not
// safe for concurrent use.
package balance

import (
	"fmt"
	"time"
)

// None is what Pick returns when there is no backend to choose.
const None = -1

// Policy chooses backends, numbered from 0. Times are since any fixed moment
// and never go back.
type Policy interface {
	// Pick chooses a backend for a request with a key (of its user, session or
	// content; policies that do not care ignore it). Every Pick that does not
	// return None is followed by one Done.
	Pick(now time.Duration, key uint64) int
	// Done says that a request has ended.
	Done(now time.Duration, backend int, r Result)
	// Set takes a backend out of the choice or brings it back. All are in at first.
	Set(backend int, in bool)
}

// Waiter is a policy that has nobody to choose while all backends are busy: the
// requests wait with the caller.
type Waiter interface {
	Policy
	Waits()
}

// Counter is a policy that decides by how many requests the backends have, and lets
// others keep that count: several balancers may share one, and learn of each
// other's choices late.
type Counter interface {
	Policy
	// Peek is Pick without counting the request.
	Peek(now time.Duration, key uint64) int
	// Count adds to a backend's requests, or takes away.
	Count(backend, by int)
}

// Result is how a request ended.
type Result struct {
	Latency time.Duration // from Pick to Done
	Failed  bool
}

// Rand is where a policy gets its luck: a dist.Stream or a math/rand/v2.Rand.
type Rand interface{ IntN(n int) int }

// members is the set of backends to choose from, with constant-time changes.
type members struct {
	list []int32 // those that are in, in no order
	at   []int32 // where in list; -1: out
}

func newMembers(n int) members {
	if n <= 0 {
		panic(fmt.Sprintf("balance: a pool of %d backends", n))
	}
	m := members{make([]int32, n), make([]int32, n)}
	for i := range m.list {
		m.list[i], m.at[i] = int32(i), int32(i)
	}
	return m
}

// set reports whether anything changed.
func (m *members) set(b int, in bool) bool {
	if in == (m.at[b] >= 0) {
		return false
	}
	if in {
		m.at[b] = int32(len(m.list))
		m.list = append(m.list, int32(b))
		return true
	}
	last := m.list[len(m.list)-1]
	m.list[m.at[b]] = last
	m.at[last] = m.at[b]
	m.list, m.at[b] = m.list[:len(m.list)-1], -1
	return true
}

func (m *members) random(r Rand) int { return int(m.list[r.IntN(len(m.list))]) }

type random struct {
	members
	r Rand
}

// Random gives every request to any backend, each with the same probability.
func Random(n int, r Rand) Policy { return &random{newMembers(n), r} }

func (p *random) Pick(time.Duration, uint64) int {
	if len(p.list) == 0 {
		return None
	}
	return p.random(p.r)
}
func (p *random) Done(time.Duration, int, Result) {}
func (p *random) Set(b int, in bool)              { p.set(b, in) }

type roundRobin struct {
	next []int32 // a ring of those that are in
	prev []int32
	in   []bool
	at   int32 // whose turn it was
	size int
}

// RoundRobin gives the requests to the backends in turn.
func RoundRobin(n int) Policy {
	newMembers(n) // refuses an empty pool
	p := &roundRobin{make([]int32, n), make([]int32, n), make([]bool, n), int32(n - 1), n}
	for i := range n {
		p.next[i], p.prev[i], p.in[i] = int32((i+1)%n), int32((i+n-1)%n), true
	}
	return p
}

func (p *roundRobin) Pick(time.Duration, uint64) int {
	if p.size == 0 {
		return None
	}
	p.at = p.next[p.at]
	return int(p.at)
}
func (p *roundRobin) Done(time.Duration, int, Result) {}
func (p *roundRobin) Set(b int, in bool) {
	if p.in[b] == in {
		return
	}
	p.in[b] = in
	i := int32(b)
	if !in {
		if p.size--; p.at == i {
			p.at = p.prev[i]
		}
		p.next[p.prev[i]], p.prev[p.next[i]] = p.next[i], p.prev[i]
		return
	}
	if p.size++; p.size == 1 {
		p.next[i], p.prev[i], p.at = i, i, i
		return
	}
	// It has its turn last of all.
	before, after := p.at, p.next[p.at]
	if p.at != i {
		p.next[before], p.prev[after], p.prev[i], p.next[i] = i, i, before, after
		p.at = i
	}
}

type oneEach struct {
	free []int32 // a ring: who has been free longest is next
	head int
	len  int
	busy []bool
	out  []bool
}

// OneEach gives every backend one request at a time, and None while all are
// busy: the queue stays with the caller.
func OneEach(n int) Policy {
	newMembers(n)
	p := &oneEach{free: make([]int32, n), len: n, busy: make([]bool, n), out: make([]bool, n)}
	for i := range p.free {
		p.free[i] = int32(i)
	}
	return p
}

func (p *oneEach) Waits() {}
func (p *oneEach) Pick(time.Duration, uint64) int {
	for p.len > 0 {
		b := p.free[p.head]
		p.head = (p.head + 1) % len(p.free)
		p.len--
		p.busy[b] = true
		if !p.out[b] {
			return int(b)
		}
	}
	return None
}
func (p *oneEach) Done(_ time.Duration, b int, _ Result) {
	if !p.out[b] {
		p.release(b)
	}
}
func (p *oneEach) release(b int) {
	if p.busy[b] {
		p.busy[b] = false
		p.free[(p.head+p.len)%len(p.free)] = int32(b)
		p.len++
	}
}
func (p *oneEach) Set(b int, in bool) {
	if p.out[b] == !in {
		return
	}
	p.out[b] = !in
	if in {
		p.release(b) // what it was doing before it went is lost
	}
}
