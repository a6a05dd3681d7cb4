package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// overTCP returns a connection to a server that does what script says with each connection.
func overTCP(t *testing.T, script func(net.Conn)) *Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		script(nc)
	}()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		l.Close()
		<-done
	})
	return NewConn(nc)
}

func plainGet(t *testing.T) *Request {
	t.Helper()
	r, err := NewRequest("", "http://h.example/", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Answers of all sorts, in pieces of all sizes, one after another on a connection.
func TestExchangeOverTCP(t *testing.T) {
	answers := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 40<<10) + "\r\nContent-Length: 5\r\n\r\nhello",
	}
	for _, piece := range []int{1, 7, 1 << 20} {
		c := overTCP(t, func(nc net.Conn) {
			r := bufio.NewReader(nc)
			for i := 0; ; i++ {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				a := []byte(answers[i%len(answers)])
				if piece == 1 && len(a) > 1000 {
					nc.Write(a)
					continue
				}
				for len(a) > 0 {
					n := min(piece, len(a))
					nc.Write(a[:n])
					a = a[n:]
				}
			}
		})
		c.SetDeadline(time.Now().Add(time.Minute))
		q := plainGet(t)
		for i := range 12 {
			r, err := c.Exchange(q)
			if err != nil {
				t.Fatalf("pieces of %d, answer %d: %v", piece, i, err)
			}
			body, err := io.ReadAll(c)
			if r.Status != 200 || string(body) != "hello" || err != nil || !c.Reusable() || c.FirstByte().IsZero() {
				t.Fatalf("pieces of %d, answer %d: %d %q, %v", piece, i, r.Status, body, err)
			}
		}
		if sent, received := c.Bytes(); sent != 12*int64(len(q.bytes)) || received < 12*40 {
			t.Errorf("%d bytes sent, %d received", sent, received)
		}
	}
}

func TestExchangeFaultsOverTCP(t *testing.T) {
	ask := func(nc net.Conn) { http.ReadRequest(bufio.NewReader(nc)) }
	for _, c := range []struct {
		name   string
		script func(net.Conn)
		want   error
	}{
		{"no answer", ask, ErrNoResponse},
		{"half a head", func(nc net.Conn) { ask(nc); io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Le") }, io.ErrUnexpectedEOF},
		{"reset", func(nc net.Conn) { ask(nc); nc.(*net.TCPConn).SetLinger(0) }, ErrNoResponse},
		{"silence", func(nc net.Conn) { ask(nc); io.Copy(io.Discard, nc) }, os.ErrDeadlineExceeded},
		{"half a body", func(nc net.Conn) { ask(nc); io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") }, io.ErrUnexpectedEOF},
	} {
		conn := overTCP(t, c.script)
		conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
		_, err := conn.Exchange(plainGet(t))
		if err == nil {
			_, err = conn.Discard()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if conn.Reusable() {
			t.Errorf("%s: it would be used again", c.name)
		}
		if _, again := conn.Exchange(plainGet(t)); again == nil {
			t.Errorf("%s: the connection works on", c.name)
		}
	}
	// Closed by us, and a deadline that has passed: nothing is sent.
	conn := overTCP(t, ask)
	conn.Close()
	if _, err := conn.Exchange(plainGet(t)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	conn = overTCP(t, ask)
	conn.SetDeadline(time.Unix(1, 0))
	if _, err := conn.Exchange(plainGet(t)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("too late: %v", err)
	}
	if sent, _ := conn.Bytes(); sent != 0 {
		t.Errorf("too late: %d bytes sent", sent)
	}
}

// A request that is larger than what is written at once takes the ordinary way.
func TestExchangeOfMuch(t *testing.T) {
	body := bytes.Repeat([]byte("much"), 1<<20)
	c := overTCP(t, func(nc net.Conn) {
		r := bufio.NewReader(nc)
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			n, _ := io.Copy(io.Discard, q.Body)
			if n == int64(len(body)) {
				io.WriteString(nc, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		}
	})
	c.SetDeadline(time.Now().Add(time.Minute))
	q, err := NewRequest("POST", "http://h.example/", nil, body)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r, err := c.Exchange(q); err != nil || r.Status != 204 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func TestExchangeAllocatesNothing(t *testing.T) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	c := overTCP(t, func(nc net.Conn) {
		b := make([]byte, 4096)
		for {
			if _, err := nc.Read(b); err != nil {
				return
			}
			nc.Write(answer)
		}
	})
	q := plainGet(t)
	if n := testing.AllocsPerRun(200, func() {
		if _, err := c.Exchange(q); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Discard(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
