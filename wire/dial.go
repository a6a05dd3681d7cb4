package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Protocol says which HTTP is spoken.
type Protocol int

const (
	// Auto takes HTTP/2 where the server offers it under TLS, and HTTP/1.1 elsewhere.
	Auto Protocol = iota
	HTTP1
	// HTTP2 insists: under TLS the server has to agree, without it the connection begins
	// with HTTP/2 unasked ("h2c, prior knowledge").
	HTTP2
)

// Phases is how long the steps of a new connection took; what there was not, such as TLS
// under http or a name where the URL has an address, is 0.
type Phases struct {
	Name, Connect, TLS time.Duration
}

// Dialer makes connections to the servers of URLs. The zero Dialer waits as long as the
// system does.
type Dialer struct {
	// ConnectTimeout bounds resolving the name and connecting together, TLSTimeout the
	// handshake; 0 is no bound.
	ConnectTimeout, TLSTimeout time.Duration
	Protocol                   Protocol
	// TLS holds what is not said by the URL, such as roots; nil is Go's defaults. NextProtos is ignored.
	TLS *tls.Config
	// At, as host:port, is where every connection goes, whatever the URL says; "" is the URL's own.
	At string
	// Control is as in net.Dialer.
	Control func(network, address string, c syscall.RawConn) error
}

// A DialError says which step of making a connection failed.
type DialError struct {
	Step string // "name", "connect", "TLS"
	Err  error
}

func (e *DialError) Error() string {
	switch e.Step {
	case "name":
		return "finding the host: " + e.Err.Error()
	case "TLS":
		return "TLS: " + e.Err.Error()
	}
	return e.Err.Error()
}

func (e *DialError) Unwrap() error { return e.Err }

// Dial connects to the server of a URL and says whether it speaks HTTP/2. Errors are
// of type *DialError.
func (d *Dialer) Dial(ctx context.Context, u *url.URL) (nc net.Conn, http2 bool, p Phases, err error) {
	nc, p, err = d.connect(ctx, u)
	if err != nil {
		return nil, false, p, err
	}
	if u.Scheme != "https" {
		return nc, d.Protocol == HTTP2, p, nil
	}
	begin := time.Now()
	nc, http2, err = d.handshake(ctx, nc, u)
	p.TLS = time.Since(begin)
	return nc, http2, p, err
}

func (d *Dialer) connect(ctx context.Context, u *url.URL) (net.Conn, Phases, error) {
	var p Phases
	if d.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.ConnectTimeout)
		defer cancel()
	}
	address := d.At
	if address == "" {
		address = Address(u)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, p, &DialError{"name", err}
	}
	begin := time.Now()
	addresses := []string{address}
	if _, err := netip.ParseAddr(host); err != nil {
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		p.Name = time.Since(begin)
		if err != nil {
			return nil, p, &DialError{"name", err}
		}
		addresses = addresses[:0]
		for _, ip := range ips {
			addresses = append(addresses, net.JoinHostPort(ip.Unmap().String(), port))
		}
	}
	begin = time.Now()
	var nd net.Dialer
	nd.KeepAlive = 15 * time.Second
	if d.Control != nil {
		nd.Control = d.Control
	}
	var first error
	for i, a := range addresses {
		// Each address gets its share of the time that is left.
		try, cancel := ctx, context.CancelFunc(func() {})
		if end, ok := ctx.Deadline(); ok && i < len(addresses)-1 {
			try, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(len(addresses)-i))
		}
		nc, err := nd.DialContext(try, "tcp", a)
		cancel()
		if err == nil {
			p.Connect = time.Since(begin)
			return nc, p, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	p.Connect = time.Since(begin)
	return nil, p, &DialError{"connect", first}
}

func (d *Dialer) handshake(ctx context.Context, nc net.Conn, u *url.URL) (net.Conn, bool, error) {
	if d.TLSTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.TLSTimeout)
		defer cancel()
	}
	config := &tls.Config{}
	if d.TLS != nil {
		config = d.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName, _ = asciiHost(u.Hostname())
	}
	config.NextProtos = map[Protocol][]string{
		Auto: {"h2", "http/1.1"}, HTTP1: {"http/1.1"}, HTTP2: {"h2"},
	}[d.Protocol]
	c := tls.Client(nc, config)
	if err := c.HandshakeContext(ctx); err != nil {
		nc.Close()
		if d.Protocol == HTTP2 && noProtocol(err) {
			err = errors.New("the server does not offer HTTP/2")
		}
		return nil, false, &DialError{"TLS", err}
	}
	agreed := c.ConnectionState().NegotiatedProtocol
	if d.Protocol == HTTP2 && agreed != "h2" {
		c.Close()
		return nil, false, &DialError{"TLS", errors.New("the server does not offer HTTP/2")}
	}
	if agreed != "" && !slices.Contains(config.NextProtos, agreed) {
		c.Close()
		return nil, false, &DialError{"TLS", fmt.Errorf("the server wants to speak %q", agreed)}
	}
	return c, agreed == "h2", nil
}

// noProtocol says whether a handshake failed because there is no protocol in common.
func noProtocol(err error) bool {
	return strings.HasSuffix(err.Error(), tls.AlertError(120).Error()) // RFC 7301, 3.2
}
