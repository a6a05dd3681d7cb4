package diagnosis

import (
	"slices"
	"time"

	"github.com/headway-lab/headway/path/tcpinfo"
)

// FromSender is what TCP_INFO tells at the side that sends, over the course of a transfer: the
// samples of a connection that carried nothing else, or see [Between].
func FromSender(course []tcpinfo.Sample) Evidence {
	e := Evidence{Side: AtSender}
	begin, end := extent(course, func(i *tcpinfo.Info) int64 { return i.BytesSent + i.NotSent }, func(i *tcpinfo.Info) int64 { return i.BytesAcked })
	if end <= begin {
		return e
	}
	s := senderCourse{course: course[begin : end+1], least: course[end].MinRTT.Seconds()}
	first, last := s.course[0], s.course[len(s.course)-1]
	s.turns()
	s.took = last.At.Sub(first.At).Seconds() - s.asked
	if s.took <= 0 {
		return e
	}
	mss := float64(last.MSS)
	e.Duration = Is(s.took)
	e.Bytes = Is(float64(last.BytesAcked - first.BytesAcked))
	e.MSS = Is(mss)
	e.Segments = Is(float64(last.DataSegmentsOut - first.DataSegmentsOut))
	if s.least > 0 {
		e.MinRTT = Is(s.least)
	}
	e.Resent = Is(float64(last.TotalRetrans - first.TotalRetrans))
	if last.Known("DSACKDups") && last.Options&tcpinfo.SACK != 0 {
		e.Spurious = Is(float64(last.DSACKDups - first.DSACKDups))
	}
	if last.Known("ReorderSeen") {
		e.Reordered = Is(float64(last.ReorderSeen - first.ReorderSeen))
	}
	if last.Known("Timeouts") {
		e.Timeouts = Is(float64(last.Timeouts - first.Timeouts))
	}
	if first.Unacked == 0 && first.SlowStart() {
		e.InitialWindow = Is(float64(first.CongestionWindow))
	}
	s.where(&e)
	s.windows(&e)
	s.losses(&e)
	return e
}

// extent is from the last sample before anything was sent to the first when all was acknowledged.
func extent(course []tcpinfo.Sample, sent, done func(*tcpinfo.Info) int64) (begin, end int) {
	if len(course) == 0 {
		return 0, 0
	}
	last := &course[len(course)-1].Info
	for begin = 0; begin+1 < len(course) && sent(&course[begin+1].Info) == sent(&course[0].Info) && course[begin+1].Unacked == 0; begin++ {
	}
	for end = len(course) - 1; end > begin && done(&course[end-1].Info) == done(last); end-- {
	}
	return begin, end
}

// senderCourse is the samples from the first byte's leaving to the last one's being acknowledged.
type senderCourse struct {
	course []tcpinfo.Sample
	least  float64 // round trip, s
	asked  float64 // s for which it was the other side's turn, with nothing in flight
	took   float64 // s, without those
	own    []bool  // the pause that a sample is in is the program's own: it goes on sending unasked
}

// turns finds the pauses, from one sending to the next. If something was received in one, the other side has asked
// for more, and what the program did meanwhile is no part of the transfer.
func (s *senderCourse) turns() {
	s.own = make([]bool, len(s.course))
	from := 0
	for i := 1; i < len(s.course); i++ {
		if s.course[i].BytesSent == s.course[from].BytesSent {
			continue
		}
		own := s.course[i].BytesReceived == s.course[from].BytesReceived
		for j := from; j < i; j++ {
			s.own[j] = own
			if x := &s.course[j]; !own && x.Unacked == 0 && x.NotSent == 0 {
				s.asked += s.course[j+1].At.Sub(x.At).Seconds()
			}
		}
		from = i
	}
}

// each calls f with every sample but the last, and how long it held.
func (s *senderCourse) each(f func(i int, x *tcpinfo.Info, dt float64)) {
	for i := range len(s.course) - 1 {
		f(i, &s.course[i].Info, s.course[i+1].At.Sub(s.course[i].At).Seconds())
	}
}

// where is what the sender waited for, and when.
func (s *senderCourse) where(e *Evidence) {
	var idle, window, buffer, full, held, recovering float64
	var waits []float64
	wait := 0.0
	s.each(func(i int, x *tcpinfo.Info, dt float64) {
		mss := int64(max(x.MSS, 1))
		flight := x.Unacked - x.Sacked - x.Lost + x.Retrans
		room := x.SendWindow - int64(x.Unacked)*mss
		if !x.Known("SendWindow") {
			room = 1 << 40
		}
		holding := false
		switch {
		case x.Congestion >= tcpinfo.Recovery:
			recovering += dt
		case x.NotSent == 0 && x.Unacked == 0:
			if s.own[i] {
				idle += dt
			}
		case x.NotSent > 0 && room < mss:
			window += dt
		case flight >= x.CongestionWindow:
			full += dt
		case x.NotSent > 0 && x.NotSent < mss && x.Unacked > 0:
			holding = true
			held += dt
		case x.NotSent < 2*mss && x.SendBuffer > 0 && x.SendQueued*10 >= x.SendBuffer*6:
			if s.own[i] {
				buffer += dt
			}
		case x.NotSent == 0:
			if s.own[i] {
				idle += dt
			}
		default: // paced: there would be room
			full += dt
		}
		if holding {
			wait += dt
		} else if wait > 0 {
			waits = append(waits, wait)
			wait = 0
		}
	})
	first, last := s.course[0], s.course[len(s.course)-1]
	share := func(d time.Duration) float64 { return d.Seconds() / s.took }
	e.Idle, e.CwndFull, e.HeldBack, e.Recovering = Is(idle/s.took), Is(full/s.took), Is(held/s.took), Is(recovering/s.took)
	e.WindowFull, e.BufferFull = Is(window/s.took), Is(buffer/s.took)
	if last.Known("WindowLimited") {
		e.WindowFull = Is(min(max(window/s.took, share(last.WindowLimited-first.WindowLimited)), 1))
		e.BufferFull = Is(min(max(buffer/s.took, share(last.BufferLimited-first.BufferLimited)), 1))
	}
	s.ackWaits(e, append(waits, wait))
}

// ackWaits are those times that small data waited for longer than a round trip.
func (s *senderCourse) ackWaits(e *Evidence, waits []float64) {
	if s.least == 0 {
		return
	}
	var late []float64
	sum := 0.0
	for _, w := range waits {
		if d := w - s.least; d > leastAckDelay {
			late = append(late, d)
			sum += d
		}
	}
	e.AckWaits, e.AckWait, e.AckDelay = Is(float64(len(late))), Is(sum/s.took), median(late)
}

// leastAckDelay, s: Linux holds acknowledgements back for 40 ms at least, others up to 200 or 500.
const leastAckDelay = .02

// windows are sizes and round trips while data were in flight.
func (s *senderCourse) windows(e *Evidence) {
	var rtt, wnd, flight weighted
	slow := -1.0
	begin := s.course[0].At
	s.each(func(i int, x *tcpinfo.Info, dt float64) {
		at := s.course[i].At.Sub(begin).Seconds()
		if slow < 0 && (!x.SlowStart() || x.Congestion >= tcpinfo.Recovery) {
			slow = at
		}
		if x.Unacked == 0 {
			return
		}
		rtt.add(x.RTT.Seconds(), dt)
		if x.Known("SendWindow") {
			wnd.add(float64(x.SendWindow), dt)
		}
		if at > s.took/2 && x.NotSent+int64(x.Unacked) > 0 {
			flight.add(float64(x.Unacked)*float64(x.MSS), dt)
		}
	})
	e.RTT, e.MaxRTT = rtt.quantile(.5), rtt.quantile(.95)
	e.Window, e.LeastWindow = wnd.quantile(.5), wnd.quantile(0)
	e.Flight, e.FlightSpread = flight.quantile(.5), flight.spread()
	if slow < 0 {
		slow = s.took
	}
	e.SlowStart = Is(slow / s.took)
}

// losses are when segments were lost or sent again.
func (s *senderCourse) losses(e *Evidence) {
	begin := s.course[0].At
	course := make([]Progress, 0, len(s.course))
	var rtts []float64
	lost, events, last := 0.0, 0.0, -1e9
	timedOut := 0.0
	var sent []Sent
	left := 0 // the sample when what is told of now was sent
	for i := range s.course {
		x := &s.course[i].Info
		at := s.course[i].At.Sub(begin).Seconds()
		if i > 0 {
			p := &s.course[i-1].Info
			for left+1 < i && s.course[left+1].At.Sub(begin) <= s.course[i].At.Sub(begin)-p.RTT {
				left++
			}
			before := lost
			// Marked as lost since the sample before, or lost and sent again in between.
			if d := max(x.Lost-p.Lost, int(x.TotalRetrans-p.TotalRetrans)-max(p.Lost-p.Retrans, 0)); d > 0 {
				lost += float64(d)
				if at > last+max(s.least, .001) {
					events++
					rtts = append(rtts, p.RTT.Seconds())
				}
				last = at
			}
			if f := &s.course[left].Info; s.course[0].Known("Delivered") {
				sent = append(sent, Sent{float64(f.Unacked - f.Sacked - f.Lost + f.Retrans), float64(x.Delivered - p.Delivered), lost - before})
			}
			if x.Timeouts > p.Timeouts {
				timedOut += p.SinceDataSent.Seconds()
			}
		}
		course = append(course, Progress{at, float64(x.Delivered) * float64(x.MSS), lost})
	}
	if !s.course[0].Known("Delivered") {
		for i := range course {
			course[i].Bytes = float64(s.course[i].BytesAcked)
		}
	}
	e.LossEvents, e.LossRTT = Is(events), median(rtts)
	e.LossFlight = Growth(sent)
	e.TimedOut = Is(min(timedOut/s.took, 1))
	e.Plateau, e.PlateauSpread = plateau(course)
	e.PolicedRate, e.PolicedFit = TokenBucket(course)
	if rate, ok := e.PolicedRate.Get(); ok {
		first := slices.IndexFunc(course, func(p Progress) bool { return p.Lost > 0 })
		e.LossPassed = Is(atOnce(course, course[first].At, rate/8))
	}
}
