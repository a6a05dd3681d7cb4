package known

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/headway-lab/headway/path/capture"
	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/probe"
	"github.com/headway-lab/headway/path/tcpinfo"
	"github.com/headway-lab/headway/wire"
)

// every is how often TCP_INFO is read at both ends.
var every = tcpinfo.Sampling{Every: time.Millisecond, Most: 1 << 13}

// Result is what was seen of a transfer.
type Result struct {
	Transfer
	// Phases as the client's clock had them, all exchanges together; the connection's are those of the first.
	Phases probe.Phases
	TLS    *tls.ConnectionState `json:"-"` // nil without
	// Ready is when the connection was, End when the last answer was complete.
	Ready, End time.Time
	Sender     []tcpinfo.Sample // TCP_INFO at either end
	Receiver   []tcpinfo.Sample
	// Late is the emulator's own lateness at the 99th percentile: where it is large, the cause is not the only one.
	Late time.Duration
	// Lost says how many packets of the data's direction the link has lost or dropped on purpose.
	Lost int64
}

// Evidence is what TCP_INFO at one side tells, with the phases by the client's clock.
func (r *Result) Evidence(side diagnosis.Side) diagnosis.Evidence {
	from, course := diagnosis.FromSender, r.Sender
	if side == diagnosis.AtReceiver {
		from, course = diagnosis.FromReceiver, r.Receiver
	}
	// The last acknowledgement comes after the client has seen the end.
	e := from(diagnosis.Between(course, r.Ready, r.End.Add(r.RTT+100*time.Millisecond)))
	e.Upload = r.Upload
	e.Exchanges = diagnosis.Is(float64(max(r.Exchanges, 1)))
	r.Phases.Into(&e, r.TLS)
	return e
}

func (t Transfer) port() uint16 {
	if t.TLS {
		return 443
	}
	return 80
}

// Run does the transfer. Where dir is not "", both ends' packets are captured to sender.pcapng and
// receiver.pcapng there.
func (t Transfer) Run(ctx context.Context, dir string) (r *Result, err error) {
	conditions := link.Config{ToB: t.Back, ToA: t.Forward, Seed: t.Seed}
	if t.Upload {
		conditions.ToB, conditions.ToA = t.Forward, t.Back
	}
	l, err := conditions.Join()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	sender, receiver := l.B, l.A
	if t.Upload {
		sender, receiver = l.A, l.B
	}
	if t.InitialWindow > 0 {
		if err := initialWindow(sender, t.InitialWindow); err != nil {
			return nil, err
		}
	}
	if t.SendBuffer > 0 {
		if err := smallPieces(sender); err != nil {
			return nil, err
		}
	}
	s, err := t.serve(l.B)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if dir != "" {
		for name, ns := range map[string]*link.Namespace{"sender": sender, "receiver": receiver} {
			c, err := capture.Start(ns, dir+"/"+name+".pcapng", name)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
		}
	}
	r, err = t.fetch(ctx, l, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	toB, toA := l.Stats()
	r.Late = time.Duration(max(toB.Late.Quantile(.99), toA.Late.Quantile(.99)))
	r.Lost = toA.Lost + toA.Dropped
	if t.Upload {
		r.Lost = toB.Lost + toB.Dropped
	}
	return r, l.Err()
}

// initialWindow sets the first window on the routes of an end.
func initialWindow(ns *link.Namespace, segments int) error {
	return ns.Do(func() error {
		routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
		if err != nil {
			return err
		}
		for _, r := range routes {
			if r.Dst == nil {
				r.Dst = &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
			}
			r.InitCwnd = segments
			if err := netlink.RouteReplace(&r); err != nil {
				return fmt.Errorf("the initial window of route %v: %w", r.Dst, err)
			}
		}
		return nil
	})
}

// smallPieces makes the kernel build two segments at a time: it fills a piece that it has begun without another look at the
// send buffer, and pieces of 64 KB would make every buffer as large as that and more.
func smallPieces(ns *link.Namespace) error {
	return ns.Do(func() error {
		all, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, l := range all {
			if l.Attrs().Flags&net.FlagLoopback != 0 {
				continue
			}
			if err := netlink.LinkSetGSOMaxSegs(l, 2); err != nil {
				return fmt.Errorf("small pieces on %s: %w", l.Attrs().Name, err)
			}
		}
		return nil
	})
}

// fetch is the client.
func (t Transfer) fetch(ctx context.Context, l *link.Link, s *server) (*Result, error) {
	u := &url.URL{Scheme: "http", Host: name, Path: "/"}
	c := probe.Client{
		Protocol: wire.HTTP1, Timeout: 20 * time.Second, Every: every.Every, TLS: &tls.Config{RootCAs: s.roots},
		Dial: func(ctx context.Context, network, address string) (nc net.Conn, err error) {
			return nc, l.A.Do(func() error {
				nc, err = t.connect(ctx, network, address)
				return err
			})
		},
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (nc net.Conn, err error) {
			return nc, l.A.Do(func() error {
				var d net.Dialer
				nc, err = d.DialContext(ctx, "udp4", netip.AddrPortFrom(l.B.Addr, 53).String())
				return err
			})
		}},
	}
	c.Family = "4"
	if t.TLS {
		u.Scheme = "https"
	}
	method, body := "GET", []byte(nil)
	if t.Upload {
		method, body = "POST", bytes.Repeat([]byte{'x'}, t.Size)
	}
	if t.DNS == 0 {
		c.Addresses = map[string]netip.Addr{wire.Address(u): l.B.Addr}
	}
	request, err := wire.NewRequest(method, u.String(), nil, body)
	if err != nil {
		return nil, err
	}
	conn, err := c.Connect(ctx, u)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := &Result{Transfer: t, TLS: conn.TLS, Ready: time.Now()}
	for range max(t.Exchanges, 1) {
		a, err := conn.Do(ctx, request)
		if err != nil {
			return nil, err
		}
		if a.Status != 200 || !t.Upload && a.Body != int64(t.Size) {
			return nil, errors.New("status " + strconv.Itoa(a.Status) + ", " + strconv.FormatInt(a.Body, 10) + " bytes")
		}
		r.Phases = sum(r.Phases, a.Phases)
	}
	r.End = time.Now()
	near := conn.Course()
	conn.Close()
	far, err := s.last(ctx)
	if err != nil {
		return nil, err
	}
	r.Sender, r.Receiver = far, near
	if t.Upload {
		r.Sender, r.Receiver = near, far
	}
	return r, nil
}

// last is what was recorded at the server's end.
func (s *server) last(ctx context.Context) ([]tcpinfo.Sample, error) {
	select {
	case course := <-s.course:
		return course, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(5 * time.Second):
		return nil, errors.New("the server does not end the connection")
	}
}

func sum(a, b probe.Phases) probe.Phases {
	return probe.Phases{
		DNS: a.DNS + b.DNS, Connect: a.Connect + b.Connect, TLS: a.TLS + b.TLS,
		Send: a.Send + b.Send, Wait: a.Wait + b.Wait, Transfer: a.Transfer + b.Transfer,
	}
}

// connect is the client's end of the connection.
func (t Transfer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Control: func(network, address string, c syscall.RawConn) error {
		if !t.Upload {
			return t.receiveBuffer(c)
		}
		return tcpinfo.Control(t.Congestion)(network, address, c)
	}}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	t.tune(c, t.Upload)
	tcp, ok := c.(*net.TCPConn)
	if !ok || !t.Upload || t.Chunk == 0 && !t.Halves {
		return c, nil
	}
	return &writer{tcp, t}, nil
}

// writer writes as a slow or a careless program does.
type writer struct {
	*net.TCPConn
	t Transfer
}

func (w *writer) Write(b []byte) (int, error) {
	chunk := w.t.Chunk
	if w.t.Halves {
		chunk = (len(b) + 1) / 2
	}
	for n := 0; n < len(b); {
		if n > 0 {
			time.Sleep(w.t.Pause)
		}
		k, err := w.TCPConn.Write(b[n:min(n+chunk, len(b))])
		n += k
		if err != nil {
			return n, err
		}
	}
	return len(b), nil
}
