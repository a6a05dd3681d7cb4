package diagnosis

import (
	"encoding/json"
	"math"
)

// Value is a figure that may be unknown, which the zero Value is. Its unit is in the comment of
// whatever holds it.
type Value struct {
	x     float64
	known bool
}

// Is returns a known figure; NaN and what is infinite are unknown.
func Is(x float64) Value {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Value{}
	}
	return Value{x, true}
}

// Get returns the figure, and whether it is known.
func (v Value) Get() (float64, bool) { return v.x, v.known }

// Known says whether the figure is known.
func (v Value) Known() bool { return v.known }

// Or returns the figure, or x where it is unknown.
func (v Value) Or(x float64) float64 {
	if v.known {
		return v.x
	}
	return x
}

// Over says that the figure is known and more than x.
func (v Value) Over(x float64) bool { return v.known && v.x > x }

// Under says that the figure is known and less than x.
func (v Value) Under(x float64) bool { return v.known && v.x < x }

// MarshalJSON writes null for what is unknown.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.known {
		return []byte("null"), nil
	}
	return json.Marshal(v.x)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (v *Value) UnmarshalJSON(b []byte) error {
	var x *float64
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*v = Value{}
	if x != nil {
		*v = Is(*x)
	}
	return nil
}

// Side is where the evidence comes from. It decides what could have been seen: a sender knows
// why it waits; a receiver sees only that nothing comes.
type Side string

// The sides.
const (
	AtSender   Side = "sender"
	AtReceiver Side = "receiver"
	AtBoth     Side = "both"
)

// Evidence is all that could be known of one transfer: data that went one way over one
// TCP connection, and what came before it. Whoever measured fills in what it saw, and leaves the
// rest unknown. Times are in s, sizes in bytes, rates in bit/s, shares from 0 to 1.
//
// Sender and receiver are those of the data: in a download the server sends.
type Evidence struct {
	Side Side
	// Upload says that the client is the sender: then Send and Wait are the time of the transfer.
	Upload bool

	// The phases of the exchange one after the other, by the client's clock; 0 is a phase that there was
	// not, such as TLS under http. Send lasts from the connection's being ready to the request's last
	// byte being handed over (all but nothing, unless it is an upload), Wait from there to the first byte
	// of the answer, Transfer to its last. A capture knows DNS only if it holds the queries.
	DNS, Connect, TLS, Send, Wait, Transfer Value
	// Exchanges on the connection, one after the other, that the phases Send, Wait and Transfer are the sums of; unknown is 1.
	Exchanges Value
	// TLSRounds is how many round trips the handshake takes where nothing delays it: 1 for TLS 1.3, 2 for 1.2.
	TLSRounds Value

	// The transfer itself. Duration is from the first byte of data to leave (at the receiver: to
	// come) to the last one acknowledged (to come); the shares below are of it.
	Duration Value
	Bytes    Value // payload, each byte counted once
	MSS      Value // payload of a full segment
	Segments Value // with payload, those sent again included

	// The path.
	MinRTT Value // the least round trip seen
	RTT    Value // the median while data flowed
	MaxRTT Value // the 95th percentile while data flowed
	// LossRTT is the median round trip just before losses, where it is known.
	LossRTT Value
	// LossFlight is the probability that more was in flight when a segment that was lost left than when one that arrived
	// did: .5 where chance loses them, more where they are lost because much was in flight (see [Growth]).
	LossFlight Value
	// What a full queue or an empty bucket would explain of them; only a capture tells (see [FindOverflow]).
	LossFull, LossTimes Value
	LossRate            Value // at which that would drain, bit/s
	LossRoom            Value // what it would have held, bytes
	LossPassed          Value // what of that, or from TCP_INFO of what PolicedRate does not explain, had come by at once before
	// Plateau is the rate at which the last three quarters of the transfer arrived, and
	// PlateauSpread the coefficient of variation of the rate in tenths of it.
	Plateau, PlateauSpread Value

	// Where the sender's time went, in shares of Duration. They may overlap, and need not add up to 1.
	Idle       Value // nothing to send and nothing in flight, or less than was allowed: the program had not written
	WindowFull Value // the receiver's window allowed no more
	BufferFull Value // the send buffer held no more, though windows were open (the kernel's sndbuf_limited)
	CwndFull   Value // the congestion window allowed no more
	HeldBack   Value // less than a segment waited for acknowledgements of those before it (Nagle's algorithm)
	Recovering Value // in recovery, from the first sign of a loss until all that was in flight is acknowledged
	TimedOut   Value // silent until the retransmission timer fired
	// Silent is the share of Duration in which no data came to the receiver for longer than 1.5 round
	// trips at a time, and Silences how often that was.
	Silent, Silences Value

	// Windows. InitialWindow is how many segments were sent before the first acknowledgement came,
	// if there were data for more; SlowStart the share of Duration until slow start was left (1: never).
	InitialWindow, SlowStart Value
	Window                   Value // the receiver's window, the median while data flowed
	LeastWindow              Value // and its least value
	// Flight is the most in flight that lasted: the median over the second half of the transfer; at
	// the receiver, what came in a round trip. FlightSpread is its coefficient of variation.
	Flight, FlightSpread Value

	// Losses and order. Resent counts segments that were sent again; Spurious those of them that the receiver had already
	// (told by DSACK or a capture there); Timeouts the firings of the retransmission timer. LossEvents
	// counts losses that lie more than a round trip apart.
	Resent, Spurious, Timeouts, LossEvents Value
	// Reordered counts segments sent once that came after later ones. OutOfOrder counts those that
	// came after a gap, for whatever reason; LateGaps is the share of gaps that took a round trip or longer to
	// fill, as a retransmission does; a segment that was only late takes less.
	Reordered, OutOfOrder, LateGaps Value

	// AckWaits counts how often data that were ready waited for an acknowledgement that the receiver
	// held back (RFC 1122, 4.2.3.2), AckWait is their share of the whole exchange's time (or of Duration), and
	// AckDelay how long one was held, the median.
	AckWaits, AckWait, AckDelay Value

	// What a token bucket explains (see [TokenBucket]): PolicedRate in bit/s, and PolicedFit, the share
	// of what was seen that agrees with one.
	PolicedRate, PolicedFit Value
}

// all is the time of the whole exchange, s: of what is known.
func (e *Evidence) all() float64 {
	sum := 0.0
	for _, v := range []Value{e.DNS, e.Connect, e.TLS, e.Send, e.Wait, e.Transfer} {
		sum += v.Or(0)
	}
	return max(sum, e.Duration.Or(0))
}
