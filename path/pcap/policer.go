package pcap

// policed says at what rate in bit/s, and how well, a policer explains what was lost: a token
// bucket that lets pass what it has tokens for and drops the rest. The fit is the share of
// packets that agree with it, of those lost or those that passed, whichever is less; ok is false
// where too little was lost to say.
//
// After Flach and others (2016): the bucket is empty at the first loss and at the last; between them
// something is lost only when it is (but for noise), and passes only when it is not. Their rate,
// the goodput between these losses, is too low by what an overflowing bucket forgoes, so
// rates up to half as much again are tried too.
func (h *half) policed() (rate, fit float64, ok bool) {
	if !h.realLoss() || h.shift > 3 {
		return 0, 0, false
	}
	mss := float64(h.full())
	lost := func(e *sent) float64 { return max(float64(e.lost), 0) * mss }
	first, last, times := -1, -1, 0
	for i := range h.log {
		if h.log[i].lost > 0 {
			if first < 0 {
				first = i
			}
			last = i
			times++
		}
	}
	if times < 4 {
		return 0, 0, false
	}
	passes := func(e *sent) float64 { return max(float64(e.bytes)-lost(e), 0) }
	before, between := 0.0, 0.0
	for i := range h.log[:last] {
		if i < first {
			before += passes(&h.log[i])
		} else {
			between += passes(&h.log[i])
		}
	}
	took := float64(h.log[last].at-h.log[first].at) / 1e9
	if took < 4*float64(h.least())/1e9 || between <= 0 {
		return 0, 0, false
	}
	for step := range 26 {
		r := between / took * (1 + float64(step)*.02)
		f := h.bucket(r, before, mss, first, last, passes)
		if f > fit {
			rate, fit = r*8, f
		}
	}
	return rate, fit, true
}

// bucket is the share of packets between the first and the last loss that agree with a token bucket of rate r in bytes/s.
func (h *half) bucket(r, before, mss float64, first, last int, passes func(*sent) float64) float64 {
	size := max(before-r*float64(h.log[first].at-h.log[0].at)/1e9, 2*mss)
	noise := 2*mss + r*.002
	tokens, at := 0.0, h.log[first].at
	var drops, dropsAgree, kept, keptAgree float64
	for i := first; i <= last; i++ {
		e := &h.log[i]
		tokens = min(tokens+r*float64(e.at-at)/1e9, size)
		at = e.at
		if e.lost > 0 {
			drops++
			if tokens < noise {
				dropsAgree++
			}
		}
		if p := passes(e); p > 0 {
			kept++
			if tokens-p > -noise {
				keptAgree++
			}
			tokens = max(tokens-p, -noise)
		}
	}
	if drops == 0 || kept == 0 {
		return 0
	}
	return min(dropsAgree/drops, keptAgree/kept)
}
