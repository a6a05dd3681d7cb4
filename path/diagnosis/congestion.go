package diagnosis

import "math"

// usualWindow is the initial window that senders begin with (RFC 6928), in segments.
const usualWindow = 10

// queued says whether the round trip has grown under load: packets wait in a queue.
func (e *Evidence) queued() bool {
	least, rtt := e.MinRTT.Or(0), e.RTT.Or(0)
	return least > 0 && rtt > 1.6*least && rtt-least > .015 && !e.Duration.Under(4*least)
}

// bloated says that they wait for long.
func (e *Evidence) bloated() bool {
	least, rtt := e.MinRTT.Or(0), e.RTT.Or(0)
	if !e.queued() || rtt <= 2*least {
		return false
	}
	// Where nothing was lost the queue is longer than it was ever seen to be.
	return rtt-least > .05 || e.Side != AtReceiver && e.Resent.Under(.5) && e.MaxRTT.Over(least+.05)
}

// congestion divides what was left to the congestion window: why was it small, or the path full?
func (e *Evidence) congestion(left float64) []claim {
	if full, ok := e.CwndFull.Get(); ok {
		// The rest is round trips that nothing but distance is to blame for.
		own := 1.1 * (full + e.Recovering.Or(0) + e.TimedOut.Or(0))
		if e.Exchanges.Or(1) == 1 {
			own += e.MinRTT.Or(0) / max(e.Duration.Or(1), 1e-9)
		}
		left = min(left, own)
	}
	claims := func(c Cause, sure float64) []claim { return []claim{{Part{Cause: c, Share: left}, sure}} }
	resent := e.Resent.Or(0)
	lost := e.lost()
	if e.Side == AtReceiver {
		lost = e.LossEvents.Or(0)
	}
	rate := lost / max(e.Segments.Or(1), 1)
	// Losses when a queue was long are its overflow; others strike an empty path.
	quiet := e.quiet()
	switch {
	case e.spurious(resent, lost) && (e.Reordered.Over(2) || !e.bloated()):
		return claims(Reordering, 1)
	case lost >= 2 && rate > policedLoss && e.policed() && e.atPolicer(lost, rate), rate > .05 && e.bucket():
		return claims(Policer, 1)
	case e.bloated():
		return claims(Bufferbloat, 1)
	case lost >= 2 && quiet && !e.queued():
		sure := 1.0
		switch {
		case e.maybePoliced(lost, rate) || e.notChance(lost):
			sure = .4
		case e.Side == AtReceiver:
			sure = .7 // that something was lost, not why
		}
		return claims(Loss, sure)
	case lost >= 2 && !quiet && e.policed():
		// A rate, and a queue in front of it; one that drops so much has hardly any.
		sure := 1.0
		if rate > .1 || e.passed() > .5 {
			sure = .4
		}
		return claims(Bottleneck, sure)
	case e.queued():
		return claims(Bottleneck, 1)
	case lost >= 2:
		return claims(Loss, .4)
	}
	return e.opening(left)
}

// lost is how many segments were sent again because they were lost, not late.
func (e *Evidence) lost() float64 { return max(e.Resent.Or(0)-e.Spurious.Or(0), 0) }

const (
	policedLoss = .01 // least share of segments lost to speak of a policer
	policedFit  = .6  // of the losses that a token bucket explains
)

// policed says that a token bucket explains the losses. A receiver counts what came after a gap for want of the losses
// themselves, which says less.
func (e *Evidence) policed() bool {
	if e.Side == AtReceiver {
		return e.PolicedFit.Over(.85) && e.OutOfOrder.Over(10*LeastLosses)
	}
	return e.PolicedFit.Over(policedFit)
}

// maybePoliced says that losses may be something else than chance.
func (e *Evidence) maybePoliced(lost, rate float64) bool {
	if e.Side == AtReceiver {
		// Or what came twice was late, and not lost.
		return e.PolicedFit.Over(.3) || e.Spurious.Over(2.5)
	}
	if s := e.Spurious.Or(0); s > 0 && s >= .2*e.Resent.Or(0) {
		return true // some were only late
	}
	// Policers drop a tenth and more of what comes (Flach et al.).
	return rate > policedLoss && e.PolicedFit.Over(.4) && !e.byChance(lost) || rate > .1
}

// atPolicer says that what a token bucket explains is no queue's doing either: a policer delays nothing. A path whose queue is
// shorter than that shows drops few, of the windows that outgrow it; a policer, many (Flach et al.: a fifth).
func (e *Evidence) atPolicer(lost, rate float64) bool {
	switch {
	case !e.lossAt(1.1, .005) || e.LossFlight.Under(.58) || e.passed() < .4:
		return false
	case e.Side != AtReceiver && !e.clumped(lost): // an empty bucket drops several
		return false
	case e.Side != AtReceiver && rate < .05:
		return e.PolicedFit.Over(.95)
	}
	return true
}

// passed is how much of what a bucket, or a queue, held at the first loss had come by at once: all of a bucket, and next to nothing of a queue.
// Where that is not known it is between the two.
func (e *Evidence) passed() float64 {
	room, ok := e.LossRoom.Get()
	switch {
	case !ok && e.LossPassed.Known() && e.LossPassed.Or(0)*8 < .02*e.PolicedRate.Or(0): // no bucket's worth
		return 0
	case !ok || !e.LossPassed.Known():
		return .4
	case room <= 0 || e.delay() < .02: // so little passes anyway, as acknowledgements and processors are late
		return 0
	}
	return e.LossPassed.Or(0) / room
}

// delay is what a queue of that size would have delayed by, s.
func (e *Evidence) delay() float64 { return e.LossRoom.Or(0) * 8 / max(e.LossRate.Or(0), 1) }

// bucket says that what overflows is no queue: what it held had come by at once, more than the initial window that always does, and was not delayed.
func (e *Evidence) bucket() bool {
	if !e.LossPassed.Over(1.2 * usualWindow * e.MSS.Or(1448)) {
		return false
	}
	return e.overflowed() && e.passed() > .8 && e.passed() < 1.4 && e.lossAt(1.1, .005) && e.MaxRTT.Known() && e.MaxRTT.Or(0)-e.MinRTT.Or(0) < e.delay()/2
}

// notChance says that losses came when too much had been sent, too often and too clearly for chance: a queue that is too short
// to show in the round trip overflows, or a policer's bucket is empty.
func (e *Evidence) notChance(lost float64) bool {
	return e.overflowed() || e.grown(lost)
}

// overflowed says so of what a capture tells. Once is no sign: the first loss ends slow start, so that nothing is sent faster after it.
func (e *Evidence) overflowed() bool {
	full, times := e.LossFull.Or(0), e.LossTimes.Or(0)
	return full > .7 && times > 1.5 && meanOver(full, times) < .005
}

// byChance says that they did not: a queue or bucket would have shown.
func (e *Evidence) byChance(lost float64) bool {
	return e.LossFull.Under(.7) && e.LossTimes.Over(4.5) && !e.grown(lost)
}

// grown says that losses come in clumps, and when much is in flight: not by chance, but because a queue that is too short to
// show in the round trip overflows, or a policer's bucket is empty.
func (e *Evidence) grown(lost float64) bool {
	times := e.LossEvents.Or(0)
	if times < 2 || !e.LossFlight.Known() {
		return false
	}
	p := meanOver(e.LossFlight.Or(0), times)
	return p < .025 && lost >= 8 && e.clumped(lost) || p < .001
}

// clumped says that losses come several at a time.
func (e *Evidence) clumped(lost float64) bool { return lost >= 1.8*e.LossEvents.Or(lost) }

// quiet says that no long queue stood when segments were lost.
func (e *Evidence) quiet() bool { return e.lossAt(1.3, .01) }

// lossAt says that losses came while the round trip was less than so many times the least one, or so many s above it. A
// receiver does not know when they came, only whether the round trip grew.
func (e *Evidence) lossAt(times, over float64) bool {
	if e.Side == AtReceiver {
		return !e.queued()
	}
	at, least := e.LossRTT, e.MinRTT
	return !at.Known() || !least.Known() || at.Or(0) <= max(times*least.Or(0), least.Or(0)+over)
}

// spurious says that what was sent again was there already: late, not lost.
func (e *Evidence) spurious(resent, lost float64) bool {
	if e.Side == AtReceiver {
		// Every gap filled in less than a round trip: nothing had to be sent again.
		return e.OutOfOrder.Over(10) && !e.LossEvents.Over(0)
	}
	s, ok := e.Spurious.Get()
	if e.Reordered.Or(0) == 0 && e.OutOfOrder.Or(1) == 0 { // TCP_INFO does not know the latter, and often not the former
		return false // nothing came late: the timer was too hasty, as with a queue that grows fast
	}
	// The last duplicates are told of after the end, if at all.
	return ok && s >= max(3, .002*e.Segments.Or(0)) && s >= .45*resent
}

// opening divides the time in which the window grew.
func (e *Evidence) opening(left float64) []claim {
	slow := e.SlowStart.Or(0)
	rest := left * (1 - slow)
	trips := e.rounds(e.InitialWindow.Or(usualWindow))
	if d, ok := e.Duration.Get(); ok && d > 0 && e.MinRTT.Known() {
		// It takes no longer than its round trips; the last one is the path's.
		slow = min(slow, trips*max(e.MinRTT.Or(0), e.RTT.Or(0))/d)
	}
	if trips <= 1 || e.Side == AtReceiver && e.OutOfOrder.Over(2) {
		slow = 0 // or not known to be it
	}
	share := left * slow
	var parts []claim
	if w, ok := e.InitialWindow.Get(); ok && w < usualWindow-2 && share > 0 && e.Duration.Over(0) {
		more := trips - e.rounds(usualWindow)
		cost := min(max(more*e.MinRTT.Or(0)/e.Duration.Or(1), 0), share)
		parts = append(parts, claim{Part{Cause: InitialWindow, Share: cost}, 1})
		share -= cost
	}
	parts = append(parts, claim{Part{Cause: SlowStart, Share: share}, 1})
	// The window was open, nothing was lost, nothing queued: the path's rate, found by pacing, or something unseen.
	if e.Side == AtReceiver {
		return parts // it is known at the sender
	}
	sure := .3
	if e.CwndFull.Over(.5) && e.PlateauSpread.Under(.15) && e.Duration.Over(10*e.MinRTT.Or(math.Inf(1))) {
		sure = .6
	}
	return append(parts, claim{Part{Cause: Bottleneck, Share: rest}, sure})
}

// rounds is how many round trips slow start takes for the transfer from an initial window, which
// doubles in each.
func (e *Evidence) rounds(window float64) float64 {
	segments := math.Ceil(e.Bytes.Or(0) / max(e.MSS.Or(1448), 1))
	if window < 1 || segments < 1 {
		return 1
	}
	return math.Ceil(math.Log2(segments/window + 1))
}
