package link

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// admit decides what becomes of a packet that came at now.
func (l *lane) admit(b []byte, now int64) {
	c, s := &l.c, &l.stats
	s.Packets++
	s.Bytes += int64(len(b))
	if l.police.drops(c, len(b), now) {
		s.Dropped++
		return
	}
	switch {
	case c.Trace != nil:
		sent, length, ok := l.traced.admit(c, len(b), now)
		if !ok {
			s.Dropped++
			return
		}
		s.Longest = max(s.Longest, length)
		now = sent
	case c.Rate > 0:
		queue := c.Queue
		if queue == 0 {
			queue = max(int(c.Rate/8/10), MTU)
		}
		l.free = max(l.free, now)
		waiting := int(float64(l.free-now) * c.Rate / 8e9)
		if waiting+len(b) > queue {
			s.Dropped++
			return
		}
		s.Longest = max(s.Longest, waiting+len(b))
		l.free += int64(float64(len(b)) * 8e9 / c.Rate)
		now = l.free
	}
	if subject(b, c.LossOn) {
		s.Subject++
		// The wire comes behind the queue: what is lost has taken its room there.
		if l.loses(now) {
			s.Lost++
			return
		}
	}
	due := now + int64(c.Delay)
	if c.Jitter > 0 {
		due += int64(l.luck.Float64() * float64(c.Jitter))
	}
	if c.Reorder > 0 && l.luck.Float64() < c.Reorder {
		by := c.ReorderBy
		if by == 0 {
			by = max(c.Delay/8, time.Millisecond)
		}
		l.held.addBack(packet{due + int64(by), l.held.copy(b)})
		return
	}
	due = max(due, l.last)
	l.last = due
	l.held.add(packet{due, l.held.copy(b)})
}

// loses draws whether a packet is lost.
func (l *lane) loses(now int64) bool {
	c := &l.c
	if c.Loss == 0 || c.Bursts == 0 {
		return c.Loss > 0 && l.luck.Float64() < c.Loss
	}
	// Good and bad times take turns, each as long as its exponential draw, whether packets
	// come or not.
	length := func() int64 {
		mean := float64(c.Bursts)
		if !l.bad {
			mean *= (1 - c.Loss) / c.Loss
		}
		return int64(l.luck.Exp()*mean) + 1
	}
	if l.until == 0 {
		l.bad = l.luck.Float64() < c.Loss
		l.until = now + length()
	}
	for l.until <= now {
		l.bad = !l.bad
		l.until += length()
	}
	return l.bad
}

// subject says whether a packet is one of those that can be lost.
func subject(b []byte, on LossOn) bool {
	if on == All {
		return true
	}
	payload, tcp := tcpPayload(b)
	if !tcp {
		return on == Data
	}
	return (payload > 0) == (on == Data)
}

// tcpPayload returns the length of a TCP segment's payload over IPv4.
func tcpPayload(b []byte) (n int, tcp bool) {
	if len(b) < 20 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return 0, false
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || total > len(b) || total < head+20 {
		return 0, false
	}
	return total - head - int(b[head+12]>>4)*4, true
}
