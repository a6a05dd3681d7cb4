package pcap

import "slices"

func (h *half) holes() bool {
	// Gaps lie near the front: what is before them has been acknowledged, if the receiver could.
	for i := range min(len(h.pieces), 64) {
		if h.pieces[i].times == 0 {
			return true
		}
	}
	return false
}

// gap notes that the data from max to off have not come by.
func (h *half) gap(off int64, s *segment) {
	if h.una >= off {
		return
	}
	h.Gaps++
	from := max(h.max, h.una)
	h.insert(len(h.pieces), piece{off: from, end: off, first: s.at, last: s.at, stamp: s.tsval, id: s.id, entry: -1})
	// What was lost came right behind what came before it, more often than right before what comes now.
	h.pieces[len(h.pieces)-1].entry = h.write(h.lastAt, 0)
}

// add takes new data behind all others.
func (h *half) add(p piece, now int64) {
	p.entry = h.write(now, p.end-p.off)
	h.entry(p.entry).stamp = p.stamp
	h.insert(len(h.pieces), p)
}

func (h *half) insert(i int, p piece) {
	if len(h.pieces) >= maxPieces {
		// No acknowledgements come by, or the window is beyond all that is followed: forget the oldest.
		h.pieces = h.pieces[1:]
		i = max(i-1, 0)
	}
	h.pieces = slices.Insert(h.pieces, i, p)
}

// write adds an entry to the log of what was sent, and returns its number.
func (h *half) write(at, bytes int64) int64 {
	i := h.logged >> h.shift
	if int(i) >= len(h.log) {
		if len(h.log) >= maxLog || len(h.log) >= seriesLeast && h.c.budget.left <= 0 {
			half := (len(h.log) + 1) / 2
			for k := range half {
				e := h.log[2*k]
				if 2*k+1 < len(h.log) {
					o := h.log[2*k+1]
					e.bytes += o.bytes
					e.lost += o.lost
					e.again += o.again
				}
				h.log[k] = e
			}
			h.log = h.log[:half]
			h.shift++
			i = h.logged >> h.shift
		}
		if int(i) >= len(h.log) {
			if len(h.log) == cap(h.log) {
				h.log = slices.Grow(h.log, max(8, min(len(h.log), 1024)))
				h.c.budget.left -= cap(h.log) - len(h.log)
			}
			h.log = append(h.log, sent{at: at})
			i = int64(len(h.log)) - 1
		}
	}
	h.log[i].bytes = int32(min(int64(h.log[i].bytes)+bytes, 1<<31-1))
	h.logged++
	return h.logged - 1
}

// entry is one of the log.
func (h *half) entry(n int64) *sent {
	if i := n >> h.shift; n >= 0 && i < int64(len(h.log)) {
		return &h.log[i]
	}
	return &sent{}
}

// split makes off a border between pieces.
func (h *half) split(off int64) {
	i := h.find(off)
	if i >= len(h.pieces) || h.pieces[i].off >= off || len(h.pieces) >= maxPieces {
		return
	}
	p := h.pieces[i]
	p.off = off
	h.pieces[i].end = off
	h.pieces = slices.Insert(h.pieces, i+1, p)
}

// find is the first piece that ends behind off.
func (h *half) find(off int64) int {
	i, _ := slices.BinarySearchFunc(h.pieces, off, func(p piece, off int64) int {
		if p.end <= off {
			return -1
		}
		return 1
	})
	return i
}
