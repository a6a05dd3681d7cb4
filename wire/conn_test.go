package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// script is a connection to a server that says what is written here, whatever it is asked.
type script struct {
	net.Conn
	says  []byte
	piece func() int // how much is read at once at most; nil is all
	end   error      // after all was said; nil is io.EOF
	deaf  error      // what writing gives
	dead  bool       // what writing gives before anything was written
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.says) == 0 {
		if s.end != nil {
			return 0, s.end
		}
		return 0, io.EOF
	}
	if s.piece != nil {
		p = p[:min(len(p), s.piece())]
	}
	n := copy(p, s.says)
	s.says = s.says[n:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error) {
	if s.dead {
		return 0, syscall.EPIPE
	}
	return len(p), s.deaf
}

func bytewise() int { return 1 }

func request(t testing.TB, method string) *Request {
	t.Helper()
	return must[*Request](t)(NewRequest(method, "http://example.org/", nil, nil))
}

// An outcome is all that an exchange tells.
type outcome struct {
	Status     int
	Length     int64
	Body       string
	Err        string // of the head or of the body
	Reusable   bool
	Undefended bool // the end of the body cannot be told from a broken connection
}

func exchange(c *Conn, r *Request) (o outcome) {
	if err := c.Send(r); err != nil {
		return outcome{Err: err.Error()}
	}
	h, err := c.Receive()
	if err != nil {
		return outcome{Err: err.Error()}
	}
	body, err := io.ReadAll(c)
	o = outcome{Status: h.Status, Length: h.Length, Body: string(body), Reusable: c.Reusable(), Undefended: !h.Delimited}
	if err != nil {
		o.Err = err.Error()
	}
	return o
}

const ok = "HTTP/1.1 200 OK\r\n"

// Where a response ends, and what is none (RFC 9112).
func TestFraming(t *testing.T) {
	hello := outcome{Status: 200, Length: 5, Body: "hello", Reusable: true}
	chunked := outcome{Status: 200, Length: -1, Body: "hello", Reusable: true}
	empty := outcome{Status: 200, Reusable: true}
	last := func(o outcome) outcome { o.Reusable = false; return o }
	fails := func(s string) outcome { return outcome{Err: s} }
	breaks := func(length int64, body, s string) outcome {
		return outcome{Status: 200, Length: length, Body: body, Err: s}
	}
	const te = ok + "Transfer-Encoding: chunked\r\n"
	for _, x := range []struct {
		method, says string
		want         outcome
	}{
		{"GET", ok + "Content-Length: 5\r\n\r\nhello", hello},
		{"GET", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", hello},
		{"GET", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", hello},
		{"GET", "HTTP/1.1 200 caf\xe9\r\nContent-Length: 5\r\n\r\nhello", hello},
		{"GET", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", hello},
		{"GET", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\nhello", hello},
		{"GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello", hello},
		{"GET", "HTTP/1.7 200 OK\r\nContent-Length: 5\r\n\r\nhello", hello},
		{"GET", ok + "CONTENT-LENGTH:\t 5 \t\r\n\r\nhello", hello},
		{"GET", ok + "X:\r\nY: a:b: \xff\r\nContent-Length:5\r\n\r\nhello", hello},
		{"GET", ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", hello},
		{"GET", ok + "Content-Length: 5\r\nContent-Length: 05\r\n\r\nhello", hello},
		{"GET", ok + "Content-Length: 0\r\n\r\n", empty},
		{"GET", ok + "Content-Length: 5\r\nConnection: close\r\n\r\nhello", last(hello)},
		{"GET", ok + "Content-Length: 5\r\nConnection: foo , CLOSE\r\n\r\nhello", last(hello)},
		{"GET", ok + "Content-Length: 5\r\nConnection: keep-alive\r\nConnection: close\r\n\r\nhello", last(hello)},
		{"GET", ok + "Content-Length: 5\r\nConnection: closed\r\n\r\nhello", hello},
		{"GET", ok + "Content-Length: 5\r\n\r\nhello!", last(hello)},
		{"GET", ok + "Content-Length: 0\r\n\r\n!", last(empty)},

		{"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", last(hello)},
		{"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive\r\n\r\nhello", hello},
		{"GET", "HTTP/1.0 200 OK\r\n\r\nhello", outcome{Status: 200, Length: -1, Body: "hello", Undefended: true}},
		{"GET", ok + "\r\nhello", outcome{Status: 200, Length: -1, Body: "hello", Undefended: true}},
		{"GET", ok + "\r\n", outcome{Status: 200, Length: -1, Undefended: true}},
		{"GET", ok + "Connection: keep-alive\r\n\r\nhello", outcome{Status: 200, Length: -1, Body: "hello", Undefended: true}},

		{"HEAD", ok + "Content-Length: 5\r\n\r\n", empty},
		{"HEAD", ok + "Transfer-Encoding: chunked\r\n\r\n", empty},
		{"HEAD", ok + "\r\n", empty},
		{"HEAD", "HTTP/1.0 200 OK\r\n\r\n", last(empty)},
		{"HEAD", ok + "Content-Length: 5\r\n\r\nhello!", last(empty)},
		{"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", outcome{Status: 204, Reusable: true}},
		{"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", outcome{Status: 304, Reusable: true}},
		{"GET", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", outcome{Status: 304, Reusable: true}},
		{"GET", "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", outcome{Status: 205, Reusable: true}},
		{"GET", "HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n", outcome{Status: 999, Reusable: true}},

		{"GET", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", hello},
		{"GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", hello},
		{"GET", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInterim) + ok + "Content-Length: 5\r\n\r\nhello", hello},
		{"GET", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInterim+1) + ok + "Content-Length: 5\r\n\r\nhello", fails("in a row")},
		{"GET", "HTTP/1.1 100 Continue\r\nTransfer-Encoding: gzip\r\n\r\n", fails("gzip")},
		{"GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", fails("another protocol")},
		{"GET", "HTTP/1.1 100 Continue\r\n\r\n", fails("unexpected EOF")},

		{"GET", te + "\r\n5\r\nhello\r\n0\r\n\r\n", chunked},
		{"GET", te + "\r\n05\r\nhello\r\n000\r\n\r\n", chunked},
		{"GET", te + "\r\n2\r\nhe\r\n3 ; a=b;c=\"d\"\r\nllo\r\n0;x\r\n\r\n", chunked},
		{"GET", te + "\r\n5 \t\r\nhello\r\n0\r\n\r\n", chunked},
		{"GET", te + "\r\n5\r\nhello\r\n0\r\nDigest: x\r\nB:\r\n\r\n", chunked},
		{"GET", te + "\r\na\r\nhellohello\r\n0\r\n\r\n", outcome{Status: 200, Length: -1, Body: "hellohello", Reusable: true}},
		{"GET", te + "\r\nA\r\nhellohello\r\n0\r\n\r\n!", outcome{Status: 200, Length: -1, Body: "hellohello"}},
		{"GET", te + "\r\n0\r\n\r\n", outcome{Status: 200, Length: -1, Reusable: true}},
		{"GET", te + "Connection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n", last(chunked)},
		{"GET", ok + "tRANSFER-eNCODING: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n", chunked},
		{"GET", te + "\r\n\r\n", breaks(-1, "", "is no size")},
		{"GET", te + "\r\n 5\r\nhello", breaks(-1, "", "is no size")},
		{"GET", te + "\r\n-5\r\nhello", breaks(-1, "", "is no size")},
		{"GET", te + "\r\n0x5\r\nhello", breaks(-1, "", "is no size")},
		{"GET", te + "\r\n5 5\r\nhello", breaks(-1, "", "is no size")},
		{"GET", te + "\r\n5;a\rb\r\nhello", breaks(-1, "", "is no size")},
		{"GET", te + "\r\n8000000000000000\r\nhello", breaks(-1, "", "too large")},
		{"GET", te + "\r\n7fffffffffffffff\r\nhello", breaks(-1, "hello", "unexpected EOF")},
		{"GET", te + "\r\n10000000000000005\r\nhello", breaks(-1, "", "too large")},
		{"GET", te + "\r\n00000000000000005\r\nhello", breaks(-1, "", "too large")},
		{"GET", te + "\r\n5;" + strings.Repeat("x", maxChunkLine) + "\r\nhello", breaks(-1, "", "too long")},
		{"GET", te + "\r\n5\r\nhello!\r\n", breaks(-1, "hello", "longer than it said")},
		{"GET", te + "\r\n5\nhello\r\n0\r\n\r\n", breaks(-1, "", "CR LF")},
		{"GET", te + "\r\n5\r\nhello\n0\r\n\r\n", breaks(-1, "hello", "CR LF")},
		{"GET", te + "\r\n5\r\nhello\r\n0\r\n\n", breaks(-1, "hello", "CR LF")},
		{"GET", te + "\r\n0\r\nno header\r\n\r\n", breaks(-1, "", "no header")},
		{"GET", te + "\r\n0\r\na: \x00\r\n\r\n", breaks(-1, "", "control")},
		{"GET", te + "\r\n0\r\n" + strings.Repeat("a: "+strings.Repeat("b", 1000)+"\r\n", maxTrailer/1000) + "\r\n", breaks(-1, "", "too long")},

		{"GET", te + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", fails("not known")},
		{"GET", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", fails("not known")},
		{"GET", ok + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", fails("not known")},
		{"GET", ok + "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n", fails("not known")},
		{"GET", ok + "Transfer-Encoding:\r\n\r\n0\r\n\r\n", fails("not known")},
		{"GET", ok + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", fails("control")},
		{"GET", te + "Content-Length: 5\r\n\r\n0\r\n\r\n", fails("both")},
		{"GET", ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", fails("both")},
		{"GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", fails("HTTP/1.0")},

		{"GET", ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", fails("two lengths: 5 and 6")},
		{"GET", ok + "Content-Length: 5, 5\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: +5\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: -5\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: 0x5\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: 5 5\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length:\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: 18446744073709551621\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: 9223372036854775808\r\n\r\nhello", fails("no length")},
		{"GET", ok + "Content-Length: 922337203685477580\r\n\r\nhello", breaks(922337203685477580, "hello", "unexpected EOF")},
		{"HEAD", ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", fails("two lengths")},

		{"GET", ok + "Content-Length : 5\r\n\r\nhello", fails("no header")},
		{"GET", ok + " Content-Length: 5\r\n\r\nhello", fails("no header")},
		{"GET", ok + "X: a\r\n folded\r\n\r\nhello", fails("no header")},
		{"GET", ok + "X: a\r\n\t\r\n\r\nhello", fails("no header")},
		{"GET", ok + "Content Length: 5\r\n\r\nhello", fails("no header")},
		{"GET", ok + ": 5\r\n\r\nhello", fails("no header")},
		{"GET", ok + "hello\r\n\r\nhello", fails("no header")},
		{"GET", ok + "X\x00: 5\r\n\r\nhello", fails("no header")},
		{"GET", ok + "X: a\x00b\r\n\r\nhello", fails("control")},
		{"GET", ok + "X: a\rContent-Length: 5\r\n\r\nhello", fails("control")},
		{"GET", ok + "X: a\r\r\n\r\nhello", fails("control")},
		{"GET", ok + "X: a\x7f\r\n\r\nhello", fails("control")},

		{"GET", "HTTP/1.1 200 OK\rX: a\r\n\r\nhello", fails("does not speak")},
		{"GET", "HTTP/2.0 200 OK\r\n\r\n", fails("HTTP/2.0")},
		{"GET", "HTTP/0.9 200 OK\r\n\r\n", fails("HTTP/0.9")},
		{"GET", "HTTP/1.1 099 OK\r\n\r\n", fails("no status 099")},
		{"GET", "HTTP/1.1 20 OK\r\n\r\n", fails("does not speak")},
		{"GET", "HTTP/1.1 2000 OK\r\n\r\n", fails("does not speak")},
		{"GET", "HTTP/1.1 +20 OK\r\n\r\n", fails("does not speak")},
		{"GET", "HTTP/1.1  200 OK\r\n\r\n", fails("does not speak")},
		{"GET", "HTTP/1.1\t200 OK\r\n\r\n", fails("does not speak")},
		{"GET", "HTTP/1.10 200 OK\r\n\r\n", fails("does not speak")},
		{"GET", "http/1.1 200 OK\r\n\r\n", fails("does not speak")},
		{"GET", "\r\n\r\n" + ok + "\r\n", fails("does not speak")},
		{"GET", "SSH-2.0-x\r\n\r\n", fails("does not speak HTTP/1: \"SSH-2.0-x\"")},
		{"GET", "HTTP/1.1 200 OK\r\n", fails("unexpected EOF")},
		{"GET", "", fails("without a response: EOF")},
	} {
		for way, piece := range map[string]func() int{"at once": nil, "bytewise": bytewise} {
			got := exchange(NewConn(&script{says: []byte(x.says), piece: piece}), request(t, x.method))
			// Bytes after the end are seen where they come with it.
			if strings.HasSuffix(x.says, "!") && way == "bytewise" {
				got.Reusable = false
			}
			want := x.want
			if want.Err != "" && strings.Contains(got.Err, want.Err) {
				want.Err = got.Err
			}
			if got != want {
				t.Errorf("%s, %s: %.120q\n  gives %+v\n  want  %+v", x.method, way, x.says, got, want)
			}
		}
	}
}

// An announced end is never mistaken: wherever the connection breaks, it is said so.
func TestTruncated(t *testing.T) {
	for _, says := range []string{
		ok + "Content-Length: 5\r\n\r\nhello",
		"HTTP/1.1 103 Early Hints\r\n\r\n" + ok + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n",
	} {
		for i := range says {
			for _, piece := range []func() int{nil, bytewise} {
				for name, read := range map[string]func(c *Conn) error{
					"Read":    func(c *Conn) error { _, err := io.ReadAll(c); return err },
					"Discard": func(c *Conn) error { _, err := c.Discard(); return err },
				} {
					c := NewConn(&script{says: []byte(says[:i]), piece: piece})
					err := c.Send(request(t, "GET"))
					if err == nil {
						if _, err = c.Receive(); err == nil {
							err = read(c)
						}
					}
					if want := map[bool]error{true: ErrNoResponse, false: io.ErrUnexpectedEOF}[i == 0]; !errors.Is(err, want) {
						t.Errorf("%s of %q: %v, want %v", name, says[:i], err, want)
					}
					if c.Reusable() || c.Send(request(t, "GET")) == nil {
						t.Errorf("%s of %q: the connection is used again", name, says[:i])
					}
				}
			}
		}
	}
}

// A head may be as long as MaxHead and no longer, in whatever pieces it comes.
func TestLongHeads(t *testing.T) {
	for _, n := range []int{bufSize - 1, bufSize, bufSize + 1, 3 * bufSize, MaxHead - 1, MaxHead, MaxHead + 1, 2 * MaxHead} {
		head := ok + "Content-Length: 5\r\nX: \r\n\r\n"
		head = strings.Replace(head, "X: ", "X: "+strings.Repeat("x", n-len(head)), 1)
		for _, before := range []string{"", "HTTP/1.1 100 Continue\r\n\r\n"} {
			for _, p := range []int{1000, bufSize - 1, bufSize, MaxHead, 4 * MaxHead} {
				got := exchange(NewConn(&script{says: []byte(before + head + "hello"), piece: func() int { return p }}), request(t, "GET"))
				if n <= MaxHead && got.Body != "hello" || n > MaxHead && !strings.Contains(got.Err, "longer than 256 KiB") {
					t.Errorf("a head of %d bytes in pieces of %d: %+v", n, p, got)
				}
			}
		}
	}
	endless := &script{says: bytes.Repeat([]byte("HTTP/1.1 200 OK"), MaxHead)}
	if got := exchange(NewConn(endless), request(t, "GET")); got.Err != errLong.Error() || len(endless.says) < 14*MaxHead {
		t.Errorf("without an end: %+v", got)
	}
}

func TestHeaders(t *testing.T) {
	c := NewConn(&script{says: []byte(ok + "a: 1\r\nA:\t2 \r\nAb: 3\r\nContent-Length: 0\r\n\r\n")})
	must[int](t)(0, c.Send(request(t, "GET")))
	r := must[*Response](t)(c.Receive())
	if r.Header("A") != "1" || r.Header("AB") != "3" || r.Header("B") != "" || !slices.Equal(r.Values("a"), []string{"1", "2"}) || r.Values("x") != nil {
		t.Errorf("%q, %q, %q, %q", r.Header("A"), r.Header("AB"), r.Values("a"), r.Values("x"))
	}
}

// What is done in the wrong order is an error, not a mess.
func TestOrder(t *testing.T) {
	get := request(t, "GET")
	c := NewConn(&script{says: []byte(ok + "Content-Length: 5\r\n\r\nhello" + ok + "Content-Length: 0\r\n\r\n"), piece: bytewise})
	if _, err := c.Receive(); err == nil {
		t.Error("a response without a request")
	}
	must[int](t)(0, c.Send(get))
	if _, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Error("a body before its head:", err)
	}
	if _, err := c.Discard(); err == nil {
		t.Error("a body before its head, discarded")
	}
	if c.Send(get) == nil {
		t.Error("two requests at once")
	}
	must[*Response](t)(c.Receive())
	if c.Reusable() || c.Send(get) == nil {
		t.Error("a request before the body was read")
	}
	if n, err := c.Discard(); n != 5 || err != nil || !c.Reusable() {
		t.Error(n, err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error("after the end:", n, err)
	}
	if got := exchange(c, get); got.Status != 200 || !got.Reusable {
		t.Errorf("%+v: mistakes of the caller cost the connection", got)
	}
	if sent, in := c.Bytes(); sent != int64(2*len(get.bytes)) || in != int64(2*len(ok)+2*len("Content-Length: 5\r\n\r\n")+5) {
		t.Error(sent, in)
	}
	if err := c.Send(&Request{Method: "GET", Header: http.Header{"A": {"b\r\nc"}}}); err == nil {
		t.Error("a request that nobody has looked at")
	}
}

// Bytes that nobody asked for are no answer to the next request.
func TestUnasked(t *testing.T) {
	c := NewConn(&script{says: []byte(ok + "Content-Length: 0\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nwrong")})
	if got := exchange(c, request(t, "GET")); got.Status != 200 || got.Reusable {
		t.Errorf("%+v", got)
	}
	if err := c.Send(request(t, "GET")); !errors.Is(err, errUnasked) {
		t.Error(err)
	}
	if err := c.Send(request(t, "GET")); !errors.Is(err, errUnasked) {
		t.Error("later:", err)
	}
}

// A request that says that it is the last one on its connection is.
func TestLastRequest(t *testing.T) {
	r := must[*Request](t)(NewRequest("GET", "http://example.org/", http.Header{"connection": {"x, Close"}}, nil))
	got := exchange(NewConn(&script{says: []byte(ok + "Content-Length: 5\r\n\r\nhello")}), r)
	if want := (outcome{Status: 200, Length: 5, Body: "hello"}); got != want {
		t.Errorf("%+v", got)
	}
}

// A server that answers before it has heard everything and hangs up is heard.
func TestEarlyAnswer(t *testing.T) {
	c := NewConn(&script{says: []byte("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), deaf: syscall.EPIPE})
	if got := exchange(c, request(t, "POST")); got.Status != 413 || got.Reusable {
		t.Errorf("%+v", got)
	}
	c = NewConn(&script{end: syscall.ECONNRESET, deaf: syscall.EPIPE})
	if got := exchange(c, request(t, "POST")); !strings.Contains(got.Err, ErrNoResponse.Error()) {
		t.Errorf("%+v", got)
	}
}

// The first byte counts, not the end of the head; and none has come while one is waited for.
func TestFirstByte(t *testing.T) {
	s := &script{says: []byte(ok + "Content-Length: 0\r\n\r\n")}
	c := NewConn(s)
	before := time.Now()
	must[int](t)(0, c.Send(request(t, "GET")))
	if !c.FirstByte().IsZero() {
		t.Error("before the response")
	}
	must[*Response](t)(c.Receive())
	if f := c.FirstByte(); f.Before(before) || f.After(time.Now()) {
		t.Error(f)
	}
	must[int](t)(0, c.Send(request(t, "GET")))
	if _, err := c.Receive(); !errors.Is(err, ErrNoResponse) || !c.FirstByte().IsZero() {
		t.Error(err, c.FirstByte())
	}
	// Nor where nothing could be written, which is how a stale connection is known.
	s = &script{says: []byte(ok + "Content-Length: 0\r\n\r\n")}
	c = NewConn(s)
	exchange(c, request(t, "GET"))
	s.dead = true
	if err := c.Send(request(t, "GET")); !isReset(err) || !c.FirstByte().IsZero() {
		t.Error(err, c.FirstByte())
	}
}

// Whatever a correct server says, and in whatever pieces, the body is read to the byte.
func TestAnyResponse(t *testing.T) {
	get, head := request(t, "GET"), request(t, "HEAD")
	rapid.Check(t, func(t *rapid.T) {
		type want struct {
			r    *Request
			says []byte
			body []byte
			keep bool
		}
		var all []want
		for keep := true; keep && len(all) < 4; {
			var says bytes.Buffer
			w := want{r: get, body: make([]byte, rapid.SampledFrom([]int{0, 1, 100, bufSize, 40_000}).Draw(t, "size")+rapid.IntRange(0, 100).Draw(t, "and"))}
			for i, seed := 0, rapid.Byte().Draw(t, "seed"); i < len(w.body); i++ {
				w.body[i] = seed + byte(i*i>>3)
			}
			for range rapid.IntRange(0, 2).Draw(t, "interim") {
				says.WriteString("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
			}
			end := rapid.SampledFrom([]string{"\r\n", "\n"}).Draw(t, "line end")
			minor := rapid.IntRange(0, 1).Draw(t, "minor")
			kind := rapid.SampledFrom([]string{"length", "chunked", "close", "HEAD", "304"}).Draw(t, "kind")
			status := 200
			switch {
			case kind == "304":
				status, w.body = 304, nil
			case kind == "HEAD":
				w.r, w.body = head, nil
			case kind == "chunked":
				minor = 1
			}
			fmt.Fprintf(&says, "HTTP/1.%d %d any reason%s", minor, status, end)
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				fmt.Fprintf(&says, "X-%s: %s%s", strings.Repeat("a", rapid.IntRange(0, 20).Draw(t, "name")), rapid.StringMatching(`[ -~\t]{0,50}`).Draw(t, "value"), end)
			}
			connection := rapid.SampledFrom([]string{"", "close", "keep-alive", "Keep-Alive, x"}).Draw(t, "connection")
			if connection != "" {
				fmt.Fprintf(&says, "Connection: %s%s", connection, end)
			}
			keep = connection != "close" && (minor == 1 || connection != "")
			switch kind {
			case "length", "HEAD", "304":
				fmt.Fprintf(&says, "content-length: %d%s%s%s", len(w.body), end, end, w.body)
			case "close":
				keep = false
				fmt.Fprintf(&says, "%s%s", end, w.body)
			case "chunked":
				fmt.Fprintf(&says, "transfer-encoding: chunked%s%s", end, end)
				for rest := w.body; ; {
					n := min(len(rest), rapid.IntRange(1, 20_000).Draw(t, "chunk"))
					fmt.Fprintf(&says, "%x%s\r\n", n, rapid.SampledFrom([]string{"", ";a", " ; a=\"b\""}).Draw(t, "extension"))
					if n == 0 {
						break
					}
					fmt.Fprintf(&says, "%s\r\n", rest[:n])
					rest = rest[n:]
				}
				says.WriteString(rapid.SampledFrom([]string{"", "Digest: x\r\n"}).Draw(t, "trailer") + "\r\n")
			}
			w.says, w.keep = says.Bytes(), keep
			all = append(all, w)
		}
		most := rapid.SampledFrom([]int{1, 7, 1000, 1 << 20}).Draw(t, "pieces")
		pieces := rapid.SliceOfN(rapid.IntRange(1, most), 1, 10).Draw(t, "sizes")
		s := &script{piece: func() int {
			pieces = append(pieces[1:], pieces[0])
			return pieces[0]
		}}
		c := NewConn(s)
		for _, w := range all {
			s.says = w.says
			if err := c.Send(w.r); err != nil {
				t.Fatal(err)
			}
			h, err := c.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if h.Length >= 0 && h.Length != int64(len(w.body)) {
				t.Fatalf("the length is %d, not %d", h.Length, len(w.body))
			}
			if rapid.Bool().Draw(t, "discard") {
				if n, err := c.Discard(); err != nil || n != int64(len(w.body)) {
					t.Fatalf("%d bytes discarded of %d: %v", n, len(w.body), err)
				}
			} else {
				p := make([]byte, rapid.SampledFrom([]int{1, 100, bufSize, 50_000}).Draw(t, "reads"))
				var got []byte
				for {
					n, err := c.Read(p)
					got = append(got, p[:n]...)
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(got, w.body) {
					t.Fatalf("%d bytes are not the body of %d", len(got), len(w.body))
				}
			}
			if c.Reusable() != w.keep {
				t.Fatalf("reusable: %v", c.Reusable())
			}
		}
	})
}

// echo repeats one response for ever.
type echo struct {
	net.Conn
	says []byte
	at   int
}

func (e *echo) Write(p []byte) (int, error) { e.at = 0; return len(p), nil }

func (e *echo) Read(p []byte) (int, error) {
	n := copy(p, e.says[e.at:])
	e.at += n
	return n, nil
}

// An exchange allocates nothing once its connection has had one.
func TestAllocations(t *testing.T) {
	get := request(t, "GET")
	for name, says := range map[string]string{
		"length":   ok + "Server: x\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
		"large":    ok + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
		"chunked":  ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n",
		"interim":  "HTTP/1.1 103 Early Hints\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
		"nothing":  "HTTP/1.1 304 Not Modified\r\n\r\n",
		"long one": ok + "X: " + strings.Repeat("x", 3*bufSize) + "\r\nContent-Length: 0\r\n\r\n",
	} {
		c := NewConn(&echo{says: []byte(says)})
		if n := testing.AllocsPerRun(100, func() {
			err := c.Send(get)
			if err == nil {
				_, err = c.Receive()
			}
			if err == nil {
				_, err = c.Discard()
			}
			if err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
