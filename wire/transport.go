package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config is everything that decides how a [Transport] uses the network.
type Config struct {
	Dialer
	// IdlePerHost is how many connections are kept for each host while nobody uses them.
	// With 0, every request makes a connection of its own, over HTTP/2 as well.
	IdlePerHost int
	// IdleTime is how long one is kept over HTTP/1.1; 0 is for ever. What is older is closed when
	// the next exchange with its host begins or ends.
	IdleTime time.Duration
	// Timeout bounds an exchange, from the wish to send it until the end of its body; 0
	// is no bound.
	Timeout time.Duration
	// Stall bounds how long nothing comes once the request is sent, before the head or within
	// the body: a large body may take its time as long as it moves. 0 is no bound.
	Stall time.Duration
}

// Counts is what a transport has done since it was made.
type Counts struct {
	Dialed   int64 // connections made
	Failed   int64 // connections that could not be made
	Reused   int64 // exchanges on a connection that had had one before
	Repeated int64 // requests sent again: an idle connection was dead, or HTTP/2's server refused
	Dropped  int64 // connections closed only because IdlePerHost others were idle
	Open     int64 // connections that there are now
}

// Transport does exchanges for many goroutines at a time and keeps idle connections.
type Transport struct {
	config Config
	ctx    context.Context
	end    context.CancelCauseFunc
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
	probe *probe // the last connection that others waited for; nil if there is none to wait for
}

// A probe is the making of a connection that tells which HTTP a host speaks.
type probe struct {
	done          chan struct{}
	http2, failed bool // when done is closed
}

// ends tells those who wait. The transport is locked.
func (p *probe) ends(h *host, http2, failed bool) {
	if p == nil {
		return
	}
	p.http2, p.failed = http2, failed
	close(p.done)
	if failed {
		h.probe = nil
	}
}

type idleConn struct {
	c     *Conn
	since time.Time
}

// NewTransport makes a transport. When ctx ends, all its connections and exchanges do.
func NewTransport(ctx context.Context, c Config) *Transport {
	t := &Transport{config: c, hosts: map[string]*host{}, open: map[io.Closer]bool{}}
	t.ctx, t.end = context.WithCancelCause(ctx)
	t.stop = context.AfterFunc(t.ctx, t.shut)
	return t
}

// Close ends all connections and the exchanges on them.
func (t *Transport) Close() error {
	t.stop()
	t.end(errClosed)
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
	var all []io.Closer
	for _, h := range t.hosts {
		for _, i := range h.idle {
			all = append(all, i.c)
		}
		h.idle = nil
	}
	for c := range t.open {
		if m, ok := c.(*Mux); ok && m.users == 0 {
			m.gone = true
			all = append(all, m)
		}
	}
	t.mu.Unlock()
	t.drop(all...)
}

// Counts returns what the transport has done so far.
func (t *Transport) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.counts
	n.Open = int64(len(t.open))
	return n
}

// Exchange is a response whose body can be read. Close it when done, read to the end or
// not; its headers are gone then.
type Exchange struct {
	*Response
	Phases Phases // of the connection, if it was made for this exchange
	Reused bool

	t      *Transport
	key    string
	conn   *Conn
	copy   Response // of the connection's, which has others after this one
	mux    *Mux
	body   io.ReadCloser // over HTTP/2
	cancel context.CancelFunc

	deadline time.Time   // of the exchange, zero if there is none
	moved    time.Time   // when the bound on silence was set last
	silence  *time.Timer // ends an exchange over HTTP/2
	stalled  *stallError
}

// Do sends a request and reads the head of its response. Redirects are not followed, and
// statuses are no errors. A request that is idempotent is sent again, once, on a new connection,
// if it met an idle one that the server had ended. So is, over HTTP/2, one that the server
// says it has not looked at.
func (t *Transport) Do(r *Request) (*Exchange, error) {
	var deadline time.Time
	if t.config.Timeout > 0 {
		deadline = time.Now().Add(t.config.Timeout)
	}
	for fresh, refusals := false, 0; ; {
		x, err := t.try(r, deadline, fresh)
		if err == nil || t.ctx.Err() != nil {
			if err != nil {
				err = context.Cause(t.ctx)
			}
			return x, err
		}
		var stale *staleError
		switch {
		case Refused(err) && refusals < maxRefusals:
			refusals++
		case errors.As(err, &stale) && r.Idempotent() && !fresh:
			fresh = true
		default:
			return nil, err
		}
		t.mu.Lock()
		t.counts.Repeated++
		t.mu.Unlock()
	}
}

// maxRefusals is how often a request is sent again because the server refused to look at
// it. Once is usual: how many streams a server allows is known after the first are sent.
const maxRefusals = 10

// staleError is the fault of a connection that had been idle.
type staleError struct{ err error }

func (e *staleError) Error() string { return e.err.Error() }
func (e *staleError) Unwrap() error { return e.err }

func (t *Transport) try(r *Request, deadline time.Time, fresh bool) (*Exchange, error) {
	key := r.URL.Scheme + " " + Address(r.URL)
	c, m, p, reused, err := t.connection(key, r.URL, deadline, fresh)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return t.stream(m, r, p, reused, deadline)
	}
	x := &Exchange{Phases: p, Reused: reused, t: t, key: key, conn: c, deadline: deadline}
	c.SetDeadline(x.bound())
	var head *Response
	if head, err = c.Exchange(r); err == nil {
		x.copy = *head
		x.Response = &x.copy
	}
	if err != nil {
		t.drop(c)
		if reused && (errors.Is(err, ErrNoResponse) || errors.Is(err, errUnasked) || isReset(err) && c.FirstByte().IsZero()) {
			return nil, &staleError{err}
		}
		return nil, err
	}
	return x, nil
}

// connection returns an idle connection, or a new one. A fresh one is new in any case.
func (t *Transport) connection(key string, u *url.URL, deadline time.Time, fresh bool) (*Conn, *Mux, Phases, bool, error) {
	alone := t.config.IdlePerHost <= 0
	share := !alone && (t.config.Protocol == HTTP2 || t.config.Protocol == Auto && u.Scheme == "https")
	var gone []io.Closer
	defer func() { t.drop(gone...) }()
	var h *host
	t.mu.Lock()
	for {
		if t.closed {
			t.mu.Unlock()
			return nil, nil, Phases{}, false, errClosed
		}
		if h = t.hosts[key]; h == nil {
			h = &host{}
			t.hosts[key] = h
		}
		if !fresh && !alone {
			c, m := h.take(t.config.IdleTime, &gone)
			if c != nil || m != nil {
				t.counts.Reused++
				t.mu.Unlock()
				return c, m, Phases{}, true, nil
			}
		}
		if !share || h.probe == nil {
			break
		}
		wait := h.probe
		select {
		case <-wait.done:
			if wait.http2 {
				h.probe = nil // all of its connections are full or gone
			}
		default:
			// Whether the host speaks HTTP/2 is not known yet: if it does, the connection
			// that is being made is enough.
			t.mu.Unlock()
			if err := t.wait(wait.done, deadline); err != nil {
				return nil, nil, Phases{}, false, err
			}
			t.mu.Lock()
			fresh = false
			share = !wait.failed // where it failed, nobody waits for a second time
			continue
		}
		break
	}
	var mine *probe
	if share && h.probe == nil {
		mine = &probe{done: make(chan struct{})}
		h.probe = mine
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
	if m == nil || t.closed {
		mine.ends(h, false, err != nil || t.closed)
	}
	if err != nil {
		t.counts.Failed++
		return nil, nil, p, false, err
	}
	t.counts.Dialed++
	var closer io.Closer = c
	if m != nil {
		closer = m
		m.users++
	}
	if t.closed {
		gone = append(gone, closer)
		return nil, nil, p, false, errClosed
	}
	t.open[closer] = true
	if m != nil && !alone {
		go t.share(h, m, mine)
	}
	return c, m, p, false, nil
}

// share lets others use a connection over HTTP/2 once its server has said how many may: its
// settings come before the answer to a ping. Whoever has made the connection does not wait.
func (t *Transport) share(h *host, m *Mux, p *probe) {
	_, err := m.Ping(t.ctx)
	t.mu.Lock()
	if err == nil {
		h.muxes = append(h.muxes, m)
	}
	p.ends(h, true, err != nil)
	unused := err != nil && m.users == 0
	t.mu.Unlock()
	if unused {
		t.drop(m)
	}
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
		return &DialError{"connect", fmt.Errorf("no connection within %v: %w", t.config.Timeout, context.DeadlineExceeded)}
	}
}

// take removes the idle connection that was used last, or finds one over HTTP/2 that has
// room. What has to be closed is added to gone.
func (h *host) take(most time.Duration, gone *[]io.Closer) (*Conn, *Mux) {
	if n := len(h.idle); n > 0 {
		last := h.idle[n-1]
		if most <= 0 || time.Since(last.since) <= most {
			h.idle[n-1] = idleConn{}
			h.idle = h.idle[:n-1]
			return last.c, nil
		}
		for _, i := range h.idle { // for longer still
			*gone = append(*gone, i.c)
		}
		h.idle = nil
	}
	var found *Mux
	h.muxes = slices.DeleteFunc(h.muxes, func(m *Mux) bool {
		if m.gone || !m.Open() {
			if m.users == 0 { // else the last exchange closes it
				*gone = append(*gone, m)
			}
			return true
		}
		if found == nil && m.users < m.most() {
			found = m
			m.users++
		}
		return false
	})
	return nil, found
}

// drop closes connections.
func (t *Transport) drop(all ...io.Closer) {
	if len(all) == 0 {
		return
	}
	t.mu.Lock()
	for _, c := range all {
		delete(t.open, c)
	}
	t.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

// release ends the use of a connection over HTTP/2, and it if nobody else can use it.
func (t *Transport) release(m *Mux) {
	t.mu.Lock()
	m.users--
	last := m.users == 0 && (t.config.IdlePerHost <= 0 || !m.Open())
	t.mu.Unlock()
	if last {
		t.drop(m)
	}
}

// keep takes a connection back.
func (t *Transport) keep(key string, c *Conn) {
	var surplus []io.Closer
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
	t.mu.Unlock()
	t.drop(surplus...)
}

func (t *Transport) stream(m *Mux, r *Request, p Phases, reused bool, deadline time.Time) (*Exchange, error) {
	ctx, cancel := t.ctx, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	x := &Exchange{Phases: p, Reused: reused, t: t, mux: m, cancel: cancel, deadline: deadline}
	if t.config.Stall > 0 {
		ctx, cancel = context.WithCancel(ctx)
		x.stalled = &stallError{t.config.Stall, atomic.Bool{}}
		x.silence = time.AfterFunc(t.config.Stall, func() { x.stalled.happened.Store(true); cancel() })
		all := x.cancel
		x.cancel = func() { x.silence.Stop(); cancel(); all() }
	}
	var err error
	x.Response, x.body, err = m.Do(ctx, r)
	if err != nil {
		if x.silence != nil && x.stalled.happened.Load() {
			err = x.stalled
		}
		x.cancel()
		if reused && !m.Open() {
			err = &staleError{err}
		}
		t.release(m)
		return nil, err
	}
	return x, nil
}

// Read reads from the body, as [Conn.Read] does.
func (x *Exchange) Read(p []byte) (n int, err error) {
	if x.conn != nil {
		n, err = x.conn.Read(p)
		if n > 0 && x.conn.state != idle && x.t.config.Stall > 0 && time.Since(x.moved) > x.t.config.Stall/16 {
			x.conn.SetDeadline(x.bound())
		}
	} else {
		n, err = x.body.Read(p)
		if x.silence != nil {
			if err != nil && err != io.EOF && x.stalled.happened.Load() {
				return n, x.stalled
			}
			x.silence.Reset(x.t.config.Stall)
		}
	}
	if err != nil && err != io.EOF && x.t.ctx.Err() != nil {
		err = context.Cause(x.t.ctx)
	}
	return n, err
}

// bound returns until when something has to come.
func (x *Exchange) bound() time.Time {
	if x.t.config.Stall <= 0 {
		return x.deadline
	}
	x.moved = time.Now()
	bound := x.moved.Add(x.t.config.Stall)
	if !x.deadline.IsZero() && x.deadline.Before(bound) {
		return x.deadline
	}
	return bound
}

// stallError ends an exchange over HTTP/2 in which nothing came for too long.
type stallError struct {
	after    time.Duration
	happened atomic.Bool
}

func (e *stallError) Error() string { return fmt.Sprintf("nothing came for %v", e.after) }
func (e *stallError) Timeout() bool { return true }
func (e *stallError) Unwrap() error { return os.ErrDeadlineExceeded }

// How much of a body nobody wants is read to keep its connection, and for how long.
const (
	soon     = 64 << 10
	patience = 50 * time.Millisecond
)

// Close ends the exchange. The connection is kept for another if the body was read to its
// end, or if little is left of it that comes soon.
func (x *Exchange) Close() error {
	c, m, body := x.conn, x.mux, x.body
	x.conn, x.mux, x.body = nil, nil, closedBody{}
	switch {
	case c != nil:
		x.copy.head = nil // the connection's
		if c.state != idle && !c.shut && (c.state != sized || c.left <= soon) && x.t.config.IdlePerHost > 0 {
			// Often only the last, empty chunk is missing.
			c.SetDeadline(time.Now().Add(patience))
			c.discard(soon)
		}
		if c.Reusable() && x.t.config.IdlePerHost > 0 {
			x.t.keep(x.key, c)
		} else {
			x.t.drop(c)
		}
	case m != nil:
		err := body.Close()
		x.cancel()
		x.t.release(m)
		return err
	}
	return nil
}

type closedBody struct{}

func (closedBody) Read([]byte) (int, error) { return 0, errors.New("the exchange is closed") }
func (closedBody) Close() error             { return nil }
