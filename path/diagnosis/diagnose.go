package diagnosis

import (
	"cmp"
	"math"
	"slices"
)

// Part is what one cause took of the time of an exchange.
type Part struct {
	Cause    Cause   `json:"cause"`
	Share    float64 `json:"share"`    // of the whole exchange's time, 0 to 1
	Sentence string  `json:"sentence"` // the evidence, in words
	Advice   string  `json:"advice"`   // what to do about it
}

// Diagnosis is what limited a transfer.
type Diagnosis struct {
	Part
	// Confidence is from 0 to 1: how much of the time the cause explains, and how clearly the
	// evidence speaks for it and against others.
	Confidence float64 `json:"confidence"`
	// Others took a tenth of the time or more.
	Others []Part `json:"others,omitempty"`
}

// What a cause must explain of the time to be named, and by how much more than the next one.
const (
	leastShare    = .3
	leastWindow   = .15 // the round trips that a small initial window costs
	leastDistance = .5
	leastLead     = 1.25
	worthTold     = .1
)

// Diagnose says what limited a transfer.
//
// The time of the exchange is divided among causes: the phases before the data first, less the
// round trips that they need at least; then the time of the data, as T-RAT does it (Y. Zhang, L. Breslau, V. Paxson, S. Shenker, "On the
// Characteristics and Origins of Internet Flow Rates", SIGCOMM 2002) but from what the kernel counts instead of a guess from packets: the sender's
// program, its buffer, the receiver's window, and what is left is the congestion window's. Why that one is small, losses,
// their kind and the round trip under load say. The cause is the one with the largest share, if that is
// large enough and clearly larger than the next; else it is not clear.
func Diagnose(e Evidence) Diagnosis {
	parts := sorted(divide(&e))
	first := leading(parts)
	d := Diagnosis{Part: Part{Cause: NotClear}}
	for i, p := range parts {
		if p.Share < worthTold {
			continue
		}
		p.Sentence, p.Advice = explain(p.Cause, p.Share, &e)
		if i == first {
			next := rival(parts, i)
			if p.Share >= leastLead*next && p.sure >= .5 {
				d.Part = p.Part
				d.Confidence = p.sure * min(1, p.Share/.6) * min(1, (p.Share-next)/(.5*p.Share))
				continue
			}
		}
		d.Others = append(d.Others, p.Part)
	}
	if d.Cause == NotClear {
		d.Sentence, d.Advice = unclear(&e, d.Others)
	}
	return d
}

func sorted(parts []claim) []claim {
	slices.SortStableFunc(parts, func(a, b claim) int { return cmp.Compare(b.Share, a.Share) })
	return parts
}

// leading is which of the parts may be the cause, -1 if none takes enough; the largest comes first. Slow start is the ground on which a
// small initial window stands, and distance that of everything: they are named if nothing else is.
func leading(parts []claim) int {
	slow, far := -1, -1
	for i, p := range parts {
		switch {
		case p.Cause == Distance:
			far = i
		case p.Cause == SlowStart:
			slow = i
		case p.Share >= leastShare, p.Cause == InitialWindow && p.Share >= leastWindow && slow >= 0:
			if slow >= 0 && p.Cause != InitialWindow && parts[slow].Share > p.Share {
				return slow
			}
			return i
		}
	}
	if slow >= 0 && parts[slow].Share >= leastShare && (far < 0 || parts[slow].Share >= parts[far].Share) {
		return slow
	}
	if far >= 0 && parts[far].Share >= leastDistance {
		return far
	}
	return -1
}

// rival is the largest share beside one.
func rival(parts []claim, i int) float64 {
	most := 0.0
	for j, p := range parts {
		ground := p.Cause == Distance || p.Cause == SlowStart && (parts[i].Cause == InitialWindow || parts[i].Cause == Distance)
		if j != i && !ground {
			most = max(most, p.Share)
		}
	}
	return most
}

// claim is a part with how sure its evidence is, 0 to 1.
type claim struct {
	Part
	sure float64
}

// divide gives the time of the exchange to causes, in shares.
func divide(e *Evidence) []claim {
	all := e.all()
	if all <= 0 {
		return nil
	}
	var parts []claim
	add := func(c Cause, seconds, sure float64) {
		if seconds > 0 {
			parts = append(parts, claim{Part{Cause: c, Share: min(seconds/all, 1)}, sure})
		}
	}
	trip := e.trip().Or(0)
	before := 0.0
	phase := func(c Cause, seconds float64) {
		seconds = max(seconds, 0)
		before += seconds
		add(c, seconds, 1)
	}
	phase(DNS, e.DNS.Or(0))
	// The first SYN, or its answer, was lost: it is sent again after a second (RFC 6298).
	if over := e.Connect.Or(0) - trip; over > .9 {
		phase(Loss, over)
	}
	phase(TLS, e.TLS.Or(0)-e.TLSRounds.Or(1)*trip)
	phase(ServerThinking, e.thinking(trip))
	setup := before + min(e.Connect.Or(0), 2*trip) + min(e.TLS.Or(0), e.TLSRounds.Or(1)*trip)
	// What is left of the phases is round trips: for connecting, for TLS, and in a download for the answer.
	trips := min(e.Connect.Or(0), 2*trip) + min(e.TLS.Or(0), e.TLSRounds.Or(1)*trip)
	if !e.Upload {
		trips += min(e.Wait.Or(0), e.Exchanges.Or(1)*trip)
	}
	add(Distance, min(trips, all-before), 1)
	data := max(all-setup, 0)
	if d, ok := e.Duration.Get(); ok {
		data = min(data, d)
	}
	for _, p := range e.ofData() {
		add(p.Cause, p.Share*data, p.sure)
	}
	return merged(parts)
}

// trip is the least round trip, s.
func (e *Evidence) trip() Value {
	if e.MinRTT.Over(0) {
		return e.MinRTT
	}
	return e.Connect
}

// thinking is how long the server took for its answer beyond the round trips.
func (e *Evidence) thinking(trip float64) float64 {
	wait, ok := e.Wait.Get()
	if !ok {
		return 0
	}
	if e.Upload {
		d, ok := e.Duration.Get()
		if !ok {
			return 0
		}
		return e.Send.Or(0) + wait - d
	}
	// A network that is slow by itself makes the wait longer than the least round trip.
	return wait - e.Exchanges.Or(1)*max(trip, e.Connect.Or(0))
}

func merged(parts []claim) []claim {
	var all []claim
next:
	for _, p := range parts {
		for i := range all {
			if all[i].Cause == p.Cause {
				all[i].Share += p.Share
				all[i].sure = max(all[i].sure, p.sure)
				continue next
			}
		}
		all = append(all, p)
	}
	return all
}

// ofData divides the time of the data.
func (e *Evidence) ofData() []claim {
	var parts []claim
	left := 1.0
	take := func(c Cause, share, sure float64) {
		share = min(max(share, 0), left)
		left -= share
		if share > 0 {
			parts = append(parts, claim{Part{Cause: c, Share: share}, sure})
		}
	}
	// Where the round trip has grown under load, the path is full, and a window or buffer that is full
	// as well holds nothing back but the queue.
	open := 1.0
	if e.RTT.Known() && e.MinRTT.Over(0) && e.queued() {
		open = math.Pow(e.MinRTT.Or(0)/e.RTT.Or(1), 1.5)
	}
	take(DelayedAcks, e.ackWait(), 1)
	take(Application, e.idle(), 1)
	take(ReceiveWindow, e.windowFull()*open, 1)
	take(SendBuffer, e.BufferFull.Or(0)*open, 1)
	for _, p := range e.congestion(left) {
		take(p.Cause, p.Share, p.sure)
	}
	return parts
}

// ackWait counts only what cannot be chance: one wait is as long as systems hold an acknowledgement back, and nothing was sent again.
func (e *Evidence) ackWait() float64 {
	one := e.Side != AtReceiver && e.AckWaits.Over(.5) && heldFor(e.AckDelay.Or(0)) && !e.Resent.Over(0)
	if e.AckWaits.Under(2) && !one || e.Side == AtReceiver && !e.AckWaits.Over(1.5*e.Silences.Or(0)) {
		return 0
	}
	return e.AckWait.Or(0)
}

// heldFor says that an acknowledgement is held back for so many seconds by a usual timer: Linux's 40 ms, or the 200 of BSD and Windows, which
// may each be late.
func heldFor(s float64) bool { return s >= .038 && s < .048 || s >= .19 && s < .21 }

// idle is the time in which the sender's program did not write.
func (e *Evidence) idle() float64 {
	if e.Idle.Known() {
		return e.Idle.Or(0)
	}
	// A receiver sees nothing come for longer than a round trip, again and again: no window of any kind
	// is closed for so long, and a retransmission timer does not fire so often.
	if e.AckWaits.Over(1.5 * e.Silences.Or(0)) {
		return 0
	}
	if e.Silences.Over(2.5) && !(e.LossEvents.Over(e.Silences.Or(0) / 3)) && !e.waitsInQueue() {
		return e.Silent.Or(0)
	}
	return 0
}

// waitsInQueue says that round trips are longer than the silences at a receiver can have made them, so that a queue has, and a silence says nothing.
func (e *Evidence) waitsInQueue() bool {
	silence := e.Silent.Or(0) * e.Duration.Or(0) / max(e.Silences.Or(1), 1)
	return e.Side == AtReceiver && e.RTT.Over(silence+1.5*e.trip().Or(0))
}

// windowFull is the time for which the receiver's window was the limit.
func (e *Evidence) windowFull() float64 {
	full := e.WindowFull.Or(0)
	if e.Side == AtReceiver && full > 0 {
		// What comes in a round trip fills the window: steadily, or the window was only behind for a while.
		if !(full > .5) || e.FlightSpread.Over(.35) {
			return 0
		}
	}
	return full
}
