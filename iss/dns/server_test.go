package dns

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, address string, r *Responder) *Server {
	t.Helper()
	s, err := Listen(address, r)
	if err != nil {
		if strings.Contains(err.Error(), "cannot assign") {
			t.Skipf("this machine has no %s: %v", address, err)
		}
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestServe(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0", "0.0.0.0:0"} {
		t.Run(address, func(t *testing.T) {
			s := start(t, address, newResponder(t, fresh, Options{}))
			hosts := []string{"127.0.0.1", "127.0.0.2", "::1"}
			switch {
			case strings.HasPrefix(address, "127"):
				hosts = hosts[:1]
			case strings.HasPrefix(address, "0."):
				hosts = hosts[:2]
			case strings.HasPrefix(address, "["):
				hosts = hosts[2:]
			}
			for _, host := range hosts {
				for _, network := range []string{"udp", "tcp"} {
					to := netip.AddrPortFrom(netip.MustParseAddr(host), s.Addr().Port()).String()
					c := dns.Client{Net: network, Timeout: 5 * time.Second}
					// The client's socket is connected: it takes no answer from another address.
					m, _, err := c.Exchange(new(dns.Msg).SetQuestion("iss.example.", dns.TypeLOC), to)
					if err != nil || len(m.Answer) != 1 {
						t.Errorf("%s %s: %v, %v", network, to, m, err)
					}
				}
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	s := start(t, "127.0.0.1:0", newResponder(t, fresh, Options{}))
	if _, err := Listen(s.Addr().String(), s.r); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second server: %v", err)
	}
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:x", "nowhere.invalid:0"} {
		if s, err := Listen(address, s.r); err == nil {
			t.Errorf("%q: %v", address, s.Addr())
		}
	}
}

// frame is a query as TCP has it.
func frame(q []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
}

func readFrame(t *testing.T, r io.Reader) *dns.Msg {
	t.Helper()
	var n uint16
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return read(t, b)
}

func dialTCP(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func TestTCP(t *testing.T) {
	s := start(t, "127.0.0.1:0", newResponder(t, fresh, Options{}))
	t.Run("queries one upon another", func(t *testing.T) {
		c := dialTCP(t, s)
		var all []byte
		for i := range 100 {
			all = append(all, frame(ask("iss.example.", dns.TypeLOC, func(m *dns.Msg) { m.Id = uint16(i) }))...)
		}
		go func() { // in pieces that end anywhere
			for len(all) > 0 {
				n := min(1+rand.IntN(200), len(all))
				c.Write(all[:n])
				all = all[n:]
			}
		}()
		for i := range 100 {
			if m := readFrame(t, c); m.Id != uint16(i) || len(m.Answer) != 1 {
				t.Fatalf("answer %d: %v", i, m)
			}
		}
	})
	t.Run("no query after a query", func(t *testing.T) {
		c := dialTCP(t, s)
		c.Write(append(frame(ask("iss.example.", dns.TypeLOC)), "GET / HTTP/1.1\r\n\r\n"...))
		if m := readFrame(t, c); len(m.Answer) != 1 {
			t.Errorf("%v", m)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("it goes on with %d octets", n)
		}
	})
	t.Run("what ends the connection", func(t *testing.T) {
		for what, b := range map[string][]byte{
			"too short": {0, 1, 0}, "too long": {0xff, 0xff}, "an answer": frame(s.r.Respond(nil, ask("iss.example.", dns.TypeLOC), client, true)),
		} {
			c := dialTCP(t, s)
			c.Write(b)
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, syscall.ETIMEDOUT) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	t.Run("a client that has sent all has its answers", func(t *testing.T) {
		c := dialTCP(t, s).(*net.TCPConn)
		c.Write(bytes.Repeat(frame(ask("iss.example.", dns.TypeTXT)), 3))
		c.CloseWrite()
		all, err := io.ReadAll(c)
		if err != nil || len(all) < 300 {
			t.Errorf("%d octets, %v", len(all), err)
		}
	})
}

func TestTooManyConnections(t *testing.T) {
	s := start(t, "127.0.0.1:0", newResponder(t, fresh, Options{}))
	for range maxFrom {
		dialTCP(t, s)
	}
	deadline := time.Now().Add(20 * time.Second)
	for s.r.Stats().Open < maxFrom && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil { // or it was reset already
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("one network has more than its share: %v", err)
		}
	}
	for s.r.Stats().TurnedAway == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := s.r.Stats(); n.TurnedAway != 1 || n.Open != maxFrom {
		t.Errorf("%+v", n)
	}
	// UDP is served all the same.
	m, _, err := (&dns.Client{Timeout: 5 * time.Second}).Exchange(new(dns.Msg).SetQuestion("iss.example.", dns.TypeLOC), s.Addr().String())
	if err != nil || len(m.Answer) != 1 {
		t.Errorf("%v, %v", m, err)
	}
}

func TestShutdown(t *testing.T) {
	s, err := Listen("127.0.0.1:0", newResponder(t, fresh, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	idle := dialTCP(t, s)
	idle.Write(frame(ask("iss.example.", dns.TypeLOC)))
	readFrame(t, idle)
	half := dialTCP(t, s)
	half.Write([]byte{0})
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("it waits for those who say nothing: %v", d)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", s.Addr().String(), time.Second); err == nil {
		t.Error("it still listens")
	}
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("again: %v", err)
	}
}

// servicePort is a free address below the ports that the system gives to clients: dig asks for SO_REUSEPORT, too, and
// could get the server's own port, and its query back.
func servicePort(t *testing.T) string {
	for range 100 {
		s, err := Listen("127.0.0.1:"+itoa(uint16(20_000+rand.IntN(12_000))), newResponder(t, fresh, Options{}))
		if err != nil {
			continue
		}
		address := s.Addr().String()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatal("no port is free")
	return ""
}

// dig, which is another's program, says what we say.
func TestDig(t *testing.T) {
	dig, err := exec.LookPath("dig")
	if err != nil {
		t.Skip("needs dig (Debian: bind9-dnsutils)")
	}
	run := func(s *Server, args ...string) string {
		a := s.Addr()
		all := append([]string{"@" + a.Addr().String(), "-p", itoa(a.Port()), "+tries=1", "+time=5"}, args...)
		out, err := exec.Command(dig, all...).CombinedOutput()
		if err != nil {
			t.Errorf("dig %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	t.Run("the service", func(t *testing.T) {
		s := start(t, servicePort(t), newResponder(t, fresh.AddDate(0, 0, 109), Options{}))
		z := newResponder(t, fresh, Options{}).zone
		l, _, err := z.LOC(z.Object([]byte("iss")), fresh.AddDate(0, 0, 109))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ args, want string }{
			{"LOC iss.example.", "4\tIN\tLOC\t" + l.String() + "\n"},
			{"LOC iss.example.", "; EDE: 3 (Stale Answer): (elements are 109 days old: position may be off by"},
			{"LOC iss.example.", "status: NOERROR"},
			{"LOC iss.example.", "flags: qr aa rd; QUERY: 1, ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1"},
			{"+tcp LOC iss.example.", "4\tIN\tLOC\t" + l.String() + "\n"},
			{"+noedns LOC iss.example.", `"age=109 days"`},
			{"+noedns +tcp LOC iSS.exampLE.", "iSS.exampLE.\t\t4\tIN\tLOC"},
			{"SOA example.", "example.\t\t3600\tIN\tSOA\tns.example. hostmaster.example. "},
			{"NS example.", "example.\t\t3600\tIN\tNS\tns.example."},
			{"A ns.example.", "192.0.2.1"},
			{"AAAA ns.example.", "2001:db8::1"},
			{"LOC nobody.example.", "status: NXDOMAIN"},
			{"LOC iss.example.org.", "status: REFUSED"},
			{"LOC iss.example.org.", "EDE: 20 (Not Authoritative)"},
			{"CH TXT version.bind.", "status: REFUSED"},
			{"+ednsopt=65001:00 LOC iss.example.", "ANSWER: 1"},
			{"+edns=1 +noednsnegotiation LOC iss.example.", "status: BADVERS"},
			{"+cookie=0011223344556677 LOC iss.example.", "; COOKIE: 0011223344556677010000006"},
			{"ANY iss.example. +notcp", "ANSWER: 1"},
			{"TXT vienna.pass.iss.example.", "observer=48.2n-16.4e"},
		} {
			if out := run(s, strings.Fields(c.args)...); !strings.Contains(out, c.want) {
				t.Errorf("dig %s: no %q in\n%s", c.args, c.want, out)
			}
		}
	})
	t.Run("LOC", func(t *testing.T) {
		// A server that answers with one place after the other: what dig makes of our octets is
		// what we write.
		var places []orbit.Place
		for _, lat := range []float64{-90, -45.5, -1e-3 / 3600, 0, 1e-3 / 3600, 59.9999999, 90} {
			for _, lon := range []float64{-180, -179.9999999, -1e-3 / 3600, 0, 12.3456789, 180} {
				for _, h := range []float64{-100, -.00001, 0, .00001, 417.94618, 35786, 42849.67295} {
					places = append(places, orbit.Place{Latitude: lat, Longitude: lon, Height: h})
				}
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			places = append(places, orbit.Place{Latitude: 180*r.Float64() - 90, Longitude: 360*r.Float64() - 180, Height: 42949*r.Float64() - 100})
		}
		var want []string
		var data [][16]byte
		for i, p := range places {
			l, err := zone.NewLOC(p, float64(i), 10*float64(i), 1e5*float64(i))
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			want = append(want, l.String())
			data = append(data, l.Wire())
		}
		mux := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetReply(q)
			var i int
			for _, c := range strings.TrimSuffix(q.Question[0].Name, ".") {
				i = 10*i + int(c-'0')
			}
			rr, err := dns.NewRR(q.Question[0].Name + ` 4 IN LOC \# 16 ` + hex.EncodeToString(data[i][:]))
			if err == nil {
				m.Answer = []dns.RR{rr}
			}
			w.WriteMsg(m)
		})
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		up := make(chan struct{})
		server := &dns.Server{PacketConn: pc, Handler: mux, NotifyStartedFunc: func() { close(up) }}
		go server.ActivateAndServe()
		<-up
		defer server.Shutdown()
		args := []string{"@127.0.0.1", "-p", itoa(netip.MustParseAddrPort(pc.LocalAddr().String()).Port()), "+short", "+tries=2", "+time=5"}
		for i := range places {
			args = append(args, itoa(uint16(i))+".", "LOC")
		}
		out, err := exec.Command(dig, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(got) != len(want) {
			t.Fatalf("%d answers to %d questions, the last is %s", len(got), len(want), got[len(got)-1])
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%+v: dig says %q, we say %q", places[i], got[i], want[i])
			}
		}
	})
}

func itoa(n uint16) string {
	return strings.TrimPrefix(netip.AddrPortFrom(netip.IPv4Unspecified(), n).String(), "0.0.0.0:")
}

// Many at once, each from its own socket, to several addresses of the machine: everybody
// has the answer to his own question, from where he asked.
func TestBursts(t *testing.T) {
	s := start(t, "0.0.0.0:0", newResponder(t, fresh, Options{}))
	names := []string{"iss", "hubble", "css", "nobody", "noaa-15", "landsat-9", "goes-15", "25544"}
	var work sync.WaitGroup
	for i := range 40 {
		work.Add(1)
		go func() {
			defer work.Done()
			to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + i%4)}), s.Addr().Port())
			c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			name := names[i%len(names)] + ".example."
			const burst = 8
			for round := range 5 {
				for j := range burst {
					q := ask(name, dns.TypeLOC, func(m *dns.Msg) { m.Id = uint16(i<<8 | round<<4 | j) })
					if j == 3 {
						q = q[:5] // has no answer
					}
					c.Write(q)
				}
				seen := map[uint16]bool{}
				b := make([]byte, 2000)
				for len(seen) < burst-1 {
					c.SetReadDeadline(time.Now().Add(20 * time.Second))
					n, err := c.Read(b)
					if err != nil {
						t.Errorf("%s from %s: %d of %d answers: %v", name, to, len(seen), burst-1, err)
						return
					}
					m := read(t, b[:n])
					if m.Question[0].Name != name || m.Id>>4 != uint16(i<<4|round) || seen[m.Id] {
						t.Errorf("%s, %d asked; answer %d: %v", name, i<<8|round<<4, m.Id, m)
						return
					}
					seen[m.Id] = true
				}
			}
		}()
	}
	work.Wait()
}

// Who asks for passes, which take long, does not hold up those who ask where the station is.
func TestPassesDoNotHoldUp(t *testing.T) {
	s := start(t, "127.0.0.1:0", newResponder(t, fresh, Options{}))
	c, err := net.Dial("udp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const passes = 40
	for i := range passes {
		c.Write(ask(itoa(uint16(i))+"n-"+itoa(uint16(i))+"e.PASS.iss.example.", dns.TypeTXT))
	}
	c.Write(ask("iss.example.", dns.TypeLOC))
	b := make([]byte, 2000)
	for before := 0; ; before++ {
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if m := read(t, b[:n]); m.Question[0].Qtype == dns.TypeLOC {
			if before > passes/2 {
				t.Errorf("the answer came after those to %d passes", before)
			}
			return
		}
	}
}

func TestAsksPass(t *testing.T) {
	for name, want := range map[string]bool{
		"iss.example.": false, "pass.iss.example.": false, "x.pass.iss.example.": true, "1n-1e.pAss.iss.example.": true,
		".": false, "passx.passy.example.": false,
	} {
		q := ask(name, dns.TypeTXT)
		if asksPass(q) != want {
			t.Errorf("%s: %t", name, !want)
		}
		for i := range q {
			asksPass(q[:i]) // does not fall off the end
		}
	}
}
