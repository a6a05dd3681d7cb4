package pcap

import (
	"slices"
)

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
	if h.c.TLSRounds > 0 && h.c.Finished > 0 && s.length <= 31 && off >= h.max {
		h.add(piece{off: off, end: end, first: now, last: now, times: 1, again: true}, now)
		h.Bytes += int64(s.length)
		h.max = end
		return // TLS takes leave
	}
	v := h.look(s, off >= h.max)
	begins := h.c.speaks(h, now, off >= h.max)
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
				h.initialWhole = !h.lastShort && !begins && now-h.known2(v) <= max(2*h.delta(), int64(h.srtt/4))
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

// known2 is when what the sender knew could first be answered, as seen here.
func (h *half) known2(v view) int64 {
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
	return now - max(h.lastAt, h.known2(v))
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

// turnRound ends a round trip when what was in flight at its beginning is acknowledged.
func (h *half) turnRound(now int64, v view, begins bool) {
	r := &h.round
	if r.begin > 0 && v.una < h.ends && !begins {
		return
	}
	if r.begin > 0 {
		r.end = now
		h.keep(*r)
	}
	*r = round{begin: now, end: now, room: farAway}
	h.ends = h.max
}

func (h *half) keep(r round) {
	if len(h.rounds) >= maxRounds || len(h.rounds) >= seriesLeast && h.c.budget.left <= 0 {
		n := 0
		for i := 0; i < len(h.rounds); i += 2 {
			h.rounds[n] = h.rounds[i]
			if i+1 < len(h.rounds) {
				h.rounds[n].join(h.rounds[i+1])
			}
			n++
		}
		h.rounds = h.rounds[:n]
	}
	h.rounds = append(h.rounds, r)
	h.c.budget.left -= 6
}

// charge says what the time since the last segment went to, when the next one leaves.
func (h *half) charge(now, n int64, v view, timed Limit, resent bool) {
	gap := now - h.lastAt
	if gap <= 0 {
		return
	}
	why, network := Undecided, false
	delta := h.delta()
	heard := h.known2(v)
	clocked := now-heard <= delta
	mss := h.full()
	switch {
	case timed == TimedOut:
		why = TimedOut
	case h.recover || resent:
		why = Recovery
	case h.lastRoom < min(mss, n):
		why = Receiver
	case v.una >= h.max: // nothing was in flight any more
		idle := min(max(now-heard, 0), gap)
		over := v.wait - h.far // by how much the acknowledgement was held back
		switch {
		case h.lastShort && (clocked || over >= 30e6 && idle < max(delta, over/2)):
			why = HeldBack
			if over >= 30e6 {
				h.Held++
				h.HeldTime += min(over, gap)
				h.AckDelays.add(now, float64(over)/1e9, h.c.budget)
			}
		case clocked:
			network = true
		case h.lastShort:
			why = Application
		default:
			h.spent[Application] += idle
			h.round.window += gap - idle
			h.round.program = true
			h.pause(gap, Application)
			return
		}
	case h.lastShort && !clocked && (!h.shifted() || float64(gap) > max(float64(2*delta), h.srtt/8)):
		why = Application
	case !clocked && float64(gap) > max(float64(delta), h.srtt/4) && 2*(h.max-v.una) < h.peak():
		why = Application
	default:
		network = true
	}
	if network {
		h.round.window += gap
	} else {
		h.spent[why] += gap
	}
	h.round.program = h.round.program || why == Application
	h.pause(gap, why)
}

// peak is the most in flight of the last rounds, but for those before a loss.
func (h *half) peak() int64 {
	most := h.round.flight
	for _, r := range h.rounds[max(0, len(h.rounds)-4):] {
		if r.begin > h.lossAt {
			most = max(most, r.flight)
		}
	}
	return most
}

// pause notes a gap that is longer than what acknowledgements take: a stall is one of twice the
// smoothed round trip, or of the timer if that is less (Zhou and others, "Demystifying and mitigating
// TCP stalls at the server side", 2015).
func (h *half) pause(gap int64, why Limit) {
	least := float64(max(h.least(), 1e6))
	if float64(gap) > 1.5*max(least, h.srtt) {
		h.silent += gap
		h.silences++
	}
	if gap > 5e6 && gap > min(int64(2*max(least, h.srtt)), h.timer()) {
		h.StallCount++
		if len(h.Stalls) < maxEvents && h.c.budget.left > 0 {
			h.Stalls = append(h.Stalls, Stall{h.lastAt, gap, why})
			h.c.budget.left -= 2
		}
	}
}
