package pcap

import "math"

// policed says at what rate in bit/s, and how well, a policer explains what was lost: a token
// bucket that lets pass what it has tokens for and drops the rest. The fit is from 0 to 1; ok is false
// where too little was lost to say.
//
// After Flach and others (2016): the bucket is empty at the first loss and at the last; between them
// something is lost only when it is (but for noise), and passes only when it is not. Their rate,
// the goodput between these losses, is too low by what an overflowing bucket forgoes, so
// rates up to half as much again are tried too. With few losses in a short transfer such a match can be
// chance, so the fit is the share of what passed that agrees, times how much likelier a policer
// makes the losses than chance does, which strikes whatever the bucket holds, with their share
// of lossy transfers that were policed, 7 % where it was most, for what to expect beforehand.
func (h *half) policed() (rate, fit float64, ok bool) {
	if !h.realLoss() || h.shift > 3 {
		return 0, 0, false
	}
	mss := float64(h.full())
	first, last := -1, -1
	for i := range h.log {
		if h.log[i].lost > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return 0, 0, false
	}
	before, between := 0.0, 0.0
	for i := range h.log[:last] {
		if i < first {
			before += h.log[i].passed(mss)
		} else {
			between += h.log[i].passed(mss)
		}
	}
	took := float64(h.log[last].at-h.log[first].at) / 1e9
	if took < 4*float64(h.least())/1e9 || between < 20*mss {
		return 0, 0, false
	}
	for step := range 28 {
		r := between / took * (.96 + float64(step)*.02)
		f, times := h.bucket(r, before, mss, first, last)
		if times < 4 {
			return 0, 0, false
		}
		if f > fit {
			rate, fit = r*8, f
		}
	}
	return rate, fit, true
}

// passed is how many bytes of the entry were not lost.
func (e *sent) passed(mss float64) float64 {
	return max(float64(e.bytes)-max(float64(e.lost), 0)*mss, 0)
}

// bucket is how well a token bucket of rate r in bytes/s fits between the first and the last loss, and how often
// something was lost: what is lost in a row may have one reason, and is one piece of evidence.
func (h *half) bucket(r, before, mss float64, first, last int) (fit float64, times int) {
	size := max(before-r*float64(h.log[first].at-h.log[0].at)/1e9, 2*mss)
	noise := 2*mss + r*.003 // two segments, and 3 ms
	tokens, at := 0.0, h.log[first].at
	var kept, agree, low float64
	var drops, empty, shares float64 // in a row, and the sum of the shares
	settle := func() {
		if drops > 0 {
			times++
			shares += empty / drops
		}
		drops, empty = 0, 0
	}
	for i := first; i <= last; i++ {
		e := &h.log[i]
		tokens = min(tokens+r*float64(e.at-at)/1e9, size)
		at = e.at
		isLow := b2f(tokens < noise)
		if e.lost > 0 {
			drops++
			empty += isLow
		}
		if p := e.passed(mss); p > 0 {
			settle()
			kept++
			low += isLow
			agree += b2f(tokens-p > -noise)
			tokens = max(tokens-p, -noise)
		}
	}
	settle()
	if times == 0 || kept == 0 {
		return 0, times
	}
	// A policer finds the bucket empty but for an odd case; chance, as often as what passed does.
	chance := (low + .5) / (kept + 1)
	if size > 2*noise { // else it is never anything but all but empty
		chance = min(chance, .9)
	}
	// One of many rates fits by chance more easily than one: five of them differ.
	ratio := math.Log(.07/.93/5) + shares*math.Log(.97/chance) + (float64(times)-shares)*math.Log(.03/(1-chance))
	return agree / kept / (1 + math.Exp(-ratio)), times
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
