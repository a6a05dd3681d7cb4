package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/path/tcpinfo"
	"github.com/headway-lab/headway/wire"
)

// Client makes connections and times every step of them. The zero Client does what the system
// does by default.
type Client struct {
	// Resolver finds addresses; nil is the system's.
	Resolver *net.Resolver
	// Dial connects to an address, which is no name; nil is the system's way. The connection must be TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Addresses take the place of the resolver: "host:port" -> address, as in curl's --resolve.
	Addresses map[string]netip.Addr
	// Family is "" for any, "4" or "6".
	Family string
	// Congestion is the congestion control of what this side sends; "" is the system's.
	Congestion string
	Protocol   wire.Protocol
	TLS        *tls.Config   // roots and the like; nil is Go's defaults
	Timeout    time.Duration // of making a connection, and of each exchange; 0 is 30 s
	Every      time.Duration // between samples of TCP_INFO; 0 is 2 ms
}

const defaultTimeout = 30 * time.Second

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return defaultTimeout
}

// Phases is how long the steps of an exchange took, one after the other. What there was not, such as TLS under
// http, or a connection where there was one, is 0.
type Phases struct {
	DNS      time.Duration // the host's addresses
	Connect  time.Duration // the handshake of TCP: one round trip
	TLS      time.Duration // one round trip with TLS 1.3, two with 1.2
	Send     time.Duration // the request, handed to the kernel
	Wait     time.Duration // from there to the first byte of the answer: one round trip, and the server's thinking
	Transfer time.Duration // from there to its last byte
}

// Total is the time of the whole exchange.
func (p Phases) Total() time.Duration {
	return p.DNS + p.Connect + p.TLS + p.Send + p.Wait + p.Transfer
}

// Into writes the phases where a diagnosis looks for them; of TLS, nil without, it wants the version.
func (p Phases) Into(e *diagnosis.Evidence, t *tls.ConnectionState) {
	e.DNS, e.Connect, e.TLS = diagnosis.Is(p.DNS.Seconds()), diagnosis.Is(p.Connect.Seconds()), diagnosis.Is(p.TLS.Seconds())
	e.Send, e.Wait, e.Transfer = diagnosis.Is(p.Send.Seconds()), diagnosis.Is(p.Wait.Seconds()), diagnosis.Is(p.Transfer.Seconds())
	if t != nil {
		e.TLSRounds = diagnosis.Is(1)
		if t.Version < tls.VersionTLS13 {
			e.TLSRounds = diagnosis.Is(2)
		}
	}
}

// A StepError says which step of an exchange failed.
type StepError struct {
	Step string // "name", "connect", "TLS", "request", "answer"
	Err  error
}

func (e *StepError) Error() string {
	switch e.Step {
	case "name":
		return "finding the host: " + e.Err.Error()
	case "TLS":
		return "TLS: " + e.Err.Error()
	}
	return e.Err.Error()
}

func (e *StepError) Unwrap() error { return e.Err }

// Conn is a connection that exchanges can go over, one at a time.
type Conn struct {
	Phases  Phases // of making it
	Begin   time.Time
	Remote  netip.AddrPort
	HTTP2   bool
	TLS     *tls.ConnectionState // nil without
	timeout time.Duration

	sampling tcpinfo.Sampling

	url     *url.URL
	raw     net.Conn
	opening *opening
	rec     *tcpinfo.Recorder
	nc      net.Conn
	h1      *wire.Conn
	h2      *wire.Mux
	used    bool
}

// Connect makes a connection to the server of a URL. Errors are of type *StepError.
func (c *Client) Connect(ctx context.Context, u *url.URL) (_ *Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	x := &Conn{Begin: time.Now(), timeout: c.timeout(), sampling: c.sampling(), url: u}
	addresses, port, err := c.find(ctx, u)
	x.Phases.DNS = time.Since(x.Begin)
	if err != nil {
		return nil, &StepError{"name", err}
	}
	if len(addresses) == 1 && c.literal(u) {
		x.Phases.DNS = 0
	}
	begin := time.Now()
	if x.raw, err = c.dial(ctx, addresses, port); err != nil {
		return nil, &StepError{"connect", err}
	}
	x.Phases.Connect = time.Since(begin)
	defer func() {
		if err != nil {
			x.Close()
		}
	}()
	if x.rec, err = tcpinfo.Record(x.raw, x.sampling); err != nil {
		return nil, &StepError{"connect", err}
	}
	if a, ok := x.raw.RemoteAddr().(*net.TCPAddr); ok {
		x.Remote = a.AddrPort()
	}
	x.opening = &opening{Conn: x.raw}
	x.nc, x.HTTP2 = x.opening, c.Protocol == wire.HTTP2
	if u.Scheme == "https" {
		begin = time.Now()
		if err = c.handshake(ctx, x, u); err != nil {
			return nil, &StepError{"TLS", x.why(c.noProtocol(err))}
		}
		x.Phases.TLS = time.Since(begin)
	}
	if x.HTTP2 {
		if x.h2, err = wire.NewMux(x.nc); err != nil {
			return nil, &StepError{"connect", err}
		}
	} else {
		x.h1 = wire.NewConn(x.nc)
	}
	return x, nil
}

// literal says whether there is nothing to look up.
func (c *Client) literal(u *url.URL) bool {
	if _, ok := c.Addresses[wire.Address(u)]; ok {
		return true
	}
	_, err := netip.ParseAddr(u.Hostname())
	return err == nil
}

// find returns the addresses of the server.
func (c *Client) find(ctx context.Context, u *url.URL) ([]netip.Addr, string, error) {
	address := wire.Address(u)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	if a, ok := c.Addresses[address]; ok {
		return []netip.Addr{a}, port, nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, port, nil
	}
	r := c.Resolver
	if r == nil {
		r = net.DefaultResolver
	}
	all, err := r.LookupNetIP(ctx, "ip"+c.Family, host)
	for i := range all {
		all[i] = all[i].Unmap()
	}
	return all, port, err
}

// dial tries one address after the other, each with its share of the time that is left.
func (c *Client) dial(ctx context.Context, addresses []netip.Addr, port string) (net.Conn, error) {
	connect := c.Dial
	if connect == nil {
		d := net.Dialer{Control: tcpinfo.Control(c.Congestion)}
		connect = d.DialContext
	}
	var first error
	for i, a := range addresses {
		try, cancel := ctx, context.CancelFunc(func() {})
		if end, ok := ctx.Deadline(); ok && i < len(addresses)-1 {
			try, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(len(addresses)-i))
		}
		nc, err := connect(try, "tcp"+c.Family, net.JoinHostPort(a.String(), port))
		cancel()
		if err == nil {
			return nc, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	if first == nil {
		first = errors.New("the name has no address")
	}
	return nil, first
}

func (c *Client) handshake(ctx context.Context, x *Conn, u *url.URL) error {
	config := &tls.Config{}
	if c.TLS != nil {
		config = c.TLS.Clone()
	}
	if config.ServerName == "" {
		host, _, _ := net.SplitHostPort(wire.Address(u))
		config.ServerName = host
	}
	config.NextProtos = map[wire.Protocol][]string{
		wire.Auto: {"h2", "http/1.1"}, wire.HTTP1: {"http/1.1"}, wire.HTTP2: {"h2"},
	}[c.Protocol]
	t := tls.Client(x.opening, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return err
	}
	s := t.ConnectionState()
	x.nc, x.TLS, x.HTTP2 = t, &s, s.NegotiatedProtocol == "h2"
	if c.Protocol == wire.HTTP2 && !x.HTTP2 {
		return errNo2
	}
	return nil
}

// sampling is how TCP_INFO is read.
func (c *Client) sampling() tcpinfo.Sampling { return tcpinfo.Sampling{Every: c.Every, Most: 1 << 13} }

// Course is the samples of TCP_INFO so far.
func (x *Conn) Course() []tcpinfo.Sample { return x.rec.Course() }

// Again forgets the samples so far, for the next exchange to have its own.
func (x *Conn) Again() error {
	x.rec.Stop()
	r, err := tcpinfo.Record(x.raw, x.sampling)
	if err == nil {
		x.rec = r
	}
	return err
}

// Close takes a last sample and ends the connection.
func (x *Conn) Close() error {
	if x.rec != nil {
		x.rec.Stop()
	}
	if x.h2 != nil {
		x.h2.Close()
	}
	return x.raw.Close()
}
