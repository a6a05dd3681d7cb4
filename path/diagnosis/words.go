package diagnosis

import (
	"fmt"
	"math"
	"strings"
)

// explain says what the evidence for a cause is, and what to do about it.
func explain(c Cause, share float64, e *Evidence) (sentence, advice string) {
	took := percent(share) + " of the time"
	switch c {
	case DNS:
		return fmt.Sprintf("finding the host's address took %s, %s", seconds(e.DNS), took),
			"a resolver nearer by, a longer TTL, or a cache on the client; dns-prefetch where it is a page"
	case TLS:
		s := fmt.Sprintf("the TLS handshake took %s, %s beyond the round trips that it needs", seconds(e.TLS), took)
		advice := "look at the server's key operations and at how long its certificate chain is; resume sessions"
		if e.TLSRounds.Over(1.5) {
			return s + ", and needs two, as TLS 1.2 does", "TLS 1.3 saves a round trip, if its server need not ask for another hello; " + advice
		}
		return s, advice
	case ServerThinking:
		think := max(e.thinking(e.MinRTT.Or(e.Connect.Or(0))), 0)
		s := fmt.Sprintf("the server took %s for its answer beyond the round trip, %s", span(think), took)
		if heldFor(think / max(e.Exchanges.Or(1), 1)) {
			return s + ", as long as an acknowledgement is held back, for which Nagle's algorithm waits: a server that writes its answer in parts looks the same from here",
				"capture it (headway path pcap): a stall that an acknowledgement ends is cured by TCP_NODELAY or one write at the server; else the time is the server's own: profile it"
		}
		return s,
			"the time is the server's own: profile it (headway profile), or let it send the head before it has the rest"
	case Loss:
		lost := e.lost()
		s := fmt.Sprintf("%s went with a congestion window that losses keep small", took)
		if e.Resent.Known() {
			s += fmt.Sprintf(": %.0f of %.0f segments were lost (%s)", lost, e.Segments.Or(0), percent(lost/max(e.Segments.Or(1), 1)))
		} else if e.LossEvents.Known() {
			s += fmt.Sprintf(": %.0f gaps took a round trip or longer to fill, so that what was missing had to be sent again", e.LossEvents.Or(0))
			if e.Side == AtReceiver {
				s += "; whether chance loses packets, a short queue has no room for them or a policer drops them cannot be told from this end"
			}
		}
		if e.LossRTT.Known() && e.MinRTT.Known() {
			s += fmt.Sprintf(", at a round trip of %s where the least is %s", seconds(e.LossRTT), seconds(e.MinRTT))
			if e.quiet() && !e.queued() {
				s += ", so no long queue had overflowed"
			}
		}
		switch {
		case e.overflowed():
			s += fmt.Sprintf(", when more than %s above %s had been sent, as a queue too short to show in the round trip drops them, or a policer", size(e.LossRoom.Or(0)), bits(e.LossRate.Or(0)))
		case e.notChance(lost):
			s += ", in clumps and when much was in flight, as a queue too short to show in the round trip drops them, or a policer"
		case e.LossEvents.Over(0) && e.LossEvents.Under(2) && lost >= 8:
			s += ", all at one time: a burst of errors, or a queue too short to show in the round trip"
		}
		if e.Timeouts.Over(0) {
			s += "; the retransmission timer fired " + times(e.Timeouts.Or(0))
		}
		if r, ok := e.mathis(lost); ok {
			s += fmt.Sprintf("; at such a loss one connection gets about %s (Mathis et al. 1997), and it got %s", bits(r), bits(e.rate()))
		}
		return s, "find where the path loses packets (radio, a port's errors, a queue that is too short for the bursts that arrive); bbr at the sender suffers least from losses that are no congestion, and paces"
	case ReceiveWindow:
		s := fmt.Sprintf("%s the receiver's window was full", took)
		if w := e.Window.Or(0); w > 0 {
			s += ": " + size(w) + " in flight"
			if rtt := max(e.MinRTT.Or(0), 1e-4); e.MinRTT.Known() {
				s += fmt.Sprintf(" on a %s path cannot carry more than %s", seconds(e.MinRTT), bits(w*8/rtt))
			}
		}
		if e.LeastWindow.Under(2*e.MSS.Or(1448)) && e.Window.Over(4*e.MSS.Or(1448)) {
			return s + "; it closed altogether at times: the receiver's program does not read as fast as data come",
				"make the receiving program read faster: profile it"
		}
		return s, "let the receiver's kernel size its buffer: no SO_RCVBUF in its program, net.ipv4.tcp_rmem with a larger maximum, net.ipv4.tcp_moderate_rcvbuf = 1, net.ipv4.tcp_window_scaling = 1"
	case SendBuffer:
		s := fmt.Sprintf("%s the send buffer was full of what was in flight, though windows were open", took)
		if f := e.Flight.Or(0); f > 0 {
			s += ": " + size(f) + " in flight"
			if e.MinRTT.Known() {
				s += fmt.Sprintf(" on a %s path cannot carry more than %s", seconds(e.MinRTT), bits(f*8/max(e.MinRTT.Or(0), 1e-4)))
			}
		}
		return s, "let the sender's kernel size its buffer: no SO_SNDBUF in its program, net.ipv4.tcp_wmem with a larger maximum"
	case Application:
		if e.Side == AtReceiver {
			return fmt.Sprintf("%s nothing came, %.0f times for longer than a round trip and without a loss: the sender had nothing to send", took, e.Silences.Or(0)),
				"the time is the sending program's own: profile it, or let it write ahead"
		}
		return fmt.Sprintf("%s the sender's program had written nothing that could be sent, though windows and buffer were open", took),
			"the time is the sending program's own: profile it, or let it write ahead"
	case InitialWindow:
		return fmt.Sprintf("the sender began with a window of %.0f segments, so that slow start took %.0f round trips of %s instead of %.0f: %s",
				e.InitialWindow.Or(0), e.rounds(e.InitialWindow.Or(1)), seconds(e.MinRTT), e.rounds(usualWindow), took),
			"begin with 10 segments (RFC 6928): ip route change ... initcwnd 10 at the sender"
	case Policer:
		rate := e.PolicedRate
		if e.bucket() {
			rate = e.LossRate
		}
		s := fmt.Sprintf("%s went with what a policer leaves: losses come when %s have been used up and not otherwise", took, bits(rate.Or(0)))
		if e.bucket() {
			s += fmt.Sprintf(", and of what was sent faster up to %s came by at once, where a queue would have delayed it by %s", size(e.LossPassed.Or(0)), span(e.delay()))
		}
		if e.Resent.Known() && e.Side != AtReceiver {
			s += fmt.Sprintf(", %s of the segments", percent(e.lost()/max(e.Segments.Or(1), 1)))
		}
		if e.LossRTT.Known() && e.MinRTT.Known() {
			s += fmt.Sprintf(", and the round trip does not grow before them (%s, the least is %s)", seconds(e.LossRTT), seconds(e.MinRTT))
		}
		return s, "ask whoever limits the rate to shape (queue) instead of dropping, or pace the sender below that rate: SO_MAX_PACING_RATE, or fq's maxrate; bbr wastes less here than cubic"
	case Bufferbloat:
		s := fmt.Sprintf("%s a queue was full of this transfer: the round trip rose from %s to %s", took, seconds(e.MinRTT), seconds(e.RTT))
		if e.Plateau.Known() {
			s += fmt.Sprintf(" at %s, which is what the path carries", bits(e.Plateau.Or(0)))
		}
		return s, "fq_codel or cake at the bottleneck, or a shorter queue there; bbr at the sender keeps it short; the rate itself is the path's"
	case Bottleneck:
		s := fmt.Sprintf("%s the path was full", took)
		if e.Plateau.Known() {
			s += " at " + bits(e.Plateau.Or(0))
		}
		return s, "fewer bytes (compression), or a faster path"
	case Reordering:
		if e.Side == AtReceiver {
			return fmt.Sprintf("%s packets came out of order: %.0f after a gap, and every gap filled in less than a round trip, so nothing was lost", took, e.OutOfOrder.Or(0)),
				"find what spreads one connection over several paths or queues (per-packet balancing, parallel radio links)"
		}
		return fmt.Sprintf("%s went with a window made small for nothing: %.0f segments were sent again, and the receiver had %.0f of them already: late, not lost", took, e.Resent.Or(0), e.Spurious.Or(0)),
			"find what spreads one connection over several paths or queues (per-packet balancing, parallel radio links)"
	case DelayedAcks:
		s := fmt.Sprintf("%s data that were ready waited for an acknowledgement that the receiver held back for %s: %s", times(e.AckWaits.Or(0)), seconds(e.AckDelay), took)
		return s, "write each message at once (writev, a buffered writer, TCP_CORK), or set TCP_NODELAY at the sender: Nagle's algorithm and delayed acknowledgements wait for each other"
	case Distance:
		return fmt.Sprintf("%s went with the round trips of %s that connecting and asking need", took, seconds(e.trip())),
			"fewer of them: a connection that is kept (keepalive, HTTP/2), TLS 1.3; or a server nearer by"
	case SlowStart:
		return fmt.Sprintf("%s the transfer was in slow start: %s take %.0f round trips of %s from a window of %.0f segments", took, size(e.Bytes.Or(0)), e.rounds(e.InitialWindow.Or(usualWindow)), seconds(e.MinRTT), e.InitialWindow.Or(usualWindow)),
			"fewer bytes, a server nearer by, or one connection for more than one exchange; a larger initial window (ip route ... initcwnd) where the path carries it"
	}
	return "", ""
}

// unclear says what is known where no cause can be named.
func unclear(e *Evidence, others []Part) (sentence, advice string) {
	if e.all() <= 0 {
		return "nothing was transferred", ""
	}
	if len(others) > 0 && others[0].Cause == Loss && others[0].Share >= leastShare && (len(others) == 1 || others[0].Share > leastLead*others[1].Share) {
		why := "; whether chance loses them, a short queue overflows or a policer drops them cannot be told from here"
		switch {
		case e.Side == AtReceiver:
			why = "" // said already
		case e.notChance(e.lost()):
			why = "; which of these it is cannot be told from here"
		}
		return others[0].Sentence + why,
			"a longer transfer, TCP_INFO at the sender, or a capture there (headway path pcap) can tell; bbr, or pacing (fq) at the sender, helps with all three"
	}
	if len(others) > 0 {
		var names []string
		for _, p := range others[:min(len(others), 3)] {
			names = append(names, fmt.Sprintf("%s (%s)", p.Cause, percent(p.Share)))
		}
		return "no single cause explains the time clearly; candidates are " + strings.Join(names, ", "), "measure again, with more runs, or at the sender's side"
	}
	if e.Side == AtReceiver {
		return "nothing at this side held the transfer back: what does is known at the sender", "read TCP_INFO there, or capture there (headway path pcap)"
	}
	return "the evidence speaks for no cause", "measure again, with more runs"
}

// mathis is the rate in bit/s that losses allow: MSS/RTT x sqrt(3/2p), M. Mathis et al., "The macroscopic behavior of the TCP
// congestion avoidance algorithm", CCR 27(3), 1997.
func (e *Evidence) mathis(lost float64) (float64, bool) {
	p := lost / max(e.Segments.Or(0), 1)
	rtt, ok := e.RTT.Get()
	if !ok || p <= 0 || rtt <= 0 || e.Side == AtReceiver {
		return 0, false
	}
	return e.MSS.Or(1448) * 8 / rtt * math.Sqrt(1.5/p), true
}

func (e *Evidence) rate() float64 {
	if d := e.Duration.Or(0); d > 0 {
		return e.Bytes.Or(0) * 8 / d
	}
	return 0
}

func times(n float64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%.0f times", n)
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

func seconds(v Value) string { return span(v.Or(0)) }

func span(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.1f s", s)
	case s >= .01:
		return fmt.Sprintf("%.0f ms", s*1e3)
	}
	return fmt.Sprintf("%.2g ms", s*1e3)
}

func size(b float64) string {
	switch {
	case b >= 1e6:
		return fmt.Sprintf("%.1f MB", b/1e6)
	case b >= 1e4:
		return fmt.Sprintf("%.0f KB", b/1e3)
	case b >= 1e3:
		return fmt.Sprintf("%.1f KB", b/1e3)
	}
	return fmt.Sprintf("%.0f bytes", b)
}

func bits(r float64) string {
	switch {
	case r >= 1e9:
		return fmt.Sprintf("%.1f Gbit/s", r/1e9)
	case r >= 1e7:
		return fmt.Sprintf("%.0f Mbit/s", r/1e6)
	case r >= 1e6:
		return fmt.Sprintf("%.1f Mbit/s", r/1e6)
	}
	return fmt.Sprintf("%.0f kbit/s", r/1e3)
}
