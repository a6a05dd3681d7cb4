package dns

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// conn is a connection of a client.
type conn struct {
	*net.TCPConn
	mu       sync.Mutex
	stopping bool
}

// stop makes the connection end with the query that it is at.
func (c *conn) stop(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	c.SetReadDeadline(now)
}

// wait sets how long the next read may take, unless the connection is to stop.
func (c *conn) wait(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return false
	}
	c.SetReadDeadline(time.Now().Add(d))
	return true
}

func (s *Server) serveTCP() error {
	for {
		t, err := s.tcp.AcceptTCP()
		if err != nil {
			if s.stopped() {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors, most likely: others will go
			continue
		}
		c := &conn{TCPConn: t}
		network := networkOf(t.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
		if !s.admit(c, network) {
			s.r.stats.turnedAway.Add(1)
			t.SetLinger(0)
			t.Close()
			continue
		}
		s.r.stats.connections.Add(1)
		s.r.stats.connectionsNow.Add(1)
		go func() {
			defer func() {
				t.Close()
				s.leave(c, network)
				s.r.stats.connectionsNow.Add(-1)
				s.work.Done()
			}()
			s.converse(c)
		}()
	}
}

// networkOf is who counts as one: a /24 of IPv4, a /56 of IPv6.
func networkOf(a netip.Addr) netip.Prefix {
	bits := 56
	if a = a.Unmap(); a.Is4() {
		bits = 24
	}
	p, _ := a.WithZone("").Prefix(bits)
	return p
}

func (s *Server) admit(c *conn, network netip.Prefix) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxConns || s.from[network] >= maxFrom {
		return false
	}
	s.conns[c] = struct{}{}
	s.from[network]++
	s.work.Add(1)
	return true
}

func (s *Server) leave(c *conn, network netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.from[network]--; s.from[network] <= 0 {
		delete(s.from, network)
	}
}

func (s *Server) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) > maxConns/2 {
		return idleCrowded
	}
	return idle
}

// converse answers the queries of a connection in their order (RFC 7766). Answers to
// queries that came together leave together.
func (s *Server) converse(c *conn) {
	from := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
	in := bufio.NewReaderSize(c, 2048)
	var query, answers []byte
	var head [2]byte
	flush := func() bool {
		if len(answers) == 0 {
			return true
		}
		c.SetWriteDeadline(time.Now().Add(patience))
		_, err := c.Write(answers)
		answers = answers[:0]
		return err == nil
	}
	defer flush() // what was answered before something that is no query
	for {
		// A client that has sent all that it sends has the rest of its answers.
		if !c.wait(s.patience()) && in.Buffered() == 0 {
			return
		}
		if _, err := io.ReadFull(in, head[:1]); err != nil {
			return
		}
		c.wait(patience) // what has begun has to go on
		if _, err := io.ReadFull(in, head[1:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(head[:]))
		if n < 12 || n > maxQueryOver {
			return
		}
		if cap(query) < n {
			query = make([]byte, n, max(n, 512))
		}
		query = query[:n]
		if _, err := io.ReadFull(in, query); err != nil {
			return
		}
		at := len(answers)
		answers = s.r.Respond(append(answers, 0, 0), query, from, true)
		if len(answers) == at+2 {
			answers = answers[:at]
			return // no query: it does not speak DNS
		}
		binary.BigEndian.PutUint16(answers[at:], uint16(len(answers)-at-2))
		if whole(in) && len(answers) < 32<<10 {
			continue
		}
		if !flush() {
			return
		}
	}
}

// whole tells whether another query has arrived to its end.
func whole(in *bufio.Reader) bool {
	if in.Buffered() < 2 {
		return false
	}
	head, _ := in.Peek(2)
	return in.Buffered() >= 2+int(binary.BigEndian.Uint16(head))
}
