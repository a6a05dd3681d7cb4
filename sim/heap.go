package sim

import (
	"math"
	"math/bits"
)

// heap is a four-ary heap by time, of equal times by tie: it is half as deep as a binary one, and
// the four below an entry lie next to each other in memory.
type heap[T any] []entry[T]

type entry[T any] struct {
	t, tie int64
	x      T
}

func (q *heap[T]) push(t, tie int64, x T) {
	h := append(*q, entry[T]{})
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 4
		if h[p].t < t || h[p].t == t && h[p].tie <= tie {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = entry[T]{t, tie, x}
	*q = h
}

func (q *heap[T]) pop() entry[T] {
	h := *q
	top := h[0]
	n := len(h) - 1
	last := h[n]
	h[n] = entry[T]{}
	h = h[:n]
	*q = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		if c+4 <= n {
			least = c + least4((*[4]entry[T])(h[c:c+4]))
		} else {
			for j := c + 1; j < n; j++ {
				if x, y := &h[j], &h[least]; x.t < y.t || x.t == y.t && x.tie < y.tie {
					least = j
				}
			}
		}
		if x := &h[least]; last.t < x.t || last.t == x.t && last.tie <= x.tie {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = last
	return top
}

// least4 is the first of four in order. Which of them it is no processor can predict, so it is
// computed without branches: two winners of pairs, and the winner of these.
func least4[T any](e *[4]entry[T]) int {
	a := below(e[1].t, e[1].tie, e[0].t, e[0].tie)
	b := 2 + below(e[3].t, e[3].tie, e[2].t, e[2].tie)
	x, y := &e[a&3], &e[b&3]
	return a + below(y.t, y.tie, x.t, x.tie)*(b-a)
}

// below is 1 if (t1, tie1) comes before (t2, tie2), else 0: the borrow of a subtraction of 128 bits.
func below(t1, tie1, t2, tie2 int64) int {
	const sign = 1 << 63
	_, borrow := bits.Sub64(uint64(tie1)^sign, uint64(tie2)^sign, 0)
	_, borrow = bits.Sub64(uint64(t1)^sign, uint64(t2)^sign, borrow)
	return int(borrow)
}

// order turns a number into one that sorts alike.
func order(x float64) int64 {
	b := int64(math.Float64bits(x + 0)) // -0 is 0
	if b < 0 {
		b ^= math.MaxInt64
	}
	return b
}
