package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/wire"
)

// lane does one exchange at a time.
type lane interface {
	// do sends a request and reads the answer; it fills in when that was and what came.
	do(r *wire.Request, e *event) error
	// warm makes the connection to a server before it is needed.
	warm(r *wire.Request) error
	// abort ends what is under way, from another goroutine.
	abort()
}

// origin is the server of a request.
func origin(r *wire.Request) string { return r.URL.Scheme + " " + wire.Address(r.URL) }

// single is a lane over connections of HTTP/1.1 of its own, one to each server.
type single struct {
	s *session

	mu      sync.Mutex // of conns, for abort
	conns   map[string]*held
	aborted bool

	lastKey  *wire.Request
	lastConn *held
}

// held is a connection between two exchanges.
type held struct {
	*wire.Conn
	since    time.Time
	deadline time.Time
}

// bound sets a deadline at t or up to slack later: setting one for every request costs more than parsing
// the answer.
func (c *held) bound(t time.Time, slack time.Duration) {
	if c.deadline.Before(t) || c.deadline.After(t.Add(slack)) {
		c.deadline = t.Add(slack)
		c.SetDeadline(c.deadline)
	}
}

func (l *single) warm(r *wire.Request) error {
	_, err := l.conn(r)
	return err
}

func (l *single) conn(r *wire.Request) (*held, error) {
	// Mostly the same request comes again.
	if l.lastKey == r && l.lastConn.Reusable() && l.lastConn.alive() {
		return l.lastConn, nil
	}
	key := origin(r)
	l.mu.Lock()
	c := l.conns[key]
	l.mu.Unlock()
	if c != nil {
		if c.Reusable() && c.alive() {
			l.lastKey, l.lastConn = r, c
			return c, nil
		}
		c.Close()
	}
	nc, _, p, err := l.s.dial(r)
	if err != nil {
		return nil, err
	}
	c = &held{Conn: wire.NewConn(nc), since: time.Now()}
	l.s.opened(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aborted {
		c.Close()
		return nil, context.Canceled
	}
	l.conns[key] = c
	l.lastKey, l.lastConn = r, c
	return c, nil
}

func (l *single) do(r *wire.Request, e *event) error {
	o := &l.s.o
	if o.NewConnections && l.lastConn != nil {
		l.lastConn.Close()
		l.mu.Lock()
		clear(l.conns)
		l.mu.Unlock()
		l.lastKey = nil
	}
	e.began = l.s.now()
	e.sent = e.began
	c, err := l.conn(r)
	if err != nil {
		return err
	}
	if !o.NewConnections {
		e.sent = l.s.now()
	}
	c.bound(l.s.begin.Add(time.Duration(e.sent)+o.Timeout), o.Timeout/16)
	_, before := c.Bytes()
	err = l.exchange(c, r, e)
	e.done = l.s.now()
	c.since = l.s.begin.Add(time.Duration(e.done))
	_, after := c.Bytes()
	e.bytes = after - before
	if err != nil {
		c.Close()
	}
	return err
}

func (l *single) exchange(c *held, r *wire.Request, e *event) error {
	p, err := c.Exchange(r)
	if first := c.FirstByte(); !first.IsZero() {
		e.first = int64(first.Sub(l.s.begin))
	}
	if err != nil {
		return err
	}
	e.status = int16(p.Status)
	_, err = c.Discard()
	return err
}

func (l *single) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = true
	for _, c := range l.conns {
		c.Close()
	}
}

// quiet is for how long a connection may be idle before it is looked at: servers end
// those that are, and a request sent there would fail for no fault of the server's.
const quiet = 500 * time.Millisecond

// alive says whether the server has not ended the connection meanwhile.
func (c *held) alive() bool {
	if time.Since(c.since) < quiet {
		return true
	}
	nc := c.NetConn()
	if t, ok := nc.(*tls.Conn); ok {
		nc = t.NetConn()
	}
	s, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	alive := true
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
		if _, err := unix.Poll(p, 0); err != nil {
			return
		}
		// Under TLS what waits may be a ticket, which is no end.
		bad := int16(unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR)
		if c.NetConn() == nc {
			bad |= unix.POLLIN
		}
		alive = p[0].Revents&bad == 0
	})
	return err == nil && alive
}

// shared is a connection over HTTP/2 that many lanes use, one to each server.
type shared struct {
	s  *session
	mu sync.Mutex
	m  map[string]*wire.Mux
}

func (c *shared) mux(r *wire.Request) (*wire.Mux, error) {
	key := origin(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.m[key]; m != nil {
		if m.Open() {
			return m, nil
		}
		// Others may still have exchanges on it, which the server finishes; then it ends by itself.
		delete(c.m, key)
	}
	nc, http2, p, err := c.s.dial(r)
	if err != nil {
		return nil, err
	}
	if !http2 {
		nc.Close()
		return nil, &wire.DialError{Step: "TLS", Err: errors.New("the server does not offer HTTP/2 any more")}
	}
	m, err := wire.NewMux(nc)
	if err != nil {
		return nil, err
	}
	// Who sends before the server has said how many streams there may be can hang for ever.
	ctx, cancel := context.WithTimeout(c.s.ctx, c.s.o.Timeout)
	defer cancel()
	if _, err := m.Ping(ctx); err != nil {
		m.Close()
		return nil, &wire.DialError{Step: "connect", Err: err}
	}
	c.s.opened(p)
	c.m[key] = m
	return m, nil
}

// stream is a lane over HTTP/2.
type stream struct {
	*shared
	buf []byte
}

func (l *stream) warm(r *wire.Request) error {
	_, err := l.mux(r)
	return err
}

func (l *stream) do(r *wire.Request, e *event) error {
	e.began = l.s.now()
	e.sent = e.began
	m, err := l.mux(r)
	if err != nil {
		return err
	}
	e.sent = l.s.now()
	ctx, cancel := context.WithTimeout(l.s.ctx, l.s.o.Timeout)
	defer cancel()
	p, body, err := m.Do(ctx, r)
	for again := 0; err != nil && wire.Refused(err) && ctx.Err() == nil && again < 3; again++ {
		// The server ends the connection and has not looked at the request: it goes over another.
		if m, err = l.mux(r); err != nil {
			return err
		}
		p, body, err = m.Do(ctx, r)
	}
	e.first = l.s.now()
	if err != nil {
		e.first = 0
		e.done = l.s.now()
		return err
	}
	defer body.Close()
	e.status = int16(p.Status)
	for err == nil {
		var n int
		n, err = body.Read(l.buf)
		e.bytes += int64(n)
	}
	e.done = l.s.now()
	if err == io.EOF {
		return nil
	}
	return err
}

func (l *stream) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.m {
		m.Close()
	}
}

// dial makes a connection; it is bound by the timeout of a request.
func (s *session) dial(r *wire.Request) (net.Conn, bool, wire.Phases, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.o.Timeout)
	defer cancel()
	return s.dialer.Dial(ctx, r.URL)
}
