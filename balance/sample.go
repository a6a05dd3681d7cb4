package balance

import (
	"math"
	"time"
)

type leastOf struct {
	members
	conns []int32
	d     int
	r     Rand
}

// LeastOf looks at d different backends, chosen at random, and takes the one with
// the fewest connections. Two are nearly as good as all of them (M. Mitzenmacher,
// "The power of two choices in randomized load balancing", IEEE Trans. Parallel
// Distrib. Syst. 12 (2001) 1094-1104), and need no common view of the pool.
func LeastOf(d, n int, r Rand) Policy {
	return &leastOf{newMembers(n), make([]int32, n), max(1, d), r}
}

func (p *leastOf) Peek(time.Duration, uint64) int {
	return p.pick(p.d, p.r, func(a, b int32) bool { return p.conns[a] < p.conns[b] })
}
func (p *leastOf) Count(b, by int) { p.conns[b] += int32(by) }
func (p *leastOf) Pick(now time.Duration, key uint64) int {
	best := p.Peek(now, key)
	if best != None {
		p.conns[best]++
	}
	return best
}
func (p *leastOf) Done(_ time.Duration, b int, _ Result) { p.conns[b]-- }
func (p *leastOf) Set(b int, in bool)                    { p.set(b, in) }

// pick is the best of d different members, the first of those that are equal.
// The ones it looked at end up in front of the list, which has no order anyway.
func (m *members) pick(d int, r Rand, less func(a, b int32) bool) int {
	if len(m.list) == 0 {
		return None
	}
	best := int32(None)
	for i := range min(d, len(m.list)) {
		j := i + r.IntN(len(m.list)-i)
		a, b := m.list[i], m.list[j]
		m.list[i], m.list[j] = b, a
		m.at[a], m.at[b] = int32(j), int32(i)
		if best == None || less(b, best) {
			best = b
		}
	}
	return int(best)
}

type peakEWMA struct {
	members
	d     int
	tau   float64
	conns []int32
	cost  []float64 // ns
	when  []time.Duration
	first []bool // no answer yet
	r     Rand
}

// PeakEWMA looks at d different backends, chosen at random, and takes the one
// whose latency times its open requests is the least. The latency is an
// exponentially weighted moving average that forgets over decay, but jumps to
// every peak at once (the balancer of Finagle and Linkerd). A backend that has not
// answered yet counts as slow while it is busy and as free while it is not.
func PeakEWMA(d, n int, decay time.Duration, r Rand) Policy {
	p := &peakEWMA{newMembers(n), max(1, d), float64(max(decay, 1)), make([]int32, n), make([]float64, n), make([]time.Duration, n), make([]bool, n), r}
	for i := range p.first {
		p.first[i] = true
	}
	return p
}

func (p *peakEWMA) Pick(now time.Duration, _ uint64) int {
	best := p.pick(p.d, p.r, func(a, b int32) bool { return p.load(now, a) < p.load(now, b) })
	if best != None {
		p.conns[best]++
	}
	return best
}

func (p *peakEWMA) load(now time.Duration, b int32) float64 {
	if p.first[b] && p.conns[b] > 0 {
		return math.Inf(1)
	}
	// What is not asked forgets its peak, too.
	return p.cost[b] * math.Exp(-float64(now-p.when[b])/p.tau) * float64(p.conns[b]+1)
}

func (p *peakEWMA) Done(now time.Duration, b int, r Result) {
	p.conns[b]--
	p.first[b] = false
	took := float64(r.Latency)
	if took > p.cost[b] {
		p.cost[b] = took
	} else {
		w := math.Exp(-float64(now-p.when[b]) / p.tau)
		p.cost[b] = p.cost[b]*w + took*(1-w)
	}
	p.when[b] = now
}
func (p *peakEWMA) Set(b int, in bool) { p.set(b, in) }
