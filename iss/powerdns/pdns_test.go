package powerdns

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// freshZone is a zone whose elements are of today.
func freshZone(t testing.TB) *zone.Zone {
	t.Helper()
	var sets []orbit.Elements
	for o := range sky.BuiltIn().All() {
		e := o.Orbit().Elements()
		e.Epoch = time.Now().Add(-3 * time.Hour).UTC().Truncate(time.Microsecond)
		sets = append(sets, e)
	}
	s, err := sky.New(sets, sky.Origin{Text: "made"})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zone.New(zone.Config{
		Origin: "sky.example.",
		Servers: []zone.Host{
			{Name: "ns.sky.example.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}},
			{Name: "bare.deep.sky.example."},
		},
	}, sky.NewCatalogue(s))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// connect serves a backend in one of the connector's ways and tells PowerDNS where.
var connectors = map[string]func(t *testing.T, b *Backend) string{
	"http": func(t *testing.T, b *Backend) string { return "http:url=" + serveHTTP(t, b) + "/dns" },
	"post": func(t *testing.T, b *Backend) string { return "http:url=" + serveHTTP(t, b) + "/dns,post=1" },
	"post_json": func(t *testing.T, b *Backend) string {
		return "http:url=" + serveHTTP(t, b) + "/dns,post=1,post_json=1"
	},
	"unix": func(t *testing.T, b *Backend) string {
		path := filepath.Join(t.TempDir(), "s")
		l, err := ListenUnix(path)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- b.ServeUnix(l) }()
		t.Cleanup(func() {
			l.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return "unix:path=" + path
	},
}

func serveHTTP(t *testing.T, b *Backend) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: b}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}

// power starts a PowerDNS of our own, which nobody else sees, and returns its address.
func power(t *testing.T, connection string, dnssec bool) string {
	t.Helper()
	server, err := exec.LookPath("pdns_server")
	if err != nil {
		t.Skip("needs PowerDNS with its remote backend (Debian: pdns-server, pdns-backend-remote)")
	}
	dir := t.TempDir()
	settings := Settings(connection, dnssec) + fmt.Sprintf("socket-dir=%s\nlocal-address=127.0.0.1\n", dir)
	var out lockedBuffer
	for range 5 { // the port may be taken by somebody else meanwhile
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(probe.Addr().String())
		probe.Close()
		if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(settings+"local-port="+port+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(server, "--config-dir="+dir, "--guardian=no", "--daemon=no", "--disable-syslog", "--write-pid=no", "--loglevel=4")
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		dead := make(chan struct{})
		go func() { cmd.Wait(); close(dead) }()
		address := "127.0.0.1:" + port
		for range 200 {
			if _, _, err := (&dns.Client{Timeout: time.Second}).Exchange(new(dns.Msg).SetQuestion("sky.example.", dns.TypeSOA), address); err == nil {
				t.Cleanup(func() {
					cmd.Process.Signal(syscall.SIGTERM)
					select {
					case <-dead:
					case <-time.After(5 * time.Second):
						cmd.Process.Kill()
						<-dead
					}
					if t.Failed() {
						t.Logf("PowerDNS said:\n%s", out.String())
					}
				})
				return address
			}
			select {
			case <-dead:
			case <-time.After(50 * time.Millisecond):
				continue
			}
			break
		}
		cmd.Process.Kill()
		<-dead
	}
	if strings.Contains(out.String(), "Unable to load module") {
		t.Skipf("needs PowerDNS's remote backend (Debian: pdns-backend-remote): %s", out.String())
	}
	t.Fatalf("PowerDNS does not start:\n%s", out.String())
	return ""
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func query(t *testing.T, network, address, name string, kind uint16, do bool) *dns.Msg {
	t.Helper()
	q := new(dns.Msg).SetQuestion(name, kind)
	q.SetEdns0(1232, do)
	m, _, err := (&dns.Client{Net: network, Timeout: 5 * time.Second}).Exchange(q, address)
	if err != nil {
		t.Fatalf("%s %s over %s: %v", name, dns.TypeToString[kind], network, err)
	}
	return m
}

// A real PowerDNS, by each of the connectors.
func TestPowerDNS(t *testing.T) {
	for how, connect := range connectors {
		t.Run(how, func(t *testing.T) {
			z := freshZone(t)
			address := power(t, connect(t, New(z, nil)), false)
			for _, network := range []string{"udp", "tcp"} {
				for _, c := range []struct {
					name, kind string
					rcode      int
					answer     string // what the first record begins with, after its TTL
				}{
					{"sky.example.", "SOA", 0, "3600 IN SOA ns.sky.example. hostmaster.sky.example. "},
					{"sky.example.", "NS", 0, "3600 IN NS ns.sky.example."},
					{"sky.example.", "TXT", 0, `4 IN TXT "objects=9"`},
					{"ns.sky.example.", "A", 0, "3600 IN A 192.0.2.1"},
					{"ns.sky.example.", "AAAA", 0, "3600 IN AAAA 2001:db8::1"},
					{"iss.sky.example.", "LOC", 0, "4 IN LOC "},
					{"ISS.sky.EXAMPLE.", "LOC", 0, "4 IN LOC "},
					{"25544.sky.example.", "LOC", 0, "4 IN LOC "},
					{"iss.sky.example.", "TXT", 0, `4 IN TXT "object=ISS (ZARYA)" "number=25544"`},
					{"vienna.pass.iss.sky.example.", "TXT", 0, `4 IN TXT "object=ISS (ZARYA)" "observer=48.2n-16.4e" "`},
					{"iss.sky.example.", "A", 0, ""},
					{"pass.iss.sky.example.", "LOC", 0, ""},
					{"4e.pass.iss.sky.example.", "TXT", 0, ""},
					{"deep.sky.example.", "A", 0, ""},
					{"bare.deep.sky.example.", "A", 0, ""},
					{"nobody.sky.example.", "LOC", dns.RcodeNameError, ""},
					{"x.iss.sky.example.", "LOC", dns.RcodeNameError, ""},
					{"example.org.", "LOC", dns.RcodeRefused, ""},
				} {
					m := query(t, network, address, c.name, dns.StringToType[c.kind], false)
					if m.Rcode != c.rcode || (len(m.Answer) > 0) != (c.answer != "") || m.Authoritative != (c.rcode != dns.RcodeRefused) {
						t.Errorf("%s %s over %s:\n%v", c.name, c.kind, network, m)
						continue
					}
					if c.answer == "" {
						if c.rcode != dns.RcodeRefused && (len(m.Ns) != 1 || m.Ns[0].Header().Rrtype != dns.TypeSOA) {
							t.Errorf("%s %s over %s: no SOA in\n%v", c.name, c.kind, network, m)
						}
						continue
					}
					found := false
					for _, rr := range m.Answer { // in any order
						found = found || strings.HasPrefix(strings.Join(strings.Fields(rr.String())[1:], " "), c.answer) && strings.EqualFold(rr.Header().Name, c.name)
					}
					if !found {
						t.Errorf("%s %s over %s: %v, want %s", c.name, c.kind, network, m.Answer, c.answer)
					}
				}
			}
			// To the hundredth of a second of arc and the metre, what PowerDNS says is where it is.
			before := time.Now()
			m := query(t, "udp", address, "hubble.sky.example.", dns.TypeLOC, false)
			after := time.Now()
			near(t, z, m.Answer[0].(*dns.LOC), before, after)
			if how != "unix" {
				return
			}
			// Some seconds later it is elsewhere, whatever is cached.
			time.Sleep(4100 * time.Millisecond)
			before = time.Now()
			m = query(t, "udp", address, "hubble.sky.example.", dns.TypeLOC, false)
			near(t, z, m.Answer[0].(*dns.LOC), before, time.Now())
		})
	}
}

// near checks that a record is of a moment between two, or of up to three seconds before, for PowerDNS
// has two caches of a second, counted in whole seconds.
func near(t *testing.T, z *zone.Zone, rr *dns.LOC, from, to time.Time) {
	t.Helper()
	o := z.Object([]byte("hubble"))
	got := zone.LOC{Latitude: rr.Latitude, Longitude: rr.Longitude, Altitude: rr.Altitude}.Place().EarthFixed()
	best := 1e9
	for at := from.Add(-3 * time.Second); !at.After(to.Add(10 * time.Millisecond)); at = at.Add(time.Millisecond) {
		p, err := o.Below(at)
		if err != nil {
			t.Fatal(err)
		}
		v := p.EarthFixed()
		best = min(best, orbit.Vector{X: v.X - got.X, Y: v.Y - got.Y, Z: v.Z - got.Z}.Norm())
	}
	if best > .01 { // a millisecond is 8 m
		t.Errorf("%v is %.3f km from where it was between %v and %v", rr, best, from, to)
	}
}

// PowerDNS signs, and the chain from the DS record on holds, also for what does not exist.
func TestPowerDNSSigns(t *testing.T) {
	for _, how := range []string{"http", "unix"} {
		t.Run(how, func(t *testing.T) {
			z := freshZone(t)
			file := filepath.Join(t.TempDir(), "keys.json")
			keys, err := OpenKeys(file, z.Origin)
			if err != nil {
				t.Fatal(err)
			}
			address := power(t, connectors[how](t, New(z, keys)), true)
			again, err := OpenKeys(file, z.Origin)
			if err != nil || len(again.DS()) != 1 || again.DS()[0] != keys.DS()[0] {
				t.Fatalf("the file has not kept %v: %v, %v", keys.DS(), again, err)
			}
			rr, err := dns.NewRR(keys.DS()[0])
			if err != nil {
				t.Fatal(err)
			}
			m := query(t, "tcp", address, z.Origin, dns.TypeDNSKEY, true)
			key := m.Answer[0].(*dns.DNSKEY)
			if ds := key.ToDS(dns.SHA256); data(ds) != data(rr) {
				t.Fatalf("PowerDNS has the key of %v, we told %v", ds, rr)
			}
			verify(t, key, m.Answer)
			for _, c := range []struct {
				name   string
				kind   uint16
				rcode  int
				exists bool
			}{
				{"iss.sky.example.", dns.TypeLOC, 0, true},
				{"iss.sky.example.", dns.TypeTXT, 0, true},
				{"vienna.pass.iss.sky.example.", dns.TypeTXT, 0, true},
				{"sky.example.", dns.TypeSOA, 0, true},
				{"sky.example.", dns.TypeNS, 0, true},
				{"iss.sky.example.", dns.TypeA, 0, true},
				{"4e.pass.iss.sky.example.", dns.TypeTXT, 0, true},
				{"nobody.sky.example.", dns.TypeLOC, dns.RcodeNameError, false},
				{"x.y.iss.sky.example.", dns.TypeLOC, dns.RcodeNameError, false},
			} {
				m := query(t, "udp", address, c.name, c.kind, true)
				if m.Truncated {
					m = query(t, "tcp", address, c.name, c.kind, true)
				}
				if m.Rcode != c.rcode {
					t.Errorf("%s %s:\n%v", c.name, dns.TypeToString[c.kind], m)
					continue
				}
				verify(t, key, m.Answer)
				verify(t, key, m.Ns)
				switch {
				case len(m.Answer) > 0:
				case c.exists:
					if !proves(m.Ns, c.name, func(n *dns.NSEC3, name string) bool { return n.Match(name) && !has(n.TypeBitMap, c.kind) }) {
						t.Errorf("%s %s: not proved to be empty:\n%v", c.name, dns.TypeToString[c.kind], m)
					}
				default: // RFC 5155, 8.4: closest encloser, the name below it, the wildcard
					encloser := "sky.example."
					next := c.name
					if strings.Contains(c.name, "iss.") {
						encloser, next = "iss.sky.example.", "y.iss.sky.example."
					}
					match := func(n *dns.NSEC3, name string) bool { return n.Match(name) }
					cover := func(n *dns.NSEC3, name string) bool { return n.Cover(name) }
					if !proves(m.Ns, encloser, match) || !proves(m.Ns, next, cover) || !proves(m.Ns, "*."+encloser, cover) {
						t.Errorf("%s: not proved to be none:\n%v", c.name, m)
					}
				}
			}
			delv(t, address, key)
		})
	}
}

// More passes asked for than can be computed are no reason to say that there are none.
func TestPowerDNSUnderPasses(t *testing.T) {
	address := power(t, connectors["unix"](t, New(freshZone(t), nil)), false)
	var work sync.WaitGroup
	for i := range 60 {
		work.Add(1)
		go func() {
			defer work.Done()
			q := new(dns.Msg).SetQuestion(fmt.Sprintf("%dn-%de.pass.iss.sky.example.", i%50, i), dns.TypeTXT)
			m, _, err := (&dns.Client{Timeout: 10 * time.Second}).Exchange(q, address)
			if err == nil && m.Rcode != dns.RcodeServerFailure && len(m.Answer) != 1 && !m.Truncated {
				t.Errorf("%v", m)
			}
		}()
	}
	work.Wait()
	if m := query(t, "udp", address, "iss.sky.example.", dns.TypeLOC, false); len(m.Answer) != 1 {
		t.Errorf("afterwards: %v", m)
	}
}

func has(types []uint16, kind uint16) bool {
	for _, t := range types {
		if t == kind {
			return true
		}
	}
	return false
}

func proves(section []dns.RR, name string, how func(*dns.NSEC3, string) bool) bool {
	for _, rr := range section {
		if n, ok := rr.(*dns.NSEC3); ok && how(n, name) {
			return true
		}
	}
	return false
}

// verify checks that each set of records of a section is signed with the key, now.
func verify(t *testing.T, key *dns.DNSKEY, section []dns.RR) {
	t.Helper()
	type set struct {
		name string
		kind uint16
	}
	sets, signatures := map[set][]dns.RR{}, map[set]*dns.RRSIG{}
	for _, rr := range section {
		if s, ok := rr.(*dns.RRSIG); ok {
			signatures[set{strings.ToLower(s.Hdr.Name), s.TypeCovered}] = s
			continue
		}
		k := set{strings.ToLower(rr.Header().Name), rr.Header().Rrtype}
		sets[k] = append(sets[k], rr)
	}
	for k, rrs := range sets {
		s := signatures[k]
		if s == nil {
			t.Errorf("%s %s is not signed", k.name, dns.TypeToString[k.kind])
			continue
		}
		if err := s.Verify(key, rrs); err != nil {
			t.Errorf("%s %s: %v\n%v\n%v", k.name, dns.TypeToString[k.kind], err, rrs, s)
		}
		if !s.ValidityPeriod(time.Now()) {
			t.Errorf("%s %s: not valid now: %v", k.name, dns.TypeToString[k.kind], s)
		}
	}
}

// delv is BIND's validator: another's judgement.
func delv(t *testing.T, address string, key *dns.DNSKEY) {
	path, err := exec.LookPath("delv")
	if err != nil {
		t.Log("without delv (Debian: bind9-dnsutils), only our own check of signatures")
		return
	}
	anchor := filepath.Join(t.TempDir(), "anchor")
	text := fmt.Sprintf("trust-anchors { %q static-key %d %d %d %q; };\n", key.Hdr.Name, key.Flags, key.Protocol, key.Algorithm, key.PublicKey)
	if err := os.WriteFile(anchor, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(address)
	for args, want := range map[string]string{
		"iss.sky.example. LOC":             "; fully validated",
		"vienna.pass.iss.sky.example. TXT": "; fully validated",
		"sky.example. SOA":                 "; fully validated",
		"iss.sky.example. A":               "; negative response, fully validated",
		"nobody.sky.example. LOC":          "; negative response, fully validated",
		"4e.pass.iss.sky.example. TXT":     "; negative response, fully validated",
		"a.b.pass.hubble.sky.example. TXT": "; negative response, fully validated",
	} {
		all := append([]string{"@" + host, "-p", port, "-a", anchor, "+root=" + strings.TrimSuffix(key.Hdr.Name, ".")}, strings.Fields(args)...)
		out, _ := exec.Command(path, all...).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("delv %s: no %q in\n%s", args, want, out)
		}
	}
}

// pdnsutil changes keys through the backend.
func TestPdnsutil(t *testing.T) {
	util, err := exec.LookPath("pdnsutil")
	if err != nil {
		t.Skip("needs pdnsutil (Debian: pdns-server)")
	}
	z := freshZone(t)
	keys, err := OpenKeys(filepath.Join(t.TempDir(), "keys.json"), z.Origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"http", "unix"} {
		dir := t.TempDir()
		conf := Settings(connectors[how](t, New(z, keys)), true)
		if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(conf), 0o644); err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) string {
			out, err := exec.Command(util, append([]string{"--config-dir=" + dir}, args...)...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: pdnsutil %v: %v\n%s", how, args, err, out)
			}
			return string(out)
		}
		n := len(keys.DS())
		run("add-zone-key", z.Origin, "ksk", "active", "ed25519")
		if len(keys.DS()) != n+1 {
			t.Fatalf("%s: keys %v", how, keys.DS())
		}
		last := strconv.Itoa(keys.list()[n].ID)
		if out := run("show-zone", z.Origin); !strings.Contains(out, "ED25519") || !strings.Contains(out, "NARROW") {
			t.Errorf("%s: show-zone:\n%s", how, out)
		}
		run("deactivate-zone-key", z.Origin, last)
		if len(keys.DS()) != n {
			t.Errorf("%s: not deactivated: %v", how, keys.DS())
		}
		run("activate-zone-key", z.Origin, last)
		run("remove-zone-key", z.Origin, last)
		if len(keys.list()) != n {
			t.Errorf("%s: not removed: %v", how, keys.DS())
		}
	}
}

func data(rr dns.RR) string { return strings.TrimPrefix(rr.String(), rr.Header().String()) }
