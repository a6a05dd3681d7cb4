package pcap

// Flow is what was found out about the data that go one way. Times are in ns.
type Flow struct {
	Packets  int64 // of TCP, in this direction, with or without data
	Segments int64 // with data, those sent again included; larger ones count as what they become on the wire
	Wire     int64 // bytes of IP packets
	Sent     int64 // bytes of payload, those sent again included
	Bytes    int64 // each counted once, as far as they came by
	Largest  int   // payload of a segment in bytes

	First, Last int64 // data
	LastAck     int64 // of new data

	// What was sent again, in segments.
	Resent   [kinds]int64
	Spurious int64 // of these, what the receiver had already
	Timeouts int64 // firings of the timer
	Probes   int64 // tail loss probes
	Episodes int64 // recoveries: losses that are not told apart by a round trip
	vain     int64 // of these, those without a loss
	LossRTT  series

	OutOfOrder int64 // segments that came before those in front of them
	Reordered  int64 // segments that were late and had not been sent again
	Gaps, Late int64 // gaps that were filled, and those that took a round trip or longer
	Missing    int64 // bytes acknowledged that the capture lacks
	Copies     int64 // packets captured twice
	Restarts   int64

	DupAcks, SACKs, DSACKs int64
	ZeroWindows            int64
	ZeroWindow             int64 // time
	zeroAt                 int64
	KeepAlives             int64
	CE, ECE, CWR           int64
	Held, HeldTime         int64 // data that waited for an acknowledgement held back
	AckDelays              series

	MinRTT   int64
	RTTCount int64
	RTTs     series // s
	Flights  series // bytes in flight, by the sender's knowledge
	Windows  series // bytes the receiver allows
	Progress series // bytes acknowledged

	Initial      int64 // bytes sent before the first acknowledgement
	initialOpen  bool  // it is being counted
	initialWhole bool  // and there was more to send

	spent  [limits]int64
	Stalls []Stall
	Events []Event

	silent, silences int64
	leftSlowStart    int64
	SlowRounds       int // round trips of slow start
	flight           float64
	flightSpread     float64
	StallCount       int64
	EventCount       int64
}

// Kind is why a segment was sent again.
type Kind uint8

// The kinds.
const (
	Fast    Kind = iota // duplicate acknowledgements or SACK told of a gap (RFC 5681, 6675, 8985)
	Timeout             // the retransmission timer fired (RFC 6298), and what it led to
	Probe               // a tail loss probe (RFC 8985, 7)
	Unclear             // neither: the capture does not tell
	kinds
)

func (k Kind) String() string {
	return [...]string{"fast", "timeout", "tail loss probe", "unclear"}[k]
}

// Event is a segment sent again.
type Event struct {
	At       int64 // ns since 1970
	Offset   int64 // bytes from the first
	Length   int64
	Kind     Kind
	Spurious bool // the receiver had it already
	episode  int64
}

// Stall is a time in which nothing was sent though the transfer was under way.
type Stall struct {
	At, Length int64 // ns
	Why        Limit
}

// Limit is what kept a sender from sending more.
type Limit uint8

// The limits. The first are told apart when the whole transfer is known.
const (
	SlowStart   Limit = iota // the congestion window was still growing fast
	PathFull                 // the bottleneck sent all it could
	Congestion               // the congestion window, after slow start
	SendBuffer               // the sender's socket held no more
	Recovery                 // losses were being repaired
	TimedOut                 // silence until the timer fired
	Receiver                 // the receiver's window
	HeldBack                 // less than a segment waited for an acknowledgement
	Application              // the program had not written
	Undecided
	limits
)

func (l Limit) String() string {
	return [...]string{"slow start", "path full", "congestion window", "send buffer", "loss recovery", "retransmission timeout", "receive window", "delayed acknowledgement", "sending program", "not clear"}[l]
}

// AllResent is segments of all kinds.
func (f *Flow) AllResent() int64 {
	var n int64
	for _, x := range f.Resent {
		n += x
	}
	return n
}

// round is one round trip of a transfer.
type round struct {
	begin, end        int64
	bytes             int64 // new ones
	flight            int64 // the most
	rttLeast, rttMost int64
	again             int64
	window            int64 // time that one of the windows, not yet known which, allowed no more
	room              int64 // the least of the receiver's window
	burst             float64
	program           bool // the program kept it from filling its window
}

func (r *round) join(o round) {
	r.end = o.end
	r.bytes += o.bytes
	r.flight = max(r.flight, o.flight)
	if o.rttLeast > 0 && (r.rttLeast == 0 || o.rttLeast < r.rttLeast) {
		r.rttLeast = o.rttLeast
	}
	r.rttMost = max(r.rttMost, o.rttMost)
	r.again += o.again
	r.window += o.window
	r.room = min(r.room, o.room)
	r.burst = max(r.burst, o.burst)
	r.program = r.program || o.program
}
