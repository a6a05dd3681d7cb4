package balance

import (
	"fmt"
	"math"
	"time"
)

type weighted struct {
	gap   []int64 // virtual time between two requests for a backend
	turns heap    // by when its next turn is
	in    []bool
	queue []bool // whether it has a turn waiting
	now   int64  // virtual time of the last turn
}

// Weighted gives the backends turns in proportion to their weights, evenly
// spread: a backend of weight 3 among others of weight 1 never gets all three of
// its turns in a row. It is the schedule of earliest deadline first.
func Weighted(weights []float64) Policy {
	newMembers(len(weights))
	p := &weighted{gap: make([]int64, len(weights)), in: make([]bool, len(weights)), queue: make([]bool, len(weights))}
	least := math.Inf(1)
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 0) {
			panic(fmt.Sprintf("balance: backend %d has weight %g", i, w))
		}
		least = min(least, w)
	}
	for i, w := range weights {
		p.gap[i] = max(1, int64(math.Round(1e9*least/w)))
		p.in[i], p.queue[i] = true, true
		p.turns.push(item{p.gap[i] / 2, int32(i)}) // in the middle, so that nobody runs ahead
	}
	return p
}

func (p *weighted) Pick(time.Duration, uint64) int {
	for len(p.turns) > 0 {
		x := p.turns.pop()
		if !p.in[x.who] {
			p.queue[x.who] = false
			continue
		}
		p.now = x.when
		x.when += p.gap[x.who]
		p.turns.push(x)
		return int(x.who)
	}
	return None
}
func (p *weighted) Done(time.Duration, int, Result) {}
func (p *weighted) Set(b int, in bool) {
	p.in[b] = in
	if in && !p.queue[b] {
		p.queue[b] = true
		p.turns.push(item{p.now + p.gap[b], int32(b)})
	}
}
