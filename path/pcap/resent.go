package pcap

// old takes a segment that begins before the end of what was seen. It says why the sender
// waited for it, if it is sent again.
func (h *half) old(s *segment, off, end int64, v view) (Limit, bool) {
	now := s.at
	h.split(off)
	h.split(end)
	i := h.find(off)
	first := -1
	for k := i; k < len(h.pieces) && h.pieces[k].off < end; k++ {
		if first < 0 || h.pieces[k].times == 0 {
			if first = k; h.pieces[k].times == 0 {
				break
			}
		}
	}
	if first >= 0 && h.pieces[first].times == 0 && h.late(&h.pieces[first], s) {
		p := &h.pieces[first]
		h.Reordered += h.segments(end - off)
		h.filled(p, now)
		h.fill(i, end, s, true)
		return Undecided, false
	}
	if h.overtaken(s, off, end) {
		h.Reordered += h.segments(end - off)
		h.vainly(off, end)
		return Undecided, false
	}
	kind := h.kind(off, end, now, first, v)
	timed := Recovery
	switch kind {
	case Timeout:
		if !h.byTimer || h.quiet(now, v) > h.timer()*7/10 {
			h.Timeouts++
			timed = TimedOut
			h.byTimer = true
			h.right, h.recover = h.max, true
		}
	case Probe:
		h.Probes++
		h.probed = true
		timed = TimedOut
	}
	already := first < 0 // all of it was acknowledged
	if first >= 0 {
		if p := &h.pieces[first]; p.times == 0 {
			h.filled(p, now)
		} else {
			already = p.sacked
		}
	}
	h.resend(off, end-off, kind, already, now, s)
	if first >= 0 && !already {
		segs := int32(h.segments(end - off))
		h.entry(h.pieces[first].entry).lost += segs
	}
	h.fill(i, end, s, false)
	return timed, true
}

// overtaken says that this is what was sent first: what was sent again has come by before it.
func (h *half) overtaken(s *segment, off, end int64) bool {
	for i := range h.recent {
		e := &h.recent[i]
		if e.Length == 0 || e.Offset >= end || e.Offset+e.Length <= off || e.Spurious {
			continue
		}
		if h.counter() && s.id != 0 && e.id != 0 {
			return int16(s.id-e.id) < 0
		}
		if s.timestamps && e.stamp != 0 && int32(s.tsval-e.stamp) < 0 {
			return true
		}
	}
	return false
}

// fill notes that the pieces from i up to end have come by again, or at last.
func (h *half) fill(i int, end int64, s *segment, late bool) {
	entry := h.write(s.at, 0)
	h.entry(entry).stamp = s.tsval
	for ; i < len(h.pieces) && h.pieces[i].off < end; i++ {
		p := &h.pieces[i]
		e := h.entry(entry)
		e.bytes = int32(min(int64(e.bytes)+p.end-p.off, 1<<31-1))
		if p.times == 0 {
			h.repaired += p.end - p.off
		}
		if p.times == 0 && late {
			p.first = s.at
		} else {
			e.again++
		}
		p.again = p.again || !late
		p.late = p.late || p.times == 0
		p.times = min(p.times+1, 200)
		p.last, p.entry, p.stamp = s.at, entry, s.tsval
	}
}

// filled takes note of a gap's end.
func (h *half) filled(p *piece, now int64) {
	h.Late += b2i(float64(now-p.first) >= .9*float64(h.least()))
}

// late says whether what fills a gap was sent before what came ahead of it, and so was not lost
// but overtaken. The sender's count of packets tells, or its clock; else the time, for
// a segment can be sent again only when the receiver's word has reached the sender:
// (Jaiswal and others, "Measurement and classification of out-of-sequence packets in a tier-1 IP
// backbone", 2003.)
func (h *half) late(p *piece, s *segment) bool {
	if h.counter() && s.id != 0 && p.id != 0 {
		return int16(s.id-p.id) < 0
	}
	if s.timestamps && p.stamp != 0 {
		if d := int32(s.tsval - p.stamp); d != 0 {
			return d < 0
		}
	}
	waited := s.at - p.first
	back := h.near
	if h.c.toServer > 0 && h.c.toClient > 0 {
		back = h.c.toServer
		if h.up {
			back = h.c.toClient
		}
	}
	if back == 0 {
		return waited < 3e6 // Wireshark's bound
	}
	return waited < back*8/10
}

// quiet is how long the sender had neither sent nor, as far as it could know, heard anything.
func (h *half) quiet(now int64, v view) int64 {
	return now - max(h.lastAt, h.answerable(v))
}

// kind says why a segment was sent again. The piece that it repeats is pieces[first], none if that was
// acknowledged.
func (h *half) kind(off, end, now int64, first int, v view) Kind {
	if h.recover && h.byTimer && off < h.right && h.quiet(now, v) < h.timer()*7/10 {
		return Timeout // slow start after it
	}
	told := h.sackHigh >= end || h.dups >= 3
	tail := end >= h.max
	quiet := h.quiet(now, v)
	sack := h.sackOK && h.other.sackOK || !h.syn
	switch {
	case quiet >= h.timer()*7/10 && tail && sack && !h.probed && !told:
		return Probe
	case quiet >= h.timer()*7/10:
		return Timeout
	case tail && sack && !told && !h.probed && float64(quiet) >= 1.5*h.srtt && h.srtt > 0:
		return Probe
	case told, h.recover, h.dups > 0, h.sackHigh > h.una, first < 0 && h.toldAt > 0 && float64(now-h.toldAt) < 1.5*h.srtt:
		return Fast
	}
	return Unclear
}

// resend counts a segment that was sent again.
func (h *half) resend(off, n int64, k Kind, already bool, now int64, s *segment) {
	segs := h.segments(n)
	h.Resent[k] += segs
	another := now-h.lossAt >= h.least() || h.Episodes == 0
	h.lossAt = now
	if !h.recover && !another {
		h.recover, h.right = true, h.max
	} else if !h.recover || h.Episodes == 0 {
		h.recover, h.right = true, h.max
		h.Episodes++
		h.episodes = append(h.episodes, episode{})
		if len(h.episodes) > maxEvents {
			if e := h.episodes[0]; e.vain >= e.again {
				h.vain++
			}
			h.episodes = h.episodes[1:]
		}
		if n := len(h.RTTs.all); n > 0 { // a queue that stands shows in several
			least := h.RTTs.all[n-1].v
			for _, p := range h.RTTs.all[max(n-3, 0):] {
				least = min(least, p.v)
			}
			h.LossRTT.add(now, least, h.c.budget)
		}
	}
	e := &h.episodes[len(h.episodes)-1]
	e.again += segs
	if already {
		h.Spurious += segs
		e.vain += segs
	}
	h.EventCount++
	new := event{Event{At: now, Offset: off, Length: n, Kind: k, Spurious: already, episode: h.Episodes}, -1, 0, 0}
	if s != nil {
		new.stamp, new.id = s.tsval, s.id
	}
	if len(h.Events) < maxEvents && h.c.budget.left > 0 {
		h.Events = append(h.Events, new.Event)
		new.at = len(h.Events) - 1
		h.c.budget.left -= 3
	}
	if len(h.recent) < maxRecent {
		h.recent = append(h.recent, new)
	} else {
		h.recent[h.EventCount%maxRecent] = new
	}
}

// unseen counts losses that only the sender's count of packets betrays.
func (h *half) unseen(off, n, now int64, missing int) {
	k := Timeout
	if missing == 1 && h.sackOK && h.other.sackOK {
		k = Probe
		h.Probes++
	} else {
		h.Timeouts++
	}
	h.hidden = off + int64(missing)*h.full()
	h.resend(off, n, k, false, now, nil)
	h.entry(h.logged - 1).lost += int32(missing)
}

// episode is a recovery.
type episode struct{ again, vain int64 }

// event is one of the last ones, with its place among those that are kept, or -1.
type event struct {
	Event
	at    int
	stamp uint32
	id    uint16
}

// vainly notes that the receiver had had data already when they were sent again: RFC 3708 for DSACK, RFC
// 3522 (Eifel) for timestamps.
func (h *half) vainly(off, end int64) {
	for i := range h.recent {
		e := &h.recent[i]
		if e.Length == 0 || e.Spurious || e.Offset >= end || e.Offset+e.Length <= off {
			continue
		}
		e.Spurious = true
		segs := h.segments(e.Length)
		h.Spurious += segs
		if e.at >= 0 {
			h.Events[e.at].Spurious = true
		}
		if k := e.episode - h.Episodes + int64(len(h.episodes)) - 1; k >= 0 && k < int64(len(h.episodes)) {
			h.episodes[k].vain += segs
		}
	}
}
