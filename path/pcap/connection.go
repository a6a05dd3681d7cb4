package pcap

import (
	"fmt"
	"net/netip"
)

// Connection is one of TCP.
type Connection struct {
	// Number is its place among those of the capture, from 0, by their first packets: Wireshark's tcp.stream.
	Number         int
	Client, Server netip.AddrPort
	Start, End     int64 // of what the capture has of it, ns since 1970
	Lookup         *Lookup

	Syns                        int   // that the client sent
	Opened                      int64 // time from the first SYN to the client's acknowledgement, ns; 0 is unknown
	TLS                         int64 // time from then to the client's first encrypted data, ns
	TLSRounds                   int   // that its handshake needs; 0: no TLS, or not known
	Exchanges                   int   // requests that were answered
	Send, Wait                  int64 // sums over them, ns
	Reset                       bool
	Finished                    int   // ends that have sent FIN
	OutOfTime                   int64 // packets that bear a time before that of the one before them
	StepBack                    int64 // the most that one does, ns
	budget                      *budget
	half                        [2]half // from the client; from the server
	turn                        *half
	toServer                    int64 // part of the path from here to the server and back, by the handshake
	toClient                    int64
	ready                       int64
	hello                       int64
	asked                       int64 // first byte of the request
	answering                   bool
	secure                      bool // TLS, and the handshake is over
	exchanged, ciphered, missed bool // records of the client: after its hello; of ciphers; not in the capture
	client                      endpoint
	lastTime                    int64
	answerBytes                 int64
}

// Up is what the client sends.
func (c *Connection) Up() *Flow { return &c.half[0].Flow }

// Down is what the server sends.
func (c *Connection) Down() *Flow { return &c.half[1].Flow }

// main is the half with more data.
func (c *Connection) main() *half {
	if c.half[0].Bytes > c.half[1].Bytes {
		return &c.half[0]
	}
	return &c.half[1]
}

// Main is the direction that has more data.
func (c *Connection) Main() *Flow { return &c.main().Flow }

// Upload says that this is the client's.
func (c *Connection) Upload() bool { return c.main().up }

func (c *Connection) String() string { return fmt.Sprintf("%v > %v", c.Client, c.Server) }

func newConnection(number int, client, server endpoint, at int64, b *budget) *Connection {
	c := &Connection{Number: number, Client: client.AddrPort(), Server: server.AddrPort(), client: client, Start: at, budget: b}
	for i := range c.half {
		h := &c.half[i]
		h.c, h.other, h.up, h.scale = c, &c.half[1-i], i == 0, -1
		h.Flights.merge = func(a, b float64) float64 { return max(a, b) }
		h.Windows.merge = func(a, b float64) float64 { return min(a, b) }
		h.round.room = farAway
	}
	return c
}

// take looks at one of its segments.
func (c *Connection) take(s *segment) {
	if s.at < c.lastTime {
		c.OutOfTime++
		c.StepBack = max(c.StepBack, c.lastTime-s.at)
		s.at = c.lastTime
	}
	c.lastTime, c.End = s.at, s.at
	h := &c.half[1]
	if s.src == c.client {
		h = &c.half[0]
	}
	if h.twice(s) {
		h.Copies++
		return
	}
	h.Packets++
	h.Wire += int64(s.wire)
	h.CE += b2i(s.ecn == 3)
	h.ECE += b2i(s.flags&flagECE != 0 && s.flags&flagSYN == 0)
	h.CWR += b2i(s.flags&flagCWR != 0 && s.flags&flagSYN == 0)
	missing := h.number(s)
	if s.flags&flagRST != 0 {
		c.Reset = true
		return
	}
	if s.flags&flagSYN != 0 {
		c.syn(h, s)
	} else if !h.syn && s.timestamps {
		h.stamps = true // the handshake is not in the capture
	}
	if s.flags&flagACK != 0 {
		h.other.ack(s)
		if c.toClient == 0 && h.up && c.toServer > 0 && s.flags&flagSYN == 0 {
			c.open(s.at)
		}
	}
	if s.flags&flagFIN != 0 && h.fin == 0 {
		h.fin = s.at
		c.Finished++
	}
	if s.length > 0 || s.flags&flagFIN != 0 {
		h.data(s, missing)
		c.records(h, s)
	}
}

func (c *Connection) syn(h *half, s *segment) {
	h.begin(s.seq + 1)
	h.syn = true
	h.syns++
	h.synAt = s.at
	h.mss, h.sackOK, h.stamps = int(s.mss), s.sackOK, s.timestamps
	h.scale = s.scale
	if h.up {
		c.Syns++
		return
	}
	if o := h.other; s.flags&flagACK != 0 && o.synAt > 0 && c.toServer == 0 {
		c.toServer = max(s.at-o.synAt, 1)
	}
}

// open takes the client's answer to the server's SYN: the first round trip is known.
func (c *Connection) open(at int64) {
	c.toClient = max(at-c.half[1].synAt, 1)
	c.Opened = at - c.Start
	c.ready = at
	whole := c.toServer + c.toClient
	for i := range c.half {
		h := &c.half[i]
		if h.srtt == 0 {
			h.srtt, h.var4 = float64(whole), 2*float64(whole)
		}
		near, far := c.toServer, c.toClient
		if h.up {
			near, far = far, near
		}
		if h.near == 0 {
			h.near = near
		}
		if h.far == 0 {
			h.far = far
		}
		if h.MinRTT == 0 {
			h.MinRTT = whole
		}
	}
}

// Handshake is the round trip of the handshake, ns, 0 if it is not in the capture.
func (c *Connection) Handshake() int64 {
	if c.toServer == 0 || c.toClient == 0 {
		return 0
	}
	return c.toServer + c.toClient
}

// speaks says whether data of h begin a turn of the conversation: what was there before
// was a wait for the other end, not for the network.
func (c *Connection) speaks(h *half, now int64, fresh bool, v view) bool {
	if !fresh {
		return false
	}
	o := h.other
	if c.turn == h {
		if c.secure && c.answering && h == &c.half[1] && c.answerBytes <= 1500 && now-h.lastAt > 5e6 && !h.released(now, v) {
			// Session tickets and settings come before the answer itself.
			c.Wait += now - h.lastAt
			h.turnAt, h.turnOff, h.firstAck = now, h.max, 0
			return true
		}
		return false
	}
	if c.turn != nil && o.max > o.una && o.known {
		return false // both speak at a time
	}
	c.turn = h
	if o.turnAt > 0 {
		o.rest()
	}
	h.turnAt, h.turnOff, h.firstAck = now, h.max, 0
	if h.up {
		c.asked = now
		c.answering = false
	} else {
		if c.asked > 0 {
			c.Exchanges++
			c.Send += o.lastAt - c.asked
			c.Wait += now - o.lastAt + c.toClient
		}
		c.answering, c.answerBytes = true, h.max
	}
	return true
}

// rest ends the turn of h.
func (h *half) rest() {
	if h.turnAt == 0 {
		return
	}
	end := max(h.Last, h.LastAck)
	if h.shifted() { // until the sender heard that it came
		end = h.Last + h.least()
	}
	h.active += max(end-h.turnAt, 0)
	if h.shifted() || h.firstAck == 0 {
		h.transfer += max(h.Last-h.turnAt, 0)
	} else {
		h.transfer += max(h.LastAck-h.firstAck, 0)
	}
	h.round.window += max(end-h.Last, 0)
	h.turnAt = 0
}

// finish closes what is open at the end of the capture.
func (c *Connection) finish() {
	for i := range c.half {
		h := &c.half[i]
		h.rest()
		if h.zeroAt > 0 {
			h.ZeroWindow += c.End - h.zeroAt
			h.zeroAt = 0
		}
		for _, e := range h.episodes {
			if e.again > 0 && e.vain >= e.again {
				h.vain++
			}
		}
		h.episodes = nil
		if h.round.begin > 0 {
			h.round.end = max(h.Last, h.LastAck)
			h.keep(h.round)
			h.round = round{}
		}
		h.Reordered = max(h.Reordered, h.lateAcked)
		h.conclude()
		h.pieces, h.acks, h.trains, h.recent = nil, nil, nil, nil
	}
}
