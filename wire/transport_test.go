package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// long is far more than anything here takes, on any machine.
const long = 20 * time.Second

// raw is a server that does with each of its connections what it is told.
func raw(t *testing.T, do func(c net.Conn, r *bufio.Reader)) (target string) {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			all.Go(func() {
				defer c.Close()
				do(c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + l.Addr().String() + "/"
}

// hear reads a request; false is the end of the connection.
func hear(r *bufio.Reader) bool {
	q, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, q.Body)
	return err == nil
}

// answers says the same to every request.
func answers(says string) func(c net.Conn, r *bufio.Reader) {
	return func(c net.Conn, r *bufio.Reader) {
		for hear(r) {
			io.WriteString(c, says)
		}
	}
}

// silent waits for the other side to hang up.
func silent(c net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) }

// web is a server of net/http: HTTP/1.1, h2c, and under TLS HTTP/2 if it is wanted.
func web(t *testing.T, secure, http2 bool, h http.HandlerFunc) (*httptest.Server, Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = http2
	config := Config{IdlePerHost: 10}
	if secure {
		s.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		config.TLS = &tls.Config{RootCAs: roots}
	} else {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetHTTP1(true)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, config
}

func transport(t *testing.T, c Config) *Transport {
	t.Helper()
	tr := NewTransport(t.Context(), c)
	t.Cleanup(func() { tr.Close() })
	return tr
}

func get(t testing.TB, target string) *Request {
	t.Helper()
	return must[*Request](t)(NewRequest("GET", target, nil, nil))
}

// fetch does a whole exchange.
func fetch(tr *Transport, r *Request) (string, error) {
	x, err := tr.Do(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(x)
	return string(body), errors.Join(err, x.Close())
}

func timeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func TestReuse(t *testing.T) {
	for name, x := range map[string]struct{ secure, http2 bool }{"http": {}, "https": {true, false}, "HTTP/2": {true, true}} {
		s, config := web(t, x.secure, x.http2, func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, q.Proto) })
		tr := transport(t, config)
		r := get(t, s.URL)
		for i := range 3 {
			e := must[*Exchange](t)(tr.Do(r))
			if e.Reused != (i > 0) || (e.Phases.Connect > 0) != (i == 0) || (e.Phases.TLS > 0) != (x.secure && i == 0) || e.Phases.Name != 0 {
				t.Errorf("%s: exchange %d: reused %v, %+v", name, i, e.Reused, e.Phases)
			}
			if body, err := io.ReadAll(e); err != nil || strings.HasSuffix(string(body), "2.0") != x.http2 {
				t.Errorf("%s: %q, %v", name, body, err)
			}
			for range 2 {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
			if n, err := e.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF || e.Status != 200 {
				t.Error("after Close:", n, err, e.Status)
			}
		}
		if got, want := tr.Counts(), (Counts{Dialed: 1, Reused: 2, Open: 1}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		tr.CloseIdle()
		if n := tr.Counts().Open; n != 0 {
			t.Errorf("%s: %d open", name, n)
		}
		if _, err := fetch(tr, r); err != nil || tr.Counts().Dialed != 2 {
			t.Error(err, tr.Counts())
		}
		tr.Close()
		if _, err := tr.Do(r); !errors.Is(err, errClosed) {
			t.Errorf("%s: a closed transport: %v", name, err)
		}
	}
}

// With IdlePerHost 0, every request makes a connection of its own.
func TestAlone(t *testing.T) {
	for name, x := range map[string]struct {
		secure, http2 bool
		protocol      Protocol
	}{"http": {}, "https": {true, false, 0}, "HTTP/2": {true, true, 0}, "h2c": {false, false, HTTP2}} {
		s, config := web(t, x.secure, x.http2, func(w http.ResponseWriter, q *http.Request) {})
		config.IdlePerHost, config.Protocol = 0, x.protocol
		tr := transport(t, config)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, err := fetch(tr, get(t, s.URL)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got, want := tr.Counts(), (Counts{Dialed: 5}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A request is sent again if its connection died while it was idle, but only one that does no harm twice.
func TestStale(t *testing.T) {
	once := func(c net.Conn, r *bufio.Reader) {
		if hear(r) {
			io.WriteString(c, ok+"Content-Length: 2\r\n\r\nhi")
		}
	}
	for method, repeated := range map[string]bool{"GET": true, "HEAD": true, "PUT": true, "DELETE": true, "POST": false, "PATCH": false} {
		target := raw(t, once)
		tr := transport(t, Config{IdlePerHost: 10})
		var all []*Exchange
		for range 3 {
			all = append(all, must[*Exchange](t)(tr.Do(get(t, target))))
		}
		for _, x := range all {
			io.Copy(io.Discard, x)
			x.Close()
		}
		x, err := tr.Do(must[*Request](t)(NewRequest(method, target, nil, []byte("x"))))
		n := tr.Counts()
		if repeated && (err != nil || x.Reused || n.Repeated != 1 || n.Dialed != 4) || !repeated && (!errors.Is(err, ErrNoResponse) && !isReset(err) || n.Repeated != 0) {
			t.Errorf("%s: %v, %+v", method, err, n)
		}
		if err == nil {
			x.Close()
		}
	}
	// On a connection that was not idle, the same is an error at once.
	tr := transport(t, Config{IdlePerHost: 10})
	_, err := tr.Do(get(t, raw(t, func(c net.Conn, r *bufio.Reader) { hear(r) })))
	if n := tr.Counts(); !errors.Is(err, ErrNoResponse) || n.Repeated != 0 || n.Dialed != 1 || n.Open != 0 {
		t.Errorf("%v, %+v", err, n)
	}
	// So it is where the response had begun.
	first := true
	tr = transport(t, Config{IdlePerHost: 10})
	target := raw(t, func(c net.Conn, r *bufio.Reader) {
		for hear(r) {
			if !first {
				io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\n")
				return
			}
			first = false
			io.WriteString(c, ok+"Content-Length: 0\r\n\r\n")
		}
	})
	if _, err := fetch(tr, get(t, target)); err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(tr, get(t, target)); !errors.Is(err, io.ErrUnexpectedEOF) || tr.Counts().Repeated != 0 {
		t.Error(err, tr.Counts())
	}
}

func TestIdleLimits(t *testing.T) {
	target := raw(t, answers(ok+"Content-Length: 2\r\n\r\nhi"))
	tr := transport(t, Config{IdlePerHost: 2, IdleTime: time.Second})
	several := func(n int) {
		var all []*Exchange
		for range n {
			all = append(all, must[*Exchange](t)(tr.Do(get(t, target))))
		}
		for _, x := range all {
			x.Close()
		}
	}
	several(5)
	if got, want := tr.Counts(), (Counts{Dialed: 5, Dropped: 3, Open: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	time.Sleep(1100 * time.Millisecond)
	several(1)
	if got, want := tr.Counts(), (Counts{Dialed: 6, Dropped: 3, Open: 1}); got != want {
		t.Errorf("later: %+v, want %+v", got, want)
	}
}

// The time limit holds wherever an exchange hangs.
func TestTimeout(t *testing.T) {
	for name, x := range map[string]struct {
		do     func(c net.Conn, r *bufio.Reader)
		scheme string
		config Config
	}{
		"before the head": {silent, "http", Config{}},
		"in the head":     {func(c net.Conn, r *bufio.Reader) { hear(r); io.WriteString(c, ok); silent(c, r) }, "http", Config{}},
		"in the body": {func(c net.Conn, r *bufio.Reader) {
			hear(r)
			io.WriteString(c, ok+"Content-Length: 5\r\n\r\nhe")
			silent(c, r)
		}, "http", Config{}},
		"drop by drop": {func(c net.Conn, r *bufio.Reader) {
			hear(r)
			io.WriteString(c, ok+"\r\n")
			for {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}, "http", Config{}},
		"handshake":  {silent, "https", Config{}},
		"TLSTimeout": {silent, "https", Config{Dialer: Dialer{TLSTimeout: 100 * time.Millisecond}, Timeout: long}},
		"h2c":        {silent, "http", Config{Dialer: Dialer{Protocol: HTTP2}}},
		"deaf":       {func(c net.Conn, r *bufio.Reader) { var b [1]byte; c.Read(b[:]); time.Sleep(300 * time.Millisecond) }, "http", Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			target := strings.Replace(raw(t, x.do), "http", x.scheme, 1)
			x.config.IdlePerHost = 1
			if x.config.Timeout == 0 {
				x.config.Timeout = 100 * time.Millisecond
			}
			tr := transport(t, x.config)
			r := get(t, target)
			if name == "deaf" {
				r = must[*Request](t)(NewRequest("PUT", target, nil, make([]byte, 64<<20)))
			}
			begin := time.Now()
			if _, err := fetch(tr, r); !timeout(err) {
				t.Errorf("%v", err)
			}
			if d := time.Since(begin); d < 100*time.Millisecond || d > long/2 {
				t.Errorf("after %v", d)
			}
			if n := tr.Counts().Open; n != 0 && x.config.Protocol != HTTP2 {
				t.Errorf("%d connections are left", n)
			}
		})
	}
}

// One that waits for another's connection does not wait longer than it may, and where that
// connection fails, all try at once.
func TestWaiting(t *testing.T) {
	target := strings.Replace(raw(t, func(c net.Conn, r *bufio.Reader) { time.Sleep(300 * time.Millisecond) }), "http", "https", 1)
	tr := transport(t, Config{IdlePerHost: 1})
	var all sync.WaitGroup
	begin := time.Now()
	for range 50 {
		all.Go(func() {
			var e *DialError
			if _, err := tr.Do(get(t, target)); !errors.As(err, &e) || e.Step != "TLS" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("50 that could have failed together took %v", d)
	}
	if n := tr.Counts(); n.Failed != 50 || n.Open != 0 {
		t.Errorf("%+v", n)
	}

	stalls := strings.Replace(raw(t, silent), "http", "https", 1)
	tr = transport(t, Config{IdlePerHost: 1, Timeout: 100 * time.Millisecond})
	for range 5 {
		all.Go(func() {
			if _, err := tr.Do(get(t, stalls)); !timeout(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// The end of the context, or of the transport, is the end of everything, at once.
func TestEnd(t *testing.T) {
	gone := errors.New("enough")
	for name, x := range map[string]struct {
		scheme   string
		protocol Protocol
		do       func(c net.Conn, r *bufio.Reader)
	}{
		"head":      {"http", HTTP1, silent},
		"handshake": {"https", Auto, silent},
		"h2c":       {"http", HTTP2, silent},
		"body": {"http", HTTP1, func(c net.Conn, r *bufio.Reader) {
			hear(r)
			io.WriteString(c, ok+"Content-Length: 5\r\n\r\nhe")
			silent(c, r)
		}},
		"body without length": {"http", HTTP1, func(c net.Conn, r *bufio.Reader) {
			hear(r)
			io.WriteString(c, ok+"\r\nhe")
			silent(c, r)
		}},
	} {
		for _, way := range []string{"context", "Close"} {
			t.Run(name+" "+way, func(t *testing.T) {
				busy := make(chan bool, 10)
				target := strings.Replace(raw(t, func(c net.Conn, r *bufio.Reader) { busy <- true; x.do(c, r) }), "http", x.scheme, 1)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				tr := NewTransport(ctx, Config{IdlePerHost: 5, Dialer: Dialer{Protocol: x.protocol}})
				defer tr.Close()
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						_, err := fetch(tr, get(t, target))
						if want := map[string]error{"context": gone, "Close": errClosed}[way]; !errors.Is(err, want) {
							t.Errorf("%v, want %v", err, want)
						}
					})
				}
				<-busy
				time.Sleep(20 * time.Millisecond) // usually enough to hang where it is meant to
				if way == "context" {
					cancel(gone)
				} else {
					tr.Close()
				}
				all.Wait()
				for begin := time.Now(); tr.Counts().Open != 0; time.Sleep(time.Millisecond) {
					if time.Since(begin) > long {
						t.Fatalf("%d are open", tr.Counts().Open)
					}
				}
				if _, err := tr.Do(get(t, target)); err == nil {
					t.Error("an exchange after the end")
				}
			})
		}
	}
}

// What is left of a body is read if that is worth a connection.
func TestCloseHalfRead(t *testing.T) {
	for name, x := range map[string]struct {
		says string
		keep bool
	}{
		"small":              {ok + "Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), true},
		"large":              {ok + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("x", 1000), false},
		"stalled":            {ok + "Content-Length: 1000\r\n\r\nx", false},
		"chunks":             {ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n", true},
		"many chunks":        {ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat("x", 1024)+"\r\n", 200) + "0\r\n\r\n", false},
		"no last chunk":      {ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false},
		"unframed":           {ok + "\r\nhello", false},
		"the last":           {ok + "Connection: close\r\nContent-Length: 5\r\n\r\nhello", false},
		"broken":             {ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n0\r\n\r\n", false},
		"nothing of nothing": {ok + "Content-Length: 0\r\n\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := transport(t, Config{IdlePerHost: 1})
			x1 := must[*Exchange](t)(tr.Do(get(t, raw(t, answers(x.says)))))
			x1.Read(make([]byte, 1))
			begin := time.Now()
			x1.Close()
			if d := time.Since(begin); d > long/2 {
				t.Errorf("Close took %v", d)
			}
			if n := tr.Counts(); n.Open == 1 != x.keep || n.Dropped > 0 {
				t.Errorf("%+v, to be kept: %v", n, x.keep)
			}
		})
	}
}

func TestDialErrors(t *testing.T) {
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no resolver") }}
	defer func() { net.DefaultResolver = before }()
	closed := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	refusing := closed.Addr().String()
	closed.Close()
	h1, config1 := web(t, true, false, nil)
	h2, config2 := web(t, true, true, nil)
	plain, _ := web(t, false, false, nil)
	// Without ALPN at all.
	old := must[net.Listener](t)(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: h1.TLS.Certificates}))
	defer old.Close()
	go func() {
		for {
			c, err := old.Accept()
			if err != nil {
				return
			}
			c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	at := func(u string) string { return strings.TrimPrefix(u, "https://") }
	for name, x := range map[string]struct {
		target     string
		d          Dialer
		step, says string
	}{
		"no such name":       {"http://nowhere.example/", Dialer{}, "name", "finding the host: lookup nowhere.example"},
		"refused":            {"http://" + refusing, Dialer{}, "connect", "refused"},
		"no time":            {"http://" + refusing, Dialer{ConnectTimeout: 10 * time.Millisecond, Control: func(string, string, syscall.RawConn) error { time.Sleep(50 * time.Millisecond); return nil }}, "connect", "timeout"},
		"no port":            {"http://h/", Dialer{At: "127.0.0.1"}, "name", "missing port"},
		"another's name":     {"https://wrong.test/", Dialer{At: at(h1.URL), TLS: config1.TLS}, "TLS", "certificate is valid for"},
		"unknown authority":  {h1.URL, Dialer{}, "TLS", "unknown authority"},
		"no TLS there":       {strings.Replace(plain.URL, "http", "https", 1), Dialer{}, "TLS", "does not look like a TLS handshake"},
		"only HTTP/1":        {h1.URL, Dialer{Protocol: HTTP2, TLS: config1.TLS}, "TLS", "does not offer HTTP/2"},
		"no ALPN for HTTP/2": {"https://" + old.Addr().String(), Dialer{Protocol: HTTP2, TLS: config1.TLS}, "TLS", "does not offer HTTP/2"},
	} {
		var e *DialError
		nc, _, _, err := x.d.Dial(t.Context(), must[*url.URL](t)(ParseURL(x.target)))
		if !errors.As(err, &e) || e.Step != x.step || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, %v, want %q", name, nc, err, x.says)
		}
	}
	for name, x := range map[string]struct {
		target string
		d      Dialer
		http2  bool
	}{
		"HTTP/1.1 wanted":     {h2.URL, Dialer{Protocol: HTTP1, TLS: config2.TLS}, false},
		"HTTP/2 offered":      {h2.URL, Dialer{TLS: config2.TLS}, true},
		"HTTP/2 wanted":       {h2.URL, Dialer{Protocol: HTTP2, TLS: config2.TLS}, true},
		"no ALPN":             {"https://" + old.Addr().String(), Dialer{TLS: config1.TLS}, false},
		"h2c":                 {plain.URL, Dialer{Protocol: HTTP2}, true},
		"another's name, too": {"https://example.com/", Dialer{At: at(h1.URL), TLS: config1.TLS}, false},
	} {
		nc, http2, _, err := x.d.Dial(t.Context(), must[*url.URL](t)(ParseURL(x.target)))
		if err != nil || http2 != x.http2 {
			t.Errorf("%s: %v, %v", name, http2, err)
			continue
		}
		nc.Close()
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, q.Host) })}
	go s.Serve(l)
	defer s.Close()
	if host, err := fetch(transport(t, Config{}), get(t, "http://"+l.Addr().String())); err != nil || host != l.Addr().String() {
		t.Error(host, err)
	}
}

// Many at once get what each has asked for.
func TestManyAtOnce(t *testing.T) {
	for name, x := range map[string]struct {
		secure, http2 bool
		protocol      Protocol
		streams       int
	}{
		"http": {}, "https": {true, false, Auto, 0}, "HTTP/2": {true, true, Auto, 0}, "few streams": {true, true, Auto, 3}, "h2c": {false, false, HTTP2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.Repeat("x", 20_000)
			s, config := web(t, x.secure, x.http2, func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				if strings.HasSuffix(q.URL.Path, "3/17") {
					w.Header().Set("Connection", "close")
				}
				io.WriteString(w, q.URL.Path)
				w.Write(body)
			})
			if x.streams > 0 {
				s.Close()
				s = httptest.NewUnstartedServer(s.Config.Handler)
				s.EnableHTTP2 = true
				s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: x.streams}
				s.StartTLS()
				defer s.Close()
			}
			config.Protocol, config.Timeout = x.protocol, long
			tr := transport(t, config)
			var all sync.WaitGroup
			for g := range 16 {
				all.Go(func() {
					for i := range 40 {
						path := fmt.Sprintf("/%d/%d", g, i)
						r, want := get(t, s.URL+path), path
						if i%4 == 0 {
							r, want = must[*Request](t)(NewRequest("POST", s.URL+path, nil, []byte(body))), path+body
						}
						if got, err := fetch(tr, r); err != nil || got != want {
							t.Errorf("%s: %.20q, %v", path, got, err)
							return
						}
						if i == 20 {
							tr.CloseIdle()
						}
					}
				})
			}
			all.Wait()
			n := tr.Counts()
			if n.Dialed+n.Reused != 16*40+n.Repeated || n.Open > 16 {
				t.Errorf("%+v", n)
			}
			tr.CloseIdle()
			if n := tr.Counts().Open; n != 0 {
				t.Errorf("%d are open that nobody uses", n)
			}
		})
	}
}

// Where a server lets a connection over HTTP/2 go, what is under way there ends well and
// what comes goes elsewhere.
func TestGoAway(t *testing.T) {
	slow := make(chan bool)
	s, config := web(t, true, true, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/slow":
			io.WriteString(w, "one ")
			w.(http.Flusher).Flush()
			<-slow
			io.WriteString(w, "two")
		case "/close":
			w.Header().Set("Connection", "close")
		}
	})
	config.Timeout = long
	tr := transport(t, config)
	x := must[*Exchange](t)(tr.Do(get(t, s.URL+"/slow")))
	for range 3 {
		if _, err := fetch(tr, get(t, s.URL+"/close")); err != nil {
			t.Error(err)
		}
	}
	for tr.Counts().Dialed < 2 {
		if _, err := fetch(tr, get(t, s.URL)); err != nil {
			t.Fatal(err)
		}
	}
	close(slow)
	if body, err := io.ReadAll(x); err != nil || string(body) != "one two" {
		t.Errorf("%q, %v", body, err)
	}
	x.Close()
	s.Config.Shutdown(t.Context())
	for {
		if _, err := fetch(tr, get(t, s.URL)); err != nil {
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Error(err)
			}
			break
		}
	}
	if n := tr.Counts(); n.Open != 0 {
		t.Errorf("%+v", n)
	}
}

// A response over HTTP/2 says of itself what one over HTTP/1.1 says.
func TestSameOverHTTP2(t *testing.T) {
	s, config := web(t, true, true, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("A", "1")
		w.Header().Add("A", "2")
		w.Header().Set("Content-Length", "5")
		switch q.URL.Path {
		case "/304":
			w.WriteHeader(304)
		case "/204":
			w.Header().Del("Content-Length")
			w.WriteHeader(204)
		case "/chunked":
			w.Header().Del("Content-Length")
			w.(http.Flusher).Flush()
			io.WriteString(w, "hello")
		case "/broken":
			io.WriteString(w, "he")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			io.WriteString(w, "hello")
		}
	})
	for _, x := range []struct {
		method, path string
		want         outcome
	}{
		{"GET", "/", outcome{Status: 200, Length: 5, Body: "hello"}},
		{"HEAD", "/", outcome{Status: 200}},
		{"GET", "/304", outcome{Status: 304}},
		{"GET", "/204", outcome{Status: 204}},
		{"GET", "/chunked", outcome{Status: 200, Length: -1, Body: "hello"}},
		{"GET", "/broken", outcome{Status: 200, Length: 5, Body: "he", Err: "some"}},
	} {
		for _, p := range []Protocol{HTTP1, HTTP2} {
			config.Protocol = p
			tr := transport(t, config)
			e := must[*Exchange](t)(tr.Do(must[*Request](t)(NewRequest(x.method, s.URL+x.path, nil, nil))))
			body, err := io.ReadAll(e)
			got := outcome{Status: e.Status, Length: e.Length, Body: string(body), Undefended: !e.Delimited}
			if err != nil {
				got.Err = "some"
			}
			if got != x.want || e.Header("a") != "1" || len(e.Values("A")) != 2 {
				t.Errorf("%s %s by protocol %d: %+v, %v, want %+v", x.method, x.path, p, got, err, x.want)
			}
			e.Close()
			tr.Close()
		}
	}
}

func TestMux(t *testing.T) {
	hold := make(chan bool)
	s, config := web(t, true, true, func(w http.ResponseWriter, q *http.Request) { <-hold })
	nc, _, _, err := config.Dial(t.Context(), must[*url.URL](t)(ParseURL(s.URL)))
	if err != nil {
		t.Fatal(err)
	}
	m := must[*Mux](t)(NewMux(nc))
	if d, err := m.Ping(t.Context()); err != nil || d <= 0 {
		t.Error(d, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := m.Do(ctx, get(t, s.URL)); !errors.Is(err, context.DeadlineExceeded) || !m.Open() || !m.Room() {
		t.Error("an exchange that takes too long ends alone:", err)
	}
	close(hold)
	_, body, err := m.Do(t.Context(), get(t, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
	m.Close()
	if _, _, err := m.Do(t.Context(), get(t, s.URL)); err == nil || m.Open() || m.Room() {
		t.Error("after the end:", err)
	}
}

// What an exchange costs here and in net/http.
func BenchmarkExchange(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	r := get(b, s.URL)
	b.Run("Conn", func(b *testing.B) {
		c := NewConn(must[net.Conn](b)(net.Dial("tcp", s.Listener.Addr().String())))
		defer c.Close()
		b.ReportAllocs()
		for b.Loop() {
			err := c.Send(r)
			if err == nil {
				_, err = c.Receive()
			}
			if err == nil {
				_, err = c.Discard()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Transport", func(b *testing.B) {
		tr := NewTransport(b.Context(), Config{IdlePerHost: 1})
		defer tr.Close()
		b.ReportAllocs()
		for b.Loop() {
			x, err := tr.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			x.Close()
		}
	})
	b.Run("net/http", func(b *testing.B) {
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		q := must[*http.Request](b)(http.NewRequest("GET", s.URL, nil))
		b.ReportAllocs()
		for b.Loop() {
			p, err := tr.RoundTrip(q)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, p.Body)
			p.Body.Close()
		}
	})
}
