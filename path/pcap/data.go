package pcap

// data takes a segment with payload or FIN; missing packets of the sender came not by before it.
func (h *half) data(s *segment, missing int) {
	now, n := s.at, int64(s.length)
	if s.flags&flagFIN != 0 {
		n++
	}
	seq := s.seq
	if s.flags&flagSYN != 0 {
		seq++ // data in a SYN: RFC 7413
	}
	h.begin(seq)
	off := h.position(seq, h.max)
	if off < -farAway || off-h.max > farAway || h.max-off > farAway {
		if h.odd++; h.odd < 4 {
			return // a broken packet
		}
		h.restart(seq)
		off = h.max
	}
	h.odd = 0
	end := off + n
	if n <= 1 && end == h.max && h.una >= h.max && h.Segments > 0 {
		h.KeepAlives++
		return
	}
	if s.length == 0 { // FIN alone: not of the transfer
		if off >= h.max {
			h.insert(len(h.pieces), piece{off: off, end: end, first: now, last: now, times: 1, entry: -1, again: true})
			h.max = end
		}
		return
	}
	if h.c.secure && h.c.Finished > 0 && s.length <= 31 && off >= h.max {
		h.add(piece{off: off, end: end, first: now, last: now, times: 1, again: true}, now)
		h.Bytes += int64(s.length)
		h.max = end
		return // TLS takes leave
	}
	v := h.look(s, off >= h.max)
	begins := h.c.speaks(h, now, off >= h.max, v)
	segs := h.segments(int64(s.length))
	h.Segments += segs
	h.Sent += int64(s.length)
	if s.length > h.Largest {
		h.Largest, h.longest = s.length, 0
	} else if s.length == h.Largest && h.lastAt > 0 && now-h.lastAt < h.delta() {
		h.longest++
	}
	if h.First == 0 {
		h.First = now
		h.initialOpen = h.syn && off == 0
	}
	timed := Limit(limits) // not decided
	resent := false
	switch {
	case off >= h.max:
		if off > h.max {
			h.gap(off, s)
		}
		gap := now - h.lastAt
		if missing > 0 && !begins && h.lastAt > 0 && off == h.max && gap > h.timer()*3/4 && !h.lastShortIdle(v) {
			// The segment before was lost on the way here, this one is sent again: the
			// sender's count of packets tells.
			timed, resent = TimedOut, true
			h.unseen(off, n, now, missing)
		} else if off < h.hidden {
			timed, resent = Recovery, true
			h.resend(off, n, Timeout, false, now, s)
		}
		h.add(piece{off: off, end: end, first: now, last: now, stamp: s.tsval, id: s.id, times: 1, again: resent}, now)
		if h.holes() {
			h.OutOfOrder += segs
		}
	default:
		timed, resent = h.old(s, off, min(end, h.max), v)
		if end > h.max { // new data behind old
			h.add(piece{off: h.max, end: end, first: now, last: now, stamp: s.tsval, id: s.id, times: 1}, now)
		}
	}
	fresh := max(end-max(h.max, off), 0)
	h.Bytes += max(min(fresh, int64(s.length))+h.repaired, 0)
	h.repaired = 0
	if !begins && h.lastAt > 0 {
		h.charge(now, n, v, timed, resent)
	}
	h.max = max(h.max, end)
	h.turnRound(now, v, begins)
	h.round.bytes += fresh
	if fresh > 0 {
		flight := h.max - v.una
		if resent {
			h.round.again += segs
		}
		h.round.flight = max(h.round.flight, flight)
		h.Flights.add(now, float64(flight), h.c.budget)
		if h.scaled {
			h.Windows.add(now, float64(v.edge-v.una), h.c.budget)
			h.lastRoom = v.edge - h.max
			h.round.room = min(h.round.room, h.lastRoom)
		} else {
			h.lastRoom = farAway
		}
		if h.initialOpen {
			if v.una > 0 {
				h.initialOpen = false
				h.initialWhole = !h.lastShort && !begins && now-h.answerable(v) <= max(2*h.delta(), int64(h.srtt))
			} else {
				h.Initial += fresh
			}
		}
		h.lastShort = int64(s.length)%h.full() != 0
		h.shorts += b2i(h.lastShort)
		h.emptyAt = 0
	}
	h.lastAt = now
	h.Last = now
	h.lastTS = s.tsval
}

// answerable is when what the sender knew could first be answered, as seen here.
func (h *half) answerable(v view) int64 {
	switch {
	case !h.shifted():
		return v.at
	case h.max-v.una < 8*h.full():
		// So little builds no queue: what takes longer is the program's pace, however steady.
		return v.at + h.near
	}
	return v.at + h.nearNow()
}

// lastShortIdle says that the sender had nothing more to send.
func (h *half) lastShortIdle(v view) bool { return h.lastShort && v.una >= h.max }

// least is the least round trip that is known, ns.
func (h *half) least() int64 {
	if h.MinRTT > 0 {
		return h.MinRTT
	}
	return h.c.toServer + h.c.toClient
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
