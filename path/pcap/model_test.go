package pcap

import (
	"container/heap"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// The model is a small TCP with a path, of which everything is known: what was lost, what was sent
// again and why. It is slower than real ones and does nothing that the standards do not say: slow start and
// congestion avoidance (RFC 5681), recovery by SACK (RFC 6675), the timer (RFC 6298), DSACK (RFC 2883).
type model struct {
	// What it is told.
	segments        int
	mss             int
	delay           time.Duration // each way
	place           float64       // of the capture: 0 is the sender's end, 1 the receiver's
	lostBefore      bool          // what is lost is lost between the sender and the capture
	lose            func(segment, times int) bool
	hold            func(segment, times int) time.Duration // late by so much
	initial         int
	window          int // the receiver's, in segments
	isn             uint32
	stamps, ids, v6 bool
	upload          bool
	pause           func(segment int) time.Duration // before the program writes it
	delayed         bool                            // the receiver acknowledges every second segment, or after 40 ms

	// What it does.
	events  queue
	now     int64
	packets []captured

	una, nxt, written  int
	cwnd, ssthresh     float64
	sacked             map[int]bool
	times              map[int]int
	resent             map[int]bool // in this recovery
	recover            int
	inRecovery, rtoing bool
	timer              int64
	rto                int64

	got      map[int]bool
	next     int
	recent   []int // received out of order, the latest first
	echo     uint32
	heard    uint32 // the receiver's clock as the sender heard it last
	pending  int
	ackTimer int64
	id, rid  uint16

	// The truth.
	lost, fast, timeouts, afterTimeout, vain, reordered int
}

// captured is a packet as it passes the capture.
type captured struct {
	at   int64
	data []byte
}

type happening struct {
	at  int64
	n   int
	act func()
}
type queue struct {
	all []happening
	n   int
}

func (q *queue) Len() int { return len(q.all) }
func (q *queue) Less(i, j int) bool {
	return q.all[i].at < q.all[j].at || q.all[i].at == q.all[j].at && q.all[i].n < q.all[j].n
}
func (q *queue) Swap(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] }
func (q *queue) Push(x any)    { q.all = append(q.all, x.(happening)) }
func (q *queue) Pop() any {
	x := q.all[len(q.all)-1]
	q.all = q.all[:len(q.all)-1]
	return x
}

func (m *model) at(t int64, act func()) {
	m.events.n++
	heap.Push(&m.events, happening{t, m.events.n, act})
}

var (
	modelSender   = netip.MustParseAddrPort("192.0.2.1:80")
	modelReceiver = netip.MustParseAddrPort("198.51.100.2:40000")
	modelBegin    = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC).UnixNano()
)

// capture notes a packet; data go from the sender.
func (m *model) capture(data bool, at int64, s segment) {
	s.src, s.dst = endpointOf(modelSender), endpointOf(modelReceiver)
	if !data {
		s.src, s.dst = s.dst, s.src
	}
	s.timestamps = m.stamps
	pass := time.Duration(float64(m.delay) * m.place)
	if !data {
		pass = time.Duration(float64(m.delay) * (1 - m.place))
	}
	m.packets = append(m.packets, captured{modelBegin + at + int64(pass), encode(s, m.v6)})
}

func endpointOf(a netip.AddrPort) endpoint { return endpoint{a.Addr().As16(), a.Port()} }

// clock of either end in ms.
func clock(t int64) uint32 { return uint32(t/1e6) + 1000 }

// run lets it happen, and returns the packets in the order of the capture.
func (m *model) run() []captured {
	if m.initial == 0 {
		m.initial = 10
	}
	if m.window == 0 {
		m.window = 1000
	}
	m.cwnd, m.ssthresh = float64(m.initial), math.Inf(1)
	m.sacked, m.times, m.resent, m.got = map[int]bool{}, map[int]int{}, map[int]bool{}, map[int]bool{}
	m.rto = int64(2*m.delay) + 200e6
	m.id, m.rid = 100, 7000
	d := int64(m.delay)
	syn := segment{mss: uint16(m.mss + 40), scale: 7, sackOK: true, window: 65535}
	if m.stamps {
		syn.mss = uint16(m.mss + 12)
	} else {
		syn.mss = uint16(m.mss)
	}
	first := syn
	first.flags = flagSYN
	second := syn
	second.flags = flagSYN | flagACK
	start := d
	if m.upload { // the sender of the data is the client
		first.seq, second.seq, second.ack = m.isn, 5000, m.isn+1
		first.tsval = clock(0)
		second.tsval, second.tsecr = clock(d), clock(0)
		m.capture(true, 0, m.numbered(first, true))
		m.capture(false, d, m.numbered(second, false))
		m.heard, m.echo = clock(d), clock(0)
		start = 2 * d
		m.capture(true, start, m.numbered(segment{flags: flagACK, seq: m.isn + 1, ack: 5001, scale: -1, window: 512, tsval: clock(start), tsecr: m.heard}, true))
	} else {
		first.seq, second.seq, second.ack = 5000, m.isn, 5001
		first.tsval = clock(0)
		second.tsval, second.tsecr = clock(d), clock(0)
		m.capture(false, 0, m.numbered(first, false))
		m.capture(true, d, m.numbered(second, true))
		m.capture(false, 2*d, m.numbered(segment{flags: flagACK, seq: 5001, ack: m.isn + 1, scale: -1, window: 512, tsval: clock(2 * d), tsecr: clock(d)}, false))
		m.heard, m.echo = clock(2*d), clock(d)
		start = 3 * d
	}
	m.at(start, m.write)
	for m.events.Len() > 0 {
		e := heap.Pop(&m.events).(happening)
		m.now = e.at
		e.act()
		if m.una >= m.segments {
			break
		}
	}
	slices.SortStableFunc(m.packets, func(a, b captured) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	return m.packets
}

func (m *model) numbered(s segment, sender bool) segment {
	if !m.ids || m.v6 {
		return s
	}
	p := &m.rid
	if sender {
		p = &m.id
	}
	*p++
	s.id = *p
	return s
}

// write is the sender's program.
func (m *model) write() {
	for m.written < m.segments {
		if m.pause != nil {
			if p := m.pause(m.written); p > 0 {
				k := m.written
				m.pause2(k, p)
				break
			}
		}
		m.written++
	}
	m.fill()
}

func (m *model) pause2(k int, p time.Duration) {
	m.at(m.now+int64(p), func() {
		m.written = k + 1
		for m.written < m.segments && m.pause(m.written) == 0 {
			m.written++
		}
		if m.written < m.segments {
			m.pause2(m.written, m.pause(m.written))
		}
		m.fill()
	})
}

// pipe is what is thought to be in flight (RFC 6675), in segments.
func (m *model) pipe() int {
	n := 0
	high := m.highest()
	for k := m.una; k < m.nxt; k++ {
		if m.sacked[k] {
			continue
		}
		if !m.gone(k, high) {
			n++
		}
		if m.resent[k] {
			n++
		}
	}
	return n
}

func (m *model) highest() int {
	high := -1
	for k := range m.sacked {
		high = max(high, k)
	}
	return high
}

// gone says that a segment is taken for lost: three above it have arrived, or the timer has fired.
func (m *model) gone(k, high int) bool {
	if m.rtoing && k < m.recover {
		return true
	}
	above := 0
	for j := k + 1; j <= high && above < 3; j++ {
		if m.sacked[j] {
			above++
		}
	}
	return above >= 3
}

// fill sends what the windows allow.
func (m *model) fill() {
	for m.pipe() < int(m.cwnd) {
		k := -1
		if m.inRecovery || m.rtoing {
			high := m.highest()
			for j := m.una; j < min(m.nxt, m.recover); j++ {
				if !m.sacked[j] && !m.resent[j] && m.gone(j, high) {
					k = j
					break
				}
			}
		}
		switch {
		case k >= 0:
			m.resent[k] = true
			if m.rtoing {
				m.afterTimeout++
			} else {
				m.fast++
			}
			m.send(k)
		case m.nxt < m.written && m.nxt < m.una+m.window:
			m.nxt++
			m.send(m.nxt - 1)
		default:
			return
		}
	}
}

func (m *model) length(k int) int {
	if k == m.segments-1 {
		return m.mss / 2
	}
	return m.mss
}

func (m *model) send(k int) {
	times := m.times[k]
	m.times[k]++
	s := m.numbered(segment{flags: flagACK, seq: m.isn + 1 + uint32(k*m.mss), ack: 5001, scale: -1, window: 512, length: m.length(k), tsval: clock(m.now), tsecr: m.heard}, true)
	lost := m.lose != nil && m.lose(k, times)
	late := time.Duration(0)
	if m.hold != nil {
		late = m.hold(k, times)
	}
	if late > 0 && !lost {
		m.reordered++
	}
	if lost {
		m.lost++
	}
	if !lost || !m.lostBefore {
		at := m.now
		if m.lostBefore { // what holds it back lies before the capture as well
			at += int64(late)
		}
		m.capture(true, at, s)
	}
	if !lost {
		val := clock(m.now)
		m.at(m.now+int64(m.delay)+int64(late), func() { m.arrive(k, val) })
	}
	m.arm()
}

func (m *model) arm() {
	m.timer++
	mine := m.timer
	m.at(m.now+m.rto, func() {
		if mine == m.timer && m.una < m.nxt {
			m.fire()
		}
	})
}

func (m *model) fire() {
	m.timeouts++
	m.ssthresh = max(m.cwnd/2, 2)
	m.cwnd = 1
	m.rtoing, m.inRecovery, m.recover = true, false, m.nxt
	m.resent = map[int]bool{m.una: true}
	m.rto *= 2
	m.send(m.una)
}

func (m *model) arrive(k int, val uint32) {
	if m.got[k] || k < m.next {
		m.vain++
		m.answer([][2]int{{k, k + 1}})
		return
	}
	m.got[k] = true
	if k == m.next {
		m.echo = val
		for m.got[m.next] {
			delete(m.got, m.next)
			m.next++
		}
		m.recent = slices.DeleteFunc(m.recent, func(j int) bool { return j < m.next })
		if m.delayed && len(m.recent) == 0 && m.next < m.segments {
			if m.pending++; m.pending < 2 {
				m.ackTimer++
				mine := m.ackTimer
				m.at(m.now+40e6, func() {
					if mine == m.ackTimer && m.pending > 0 {
						m.answer(nil)
					}
				})
				return
			}
		}
		m.answer(nil)
		return
	}
	m.recent = append([]int{k}, m.recent...)
	m.answer(nil)
}

// answer sends an acknowledgement, with DSACK first if there is one.
func (m *model) answer(blocks [][2]int) {
	m.pending = 0
	m.ackTimer++
	used := map[int]bool{}
	for _, k := range m.recent {
		if used[k] || len(blocks) == 3 {
			continue
		}
		from, to := k, k+1
		for m.got[from-1] {
			from--
		}
		for m.got[to] {
			to++
		}
		for j := from; j < to; j++ {
			used[j] = true
		}
		blocks = append(blocks, [2]int{from, to})
	}
	end := func(k int) uint32 {
		if k >= m.segments {
			return m.isn + 1 + uint32((m.segments-1)*m.mss+m.length(m.segments-1))
		}
		return m.isn + 1 + uint32(k*m.mss)
	}
	s := segment{flags: flagACK, seq: 5001, ack: end(m.next), scale: -1, window: uint16(m.window * m.mss >> 7), tsval: clock(m.now), tsecr: m.echo}
	for _, b := range blocks {
		s.sack[s.sacks] = [2]uint32{end(b[0]), end(b[1])}
		s.sacks++
	}
	s = m.numbered(s, false)
	m.capture(false, m.now, s)
	next, val := m.next, s.tsval
	m.at(m.now+int64(m.delay), func() { m.hear(next, val, blocks) })
}

func (m *model) hear(next int, val uint32, blocks [][2]int) {
	m.heard = val
	for _, b := range blocks {
		for k := b[0]; k < b[1]; k++ {
			if k >= next {
				m.sacked[k] = true
			}
		}
	}
	if next > m.una {
		acked := next - m.una
		m.una = next
		for k := range m.sacked {
			if k < next {
				delete(m.sacked, k)
			}
		}
		m.rto = int64(2*m.delay) + 200e6
		if (m.inRecovery || m.rtoing) && m.una >= m.recover {
			m.inRecovery, m.rtoing = false, false
			m.resent = map[int]bool{}
		}
		switch {
		case m.inRecovery:
		case m.cwnd < m.ssthresh:
			m.cwnd += float64(acked)
		default:
			m.cwnd += float64(acked) / m.cwnd
		}
		m.arm()
	}
	if !m.inRecovery && !m.rtoing && m.gone(m.una, m.highest()) && !m.sacked[m.una] && m.una < m.nxt {
		m.inRecovery, m.recover = true, m.nxt
		m.resent = map[int]bool{}
		m.ssthresh = max(m.cwnd/2, 2)
		m.cwnd = m.ssthresh
	}
	m.fill()
}

// encode makes a packet of raw IP of a segment.
func encode(s segment, v6 bool) []byte {
	var opt []byte
	if s.flags&flagSYN != 0 {
		opt = append(opt, 2, 4, byte(s.mss>>8), byte(s.mss))
		if s.sackOK {
			opt = append(opt, 4, 2)
		}
		if s.scale >= 0 {
			opt = append(opt, 3, 3, byte(s.scale))
		}
	}
	if s.timestamps {
		opt = append(opt, 8, 10)
		opt = binary.BigEndian.AppendUint32(opt, s.tsval)
		opt = binary.BigEndian.AppendUint32(opt, s.tsecr)
	}
	if s.sacks > 0 {
		opt = append(opt, 5, byte(2+8*s.sacks))
		for _, b := range s.sack[:s.sacks] {
			opt = binary.BigEndian.AppendUint32(opt, b[0])
			opt = binary.BigEndian.AppendUint32(opt, b[1])
		}
	}
	for len(opt)%4 != 0 {
		opt = append(opt, 1)
	}
	tcp := make([]byte, 20, 20+len(opt)+s.length)
	binary.BigEndian.PutUint16(tcp, s.src.port)
	binary.BigEndian.PutUint16(tcp[2:], s.dst.port)
	binary.BigEndian.PutUint32(tcp[4:], s.seq)
	binary.BigEndian.PutUint32(tcp[8:], s.ack)
	tcp[12] = byte((20 + len(opt)) / 4 << 4)
	tcp[13] = s.flags
	binary.BigEndian.PutUint16(tcp[14:], s.window)
	binary.BigEndian.PutUint16(tcp[16:], uint16(s.seq*31+s.ack*17+s.tsval+uint32(s.sacks)*7+s.sack[0][0])) // to tell them apart
	tcp = append(tcp, opt...)
	if s.payload != nil {
		tcp = append(tcp, s.payload...)
	} else {
		tcp = append(tcp, make([]byte, s.length)...)
	}
	return encodeIP(s, v6, protoTCP, tcp)
}

func encodeIP(s segment, v6 bool, proto byte, body []byte) []byte {
	if v6 {
		ip := make([]byte, 40)
		ip[0], ip[1] = 0x60, s.ecn<<4
		binary.BigEndian.PutUint16(ip[4:], uint16(len(body)))
		ip[6], ip[7] = proto, 64
		copy(ip[8:], s.src.addr[:])
		copy(ip[24:], s.dst.addr[:])
		return append(ip, body...)
	}
	ip := make([]byte, 20)
	ip[0], ip[1] = 0x45, s.ecn
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(body)))
	binary.BigEndian.PutUint16(ip[4:], s.id)
	ip[6], ip[8], ip[9] = 0x40, 64, proto
	copy(ip[12:], s.src.addr[12:])
	copy(ip[16:], s.dst.addr[12:])
	return append(ip, body...)
}

// write stores packets as a capture.
func writeCapture(t testing.TB, w interface{ Write([]byte) (int, error) }, packets []captured) {
	p, err := NewWriter(w, WriterOptions{Interfaces: []string{"model"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range packets {
		if err := p.Packet(time.Unix(0, c.at), 0, Unknown, c.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
}
