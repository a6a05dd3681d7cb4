package link

// packet is one that is held until it is due.
type packet struct {
	due   int64
	bytes []byte
}

// hold keeps packets until they are due: those that keep their order in a ring, which is all of them but
// for reordering, and those that are held back in a heap.
type hold struct {
	ring  []packet // its length is a power of two
	first uint     // counts on without end, as does next
	next  uint
	back  packets

	chunk []byte   // where new buffers are cut from
	spare [][]byte // buffers of MTU bytes
}

func (h *hold) len() int { return int(h.next-h.first) + len(h.back) }

// copy returns a copy of b.
func (h *hold) copy(b []byte) []byte {
	var p []byte
	switch n := len(h.spare); {
	case len(b) > MTU:
		p = make([]byte, len(b))
	case n > 0:
		p = h.spare[n-1][:len(b)]
		h.spare = h.spare[:n-1]
	default:
		if len(h.chunk) < MTU {
			h.chunk = make([]byte, 256*MTU)
		}
		p = h.chunk[:len(b):MTU]
		h.chunk = h.chunk[MTU:]
	}
	copy(p, b)
	return p
}

// done takes a buffer back.
func (h *hold) done(p []byte) {
	if cap(p) == MTU {
		h.spare = append(h.spare, p)
	}
}

// add holds a packet that is due no earlier than those added before.
func (h *hold) add(p packet) {
	if n := uint(len(h.ring)); h.next-h.first == n {
		ring := make([]packet, max(2*n, 64))
		for i := h.first; i != h.next; i++ {
			ring[i&uint(len(ring)-1)] = h.ring[i&(n-1)]
		}
		h.ring = ring
	}
	h.ring[h.next&uint(len(h.ring)-1)] = p
	h.next++
}

// addBack holds a packet that others may overtake.
func (h *hold) addBack(p packet) { h.back.push(p) }

// due is when the next packet is; -1 if none is held.
func (h *hold) due() int64 {
	switch {
	case h.first != h.next && (len(h.back) == 0 || h.front().due <= h.back[0].due):
		return h.front().due
	case len(h.back) > 0:
		return h.back[0].due
	}
	return -1
}

func (h *hold) front() *packet { return &h.ring[h.first&uint(len(h.ring)-1)] }

// take returns the next packet; there must be one.
func (h *hold) take() packet {
	if h.first == h.next || len(h.back) > 0 && h.back[0].due < h.front().due {
		return h.back.pop()
	}
	p := *h.front()
	*h.front() = packet{}
	h.first++
	return p
}

// packets is a heap by due time. That equals may change places does no harm: they are
// reordered anyway.
type packets []packet

func (h *packets) push(p packet) {
	*h = append(*h, p)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].due <= a[i].due {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *packets) pop() packet {
	a := *h
	top, n := a[0], len(a)-1
	a[0] = a[n]
	a[n] = packet{}
	a = a[:n]
	*h = a
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && a[c+1].due < a[c].due {
			c++
		}
		if a[i].due <= a[c].due {
			return top
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
}
