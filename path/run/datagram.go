package run

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// port is an address and port at the far end to which datagrams are sent.
type port struct {
	in       *net.UDPConn // nil while it is being made
	waiting  [][]byte     // packets that came meanwhile
	sessions map[netip.AddrPort]*session
	idle     time.Time
}

// session is one sender of datagrams, and the socket of the host's namespace that speaks for it.
type session struct {
	out  *net.UDPConn
	used time.Time
}

const (
	maxWaiting  = 64
	maxPorts    = 4096
	maxSessions = 4096 // of a port
)

func (p *port) close() {
	if p.in != nil {
		p.in.Close()
	}
	for _, s := range p.sessions {
		s.out.Close()
	}
}

// datagram says whether a packet has to wait for the port to be there. The caller has the lock.
func (r *relay) datagram(f flow, b []byte) bool {
	p := r.ports[f.to]
	switch {
	case p == nil && len(r.ports) >= maxPorts:
		return true
	case p == nil:
		p = &port{sessions: map[netip.AddrPort]*session{}, idle: time.Now()}
		r.ports[f.to] = p
		r.wg.Go(func() { r.bind(f, p) })
	case p.in != nil:
		return false
	}
	if len(p.waiting) < maxWaiting {
		p.waiting = append(p.waiting, bytes.Clone(b))
	}
	return true
}

// bind makes the socket of a port, and lets through what has waited for it. Where nobody can be
// reached the kernel answers, with its own word for it.
func (r *relay) bind(f flow, p *port) {
	targets := r.target(f.protocol, f.to)
	var in *net.UDPConn
	err := errors.New("not reachable from here")
	if len(targets) > 0 {
		var c net.PacketConn
		if c, err = r.link.B.ListenPacketOn("udp4", f.to); err == nil {
			in = c.(*net.UDPConn)
			in.SetReadBuffer(4 << 20)
			in.SetWriteBuffer(4 << 20)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		if in != nil {
			in.Close()
		}
		return
	}
	if err != nil {
		delete(r.ports, f.to)
		if len(targets) > 0 {
			r.warn(fmt.Errorf("listening at the far end for datagrams to %v: %w", f.to, err))
		}
	} else {
		p.in = in
		r.wg.Go(func() { r.receive(p, targets) })
	}
	for _, b := range p.waiting {
		r.link.Pass(b)
	}
	p.waiting = nil
}

// receive carries datagrams to the host's side.
func (r *relay) receive(p *port, targets []netip.AddrPort) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := p.in.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		if s := r.session(p, from, targets); s != nil {
			s.out.Write(b[:n]) // what is refused was a datagram
		}
	}
}

// session returns that of a sender.
func (r *relay) session(p *port, from netip.AddrPort, targets []netip.AddrPort) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := p.sessions[from]
	if s != nil {
		s.used = time.Now()
		return s
	}
	if r.closed || len(p.sessions) >= maxSessions {
		return nil
	}
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(targets[0]))
	if err != nil {
		return nil
	}
	c.SetReadBuffer(4 << 20)
	s = &session{c, time.Now()}
	p.sessions[from] = s
	r.wg.Go(func() { r.answer(p, s, from) })
	return s
}

// answer carries datagrams back, until none have come either way for a while.
func (r *relay) answer(p *port, s *session, from netip.AddrPort) {
	b := make([]byte, 1<<16)
	for {
		s.out.SetReadDeadline(time.Now().Add(idle))
		n, err := s.out.Read(b)
		r.mu.Lock()
		var slow net.Error
		if errors.As(err, &slow) && slow.Timeout() && time.Since(s.used) < idle {
			r.mu.Unlock()
			continue
		}
		if err != nil {
			delete(p.sessions, from)
			s.out.Close()
			p.idle = time.Now()
			r.mu.Unlock()
			return
		}
		s.used = time.Now()
		r.mu.Unlock()
		p.in.WriteToUDPAddrPort(b[:n], from)
	}
}
