package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/path/link"
)

// TestMain runs the tests where they may make links and mounts.
func TestMain(m *testing.M) {
	done, code, err := link.Entry{Always: true, Processes: true}.Enter(context.Background())
	if err != nil {
		fmt.Fprintf(os.Stderr, "tests that need a link are skipped: %v\n", err)
	}
	if done {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

func opened(t *testing.T, o Options) *path {
	t.Helper()
	o.Warn = func(err error) { t.Log(err) }
	p, err := o.open(outside{})
	if errors.Is(err, link.ErrForbidden) || errors.Is(err, link.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// dial connects from the inside.
func (p *path) dial(t *testing.T, network string, to netip.AddrPort) (net.Conn, error) {
	t.Helper()
	var c net.Conn
	err := p.link.A.Do(func() (err error) {
		d := net.Dialer{Timeout: 10 * time.Second}
		c, err = d.DialContext(t.Context(), network, to.String())
		return err
	})
	return c, err
}

// service listens on the loopback of the host and does f for each connection.
func service(t *testing.T, f func(*net.TCPConn)) (port uint16) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
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
			go f(c.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().(*net.TCPAddr).AddrPort().Port()
}

// What a client says reaches the service whole, and the other way round, after either has said that it has no more to say.
func TestRelayCarriesAll(t *testing.T) {
	port := service(t, func(c *net.TCPConn) {
		defer c.Close()
		b, err := io.ReadAll(c) // until the client has ended
		if err != nil {
			return
		}
		for i := range b {
			b[i] ^= 0x5a
		}
		c.Write(b)
	})
	p := opened(t, Options{Up: link.Conditions{Delay: 5 * time.Millisecond, Loss: .005}, Down: link.Conditions{Loss: .005}, Seed: 3})
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i * i >> 3)
	}
	errs := make(chan error)
	for range 8 {
		c, err := p.dial(t, "tcp4", netip.AddrPortFrom(p.host, port))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer c.Close()
			go func() { c.Write(sent); c.(*net.TCPConn).CloseWrite() }()
			got, err := io.ReadAll(c)
			for i := range got {
				got[i] ^= 0x5a
			}
			if err == nil && !bytes.Equal(got, sent) {
				err = fmt.Errorf("%d bytes came back, not the same", len(got))
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if up, down := p.link.Stats(); up.Lost == 0 || down.Lost == 0 || up.Refused+down.Refused > 0 {
		t.Errorf("up: %v; down: %v", up, down)
	}
}

// A port is refused when nobody listens on it, also after somebody did; and open again when somebody does again.
func TestRelayRefusesWhatTheHostDoes(t *testing.T) {
	p := opened(t, Options{})
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	to := netip.AddrPortFrom(p.host, netip.MustParseAddrPort(at).Port())
	try := func(want error) {
		t.Helper()
		c, err := p.dial(t, "tcp4", to)
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	try(nil)
	ln.Close()
	try(syscall.ECONNREFUSED)
	if ln, err = net.Listen("tcp4", at); err != nil {
		t.Skip(err) // somebody else has taken it
	}
	try(nil)
	ln.Close()
	try(syscall.ECONNREFUSED)
}

// A reset of the service is one for the client, and not the end of a whole answer.
func TestRelayResets(t *testing.T) {
	port := service(t, func(c *net.TCPConn) {
		c.Write([]byte("half of"))
		io.ReadFull(c, make([]byte, 1))
		c.SetLinger(0)
		c.Close()
	})
	p := opened(t, Options{})
	c, err := p.dial(t, "tcp4", netip.AddrPortFrom(p.host, port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, 7)); err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("!"))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
}

// Datagrams go and come, from several clients to one service, each with its own answers.
func TestRelayDatagrams(t *testing.T) {
	s, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1<<16)
		for {
			n, from, err := s.ReadFrom(b)
			if err != nil {
				return
			}
			s.WriteTo(append(b[:n:n], '!'), from)
		}
	}()
	defer func() { s.Close(); <-done }()
	p := opened(t, Options{Up: link.Conditions{Delay: time.Millisecond}})
	to := netip.AddrPortFrom(p.host, s.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	for client := range 3 {
		c, err := p.dial(t, "udp4", to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		for i, size := range []int{0, 10, 1472, 9000} { // the last one goes in fragments
			want := append(bytes.Repeat([]byte{byte('a' + client)}, size), byte(i))
			if _, err := c.Write(want); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 1<<16)
			n, err := c.Read(b)
			if err != nil || !bytes.Equal(b[:n], append(want, '!')) {
				t.Fatalf("client %d, %d bytes: %d came back, %v", client, size, n, err)
			}
		}
	}
}

// The outside is reached from the host's namespace, by address; with local it is not, and nobody waits for it.
func TestOutside(t *testing.T) {
	port, away := service(t, func(c *net.TCPConn) { c.Write([]byte("out")); c.Close() }), netip.MustParseAddrPort("192.0.2.7:80")
	p := opened(t, Options{Outside: true, divert: func(to netip.AddrPort) netip.AddrPort {
		if to == away {
			return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
		}
		return to
	}})
	c, err := p.dial(t, "tcp4", away)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := io.ReadAll(c); string(b) != "out" {
		t.Errorf("%q, %v", b, err)
	}
	alone := opened(t, Options{})
	begin := time.Now()
	if _, err := alone.dial(t, "tcp4", away); !errors.Is(err, syscall.EHOSTUNREACH) && !errors.Is(err, syscall.ENETUNREACH) || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

func TestTargets(t *testing.T) {
	host, server := netip.MustParseAddr("100.127.255.254"), netip.MustParseAddr("127.0.0.53")
	for _, c := range []struct {
		protocol byte
		to       string
		outside  bool
		want     string
	}{
		{unix.IPPROTO_TCP, "100.127.255.254:80", false, "[127.0.0.1:80 [::1]:80]"},
		{unix.IPPROTO_UDP, "100.127.255.254:80", false, "[127.0.0.1:80]"},
		{unix.IPPROTO_UDP, resolver.String() + ":53", true, "[127.0.0.53:53]"},
		{unix.IPPROTO_UDP, resolver.String() + ":54", true, "[]"},
		{unix.IPPROTO_TCP, "192.0.2.1:443", true, "[192.0.2.1:443]"},
		{unix.IPPROTO_TCP, "192.0.2.1:443", false, "[]"},
		{unix.IPPROTO_TCP, "100.127.3.3:443", true, "[]"},
		{unix.IPPROTO_UDP, "224.0.0.251:5353", true, "[]"},
		{unix.IPPROTO_TCP, "127.0.0.1:80", true, "[]"},
	} {
		if got := fmt.Sprint(targets(host, server, c.outside, nil)(c.protocol, netip.MustParseAddrPort(c.to))); got != c.want {
			t.Errorf("%s: %s, want %s", c.to, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ resolv, server string }{
		{"search x\nnameserver 10.0.0.1\nnameserver 127.0.0.1\n", "10.0.0.1 true"},
		{"nameserver 127.0.0.53\noptions edns0\n", "127.0.0.53 false"},
		{"nameserver 2001:db8::1\n", "2001:db8::1 false"},
		{"", "127.0.0.1 false"},
	} {
		a, reachable := nameServer([]byte(c.resolv))
		if got := fmt.Sprint(a, " ", reachable); got != c.server {
			t.Errorf("%q: %s", c.resolv, got)
		}
	}
	if got := string(withResolver([]byte("search x\nnameserver 127.0.0.53\noptions edns0\n"))); got != "nameserver 100.127.255.250\nsearch x\noptions edns0\n" {
		t.Errorf("%q", got)
	}
	if got := string(withHost([]byte("127.0.0.1 localhost"), netip.MustParseAddr("1.2.3.4"))); got != "127.0.0.1 localhost\n1.2.3.4\thost.headway\n" {
		t.Errorf("%q", got)
	}
	if got := string(withFiles([]byte("passwd: files\nhosts: mymachines resolve files\n"))); got != "passwd: files\nhosts: files dns\n" {
		t.Errorf("%q", got)
	}
}

// The host's name is known inside, to libraries that read the files.
func TestHostHasAName(t *testing.T) {
	opened(t, Options{})
	b, err := os.ReadFile("/etc/hosts")
	if err != nil {
		t.Skip(err)
	}
	if _, host := link.Ends(link.Root); !strings.Contains(string(b), host.String()+"\t"+Host) {
		t.Errorf("%q", b)
	}
}

func TestParse(t *testing.T) {
	packet := func(protocol byte, payload ...byte) []byte {
		b := make([]byte, 20, 64)
		b[0], b[9] = 0x45, protocol
		copy(b[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
		return append(b, payload...)
	}
	tcp := func(flags byte) []byte {
		return packet(unix.IPPROTO_TCP, 0, 9, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0)
	}
	fragment := packet(unix.IPPROTO_UDP, make([]byte, 20)...)
	fragment[7] = 1
	for name, c := range map[string]struct {
		b    []byte
		want kind
	}{
		"syn": {tcp(2), opens}, "syn, ece, cwr": {tcp(0xc2), opens}, "syn, ack": {tcp(0x12), other}, "ack": {tcp(0x10), other},
		"udp": {packet(unix.IPPROTO_UDP, 0, 9, 0, 80, 0, 8, 0, 0), sends}, "echo": {packet(unix.IPPROTO_ICMP, 8, 0, 0, 0, 0, 0, 0, 0), echoes},
		"echo reply": {packet(unix.IPPROTO_ICMP, 0, 0, 0, 0, 0, 0, 0, 0), other}, "later fragment": {fragment, other}, "nothing": {nil, other},
		"cut": {tcp(2)[:30], other}, "IPv6": {append([]byte{0x60}, tcp(2)[1:]...), other},
	} {
		f, got := parse(c.b)
		if got != c.want || got == opens && (f.from.String() != "10.0.0.1:9" || f.to.String() != "10.0.0.2:80") {
			t.Errorf("%s: %v, %v", name, f, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) { parse(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{0x4f, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, k := parse(b); k != other && len(b) < 28 {
			t.Errorf("%v in %d bytes", k, len(b))
		}
	})
}

// A link that was late is told of, with what may help, unless that was done.
func TestUnreliable(t *testing.T) {
	var r Result
	for range 100 {
		r.Down.Late.Add(int64(2 * time.Millisecond))
	}
	for _, c := range []struct {
		awake bool
		want  string
	}{
		{false, "half of the packets were late by more than 2.0 ms; the machine was busy, or its idle processors wake late, which --awake keeps them from"},
		{true, "half of the packets were late by more than 2.0 ms; the machine was busy"},
	} {
		var b bytes.Buffer
		o := Options{Says: AsItIs, Awake: c.awake, Command: []string{"true"}}
		r.Text(&b, o)
		if !strings.HasPrefix(b.String(), "headway: a path as it is\nheadway: up: 0 packets, 0 B\n") {
			t.Errorf("%s", &b)
		}
		if !strings.HasSuffix(b.String(), "headway: warning: unreliable: "+c.want+"\n") || !slices.Equal(r.Report(o).Warnings, []string{"unreliable: " + c.want}) {
			t.Errorf("%s%q", &b, r.Report(o).Warnings)
		}
		if got := r.Report(o).Environment.More["idle processors"]; got != map[bool]string{true: "kept awake", false: "may sleep"}[c.awake] {
			t.Error(got)
		}
	}
	r.Down.Late = histogram.Histogram{}
	if why := r.unreliable(Options{}); why != "" {
		t.Error(why)
	}
}
