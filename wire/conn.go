package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// MaxHead is how long the head of a response may be, in bytes: what HAProxy, nginx and
// curl allow, and more.
const MaxHead = 256 << 10

// maxInterim is how many responses of class 1xx may come before the final one.
const maxInterim = 8

// The size of a connection's read buffer until a head needs more.
const bufSize = 16 << 10

// Conn is an HTTP/1.1 connection of a client, for one goroutine at a time, and one
// exchange at a time: Send, then Receive (or Exchange, which is both), then Read until io.EOF or
// Discard.
type Conn struct {
	nc   net.Conn
	buf  []byte // buf[r:w] is read and not yet used
	r, w int

	resp   Response
	method string // of the request that was sent last
	state  state
	left   int64 // of the body, or of the chunk
	shut   bool  // the connection cannot be used again after this exchange

	first    time.Time // of the response's first byte
	sent, in int64     // bytes
	fault    error     // what has gone wrong, for good

	tcp tcp
}

type state uint8

const (
	idle    state = iota // no exchange is under way
	waiting              // for a head
	sized                // left bytes of the body are to come
	chunk                // left bytes of a chunk are to come
	between              // the size of a chunk comes next
	toEOF                // the body ends with the connection
)

// Response is the head of a response. It belongs to its connection, and is good until the next
// request is sent there.
type Response struct {
	Status int
	Length int64 // of the body in bytes, -1 where it is not told beforehand
	// Delimited says that the end of the body can be told from a connection that broke.
	Delimited bool

	head   []byte      // header lines, as they came
	header http.Header // where they came over HTTP/2
}

// NewConn makes a connection of what carries bytes: TCP, TLS, a pipe.
func NewConn(nc net.Conn) *Conn {
	c := &Conn{nc: nc, buf: make([]byte, bufSize)}
	c.readTCP()
	return c
}

// Send sends a request. An error is the network's, or that the exchange before is not over.
func (c *Conn) Send(r *Request) error {
	if r.bytes == nil {
		return errUnmade
	}
	if c.fault != nil {
		return c.fault
	}
	if c.state != idle {
		return errors.New("wire: a request was sent before the response to the last one was read")
	}
	if c.r != c.w {
		return c.fail(errUnasked)
	}
	c.r, c.w, c.first = 0, 0, time.Time{}
	n, err := c.nc.Write(r.bytes)
	c.sent += int64(n)
	if err != nil {
		// The server may have said why before it hung up, such as 413.
		c.shut = true
		if n == 0 {
			return c.fail(err)
		}
	}
	c.method, c.state, c.shut = r.Method, waiting, c.shut || r.last
	return nil
}

// Receive reads the head of the response; responses of class 1xx are skipped. An error
// ends the connection; it is io.ErrUnexpectedEOF where the connection ended inside the
// head, and wraps [ErrNoResponse] where it ended before.
func (c *Conn) Receive() (*Response, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	if c.state != waiting {
		return nil, errors.New("wire: no request was sent")
	}
	for range maxInterim + 1 {
		n, err := c.fillHead()
		if err != nil {
			return nil, c.fail(err)
		}
		head := c.buf[c.r : c.r+n]
		c.r += n
		if err := c.parse(head); err != nil {
			return nil, c.fail(err)
		}
		switch s := c.resp.Status; {
		case s == http.StatusSwitchingProtocols:
			return nil, c.fail(errors.New("the server wants another protocol than HTTP/1.1, unasked"))
		case s >= 200:
			return &c.resp, nil
		}
	}
	return nil, c.fail(fmt.Errorf("more than %d responses of class 1xx in a row", maxInterim))
}

// ErrNoResponse says that a connection ended before a response began. A server that
// has ended an idle connection looks like this.
var ErrNoResponse = errors.New("the server ended the connection without a response")

var (
	errUnasked = errors.New("the server sent what nobody had asked for")
	errLong    = fmt.Errorf("the head of the response is longer than %d KiB", MaxHead>>10)
)

// fillHead reads until the empty line that ends a head, and returns the head's length with it.
func (c *Conn) fillHead() (int, error) {
	seen := c.r
	for {
		n := headEnd(c.buf[c.r:c.w], seen-c.r)
		if n > MaxHead || n == 0 && c.w-c.r >= MaxHead {
			return 0, errLong
		}
		if n > 0 {
			return n, nil
		}
		seen = max(c.r, c.w-3)
		if c.w == len(c.buf) {
			if c.r > 0 {
				seen -= c.r
				copy(c.buf, c.buf[c.r:c.w])
				c.r, c.w = 0, c.w-c.r
			} else {
				c.buf = append(c.buf, make([]byte, len(c.buf))...)
			}
		}
		var err error
		n, err = c.nc.Read(c.buf[c.w:])
		c.in += int64(n)
		c.w += n
		if n > 0 {
			if c.first.IsZero() {
				c.first = time.Now()
			}
			continue
		}
		switch {
		case err == nil:
		case c.first.IsZero() && (errors.Is(err, io.EOF) || isReset(err)):
			return 0, fmt.Errorf("%w: %w", ErrNoResponse, err)
		case errors.Is(err, io.EOF):
			return 0, io.ErrUnexpectedEOF
		default:
			return 0, err
		}
	}
}

// headEnd returns the length of the head that b begins with, or 0 if it does not end
// there. Lines may end without a carriage return (RFC 9112, 2.2); from is where to look.
func headEnd(b []byte, from int) int {
	for from < len(b) {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0
		}
		from += i + 1
		switch rest := b[from:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return from + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return from + 2
		}
	}
	return 0
}

// parse reads a head and says how its body ends (RFC 9112, 6.3).
func (c *Conn) parse(head []byte) error {
	line, rest := cutLine(head)
	major, minor, status, err := statusLine(line)
	if err != nil {
		return err
	}
	if major != 1 {
		return fmt.Errorf("the response is of HTTP/%d.%d, not HTTP/1.1", major, minor)
	}
	r := &c.resp
	*r = Response{Status: status, Length: -1, head: append(r.head[:0], rest...)}
	length, chunked := int64(-1), false
	keep, shut := false, false
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		name, value, err := field(line)
		if err != nil {
			return err
		}
		switch len(name) {
		case len("Connection"):
			if equalFold(name, "connection") {
				shut = shut || listed(value, "close")
				keep = keep || listed(value, "keep-alive")
			}
		case len("Content-Length"):
			if !equalFold(name, "content-length") {
				break
			}
			n, err := decimal(value)
			if err != nil {
				return fmt.Errorf("Content-Length %.40q is no length", value)
			}
			if length >= 0 && length != n {
				return fmt.Errorf("the response has two lengths: %d and %d", length, n)
			}
			length = n
		case len("Transfer-Encoding"):
			if !equalFold(name, "transfer-encoding") {
				break
			}
			if chunked || !equalFold(value, "chunked") {
				return fmt.Errorf("Transfer-Encoding %.40q is not known", value)
			}
			chunked = true
		}
	}
	c.shut = c.shut || shut || minor == 0 && !keep
	switch {
	case status < 200:
		return nil
	case c.method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified:
		r.Length, r.Delimited = 0, true
		c.end()
	case chunked:
		if minor == 0 {
			return errors.New("a response of HTTP/1.0 has a Transfer-Encoding")
		}
		if length >= 0 {
			// RFC 9112, 6.1: ought to be treated as an error; somebody smuggles.
			return errors.New("the response has both a Content-Length and a Transfer-Encoding")
		}
		c.state, r.Delimited = between, true
		c.left = -1
	case length == 0:
		r.Length, r.Delimited = 0, true
		c.end()
	case length > 0:
		c.state, c.left = sized, length
		r.Length, r.Delimited = length, true
	default:
		c.state, c.shut = toEOF, true
	}
	return nil
}

// end ends an exchange.
func (c *Conn) end() { c.state = idle }

// fail makes an error the last thing that this connection does.
func (c *Conn) fail(err error) error {
	c.fault, c.shut = err, true
	return err
}

// Header returns the value of the first header of that name, "" where there is none.
func (r *Response) Header(name string) string {
	if r.header != nil {
		return r.header.Get(name)
	}
	for rest := r.head; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		if len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(string(line[:len(name)]), name) {
			return string(trim(line[len(name)+1:]))
		}
	}
	return ""
}

// Values returns the values of all headers of that name, in order.
func (r *Response) Values(name string) []string {
	if r.header != nil {
		return r.header.Values(name)
	}
	var all []string
	for rest := r.head; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		if len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(string(line[:len(name)]), name) {
			all = append(all, string(trim(line[len(name)+1:])))
		}
	}
	return all
}

// Reusable says whether another request may be sent: the last exchange is over, and
// neither side has said that it ends the connection.
func (c *Conn) Reusable() bool {
	return c.state == idle && !c.shut && c.fault == nil && c.r == c.w
}

// FirstByte is when the first byte of the last response came, interim ones included; zero if none has come.
func (c *Conn) FirstByte() time.Time { return c.first }

// Bytes returns how many bytes have been sent and received, with heads and framing.
func (c *Conn) Bytes() (sent, received int64) { return c.sent, c.in }

// SetDeadline bounds what is sent and received from now on, as net.Conn has it.
func (c *Conn) SetDeadline(t time.Time) error { return c.nc.SetDeadline(t) }

// NetConn returns what carries the bytes.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Close ends the connection.
func (c *Conn) Close() error { return c.nc.Close() }
