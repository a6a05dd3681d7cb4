package pcap

// records follows the records of TLS: their heads only, for the rest is secret.
func (c *Connection) records(h *half, s *segment) {
	if h.tlsAt < 0 || !h.syn || s.length == 0 {
		return
	}
	off := h.position(s.seq, h.max)
	if off > h.tlsAt && len(h.tls) == 0 && h.una > h.tlsAt {
		h.tlsAt = -1
		return
	}
	for {
		at := h.tlsAt + int64(len(h.tls)) - off
		if at < 0 || at >= int64(len(s.payload)) {
			if at < int64(s.length) && at >= int64(len(s.payload)) {
				h.tlsAt = -1 // not captured
			}
			return
		}
		take := min(5-len(h.tls), len(s.payload)-int(at))
		h.tls = append(h.tls, s.payload[at:at+int64(take)]...)
		if h.tls[0] < 20 || h.tls[0] > 24 || len(h.tls) > 1 && h.tls[1] != 3 {
			h.tlsAt = -1
			return
		}
		if len(h.tls) < 5 {
			return
		}
		kind, n := h.tls[0], int64(h.tls[3])<<8|int64(h.tls[4])
		h.tlsAt += 5 + n
		h.tls = h.tls[:0]
		if n > 1<<14+2048 || !c.record(h, kind, s.at) {
			h.tlsAt = -1
			return
		}
	}
}

// record takes one, and says whether more are wanted: until the client has sent what only comes when the
// handshake is done.
func (c *Connection) record(h *half, kind byte, at int64) bool {
	const handshake, encrypted = 22, 23
	if c.hello == 0 {
		if !h.up || kind != handshake {
			return false
		}
		c.hello = at
		return true
	}
	if c.TLSRounds > 0 {
		return false
	}
	if !h.up {
		c.serverData = c.serverData || kind == encrypted
		return true
	}
	if kind != encrypted {
		return true
	}
	c.TLSRounds = 2 // TLS 1.2: the server's first encrypted records of data come later
	if c.serverData {
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
