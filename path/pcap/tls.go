package pcap

// records follows the records of TLS that the client sends: their heads only, for the rest is secret. What the server
// sends is not needed, and a capture of the first bytes of packets lacks most heads there.
func (c *Connection) records(h *half, s *segment) {
	if !h.up || h.tlsAt < 0 || !h.syn || s.length == 0 {
		return
	}
	off := h.position(s.seq, h.max)
	if off > h.tlsAt && h.una > h.tlsAt { // it is not in the capture
		c.unread(h, off)
	}
	for h.tlsAt >= 0 {
		at := h.tlsAt + int64(len(h.tls)) - off
		if at < 0 || at >= int64(s.length) {
			return
		}
		if at >= int64(len(s.payload)) { // of this packet only the first bytes were captured
			c.unread(h, off+int64(s.length))
			return
		}
		take := min(5-len(h.tls), len(s.payload)-int(at))
		h.tls = append(h.tls, s.payload[at:at+int64(take)]...)
		if h.tls[0] < 20 || h.tls[0] > 24 || len(h.tls) > 1 && h.tls[1] != 3 {
			c.unread(h, off+int64(s.length))
			return
		}
		if len(h.tls) < 5 {
			continue
		}
		kind, n := h.tls[0], int64(h.tls[3])<<8|int64(h.tls[4])
		h.tlsAt += 5 + n
		h.tls = h.tls[:0]
		if n > 1<<14+2048 || !c.record(h, kind, n, s.at) {
			h.tlsAt = -1
		}
	}
}

// unread looks for the next head at the next packet's beginning: a client's flights begin with one. What is
// none there is found by its first bytes.
func (c *Connection) unread(h *half, next int64) {
	if c.hello == 0 {
		h.tlsAt = -1
		return
	}
	h.tlsAt, h.tls = next, h.tls[:0]
	c.missed = true
}

// longestFinished is longer than a Finished of TLS 1.2 under any of its ciphers, and shorter than a ClientHello.
const longestFinished = 128

// record takes one of the client's, of n bytes, and says whether more are wanted: until it has sent what only comes when the
// handshake is done.
func (c *Connection) record(h *half, kind byte, n, at int64) bool {
	const cipher, handshake, encrypted = 20, 22, 23
	switch {
	case c.hello == 0:
		if kind != handshake {
			return false
		}
		c.hello = at
		return true
	case kind == handshake:
		// In TLS 1.3 nothing but the hello bears this type, and one comes again only when the server asks for another, which
		// costs a round trip as well. In 1.2 the key exchange does, and Finished when the cipher is on: alone if the session
		// is resumed, in one round trip.
		c.exchanged = c.exchanged || !c.ciphered || n > longestFinished
		return true
	case kind == cipher:
		c.ciphered = true
		return true
	case kind != encrypted:
		return true
	}
	c.secure = true
	switch {
	case c.exchanged:
		c.TLSRounds = 2
	case !c.missed:
		c.TLSRounds = 1
	}
	c.TLS = at - c.hello
	if c.ready > 0 {
		c.TLS = at - c.ready
	}
	// What was sent so far was the handshake: the conversation begins here.
	c.Exchanges, c.Send, c.Wait, c.asked, c.answering = 0, 0, 0, at, false
	c.turn = h
	for i := range c.half {
		g := &c.half[i]
		g.active, g.transfer, g.turnAt, g.spent, g.Stalls, g.StallCount = 0, 0, 0, [limits]int64{}, nil, 0
		g.silent, g.silences, g.initialOpen, g.Initial, g.rounds = 0, 0, false, 0, nil
		g.round = round{begin: at, end: at, room: farAway}
	}
	h.turnAt, h.turnOff, h.firstAck = at, h.max, 0
	return false
}
