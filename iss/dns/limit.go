package dns

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// limiter bounds the answers a second that a network gets: a bucket each for answers and
// for refusals of all kinds, which get a quarter. The table has a fixed size: under a
// flood from everywhere the networks that were silent the longest are forgotten.
type limiter struct {
	rate  float64
	seed  maphash.Seed
	parts [64]limiterPart
}

type limiterPart struct {
	mu      sync.Mutex
	buckets [256][4]bucket
}

type bucket struct {
	key  uint64
	last int64 // ns
	left float32
	cut  bool // the last one over the limit was cut, so the next one is dropped
}

func newLimiter(rate float64) *limiter {
	return &limiter{rate: rate, seed: maphash.MakeSeed()}
}

type verdict uint8

const (
	send verdict = iota
	cut          // answer with TC and nothing else
	drop
)

// check takes one answer for an address out of its bucket. A bucket holds what comes in a
// second.
func (l *limiter) check(from netip.Addr, refusal bool, now time.Time) verdict {
	var id [9]byte
	if from = from.Unmap(); from.Is4() {
		a := from.As4()
		copy(id[:], a[:3])
		id[7] = 4
	} else {
		a := from.As16()
		copy(id[:7], a[:7])
		id[7] = 6
	}
	rate := l.rate
	if refusal {
		id[8] = 1
		rate = max(rate/4, 1)
	}
	key := maphash.Bytes(l.seed, id[:]) | 1
	p := &l.parts[key>>58]
	set := &p.buckets[byte(key>>48)]
	t := now.UnixNano()

	p.mu.Lock()
	defer p.mu.Unlock()
	b := &set[0]
	for i := range set {
		if set[i].key == key {
			b = &set[i]
			break
		}
		if set[i].last < b.last {
			b = &set[i]
		}
	}
	if b.key != key {
		*b = bucket{key: key, last: t, left: float32(rate)}
	}
	if t > b.last {
		b.left = float32(min(float64(b.left)+float64(t-b.last)/1e9*rate, rate))
		b.last = t
	}
	if b.left >= 1 {
		b.left--
		return send
	}
	b.cut = !b.cut
	if b.cut {
		return cut
	}
	return drop
}

// cutShort makes of an answer one without records and with TC set: its header and
// question. An answer that has OPT at its end keeps nothing of it but the cookie's
// chance over TCP.
func cutShort(answer []byte) []byte {
	end := questionEnd(answer)
	if end < 0 {
		return nil
	}
	answer = answer[:end]
	answer[2] |= 2 // TC
	answer[3] &^= 15
	clear(answer[6:12])
	return answer
}

// questionEnd is where the question of an answer ends that has one, or -1.
func questionEnd(m []byte) int {
	if len(m) < 12 {
		return -1
	}
	at := 12
	for range binary.BigEndian.Uint16(m[4:]) {
		for {
			if at >= len(m) || m[at] > 63 {
				return -1
			}
			n := int(m[at])
			at += n + 1
			if n == 0 {
				break
			}
		}
		at += 4
	}
	if at > len(m) {
		return -1
	}
	return at
}
