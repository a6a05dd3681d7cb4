package pcap

// ack takes what a segment of the other direction says of h's data.
func (h *half) ack(s *segment) {
	now := s.at
	if !h.known {
		h.begin(s.ack)
		h.edge, h.ackAt = 0, now
	}
	a := h.position(s.ack, h.una)
	if a-h.max > farAway || h.una-a > farAway {
		return // a broken packet, or numbers of another connection
	}
	window := int64(s.window)
	if s.flags&flagSYN == 0 {
		if h.scaled = h.syn && h.other.syn; h.scaled && h.scale >= 0 && h.other.scale >= 0 {
			window <<= h.other.scale
		}
	} else {
		h.scaled = h.syn || h.other.syn
	}
	if a > h.max {
		if h.Segments > 0 && a-h.max > 1 {
			h.Missing += a - h.max
		}
		if a-h.max > 1 || h.Segments > 0 {
			h.max = a
		}
	}
	if s.window == 0 && s.flags&(flagSYN|flagRST|flagFIN) == 0 {
		if h.zeroAt == 0 {
			h.ZeroWindows++
			h.zeroAt = now
		}
	} else if h.zeroAt > 0 {
		h.ZeroWindow += now - h.zeroAt
		h.zeroAt = 0
	}
	h.sackBefore = h.sackHigh
	dsack := h.blocks(s, a)
	forward := a > h.una
	switch {
	case forward:
		h.advance(a, s)
	case a == h.una && s.length == 0 && s.flags&(flagSYN|flagFIN|flagRST) == 0 && h.max > h.una && a+window == h.edge && !dsack:
		h.DupAcks++
		h.dups++
		h.sign(now)
	}
	if a < h.una {
		return // an old one
	}
	grew := a+window > h.edge
	h.edge = a + window
	if forward || grew {
		h.ackAt = now
	}
	if !h.shifted() {
		return
	}
	if len(h.acks) >= maxAcks {
		h.seen = h.acks[0]
		h.acks = h.acks[1:]
	}
	h.acks = append(h.acks, ackSeen{now, h.una, h.edge, s.tsval, forward || grew, h.wait})
}

// sign notes when the receiver first tells of a gap.
func (h *half) sign(now int64) {
	h.toldAt = now
	if h.signAt == 0 && !h.recover {
		h.signAt, h.signOff = now, h.una
		if !h.holes() {
			h.Gaps++
		}
	}
}

// advance takes note that everything before a has been received.
func (h *half) advance(a int64, s *segment) {
	now := s.at
	usable, again := -1, false
	k := 0
	for ; k < len(h.pieces) && h.pieces[k].off < a; k++ {
		p := &h.pieces[k]
		if p.end > a {
			break
		}
		if p.again && h.signed(p, s) {
			h.vainly(p.off, p.end)
		}
		again = again || p.again || p.times == 0 || p.late
		if p.times == 1 && !p.again && !p.sacked && !p.late {
			usable = k
			if h.sackBefore >= p.end {
				if !h.crowded {
					h.lateAcked += h.segments(p.end - p.off)
				}
				again = true
			}
		}
	}
	if usable >= 0 && usable == k-1 && !again {
		h.sample(now, now-h.pieces[usable].first, true)
	}
	if k < len(h.pieces) && h.pieces[k].off < a {
		h.pieces[k].off = a
	}
	h.wait = now - h.lastAt
	h.pieces = h.pieces[k:]
	h.una = a
	h.acked = true
	h.dups, h.probed = 0, false
	if h.Segments > 0 {
		h.LastAck = now
		if h.firstAck == 0 && a > h.turnOff {
			h.firstAck = now
			if came := h.lastAt + h.least(); h.lastShort && now-came >= leastHold {
				h.firstAck = came // and was acknowledged late
			}
		}
		h.Progress.add(now, float64(a), h.c.budget)
		h.train(now)
	}
	if h.signAt > 0 && a > h.signOff {
		if !h.shifted() {
			h.Late += b2i(float64(now-h.signAt) >= .9*float64(h.least()))
		}
		h.signAt = 0
	}
	if h.sackHigh <= a {
		h.sackHigh, h.crowded = 0, false
	}
	if h.recover && a >= h.right {
		h.recover, h.byTimer = false, false
	}
}

// signed says whether the acknowledgement s answers the first transmission of p, which was sent again:
// it echoes a time before that (RFC 3522).
func (h *half) signed(p *piece, s *segment) bool {
	return s.timestamps && h.stamps && h.other.stamps && p.times > 1 && p.stamp != 0 && s.tsecr != 0 && int32(s.tsecr-p.stamp) < 0
}

// blocks takes the SACK blocks, and says whether one is a DSACK (RFC 2883).
func (h *half) blocks(s *segment, a int64) (dsack bool) {
	// With more gaps than blocks, not everything that has come is told of.
	h.crowded = h.crowded || s.sacks >= 3
	for i := range s.sacks {
		l, r := h.position(s.sack[i][0], h.una), h.position(s.sack[i][1], h.una)
		if r <= l || r > h.max+farAway || l < a-farAway {
			continue
		}
		if i == 0 {
			inside := false
			if s.sacks > 1 {
				l2, r2 := h.position(s.sack[1][0], h.una), h.position(s.sack[1][1], h.una)
				inside = l >= l2 && r <= r2
			}
			if r <= a || inside {
				dsack = true
				h.DSACKs++
				h.vainly(l, r)
				continue
			}
		}
		if r <= a || r > h.max {
			continue
		}
		h.mark(max(l, a), r, s.at)
	}
	return dsack
}

// mark notes that the receiver has the data from l to r.
func (h *half) mark(l, r, now int64) {
	h.split(l)
	h.split(r)
	newest := int64(0)
	for k := h.find(l); k < len(h.pieces) && h.pieces[k].off < r; k++ {
		p := &h.pieces[k]
		if p.sacked {
			continue
		}
		p.sacked = true
		h.SACKs += h.segments(p.end - p.off)
		if p.times == 1 && !p.again {
			newest = max(newest, p.first)
			if h.sackBefore > p.end && !p.late && !h.crowded {
				h.lateAcked += h.segments(p.end - p.off)
			}
		}
	}
	if newest > 0 {
		h.sample(now, now-newest, true)
	}
	h.sackHigh = max(h.sackHigh, r)
	h.sign(now)
}

// train finds the greatest rate at which acknowledgements come, over four segments or more: what
// the bottleneck delivers while it is busy (packet trains: Jain and Routhier 1986; Dovrolis and
// others 2001 for dispersion).
func (h *half) train(now int64) {
	need := max(4*h.full(), h.round.flight/4)
	h.trains = append(h.trains, progress{now, h.una})
	for len(h.trains) > 1 && h.una-h.trains[1].una >= need {
		h.trains = h.trains[1:]
	}
	if len(h.trains) > 64 {
		h.trains = h.trains[1:]
	}
	first := h.trains[0]
	if took := now - first.at; h.una-first.una >= need && took > 0 && h.round.flight >= 2*need {
		h.round.burst = max(h.round.burst, float64(h.una-first.una)/float64(took)*1e9)
	}
}

// progress is how far acknowledgements had come.
type progress struct{ at, una int64 }
