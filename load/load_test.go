package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headway-lab/headway/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// to makes options for one URL.
func to(t *testing.T, url string) Options {
	t.Helper()
	r, err := wire.NewRequest("", url, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Targets: []Target{{Request: r}}, Rate: 200, Arrivals: Constant, Duration: 500 * time.Millisecond, Connections: 8, Seed: 1}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func run(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A server that stops for part of the time makes those wait who come then, in proportion: with
// stalls of length s in every p, P(latency > x) = (s - x) / p. A closed loop sees a few of
// them, because it does not come.
func TestStallsAreSeen(t *testing.T) {
	const stall, period = 300 * time.Millisecond, 1500 * time.Millisecond
	begin := time.Now()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if in := time.Since(begin) % period; in < stall {
			time.Sleep(stall - in)
		}
	})
	o := to(t, s.URL)
	o.Duration = 3 * period
	r := run(t, o)
	for _, q := range []float64{.9, .95, .99} {
		want := float64(stall) - (1-q)*float64(period)
		if got := r.Latency.Quantile(q); math.Abs(got-want) > float64(60*time.Millisecond) {
			t.Errorf("quantile %g is %v, want about %v", q, time.Duration(got), time.Duration(want))
		}
	}
	if r.Waited == 0 {
		t.Error("eight connections were enough for a stall of 60 requests")
	}
	o.Closed, o.Rate = true, 0
	if c := run(t, o); c.Latency.Quantile(.9) > r.Latency.Quantile(.9)/2 {
		t.Errorf("the closed loop is not misled: p90 %v, open %v", time.Duration(c.Latency.Quantile(.9)), time.Duration(r.Latency.Quantile(.9)))
	}
}

// Every request of the schedule is accounted for, and none is sent twice.
func TestEveryRequestCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		handle func(n int64, w http.ResponseWriter)
		ok     func(n int64) bool
		fault  Fault
	}{
		{"all well", func(int64, http.ResponseWriter) {}, func(int64) bool { return true }, None},
		{"hangs up", func(n int64, w http.ResponseWriter) {
			if n%10 == 0 {
				nc, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				nc.Close()
			}
		}, func(n int64) bool { return n%10 != 0 }, Hangup},
		{"breaks off", func(n int64, w http.ResponseWriter) {
			if n%10 == 0 {
				w.Header().Set("Content-Length", "100")
				io.WriteString(w, "too little")
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}, func(n int64) bool { return n%10 != 0 }, Truncated},
		{"not HTTP", func(n int64, w http.ResponseWriter) {
			if n%10 == 0 {
				nc, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				io.WriteString(nc, "220 smtp.example.org ready\r\n\r\n")
				nc.Close()
			}
		}, func(n int64) bool { return n%10 != 0 }, Protocol},
		{"resets", func(n int64, w http.ResponseWriter) {
			if n%10 == 0 {
				nc, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				nc.(*net.TCPConn).SetLinger(0)
				nc.Close()
			}
		}, func(n int64) bool { return n%10 != 0 }, Reset},
		{"says 503", func(n int64, w http.ResponseWriter) {
			if n%10 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, func(n int64) bool { return n%10 != 0 }, None},
	} {
		t.Run(c.name, func(t *testing.T) {
			var came, good atomic.Int64
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				n := came.Add(1)
				if c.ok(n) {
					good.Add(1)
				}
				c.handle(n, w)
			})
			r := run(t, to(t, s.URL))
			if r.Succeeded+r.Failed != 100 || came.Load() != 100 {
				t.Errorf("of 100 requests %d succeed, %d fail; %d came", r.Succeeded, r.Failed, came.Load())
			}
			if r.Succeeded != good.Load() {
				t.Errorf("%d succeed, the server says %d; %v", r.Succeeded, good.Load(), r.Examples)
			}
			if c.fault != None && r.Faults[c.fault] != r.Failed {
				t.Errorf("faults are %v, want %d times %q", r.Faults, r.Failed, c.fault)
			}
			if n := r.Statuses[503]; c.name == "says 503" && n != r.Failed {
				t.Errorf("%d times 503, %d failed", n, r.Failed)
			}
		})
	}
}

func TestTimeoutsAndWhatIsNeverSent(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-end })
	defer close(end)
	o := to(t, s.URL)
	o.Connections, o.Timeout = 2, 200*time.Millisecond
	r := run(t, o)
	if r.Succeeded != 0 || r.Failed != 100 {
		t.Errorf("%d succeed, %d fail", r.Succeeded, r.Failed)
	}
	if r.Faults[Timeout]+r.Faults[Unsent] != 100 || r.Faults[Timeout] < 4 || r.Faults[Unsent] == 0 {
		t.Errorf("faults: %v", r.Faults)
	}
	if !math.IsInf(r.Quantile(.01), 1) {
		t.Error("requests that failed are taken as fast")
	}
	if a := r.answer(o); !strings.Contains(a, "No request of 100 succeeds") {
		t.Error(a)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := Run(t.Context(), to(t, "http://"+address)); err == nil || !strings.Contains(err.Error(), address+" cannot be reached") {
		t.Errorf("got %v", err)
	}
	old := to(t, serve(t, func(http.ResponseWriter, *http.Request) {}).URL)
	old.Dialer.Protocol = wire.HTTP2
	if _, err := Run(t.Context(), old); err == nil || !strings.Contains(err.Error(), "does not speak HTTP/2") {
		t.Errorf("HTTP/2 to a server that has none: %v", err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	if _, err := Run(t.Context(), to(t, s.URL)); err == nil || !strings.Contains(err.Error(), "TLS: ") {
		t.Errorf("an unknown authority: %v", err)
	}
}

// A server that goes away in the middle of a run is told of, and no run ends for it.
func TestServerGoesAway(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	time.AfterFunc(250*time.Millisecond, s.Close)
	r := run(t, to(t, s.URL))
	if r.Succeeded == 0 || r.Faults[Connect] == 0 || r.Succeeded+r.Failed != 100 {
		t.Errorf("%d succeed, %d fail: %v", r.Succeeded, r.Failed, r.Faults)
	}
}

func TestHTTP2(t *testing.T) {
	var protocols [3]atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols[r.ProtoMajor].Add(1)
		io.WriteString(w, "hello")
	})
	secure := httptest.NewUnstartedServer(h)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewUnstartedServer(h)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	defer plain.Close()
	for _, c := range []struct {
		name     string
		url      string
		protocol wire.Protocol
		major    int
	}{
		{"as the server offers", secure.URL, wire.Auto, 2}, {"insisting", secure.URL, wire.HTTP2, 2}, {"refusing", secure.URL, wire.HTTP1, 1},
		{"without TLS", plain.URL, wire.HTTP2, 2}, {"plain", plain.URL, wire.Auto, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range protocols {
				protocols[i].Store(0)
			}
			o := to(t, c.url)
			o.Dialer.Protocol = c.protocol
			o.Dialer.TLS = secure.Client().Transport.(*http.Transport).TLSClientConfig
			o.Connections, o.Streams = 2, 5
			r := run(t, o)
			if r.Succeeded != 100 || protocols[c.major].Load() != 100 || r.HTTP2 != (c.major == 2) {
				t.Errorf("%d succeed; over HTTP/1 and 2: %d, %d; %v", r.Succeeded, protocols[1].Load(), protocols[2].Load(), r.Examples)
			}
		})
	}
}

func TestClosedLoopAndNewConnections(t *testing.T) {
	var came, conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	o := to(t, s.URL)
	o.Closed, o.Rate, o.Connections, o.Duration = true, 0, 2, 200*time.Millisecond
	r := run(t, o)
	if r.Failed > 0 || r.Succeeded != came.Load() || conns.Load() != 3 { // one to see whether it is there
		t.Errorf("%d of %d, %d connections", r.Succeeded, came.Load(), conns.Load())
	}
	o = to(t, s.URL)
	o.NewConnections = true
	conns.Store(0)
	r = run(t, o)
	if r.Succeeded != 100 || conns.Load() != 101 || r.Opened != 100 || r.Connect.N() != 100 {
		t.Errorf("%d succeed over %d connections, %d counted: %v", r.Succeeded, conns.Load(), r.Opened, r.Examples)
	}
}

func TestWeightsAndOrder(t *testing.T) {
	var a, b atomic.Int64
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			a.Add(1)
		case "/b":
			b.Add(1)
		}
	})
	m := Mix{}
	targets, err := m.Targets([]string{"3=" + s.URL + "/a?x=1", s.URL + "/b"})
	if err != nil {
		t.Fatal(err)
	}
	o := to(t, s.URL)
	o.Targets = targets
	o.Rate, o.Duration = 2000, time.Second
	r := run(t, o)
	// Binomial with 2000 draws of 3/4: standard deviation 19.
	if n := a.Load(); n < 1400 || n > 1600 || a.Load()+b.Load() != 2000 {
		t.Errorf("%d and %d, want about 1500 and 500", a.Load(), b.Load())
	}
	if len(r.Targets) != 2 || r.Targets[0].Latency.N() != a.Load() {
		t.Errorf("by target: %+v", r.Targets)
	}
	a.Store(0)
	b.Store(0)
	o.InOrder, o.Rate, o.Duration = true, 200, 500*time.Millisecond
	run(t, o)
	if a.Load() != 50 || b.Load() != 50 {
		t.Errorf("in order: %d and %d", a.Load(), b.Load())
	}
}

func TestInterruptedKeepsWhatWasMeasured(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(500*time.Millisecond, func() { cancel(enough) })
	defer cancel(nil)
	o := to(t, s.URL)
	o.Duration = time.Minute
	began := time.Now()
	r, err := Run(ctx, o)
	if !errors.Is(err, enough) || r == nil || !r.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	if time.Since(began) > 20*time.Second || r.Succeeded == 0 || r.Failed > 0 || len(r.Faults) > 0 {
		t.Errorf("%d after %v; %d failed: %v", r.Succeeded, time.Since(began), r.Failed, r.Faults)
	}
}

// A generator that is asked for more than it can send says so, one way or another.
func TestLimitsOfTheGenerator(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	o := to(t, s.URL)
	o.Rate, o.Connections, o.Timeout, o.Duration = 2_000_000, 2, time.Second, 100*time.Millisecond
	r := run(t, o)
	if r.Failed == 0 || r.Faults[Unsent] == 0 || r.Succeeded+r.Failed != 200_000 {
		t.Errorf("%d succeed, %d fail: %v", r.Succeeded, r.Failed, r.Faults)
	}
	if w := strings.Join(r.warnings(o), "\n"); !strings.Contains(w, "waited for a free connection") {
		t.Errorf("warnings: %s", w)
	}
}

func TestLimitedNamesTheLimit(t *testing.T) {
	sound := func() *Result {
		r := &Result{Succeeded: 1000, Duration: time.Second}
		for range 1000 {
			r.Latency.Add(int64(5 * time.Millisecond))
			r.Lateness.Add(0)
		}
		return r
	}
	if why := sound().Limited(); why != "" {
		t.Errorf("nothing limits: %s", why)
	}
	for _, c := range []struct {
		want string
		set  func(*Result)
	}{
		{"busy for 99 %", func(r *Result) { r.Generator.Busy = .99 }},
		{"more than 1 ms late", func(r *Result) { r.Late = 20 }},
		{"waited for a processor", func(r *Result) { r.Generator.Delay = 3 * time.Millisecond }},
		{"ran out of", func(r *Result) { r.Faults = map[Fault]int64{Exhausted: 1} }},
	} {
		r := sound()
		c.set(r)
		if why := r.Limited(); !strings.Contains(why, c.want) {
			t.Errorf("%q does not say %q", why, c.want)
		}
	}
}

func TestReplay(t *testing.T) {
	var paths [3]atomic.Int64
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		paths[n%3].Add(1)
	})
	o := to(t, s.URL)
	o.Rate = 0
	o.Targets, o.InOrder = nil, true
	for i := range 3 {
		r, err := wire.NewRequest("", fmt.Sprintf("%s/%d", s.URL, i), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Targets = append(o.Targets, Target{Request: r})
	}
	o.Times = []time.Duration{0, time.Millisecond, 40 * time.Millisecond}
	o.Duration = 50 * time.Millisecond
	r := run(t, o)
	if r.Succeeded != 3 || paths[0].Load() != 1 || paths[1].Load() != 1 || paths[2].Load() != 1 {
		t.Errorf("%d succeed", r.Succeeded)
	}
}

// A server's own idle timeout is no fault of the server, under TLS either, where the end is announced.
func TestIdleConnectionsThatTheServerEnds(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		s.Config.IdleTimeout = 200 * time.Millisecond
		if secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		o := to(t, s.URL)
		o.Rate, o.Duration, o.Connections = 8, 2*time.Second, 8
		if secure {
			o.Dialer.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
		}
		r := run(t, o)
		// Without a look nearly all fail; one that leaves in the very moment in which the server ends the connection may.
		if r.Succeeded < 14 || r.Opened == 0 {
			t.Errorf("TLS %v: %d of 16 succeed over %d new connections: %v", secure, r.Succeeded, r.Opened, r.Examples)
		}
		s.Close()
	}
}

// Who interrupts a run because the server hangs is told that it does.
func TestInterruptedInAStall(t *testing.T) {
	end := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-end })
	defer close(end)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	defer cancel()
	o := to(t, s.URL)
	o.Duration = time.Minute
	r, err := Run(ctx, o)
	if err == nil || r == nil || r.Faults[Pending] != 8 || r.Faults[Unsent] < 50 || r.Faults[Unsent] > 120 {
		t.Fatalf("%v, %v", err, r.Faults)
	}
	if a := r.answer(o); !strings.Contains(a, "No request of") {
		t.Error(a)
	}
}

// A server over HTTP/2 that ends its connections now and then loses no request.
func TestGoAway(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.IntN(20) == 0 {
			w.Header().Set("Connection", "close") // HTTP/2 says GOAWAY
		}
		time.Sleep(5 * time.Millisecond)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	o := to(t, s.URL)
	o.Dialer.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	o.Connections, o.Streams, o.Rate, o.Duration = 2, 20, 400, time.Second
	r := run(t, o)
	if r.Succeeded != 400 || r.Opened < 2 {
		t.Errorf("%d of 400 succeed over %d connections: %v", r.Succeeded, r.Opened, r.Examples)
	}
}
