package balance

import (
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/headway-lab/headway/dist"
)

type ring struct {
	points []point
	conns  []int
	total  int
	in     []bool
	size   int
	bound  float64
}

type point struct {
	at  uint64
	who int32
}

// ConsistentHash sends a key to the backend that follows it on a ring, on which
// every backend has so many points; when a backend goes, only its keys move. With
// bound > 1 none gets more than bound times the average of the open requests: what
// is over goes to the next on the ring (V. Mirrokni, M. Thorup, M. Zadimoghaddam,
// "Consistent hashing with bounded loads", SODA 2018). With bound 0 there is no limit.
func ConsistentHash(n, points int, bound float64) Policy {
	newMembers(n)
	if points < 1 || bound != 0 && !(bound > 1) {
		panic(fmt.Sprintf("balance: %d points a backend, bound %g", points, bound))
	}
	p := &ring{conns: make([]int, n), in: make([]bool, n), size: n, bound: bound}
	for b := range n {
		p.in[b] = true
		for k := range points {
			p.points = append(p.points, point{dist.Hash(dist.Hash(uint64(b)) + uint64(k)), int32(b)})
		}
	}
	sort.Slice(p.points, func(i, j int) bool {
		a, b := p.points[i], p.points[j]
		return a.at < b.at || a.at == b.at && a.who < b.who
	})
	return p
}

func (p *ring) Pick(_ time.Duration, key uint64) int {
	if p.size == 0 {
		return None
	}
	most := math.MaxInt
	if p.bound > 0 {
		most = int(math.Ceil(p.bound * float64(p.total+1) / float64(p.size)))
	}
	h := dist.Hash(key)
	i := sort.Search(len(p.points), func(i int) bool { return p.points[i].at >= h })
	for range p.points {
		if i == len(p.points) {
			i = 0
		}
		if b := p.points[i].who; p.in[b] && p.conns[b] < most {
			p.conns[b]++
			p.total++
			return int(b)
		}
		i++
	}
	return None // not reached: the bound leaves room for one more
}
func (p *ring) Done(_ time.Duration, b int, _ Result) {
	p.conns[b]--
	if p.in[b] {
		p.total--
	}
}
func (p *ring) Set(b int, in bool) {
	if p.in[b] == in {
		return
	}
	if p.in[b] = in; in {
		p.size++
		p.total += p.conns[b]
	} else {
		p.size--
		p.total -= p.conns[b]
	}
}

type maglev struct {
	table []int32
	in    []bool
	dirty bool
}

// Maglev sends a key to a backend by a table of a prime number of entries, which
// all balancers compute alike; every backend has the same share of the entries to
// within one, and when a backend goes few others' keys move (D. E. Eisenbud and
// others, "Maglev: a fast and reliable software network load balancer", NSDI 2016).
// The number of entries, at least 100 a backend, is chosen if size is 0.
func Maglev(n, size int) Policy {
	newMembers(n)
	if size == 0 {
		size = 65537
		for size < 100*n {
			size = 2*size + 1
		}
	}
	for size = max(size, 2, n); !prime(size); size++ {
	}
	p := &maglev{table: make([]int32, size), in: make([]bool, n), dirty: true}
	for i := range p.in {
		p.in[i] = true
	}
	return p
}

func prime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

func (p *maglev) Pick(_ time.Duration, key uint64) int {
	if p.dirty {
		p.dirty = false
		m := uint64(len(p.table))
		fill(p.table, p.in, func(b, k int) int {
			h := dist.Hash(uint64(b))
			return int((h%m + uint64(k)%m*(dist.Hash(h)%(m-1)+1)) % m)
		})
	}
	return int(p.table[dist.Hash(key)%uint64(len(p.table))])
}
func (p *maglev) Done(time.Duration, int, Result) {}
func (p *maglev) Set(b int, in bool) {
	p.dirty = p.dirty || p.in[b] != in
	p.in[b] = in
}

// fill lets the backends take turns: each takes the first entry of its
// permutation that is still free.
func fill(table []int32, in []bool, permutation func(b, k int) int) {
	for i := range table {
		table[i] = None
	}
	next := make([]int, len(in))
	for left, any := len(table), true; left > 0 && any; {
		any = false
		for b := range in {
			if !in[b] || left == 0 {
				continue
			}
			any = true
			for {
				at := permutation(b, next[b])
				next[b]++
				if table[at] == None {
					table[at] = int32(b)
					left--
					break
				}
			}
		}
	}
}

// counter is a policy that counts open requests, also those that it did not choose itself.
type counter interface{ open(b int32) }

func (p *least) open(b int32)    { p.change(b, +1) }
func (p *leastOf) open(b int32)  { p.conns[b]++ }
func (p *peakEWMA) open(b int32) { p.conns[b]++ }
func (p *ring) open(b int32) {
	p.conns[b]++
	if p.in[b] {
		p.total++
	}
}

type sticky struct {
	Policy
	home map[uint64]int32
	in   map[int]bool // false: out
}

// Sticky sends a key where it went the first time, for as long as that backend is
// in; where it goes the first time is for first to say. It remembers every key.
func Sticky(first Policy) Policy {
	return &sticky{first, map[uint64]int32{}, map[int]bool{}}
}

func (p *sticky) Pick(now time.Duration, key uint64) int {
	if b, ok := p.home[key]; ok {
		if in, told := p.in[int(b)]; in || !told {
			if c, ok := p.Policy.(counter); ok {
				c.open(b)
			}
			return int(b)
		}
	}
	b := p.Policy.Pick(now, key)
	if b != None {
		p.home[key] = int32(b)
	}
	return b
}

func (p *sticky) Set(b int, in bool) {
	p.in[b] = in
	p.Policy.Set(b, in)
}
