package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/path/link"
)

// relay is the far end of the link: whatever address a connection is for, it ends there, and goes on
// from the namespace of the host as another connection. It listens on no port before a packet comes for
// it: that packet waits until the real server has accepted, so that a port on which nobody listens is
// refused through the link, too, and no connection is made that nobody asked for.
type relay struct {
	link   *link.Link
	target func(protocol byte, to netip.AddrPort) []netip.AddrPort // in the host's namespace; none is refused
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	conns     map[flow]*conn
	listeners map[netip.AddrPort]*listener
	ports     map[netip.AddrPort]*port
	warned    error // the first thing that went wrong here, not there
}

// conn is a connection to the real server, from the first packet on.
type conn struct {
	out      *net.TCPConn // nil while it is being made
	accepted bool
}

// listener is one address and port at the far end.
type listener struct {
	*net.TCPListener
	conns int       // that it stands for
	idle  time.Time // since when there are none
}

const (
	maxConns = 1 << 15
	idle     = time.Minute
	patience = 2 * time.Minute // for a server to accept, or for a client to answer that it has
)

func newRelay(target func(byte, netip.AddrPort) []netip.AddrPort) *relay {
	r := &relay{target: target, conns: map[flow]*conn{}, listeners: map[netip.AddrPort]*listener{}, ports: map[netip.AddrPort]*port{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// start is when the link is there.
func (r *relay) start(l *link.Link) {
	r.mu.Lock()
	r.link = l
	r.mu.Unlock()
	r.wg.Go(r.sweep)
}

// gate is what a link calls for each packet that is about to arrive.
func (r *relay) gate(b []byte) bool {
	f, k := parse(b)
	if k == other {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.link == nil {
		return true
	}
	switch k {
	case echoes:
		// The far end would answer for the whole world.
		return f.to.Addr() != r.link.B.Addr
	case opens:
		c, known := r.conns[f]
		if known {
			return c.out == nil // it asks again while the first one still waits
		}
		if len(r.conns) >= maxConns {
			return true // as a full queue of connections does
		}
		r.conns[f] = &conn{}
		syn := bytes.Clone(b)
		r.wg.Go(func() { r.open(f, syn) })
		return true
	default:
		return r.datagram(f, b)
	}
}

// open makes the connection to the real server, and then lets the client's first packet through.
func (r *relay) open(f flow, syn []byte) {
	out, err := r.dial(f)
	if err == nil {
		err = r.listen(f, out)
	}
	if err != nil {
		r.mu.Lock()
		delete(r.conns, f)
		// Nobody listens now: the kernel refuses what comes.
		if l := r.listeners[f.to]; l != nil {
			l.Close()
			delete(r.listeners, f.to)
		}
		r.mu.Unlock()
		if r.ctx.Err() != nil {
			return
		}
	}
	r.link.Pass(syn)
}

// dial tries the targets of a flow one after another.
func (r *relay) dial(f flow) (*net.TCPConn, error) {
	err := errors.New("not reachable from here")
	for _, to := range r.target(f.protocol, f.to) {
		d := net.Dialer{Timeout: patience}
		var c net.Conn
		if c, err = d.DialContext(r.ctx, "tcp", to.String()); err == nil {
			return c.(*net.TCPConn), nil
		}
	}
	return nil, err
}

// listen sees to it that the packet finds a listener.
func (r *relay) listen(f flow, out *net.TCPConn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		out.Close()
		return net.ErrClosed
	}
	l := r.listeners[f.to]
	if l == nil {
		ln, err := r.link.B.ListenOn("tcp4", f.to)
		if err != nil {
			out.Close()
			r.warn(fmt.Errorf("listening at the far end for %v: %w", f.to, err))
			return err
		}
		l = &listener{TCPListener: ln.(*net.TCPListener)}
		r.listeners[f.to] = l
		r.wg.Go(func() { r.accept(l) })
	}
	l.conns++
	c := r.conns[f]
	c.out = out
	// A client that never answers leaves nothing behind.
	time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.conns[f] == c && !c.accepted {
			r.drop(f, l)
			out.Close()
		}
	})
	return nil
}

// drop forgets a connection. The caller has the lock.
func (r *relay) drop(f flow, l *listener) {
	delete(r.conns, f)
	if l.conns--; l.conns == 0 {
		l.idle = time.Now()
	}
}

func (r *relay) accept(l *listener) {
	for {
		in, err := l.AcceptTCP()
		if err != nil {
			return
		}
		f := flow{unix.IPPROTO_TCP, addrPort(in.RemoteAddr()), addrPort(in.LocalAddr())}
		r.mu.Lock()
		c := r.conns[f]
		if c == nil || c.out == nil || c.accepted || r.closed {
			r.mu.Unlock()
			in.SetLinger(0)
			in.Close()
			continue
		}
		c.accepted = true
		r.wg.Go(func() {
			join(r.ctx, in, c.out)
			r.mu.Lock()
			r.drop(f, l)
			r.mu.Unlock()
		})
		r.mu.Unlock()
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	p := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// join carries what either side says to the other, until both have ended, one is broken, or ctx is over.
func join(ctx context.Context, a, b *net.TCPConn) {
	stop := context.AfterFunc(ctx, func() { a.Close(); b.Close() })
	defer stop()
	var wg sync.WaitGroup
	one := func(to, from *net.TCPConn) {
		if _, err := io.Copy(to, from); err != nil {
			// A reset on one side is one on the other.
			for _, c := range []*net.TCPConn{to, from} {
				c.SetLinger(0)
				c.Close()
			}
			return
		}
		to.CloseWrite()
	}
	wg.Go(func() { one(a, b) })
	wg.Go(func() { one(b, a) })
	wg.Wait()
	a.Close()
	b.Close()
}

// sweep closes what has been idle.
func (r *relay) sweep() {
	tick := time.NewTicker(idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		for at, l := range r.listeners {
			if l.conns == 0 && time.Since(l.idle) > idle {
				l.Close()
				delete(r.listeners, at)
			}
		}
		for at, p := range r.ports {
			if p.in != nil && len(p.sessions) == 0 && time.Since(p.idle) > idle {
				p.in.Close()
				delete(r.ports, at)
			}
		}
		r.mu.Unlock()
	}
}

// warn keeps the first trouble. The caller has the lock.
func (r *relay) warn(err error) {
	if r.warned == nil {
		r.warned = err
	}
}

// close ends every connection; then the link may be closed.
func (r *relay) close() error {
	r.mu.Lock()
	r.closed = true
	r.cancel()
	for _, l := range r.listeners {
		l.Close()
	}
	for _, c := range r.conns {
		if c.out != nil {
			c.out.Close()
		}
	}
	for _, p := range r.ports {
		p.close()
	}
	r.mu.Unlock()
	r.wg.Wait()
	return r.warned
}
