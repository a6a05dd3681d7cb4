package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"
)

// Config is everything that decides how a [Transport] uses the network.
type Config struct {
	Dialer
	// IdlePerHost is how many connections are kept for each host while nobody uses them.
	// With 0, every request makes a connection of its own.
	IdlePerHost int
	// IdleTime is how long one is kept; 0 is for ever.
	IdleTime time.Duration
	// Timeout bounds an exchange, from the wish to send it until the end of its body; 0
	// is no bound.
	Timeout time.Duration
}

// Counts is what a transport has done since it was made.
type Counts struct {
	Dialed   int64 // connections made
	Failed   int64 // connections that could not be made
	Reused   int64 // exchanges on a connection that had had one before
	Repeated int64 // requests sent again because an idle connection turned out to be dead
	Dropped  int64 // connections closed only because IdlePerHost others were idle
	Open     int64 // connections that there are now
}

// Transport does exchanges for many goroutines at a time and keeps idle connections.
type Transport struct {
	config Config
	ctx    context.Context
	stop   func() bool

	mu     sync.Mutex
	hosts  map[string]*host
	open   map[io.Closer]bool // everything, so that the end of ctx ends it
	closed bool
	counts Counts
}

type host struct {
	idle  []idleConn // the one used last comes last
	muxes []*Mux
	// dialing is closed when the first connection is there and says which HTTP it is.
	dialing chan struct{}
	http2   bool
}

type idleConn struct {
	c     *Conn
	since time.Time
}

// NewTransport makes a transport. When ctx ends, all its connections and exchanges do.
func NewTransport(ctx context.Context, c Config) *Transport {
	t := &Transport{config: c, ctx: ctx, hosts: map[string]*host{}, open: map[io.Closer]bool{}}
	t.stop = context.AfterFunc(ctx, t.shut)
	return t
}

// Close ends all connections and the exchanges on them.
func (t *Transport) Close() error {
	t.stop()
	t.shut()
	return nil
}

func (t *Transport) shut() {
	t.mu.Lock()
	t.closed = true
	all := t.open
	t.open, t.hosts = map[io.Closer]bool{}, map[string]*host{}
	t.mu.Unlock()
	for c := range all {
		c.Close()
	}
}

// CloseIdle ends the connections that nobody uses.
func (t *Transport) CloseIdle() {
	t.mu.Lock()
	var all []idleConn
	for _, h := range t.hosts {
		all = append(all, h.idle...)
		h.idle = nil
	}
	t.mu.Unlock()
	for _, i := range all {
		t.end(i.c)
	}
}

// Counts returns what the transport has done so far.
func (t *Transport) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.counts
	n.Open = int64(len(t.open))
	return n
}

// Exchange is a response whose body can be read. Close it when done, read to the end or not.
type Exchange struct {
	*Response
	Phases Phases // of the connection, if it was made for this exchange
	Reused bool

	t      *Transport
	key    string
	conn   *Conn
	body   io.ReadCloser // over HTTP/2
	cancel context.CancelFunc
}

// Do sends a request and reads the head of its response. Redirects are not followed, and
// statuses are no errors. A request that is idempotent is sent again, on a new connection,
// if it met an idle one that the server had ended.
func (t *Transport) Do(r *Request) (*Exchange, error) {
	var deadline time.Time
	if t.config.Timeout > 0 {
		deadline = time.Now().Add(t.config.Timeout)
	}
	for {
		x, err := t.try(r, deadline)
		if err == nil || t.ctx.Err() != nil {
			if err != nil {
				err = context.Cause(t.ctx)
			}
			return x, err
		}
		var stale *staleError
		if errors.As(err, &stale) && r.Idempotent() {
			t.mu.Lock()
			t.counts.Repeated++
			t.mu.Unlock()
			continue
		}
		return nil, err
	}
}

// staleError is the fault of a connection that had been idle.
type staleError struct{ err error }

func (e *staleError) Error() string { return e.err.Error() }
func (e *staleError) Unwrap() error { return e.err }

func (t *Transport) try(r *Request, deadline time.Time) (*Exchange, error) {
	key := r.URL.Scheme + " " + Address(r.URL)
	c, m, p, reused, err := t.connection(key, r.URL, deadline)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return t.stream(m, r, p, reused, deadline)
	}
	x := &Exchange{Phases: p, Reused: reused, t: t, key: key, conn: c}
	c.SetDeadline(deadline)
	err = c.Send(r)
	if err == nil {
		x.Response, err = c.Receive()
	}
	if err != nil {
		t.end(c)
		if reused && (errors.Is(err, ErrNoResponse) || errors.Is(err, errUnasked) || isReset(err) && c.FirstByte().IsZero()) {
			return nil, &staleError{err}
		}
		return nil, err
	}
	return x, nil
}

// connection returns an idle connection, or a new one.
func (t *Transport) connection(key string, u *url.URL, deadline time.Time) (*Conn, *Mux, Phases, bool, error) {
	may2 := t.config.Protocol == HTTP2 || t.config.Protocol == Auto && u.Scheme == "https"
	t.mu.Lock()
	for {
		if t.closed {
			t.mu.Unlock()
			return nil, nil, Phases{}, false, errClosed
		}
		h := t.hosts[key]
		if h == nil {
			h = &host{}
			t.hosts[key] = h
		}
		if c := h.take(t.config.IdleTime); c != nil {
			t.counts.Reused++
			t.mu.Unlock()
			return c, nil, Phases{}, true, nil
		}
		if m := h.mux(); m != nil {
			t.counts.Reused++
			t.mu.Unlock()
			return nil, m, Phases{}, true, nil
		}
		if !may2 || h.dialing == nil {
			break
		}
		select {
		case <-h.dialing:
			if !h.http2 {
				break
			}
			h.dialing = nil // all of its connections are full or gone
			continue
		default:
			// Whether the host speaks HTTP/2 is not known yet: if it does, the connection
			// that is being made is enough.
			wait := h.dialing
			t.mu.Unlock()
			if err := t.wait(wait, deadline); err != nil {
				return nil, nil, Phases{}, false, err
			}
			t.mu.Lock()
			continue
		}
		break
	}
	h := t.hosts[key]
	first := may2 && h.dialing == nil
	if first {
		h.dialing = make(chan struct{})
	}
	t.mu.Unlock()

	ctx := t.ctx
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	nc, http2, p, err := t.config.Dial(ctx, u)
	var c *Conn
	var m *Mux
	if err == nil {
		if http2 {
			m, err = NewMux(nc)
		} else {
			c = NewConn(nc)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first {
		h.http2 = http2 && err == nil
		close(h.dialing)
		if err != nil {
			h.dialing = nil
		}
	}
	if err != nil {
		t.counts.Failed++
		return nil, nil, p, false, err
	}
	t.counts.Dialed++
	var closer io.Closer = c
	if m != nil {
		closer = m
		h.muxes = append(h.muxes, m)
	}
	if t.closed {
		closer.Close()
		return nil, nil, p, false, errClosed
	}
	t.open[closer] = true
	return c, m, p, false, nil
}

var errClosed = errors.New("the transport is closed")

func (t *Transport) wait(c chan struct{}, deadline time.Time) error {
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-c:
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-late:
		return &DialError{"connect", fmt.Errorf("no connection within %v", t.config.Timeout)}
	}
}

// take removes the idle connection that was used last.
func (h *host) take(most time.Duration) *Conn {
	n := len(h.idle)
	if n == 0 {
		return nil
	}
	last := h.idle[n-1]
	h.idle = h.idle[:n-1]
	if most > 0 && time.Since(last.since) > most {
		// The rest has been idle for longer still; the sweep takes them.
		h.idle = append(h.idle, last)
		return nil
	}
	return last.c
}

// mux returns a connection over HTTP/2 that has room.
func (h *host) mux() *Mux {
	open := h.muxes[:0]
	var found *Mux
	for _, m := range h.muxes {
		if !m.Open() {
			continue
		}
		open = append(open, m)
		if found == nil && m.Room() {
			found = m
		}
	}
	clear(h.muxes[len(open):])
	h.muxes = open
	return found
}

// end closes a connection.
func (t *Transport) end(c io.Closer) {
	t.mu.Lock()
	delete(t.open, c)
	t.mu.Unlock()
	c.Close()
}

// keep takes a connection back.
func (t *Transport) keep(key string, c *Conn) {
	var surplus []*Conn
	t.mu.Lock()
	h := t.hosts[key]
	switch {
	case t.closed || h == nil:
		surplus = append(surplus, c)
	case len(h.idle) >= t.config.IdlePerHost:
		t.counts.Dropped++
		surplus = append(surplus, c)
	default:
		var now time.Time
		if most := t.config.IdleTime; most > 0 {
			now = time.Now()
			for len(h.idle) > 0 && now.Sub(h.idle[0].since) > most {
				surplus = append(surplus, h.idle[0].c)
				h.idle = h.idle[1:]
			}
		}
		h.idle = append(h.idle, idleConn{c, now})
	}
	for _, c := range surplus {
		delete(t.open, c)
	}
	t.mu.Unlock()
	for _, c := range surplus {
		c.Close()
	}
}

func (t *Transport) stream(m *Mux, r *Request, p Phases, reused bool, deadline time.Time) (*Exchange, error) {
	ctx, cancel := t.ctx, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	x := &Exchange{Phases: p, Reused: reused, t: t, cancel: cancel}
	var err error
	x.Response, x.body, err = m.Do(ctx, r)
	if err != nil {
		cancel()
		if !m.Open() {
			t.end(m)
			if reused {
				err = &staleError{err}
			}
		}
		return nil, err
	}
	return x, nil
}

// Read reads from the body, as [Conn.Read] does.
func (x *Exchange) Read(p []byte) (int, error) {
	if x.conn != nil {
		return x.conn.Read(p)
	}
	return x.body.Read(p)
}

// soon is how much of a body nobody wants is read to keep its connection.
const soon = 64 << 10

// Close ends the exchange. The connection is kept for another if the body was read to its
// end, or if little is left of it.
func (x *Exchange) Close() error {
	if x.conn == nil {
		err := x.body.Close()
		x.cancel()
		return err
	}
	c := x.conn
	if c == nil {
		return nil
	}
	x.conn, x.body = nil, closedBody{}
	x.cancel = func() {}
	if c.state == sized && c.left <= soon {
		c.Discard()
	}
	if c.state == between || c.state == chunk && c.left <= soon {
		// Often only the last, empty chunk is missing.
		var b [512]byte
		if n, err := c.Read(b[:]); n > 0 || err != io.EOF {
			c.shut = true
		}
	}
	if c.Reusable() && x.t.config.IdlePerHost > 0 {
		x.t.keep(x.key, c)
		return nil
	}
	x.t.end(c)
	return nil
}

type closedBody struct{}

func (closedBody) Read([]byte) (int, error) { return 0, errors.New("the exchange is closed") }
func (closedBody) Close() error             { return nil }
