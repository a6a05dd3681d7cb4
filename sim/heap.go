package sim

// heap is a four-ary heap, the first on top: it is half as deep as a binary one, and
// the four below an entry lie next to each other in memory.
type heap[T any, P interface {
	*T
	before(*T) bool
}] []T

func (q *heap[T, P]) push(x T) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !P(&x).before(&h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = x
	*q = h
}

func (q *heap[T, P]) pop() T {
	h := *q
	top := h[0]
	n := len(h) - 1
	x := h[n]
	clear(h[n:])
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
		for j := c + 1; j < min(c+4, n); j++ {
			if P(&h[j]).before(&h[least]) {
				least = j
			}
		}
		if !P(&h[least]).before(&x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
	return top
}
