package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/wire"
)

func TestHeard(t *testing.T) {
	for head, want := range map[string]speech{
		"": nothing, "HTT": unclear, "HTTP/1.0 400 Bad Request\r\n": speaks1, "HTTP/2 200 OK\r\n": speaks1,
		"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n":              wantsTLS,
		"HTTP/1.1 400 Bad Request\r\n\r\n<center>The plain HTTP request was sent to HTTPS port</center>": wantsTLS,
		"Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />":                        other, // not without a head
		"HTTP/1.1 400 \r\n\r\nBad Request\r\nThis combination of host and port requires TLS.\r\n":        wantsTLS,
		"<!DOCTYPE HTML>\n<html>":                                              speaks1,
		"\x15\x03\x01\x00\x02\x02\x46":                                         speaksTLS, // an alert: protocol version
		"\x16\x03\x03\x00\x7a":                                                 speaksTLS,
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64":         speaks2, // SETTINGS
		"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01": speaks2, // GOAWAY
		"\x00\x00\x06\x04\x00\x00\x00\x00\x01":                                 other,   // of a stream, which they never are
		"SSH-2.0-x\r\n":                                                        other, "220 ready\r\n": other, "\x15\x15\x15": other,
	} {
		if got := heard([]byte(head)); got != want {
			t.Errorf("%q: %d, want %d", head, got, want)
		}
	}
}

func FuzzHeard(f *testing.F) {
	f.Add([]byte("HTTP/1.1"))
	f.Add([]byte("\x15\x03\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := heard(b); s == nothing != (len(b) == 0) {
			t.Errorf("%q: %d", b, s)
		}
		if len(shown(b)) > 4*40+2 {
			t.Errorf("%s", shown(b))
		}
	})
}

// says listens, hears a request (none where it speaks first), says something, and hangs up.
func says(t *testing.T, answer string, hears bool) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if hears {
				c.Read(make([]byte, 64<<10))
			}
			io.WriteString(c, answer)
			c.(*net.TCPConn).CloseWrite()
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			io.Copy(io.Discard, c) // what is not read would be a reset, and take the answer with it
			c.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

// server speaks some versions of HTTP, under TLS with what next offers.
func server(t *testing.T, versions func(*http.Protocols), next ...string) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	versions(s.Config.Protocols)
	if next == nil {
		s.Start()
	} else {
		s.EnableHTTP2 = next[0] == "h2"
		s.TLS = &tls.Config{NextProtos: next}
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// What is tried in a protocol that the server does not speak fails with one that it does, and how to say so.
func TestMismatch(t *testing.T) {
	plain1 := server(t, func(p *http.Protocols) { p.SetHTTP1(true) })
	plain2 := server(t, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
	secure1 := server(t, func(p *http.Protocols) { p.SetHTTP1(true) }, "http/1.1")
	secure2 := server(t, func(p *http.Protocols) { p.SetHTTP2(true) }, "h2")
	settings := says(t, "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64", false)
	alert := says(t, "\x15\x03\x01\x00\x02\x02\x46", true)
	nginx := says(t, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<center>The plain HTTP request was sent to HTTPS port</center>", true)
	headless := says(t, "<!DOCTYPE HTML>\n<p>Message: Invalid HTTP version (2.0).", true)
	ssh, mute := says(t, "SSH-2.0-x\r\n", false), says(t, "", true)
	for _, c := range []struct {
		url      string
		protocol wire.Protocol
		step     string
		want     string // "" is no error
	}{
		{"http://" + plain1, wire.Auto, "", ""},
		{"http://" + plain1, wire.HTTP2, "answer", "the server speaks HTTP/1 without TLS, not HTTP/2: use --protocol h1"},
		{"https://" + plain1, wire.Auto, "TLS", "the server speaks HTTP without TLS: use http:// instead of https://"},
		{"http://" + plain2, wire.HTTP2, "", ""},
		{"http://" + plain2, wire.HTTP1, "answer", "perhaps it speaks TLS, or HTTP/2 only: then use https://, or --protocol h2"},
		{"http://" + secure1, wire.Auto, "answer", "the server speaks TLS: use https:// instead of http://"},
		{"https://" + secure1, wire.Auto, "", ""},
		{"https://" + secure1, wire.HTTP2, "TLS", "the server does not offer HTTP/2 under TLS: use --protocol h1"},
		{"http://" + secure2, wire.HTTP2, "answer", "perhaps it speaks no HTTP/2 without TLS: then use --protocol h1, or https://"},
		{"https://" + secure2, wire.Auto, "", ""},
		{"http://" + settings, wire.Auto, "answer", "the server speaks HTTP/2 without TLS, not HTTP/1: use --protocol h2"},
		{"https://" + settings, wire.Auto, "TLS", "the server speaks HTTP/2 without TLS: use http:// instead of https://, and --protocol h2"},
		{"http://" + alert, wire.Auto, "answer", "the server speaks TLS: use https:// instead of http://"},
		{"http://" + alert, wire.HTTP2, "answer", "the server speaks TLS: use https:// instead of http://"},
		{"https://" + alert, wire.Auto, "TLS", "protocol version not supported"}, // TLS, indeed
		{"http://" + nginx, wire.Auto, "answer", "the server speaks TLS: use https:// instead of http://"},
		{"http://" + nginx, wire.HTTP2, "answer", "the server speaks TLS: use https:// instead of http://"},
		{"http://" + headless, wire.HTTP2, "answer", "the server speaks HTTP/1 without TLS, not HTTP/2: use --protocol h1"},
		{"https://" + headless, wire.Auto, "TLS", "the server speaks HTTP without TLS: use http:// instead of https://"},
		{"http://" + ssh, wire.Auto, "answer", `the server speaks no HTTP: it begins with "SSH-2.0-x"`},
		{"http://" + ssh, wire.HTTP2, "answer", `the server speaks no HTTP/2 without TLS: it answers with "SSH-2.0-x"`},
		{"https://" + ssh, wire.Auto, "TLS", `the server speaks no TLS: it begins with "SSH-2.0-x"`},
		{"http://" + mute, wire.Auto, "answer", "perhaps it speaks TLS, or HTTP/2 only: then use https://, or --protocol h2"},
		{"http://" + mute, wire.HTTP2, "answer", "perhaps it speaks no HTTP/2 without TLS: then use --protocol h1, or https://"},
		{"https://" + mute, wire.Auto, "TLS", "perhaps it speaks no TLS: then use http:// instead of https://"},
	} {
		o := Options{URL: c.url, N: 1, Client: Client{Protocol: c.protocol, TLS: &tls.Config{InsecureSkipVerify: true}}}
		_, err := o.Run(t.Context())
		var step *StepError
		switch {
		case c.want == "" && err != nil, c.want != "" && (!errors.As(err, &step) || step.Step != c.step || !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%s, protocol %d: %v\n  want %s: %s", c.url, c.protocol, err, c.step, c.want)
		}
	}
}

// Where protocols are compared, one that is not there is not to be had by choosing the other.
func TestNothingToCompare(t *testing.T) {
	try, err := ParseTry("h1,h2")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{URL: "http://" + server(t, func(p *http.Protocols) { p.SetHTTP1(true) }), N: 4, Try: try}
	if _, err := o.Run(t.Context()); err == nil || err.Error() != "h2, "+o.URL+": the server speaks HTTP/1 without TLS, not HTTP/2: there is no h2 to compare" {
		t.Error(err)
	}
	o.Client.TLS = &tls.Config{InsecureSkipVerify: true}
	o.URL = "https://" + server(t, func(p *http.Protocols) { p.SetHTTP1(true) }, "http/1.1")
	if _, err := o.Run(t.Context()); err == nil || err.Error() != "h2, "+o.URL+": the server does not offer HTTP/2 under TLS: there is no h2 to compare" {
		t.Error(err)
	}
	// Another scheme is for both.
	o.URL = strings.Replace(o.URL, "https", "http", 1)
	if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Error(err)
	}
}

// A server that fails halfway through an answer speaks what was tried; nor is an interruption its fault.
func TestNoMismatch(t *testing.T) {
	broken := says(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true)
	o := Options{URL: "http://" + broken, N: 1}
	if _, err := o.Run(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "speaks") {
		t.Error(err)
	}
	// An answer 400 about something else is an answer.
	o.URL = "http://" + says(t, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true)
	if r, err := o.Run(t.Context()); err != nil || r.Cases[0].Values["total"].N != 1 {
		t.Error(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	for _, p := range []wire.Protocol{wire.HTTP1, wire.HTTP2} {
		o = Options{URL: "http://" + silent.Addr().String(), N: 1, Client: Client{Protocol: p}}
		if _, err := o.Run(ctx); !errors.Is(err, why) {
			t.Error(err)
		}
	}
}
