package sim

import "math"

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
		least, t, tie := c, h[c].t, h[c].tie
		for j := c + 1; j < min(c+4, n); j++ {
			if x := &h[j]; x.t < t || x.t == t && x.tie < tie {
				least, t, tie = j, x.t, x.tie
			}
		}
		if last.t < t || last.t == t && last.tie <= tie {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = last
	return top
}

// order turns a number into one that sorts alike.
func order(x float64) int64 {
	b := int64(math.Float64bits(x + 0)) // -0 is 0
	if b < 0 {
		b ^= math.MaxInt64
	}
	return b
}
