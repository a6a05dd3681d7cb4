package pcap

// half is what is known of the data that go one way over a connection, and of their
// acknowledgements, which go the other way. Positions are bytes from the first one that
// was sent after SYN, or seen, in 64 bits: sequence numbers wrap.
type half struct {
	c     *Connection
	other *half
	up    bool // from the client

	known  bool   // base is
	base   uint32 // the sequence number of position 0
	syn    bool   // SYN was seen
	synAt  int64  // the last one
	syns   int
	mss    int // that the sender's SYN announces, for what it receives
	scale  int8
	sackOK bool
	stamps bool // timestamps were offered
	fin    int64
	odd    int // packets in a row that lie far from all others

	pieces   []piece // sent and not acknowledged, by position; may have stretches never seen
	max      int64   // where the data seen end
	una      int64   // where the acknowledged ones do
	edge     int64   // where the receiver's window ends
	scaled   bool    // edge is known: the scale of windows is
	sackHigh int64   // the greatest position that SACK has told of
	dups     int     // duplicate acknowledgements in a row
	ackAt    int64   // when una was last advanced, or the window
	acked    bool    // data have been acknowledged, or SYN
	right    int64   // max at the time of the last loss: recovering until una is there
	recover  bool
	byTimer  bool  // the recovery began with the timer
	signAt   int64 // when SACK or duplicates first told of a gap; 0 is none
	signOff  int64 // una at that time

	lastAt    int64 // when data were last sent, as seen here
	lastShort bool  // they ended with less than a full segment
	lastRoom  int64 // of the receiver's window, after them
	emptyAt   int64 // when the sender knew that everything had been acknowledged

	idMonotone, idOther int // steps of the IP ID that a counter makes, and others
	lastID              uint16
	lastTS              uint32

	acks    []ackSeen // known here and not yet to the sender
	seen    ackSeen   // the last one that the sender had when it sent the last segment
	srtt    float64   // RFC 6298, ns, of the whole path
	var4    float64   // 4 * rttvar
	near    int64     // least time from here to the sender and back, ns; 0 is unknown
	far     int64     // the same to the receiver
	nears   int       // samples
	nearest [8]int64  // the last ones
	fars    int

	round      round
	lastWhy    Limit
	rounds     []round
	ends       int64 // position whose acknowledgement ends the round
	log        []sent
	logged     int64 // entries that there would be, were none merged
	shift      uint  // a logarithm: so many entries became one
	last       [8]print
	wait       int64 // from the last segment to the last acknowledgement of new data
	longest    int   // segments as long as the longest, in a row with others like them
	repaired   int64 // bytes of gaps that the segment filled
	hidden     int64 // data before this position were lost before they came by, and are sent again
	toldAt     int64 // when the receiver last told of a gap
	sackBefore int64 // sackHigh before the last acknowledgement
	crowded    bool  // SACK may not have told of everything
	lateAcked  int64 // segments that were late, as SACK tells
	shorts     int64 // segments that were not full
	lossAt     int64 // when something was last sent again
	probed     bool  // a tail loss probe was sent since
	trains     []progress
	recent     []event // those of the last segments sent again
	turnAt     int64   // when its turn to speak began
	tlsAt      int64   // position of the next TLS record, -1 if there is none
	tls        []byte  // the beginning of its head
	firstAck   int64   // when the first data of the turn were acknowledged
	turnOff    int64
	active     int64 // time of its turns
	transfer   int64 // the same by the receiver's clock
	episodes   []episode
	lasts      int

	Flow
}

// piece is a stretch of data.
type piece struct {
	off, end    int64
	first, last int64 // when it was sent, ns; for a gap, when that was noticed
	stamp       uint32
	entry       int64 // in the log
	id          uint16
	times       uint8 // that it has been seen; 0 is a gap
	sacked      bool
	again       bool // it was sent again, here or before
	late        bool // it filled a gap
}

// ackSeen is an acknowledgement as it passed here.
type ackSeen struct {
	at        int64
	una, edge int64
	stamp     uint32
	forward   bool
	wait      int64
}

// sent is an entry of the log of what was sent.
type sent struct {
	at    int64
	bytes int32
	lost  int32
	again int32
	stamp uint32 // the sender's clock, 0 where it is not known
}

// print tells a packet from others, to find those captured twice.
type print struct {
	at       int64
	seq, ack uint32
	length   int
	id, sum  uint16
	window   uint16
	flags    uint8
}

const (
	maxPieces = 1 << 14
	maxAcks   = 1 << 13
	maxLog    = 1 << 13
	maxEvents = 1 << 11
	maxRounds = 1 << 10
	maxRecent = 64
	// farAway is how far a sequence number may lie from those known: the greatest window there is (RFC 7323).
	farAway = 1 << 30
)

// position is the place of a sequence number next to near.
func (h *half) position(seq uint32, near int64) int64 {
	return near + int64(int32(seq-(h.base+uint32(near))))
}

// begin makes seq position 0.
func (h *half) begin(seq uint32) {
	if h.known {
		return
	}
	h.known, h.base = true, seq
}

// restart forgets what is in flight: the capture lacks too much, or the numbers jump.
func (h *half) restart(seq uint32) {
	h.base = seq - uint32(h.max)
	h.pieces, h.acks = nil, nil
	h.una, h.recover, h.signAt, h.dups, h.sackHigh, h.right = h.max, false, 0, 0, 0, 0
	h.seen = ackSeen{at: h.ackAt, una: h.una, edge: h.edge}
	h.ends = h.max
	h.Restarts++
}

// twice says whether the packet was captured before, as a mirror port or two interfaces do:
// with the same IP ID, or if there is none, all but at once.
func (h *half) twice(s *segment) bool {
	p := print{s.at, s.seq, s.ack, s.length, s.id, s.sum, s.window, s.flags}
	for i := range h.last {
		q := h.last[i]
		if q.at == 0 || q.seq != p.seq || q.ack != p.ack || q.length != p.length || q.id != p.id || q.window != p.window || q.flags != p.flags || q.sum != p.sum {
			continue
		}
		age := p.at - q.at
		if p.id != 0 && (age < 1e6 || age < 1e9 && h.idMonotone > 2*h.idOther) {
			return true
		}
		if p.length > 0 && age < 1e6 && (h.srtt == 0 || float64(age) < h.srtt/2) {
			return true
		}
	}
	h.last[h.lasts%len(h.last)] = p
	h.lasts++
	return false
}

// full is the payload of a full segment: what the receiver's SYN allows, unless the path allows only
// less and many segments are as long as that.
func (h *half) full() int64 {
	n := h.other.mss // what the receiver announced
	if n > 0 && h.stamps && h.other.stamps {
		n -= 12
	}
	if n <= 0 || h.Largest < n && h.Largest > n/2 && h.longest >= 10 {
		n = h.Largest
	}
	if n <= 0 {
		n = 536
	}
	return int64(n)
}

// segments is how many full ones data of this length are on the wire: a capture at a sender
// has them in one piece if the network card cuts them.
func (h *half) segments(n int64) int64 {
	mss := h.full()
	return max(1, (n+mss-1)/mss)
}

// counter says that the sender numbers its packets of this connection one by one, as Linux
// does with the ID of IPv4.
func (h *half) counter() bool { return h.idMonotone >= 8 && h.idMonotone > 9*h.idOther }

// number learns from the IP ID; missing is how many packets of this sender are not in the capture
// before this one, 0 if that is not known.
func (h *half) number(s *segment) (missing int) {
	if s.id == 0 {
		h.idOther++
		return 0
	}
	if step := int16(s.id - h.lastID); h.lastID != 0 {
		if step >= 1 && int64(step) <= 1+h.segments(int64(s.length))+8 {
			h.idMonotone++
		} else if step > 64 || step < -64 || step == 0 {
			h.idOther++
		}
		if h.counter() && step > 1 && step < 4096 {
			missing = int(step) - 1
		}
		if step < 0 && step > -4096 {
			return 0 // an older one: the newest stays
		}
	}
	h.lastID = s.id + uint16(h.segments(int64(s.length))-1)
	return missing
}
