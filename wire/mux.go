package wire

//lint:file-ignore SA1019 net/http's own ClientConn cannot ping, nor begin on a connection that is there.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// Mux is an HTTP/2 connection of a client, for many goroutines at a time. The protocol is
// golang.org/x/net's.
type Mux struct {
	cc *http2.ClientConn
	nc net.Conn

	// For the transport, under its lock: exchanges begun and not ended, and whether there may
	// be no others. The library's own reservations hang where a server allows fewer
	// streams than have been reserved.
	users int
	gone  bool
}

// h2 makes connections of those that are there; it never dials.
var h2 = &http2.Transport{
	DisableCompression: true,
	AllowHTTP:          true,
	MaxReadFrameSize:   64 << 10,
	// A server that allows fewer streams than there are requests makes them wait, not fail.
	StrictMaxConcurrentStreams: true,
}

// NewMux begins HTTP/2 on a connection.
func NewMux(nc net.Conn) (*Mux, error) {
	cc, err := h2.NewClientConn(nc)
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &Mux{cc: cc, nc: nc}, nil
}

// Do sends a request and reads the head of its response; the body has to be read to its
// end or closed. The end of ctx ends the exchange, not the connection.
func (m *Mux) Do(ctx context.Context, r *Request) (*Response, io.ReadCloser, error) {
	if r.bytes == nil {
		return nil, nil, errUnmade
	}
	q := &http.Request{
		Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header,
		Proto: "HTTP/2.0", ProtoMajor: 2,
	}
	if len(r.Body) > 0 {
		q.Body = io.NopCloser(bytes.NewReader(r.Body))
		q.ContentLength = int64(len(r.Body))
	}
	p, err := m.cc.RoundTrip(q.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	length := p.ContentLength
	if r.Method == http.MethodHead || p.StatusCode == http.StatusNotModified {
		// What is told is the length of a body that does not come, and the library misses it.
		length = 0
		io.Copy(io.Discard, p.Body)
		p.Body.Close()
		p.Body = http.NoBody
	}
	return &Response{Status: p.StatusCode, Length: length, Delimited: true, header: p.Header}, p.Body, nil
}

// Open says whether the connection takes more requests, now or after others have ended.
func (m *Mux) Open() bool {
	s := m.cc.State()
	return !s.Closed && !s.Closing
}

// Room says whether a request would be sent at once.
func (m *Mux) Room() bool {
	s := m.cc.State()
	return m.Open() && s.StreamsActive+s.StreamsPending < m.most()
}

// most is how many exchanges the server allows at a time; until it has said, the library
// begins no more than these.
func (m *Mux) most() int {
	if n := m.cc.State().MaxConcurrentStreams; n > 0 {
		return int(n)
	}
	return 100
}

// Refused says whether the server has not looked at a request, so that it may be sent again (RFC 9113, 8.7). The library
// tells a stream later than a GOAWAY knows, and one that was not begun, by words alone.
func Refused(err error) bool {
	if e := (http2.StreamError{}); errors.As(err, &e) {
		return e.Code == http2.ErrCodeRefusedStream
	}
	return strings.Contains(err.Error(), "graceful shutdown GOAWAY") || strings.Contains(err.Error(), "client conn not usable")
}

// Streams is how many exchanges are under way.
func (m *Mux) Streams() int { return m.cc.State().StreamsActive }

// Ping measures a round trip to the server without a request.
func (m *Mux) Ping(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	err := m.cc.Ping(ctx)
	return time.Since(begin), err
}

// Close ends the connection and what is under way on it.
func (m *Mux) Close() error { return m.cc.Close() }
