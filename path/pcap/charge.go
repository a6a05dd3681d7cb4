package pcap

// charge says what the time since the last segment went to, when the next one leaves.
func (h *half) charge(now, n int64, v view, timed Limit, resent bool) {
	gap := now - h.lastAt
	if gap <= 0 {
		return
	}
	why, network := Undecided, false
	delta := h.delta()
	heard := h.answerable(v)
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
		case h.lastShort && (clocked || over >= leastHold && idle < max(delta, over/2)):
			why = HeldBack
			if over >= leastHold {
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

// leastHold is how long an acknowledgement is held back at least, ns: 40 ms with Linux, less what a clock is coarse by.
const leastHold = 30e6

// released says that what is sent now was ready before, and waited for an acknowledgement that the receiver had held
// back: it leaves as that comes, after less than a full segment.
func (h *half) released(now int64, v view) bool {
	return v.una >= h.max && h.lastShort && v.wait-h.far >= leastHold && now-h.answerable(v) <= h.delta()
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
