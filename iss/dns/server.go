package dns

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"
)

// Server answers over UDP and TCP on one address.
type Server struct {
	r    *Responder
	udp  []*net.UDPConn
	tcp  *net.TCPListener
	wild bool // answers must leave from where queries came to

	mu     sync.Mutex
	conns  map[*conn]struct{}
	from   map[netip.Prefix]int // connections of a network
	closed bool
	work   sync.WaitGroup
	aside  chan struct{} // one for each query that is answered aside
}

// Limits of TCP: a client may keep a connection, and send queries one upon another, but
// not take up what others need.
const (
	maxConns     = 1000
	maxFrom      = maxConns / 4 // from one network
	idle         = 10 * time.Second
	idleCrowded  = time.Second // when half of the connections are taken
	patience     = 5 * time.Second
	maxQueryOver = 4096 // octets of a query: no query that means something is longer
)

// Listen opens an address, HOST:PORT, for UDP and TCP. Port 0 takes one that is free for
// both. An empty host is every address of the machine.
func Listen(address string, r *Responder) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dns: address %q: want HOST:PORT, as in 127.0.0.1:5353 or [::1]:5353", address)
	}
	ip := net.ParseIP(host)
	s := &Server{
		r: r, wild: host == "" || ip != nil && ip.IsUnspecified(),
		conns: map[*conn]struct{}{}, from: map[netip.Prefix]int{},
		aside: make(chan struct{}, maxAside),
	}
	for try := 0; ; try++ {
		err = s.open(address)
		if err == nil || port != "0" || try == 10 {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("dns: %w", err)
	}
	return s, nil
}

func (s *Server) open(address string) (err error) {
	s.udp, s.tcp = nil, nil
	defer func() {
		if err != nil {
			for _, u := range s.udp {
				u.Close()
			}
		}
	}()
	lc := net.ListenConfig{}
	sockets := 1
	if reusePort != nil {
		sockets = runtime.GOMAXPROCS(0)
	}
	// The first is opened without sharing the port, so that an address in use is found out.
	// (With SO_REUSEPORT a second server would silently get half of the queries.)
	probe, err := lc.ListenPacket(context.Background(), "udp", address)
	if err != nil {
		return err
	}
	address = probe.LocalAddr().String()
	tcp, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		probe.Close()
		return err
	}
	if sockets == 1 {
		s.udp = append(s.udp, probe.(*net.UDPConn))
	} else {
		probe.Close()
		lc.Control = reusePort
		for range sockets {
			u, err := lc.ListenPacket(context.Background(), "udp", address)
			if err != nil {
				tcp.Close()
				return err
			}
			s.udp = append(s.udp, u.(*net.UDPConn))
		}
	}
	for _, u := range s.udp {
		u.SetReadBuffer(1 << 20) // as much as the system allows: bursts wait instead of being lost
		u.SetWriteBuffer(1 << 20)
		if s.wild {
			if err := wantDestination(u); err != nil {
				tcp.Close()
				return fmt.Errorf("%s: %w", address, err)
			}
		}
	}
	s.tcp = tcp.(*net.TCPListener)
	return nil
}

// Addr is the address that is served.
func (s *Server) Addr() netip.AddrPort { return s.tcp.Addr().(*net.TCPAddr).AddrPort() }

// Serve answers until Shutdown.
func (s *Server) Serve() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	errs := make(chan error, len(s.udp)+1)
	s.work.Add(len(s.udp) + 1)
	for _, u := range s.udp {
		go func() {
			defer s.work.Done()
			errs <- s.serveUDP(u)
		}()
	}
	go func() {
		defer s.work.Done()
		errs <- s.serveTCP()
	}()
	s.mu.Unlock()
	var first error
	for range cap(errs) {
		if err := <-errs; err != nil && first == nil {
			first = fmt.Errorf("dns: %w", err)
			s.stop()
		}
	}
	return first
}

// Shutdown stops to take queries, lets those that were taken be answered, and closes. What is
// not done when the context ends is cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		s.mu.Lock()
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		<-done
	}
	for _, u := range s.udp {
		u.Close()
	}
	return err
}

// stop wakes up everybody who waits for a query.
func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	now := time.Now()
	s.tcp.Close()
	for _, u := range s.udp {
		u.SetReadDeadline(now)
	}
	for c := range s.conns {
		c.stop(now)
	}
}

func (s *Server) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// maxAside is how many queries over UDP may be answered aside at a time.
const maxAside = 64

// setAside answers a query on its own time if that may be long, and tells whether it has
// taken it: who asks for a pass must not hold up those who ask where the station is. A
// query too many is left without an answer.
func (s *Server) setAside(u *net.UDPConn, query, control []byte, from netip.AddrPort) bool {
	if !asksPass(query) {
		return false
	}
	select {
	case s.aside <- struct{}{}:
	default:
		s.r.stats.ignored.Add(1)
		return true
	}
	query, control = bytes.Clone(query), bytes.Clone(control)
	s.work.Add(1) // by a loop that is at work itself
	go func() {
		defer s.work.Done()
		defer func() { <-s.aside }()
		if a := s.r.Respond(nil, query, from.Addr(), false); len(a) > 0 {
			u.WriteMsgUDPAddrPort(a, control, from)
		}
	}()
	return true
}

// asksPass tells whether a query has a name with a label pass that is not its first.
func asksPass(query []byte) bool {
	for at := 12; at < len(query) && query[at] > 0 && query[at] < 64; at += 1 + int(query[at]) {
		if at > 12 && query[at] == 4 && at+5 <= len(query) && equalFold(query[at+1:at+5], []byte("pass")) {
			return true
		}
	}
	return false
}
