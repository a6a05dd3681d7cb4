package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// Mux is an HTTP/2 connection of a client, for many goroutines at a time. The protocol is
// golang.org/x/net's.
type Mux struct {
	cc *http2.ClientConn
	nc net.Conn
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
	return &Mux{cc, nc}, nil
}

// Do sends a request and reads the head of its response; the body has to be read to its
// end or closed. The end of ctx ends the exchange, not the connection.
func (m *Mux) Do(ctx context.Context, r *Request) (*Response, io.ReadCloser, error) {
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
	return &Response{Status: p.StatusCode, Length: p.ContentLength, Delimited: true, header: p.Header}, p.Body, nil
}

// Open says whether the connection takes more requests, now or after others have ended.
func (m *Mux) Open() bool {
	s := m.cc.State()
	return !s.Closed && !s.Closing
}

// Room says whether a request would be sent at once.
func (m *Mux) Room() bool { return m.cc.CanTakeNewRequest() }

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
