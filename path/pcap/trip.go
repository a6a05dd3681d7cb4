package pcap

import (
	"math"
	"slices"
)

// delta is within what time a sender answers an acknowledgement, ns: programs are woken in
// between.
func (h *half) delta() int64 {
	return max(1e6, min(int64(h.srtt/10), 5e6))
}

// nearNow is the least time to the sender and back of the last samples: with what waits in queues.
func (h *half) nearNow() int64 {
	if h.nears < len(h.nearest) {
		return h.near
	}
	return max(slices.Min(h.nearest[:]), h.near)
}

// sample takes a round trip of the part of the path behind here (far) or before it.
func (h *half) sample(at, t int64, far bool) {
	if t < 0 || t > 600e9 {
		return
	}
	if far && h.far > 0 && t-h.far > 30e6 && h.max-h.una < 2*h.full() {
		return // a receiver may hold back the acknowledgement of less than two segments (RFC 1122, 4.2.3.2)
	}
	if far {
		if h.far == 0 || t < h.far {
			h.far = max(t, 1)
		}
		h.fars++
	} else {
		if h.near == 0 || t < h.near {
			h.near = max(t, 1)
		}
		h.nearest[h.nears%len(h.nearest)] = t
		h.nears++
	}
	whole := t
	if far && !h.shifted() {
		whole += h.near
	} else if !far && h.shifted() {
		whole += h.far
	} else {
		return // of the short side: it tells little of the path
	}
	x := float64(whole)
	if h.srtt == 0 {
		h.srtt, h.var4 = x, 2*x
	} else {
		h.var4 += (4*math.Abs(x-h.srtt) - h.var4) / 4
		h.srtt += (x - h.srtt) / 8
	}
	if h.MinRTT == 0 || whole < h.MinRTT {
		h.MinRTT = whole
	}
	h.RTTs.add(at, x/1e9, h.c.budget)
	h.RTTCount++
	r := &h.round
	if r.rttLeast == 0 || whole < r.rttLeast {
		r.rttLeast = whole
	}
	r.rttMost = max(r.rttMost, whole)
}

// timer is an estimate of the sender's retransmission timeout, ns: RFC 6298 with Linux's least
// of 200 ms over the variance.
func (h *half) timer() int64 {
	if h.srtt == 0 {
		return 1e9
	}
	return int64(h.srtt + max(h.var4, 200e6))
}

// shifted says that the capture is not from the sender's end: what the sender knew when it
// sent a segment must be worked out. The handshake tells, or else the samples since.
func (h *half) shifted() bool {
	near, far := h.near, h.far
	if h.c.toServer > 0 && h.c.toClient > 0 {
		near, far = h.c.toServer, h.c.toClient
		if h.up {
			near, far = far, near
		}
	} else if h.nears == 0 || h.fars == 0 {
		return false
	}
	return near > 50e3 && near*10 > 3*(near+far)
}

// view is what the sender knew.
type view struct {
	una, edge, at int64
	wait          int64 // from the last data to the acknowledgement
}

// look finds what the sender knew when it sent s: what is known here, or at a capture
// elsewhere what s echoes (timestamps) or must have passed here so long ago.
func (h *half) look(s *segment, fresh bool) view {
	if !h.shifted() {
		h.acks = h.acks[:0]
		return view{h.una, h.edge, h.ackAt, h.wait}
	}
	k := 0
	echo := s.timestamps && h.stamps && h.other.stamps && h.near > 4e6
	first := int64(0)
	for k < len(h.acks) {
		a := h.acks[k]
		if echo {
			if int32(a.stamp-s.tsecr) > 0 {
				break
			}
			if a.stamp == s.tsecr && first == 0 && a.forward {
				first = a.at
			}
		} else if a.at > s.at-h.near {
			break
		}
		h.seen = a
		k++
	}
	h.acks = h.acks[k:]
	if first > 0 && fresh && !h.recover {
		h.sample(s.at, s.at-first, false)
	}
	return view{h.seen.una, h.seen.edge, h.seen.at, h.seen.wait}
}
