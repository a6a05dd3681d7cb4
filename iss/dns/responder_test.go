package dns

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

var (
	fresh  = time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC) // when what is built in was
	client = netip.MustParseAddr("192.0.2.53")
)

func newResponder(t testing.TB, now time.Time, o Options) *Responder {
	t.Helper()
	z, err := zone.New(zone.Config{
		Origin:  "example.",
		Servers: []zone.Host{{Name: "ns.example.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}},
	}, sky.NewCatalogue(sky.BuiltIn()))
	if err != nil {
		t.Fatal(err)
	}
	o.Zone = z
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	return NewResponder(o)
}

// ask makes a query; edits change it.
func ask(name string, kind uint16, edits ...func(*dns.Msg)) []byte {
	m := new(dns.Msg).SetQuestion(name, kind)
	m.Id = 4711
	m.RecursionDesired = false
	for _, edit := range edits {
		edit(m)
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

func withEDNS(size uint16, options ...dns.EDNS0) func(*dns.Msg) {
	return func(m *dns.Msg) {
		m.SetEdns0(size, false)
		m.IsEdns0().Option = options
	}
}

func read(t testing.TB, b []byte) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	if err := m.Unpack(b); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	return m
}

func ede(m *dns.Msg) *dns.EDNS0_EDE {
	if o := m.IsEdns0(); o != nil {
		for _, x := range o.Option {
			if e, ok := x.(*dns.EDNS0_EDE); ok {
				return e
			}
		}
	}
	return nil
}

func TestAnswers(t *testing.T) {
	r := newResponder(t, fresh, Options{})
	for _, c := range []struct {
		what         string
		query        []byte
		rcode        int
		aa           bool
		answer, auth int
	}{
		{"LOC", ask("iss.example.", dns.TypeLOC), 0, true, 1, 0},
		{"case", ask("iSS.exAMPle.", dns.TypeLOC), 0, true, 1, 0},
		{"number", ask("25544.example.", dns.TypeLOC), 0, true, 1, 0},
		{"TXT", ask("iss.example.", dns.TypeTXT), 0, true, 1, 0},
		{"SOA", ask("example.", dns.TypeSOA), 0, true, 1, 0},
		{"NS", ask("example.", dns.TypeNS), 0, true, 1, 0},
		{"A", ask("ns.example.", dns.TypeA), 0, true, 1, 0},
		{"AAAA", ask("ns.example.", dns.TypeAAAA), 0, true, 1, 0},
		{"ANY is minimal", ask("iss.example.", dns.TypeANY), 0, true, 1, 0},
		{"ANY of the apex", ask("example.", dns.TypeANY), 0, true, 1, 0},
		{"NODATA", ask("iss.example.", dns.TypeA), 0, true, 0, 1},
		{"DS", ask("example.", dns.TypeDS), 0, true, 0, 1},
		{"NXDOMAIN", ask("nobody.example.", dns.TypeLOC), dns.RcodeNameError, true, 0, 1},
		{"deep NXDOMAIN", ask("a.b.c.example.", dns.TypeLOC), dns.RcodeNameError, true, 0, 1},
		{"on the way", ask("4e.pass.iss.example.", dns.TypeTXT), 0, true, 0, 1},
		{"outside", ask("iss.example.org.", dns.TypeLOC), dns.RcodeRefused, false, 0, 0},
		{"root", ask(".", dns.TypeNS), dns.RcodeRefused, false, 0, 0},
		{"version.bind", ask("version.bind.", dns.TypeTXT, func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }), dns.RcodeRefused, false, 0, 0},
		{"class", ask("iss.example.", dns.TypeLOC, func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassHESIOD }), dns.RcodeRefused, false, 0, 0},
		{"AXFR", ask("example.", dns.TypeAXFR), dns.RcodeRefused, false, 0, 0},
		{"IXFR", ask("example.", dns.TypeIXFR, func(m *dns.Msg) {
			m.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: "example.", Rrtype: dns.TypeSOA, Class: 1}, Ns: ".", Mbox: "."}}
		}), dns.RcodeRefused, false, 0, 0},
		{"OPT as type", ask("example.", dns.TypeOPT), dns.RcodeFormatError, false, 0, 0},
		{"EDNS version 1", ask("iss.example.", dns.TypeLOC, withEDNS(1232), func(m *dns.Msg) { m.IsEdns0().SetVersion(1) }), dns.RcodeBadVers, false, 0, 0},
		{"two OPT", ask("iss.example.", dns.TypeLOC, withEDNS(1232), func(m *dns.Msg) { m.Extra = append(m.Extra, m.Extra[0]) }), dns.RcodeFormatError, false, 0, 0},
		{"bad cookie", ask("iss.example.", dns.TypeLOC, withEDNS(1232, &dns.EDNS0_COOKIE{Code: 10, Cookie: "00112233"})), dns.RcodeFormatError, false, 0, 0},
		{"NOTIFY", ask("example.", dns.TypeSOA, func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }), dns.RcodeNotImplemented, false, 0, 0},
		{"UPDATE", ask("example.", dns.TypeSOA, func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }), dns.RcodeNotImplemented, false, 0, 0},
		{"no question", ask("example.", dns.TypeSOA, func(m *dns.Msg) { m.Question = nil }), dns.RcodeFormatError, false, 0, 0},
		{"cut off", ask("iss.example.", dns.TypeLOC)[:20], dns.RcodeFormatError, false, 0, 0},
	} {
		for _, rd := range []byte{0, 1} {
			q := bytes.Clone(c.query)
			q[2] |= rd
			m := read(t, r.Respond(nil, q, client, false))
			if m.Rcode != c.rcode || m.Authoritative != c.aa || len(m.Answer) != c.answer || len(m.Ns) != c.auth {
				t.Errorf("%s:\n%v", c.what, m)
			}
			if !m.Response || m.Id != 4711 || m.RecursionAvailable || m.RecursionDesired != (rd == 1) || m.Truncated || m.AuthenticatedData {
				t.Errorf("%s: header %+v", c.what, m.MsgHdr)
			}
			if len(m.Ns) == 1 {
				if soa, ok := m.Ns[0].(*dns.SOA); !ok || soa.Hdr.Ttl != 60 || soa.Minttl != 60 || soa.Hdr.Name != "example." {
					t.Errorf("%s: authority %v", c.what, m.Ns)
				}
			}
		}
	}
	if m := read(t, r.Respond(nil, ask("iSs.eXample.", dns.TypeLOC), client, false)); m.Question[0].Name != "iSs.eXample." || m.Answer[0].Header().Name != "iSs.eXample." || m.Answer[0].Header().Ttl != 4 {
		t.Errorf("case is not kept: %v", m)
	}
	if m := read(t, r.Respond(nil, ask("ExAmple.", dns.TypeNS), client, false)); len(m.Extra) != 2 {
		t.Errorf("NS without addresses: %v", m)
	}
	for what, b := range map[string][]byte{
		"nothing": nil, "a little": {1, 2, 3}, "an answer": r.Respond(nil, ask("iss.example.", dns.TypeLOC), client, false),
	} {
		if out := r.Respond(nil, b, client, false); len(out) > 0 {
			t.Errorf("%s is answered: %x", what, out)
		}
	}
	if out := r.Respond([]byte("before"), ask("iss.example.", dns.TypeLOC), client, false); !bytes.HasPrefix(out, []byte("before")) {
		t.Error("what was in the buffer is lost")
	}
}

// Who speaks EDNS is answered with it, whatever is wrong with what it says (RFC 6891, section 7).
func TestFormErrorHasEDNS(t *testing.T) {
	r := newResponder(t, fresh, Options{Rate: 1000})
	for what, q := range map[string][]byte{
		"short cookie": ask("iss.example.", dns.TypeLOC, withEDNS(1232, &dns.EDNS0_COOKIE{Code: 10, Cookie: "00112233"})),
		"long cookie":  ask("iss.example.", dns.TypeTXT, withEDNS(1232, &dns.EDNS0_COOKIE{Code: 10, Cookie: strings.Repeat("00", 41)})),
		"two OPT":      ask("iss.example.", dns.TypeLOC, withEDNS(1232), func(m *dns.Msg) { m.Extra = append(m.Extra, m.Extra[0]) }),
	} {
		m := read(t, r.Respond(nil, q, client, false))
		if opt := m.IsEdns0(); m.Rcode != dns.RcodeFormatError || opt == nil || opt.UDPSize() != maxUDP || len(opt.Option) != 0 || len(m.Extra) != 1 {
			t.Errorf("%s:\n%v", what, m)
		}
	}
	if m := read(t, r.Respond(nil, ask("iss.example.", dns.TypeOPT), client, false)); m.IsEdns0() != nil {
		t.Errorf("who does not speak EDNS is answered with it: %v", m)
	}
}

func TestMetricsNameBADVERS(t *testing.T) {
	r := newResponder(t, fresh, Options{})
	r.Respond(nil, ask("iss.example.", dns.TypeLOC, withEDNS(1232), func(m *dns.Msg) { m.IsEdns0().SetVersion(1) }), client, false)
	var b strings.Builder
	if r.Metrics(&b); !strings.Contains(b.String(), `answers_total{rcode="BADVERS"} 1`) {
		t.Error(b.String())
	}
}

// Old elements are said to be old to those with EDNS and to those without.
func TestOldElementsAreSaidToBeOld(t *testing.T) {
	r := newResponder(t, fresh.AddDate(0, 0, 109), Options{})
	for _, slow := range []bool{false, true} {
		r.slow = slow
		m := read(t, r.Respond(nil, ask("iss.example.", dns.TypeLOC, withEDNS(1232)), client, false))
		if e := ede(m); e == nil || e.InfoCode != dns.ExtendedErrorCodeStaleAnswer || !strings.Contains(e.ExtraText, "elements are 109 days old") {
			t.Errorf("EDNS: %v", m)
		}
		if len(m.Extra) != 1 {
			t.Errorf("EDNS: said twice: %v", m)
		}
		m = read(t, r.Respond(nil, ask("iss.example.", dns.TypeLOC), client, false))
		if len(m.Extra) != 1 || !strings.Contains(m.Extra[0].String(), "age=109 days") {
			t.Errorf("no EDNS: %v", m)
		}
	}
	for _, name := range []string{"iss.example.", "vienna.pass.iss.example.", "example."} {
		m := read(t, r.Respond(nil, ask(name, dns.TypeTXT), client, false))
		if len(m.Answer) != 1 || !strings.Contains(m.Answer[0].String(), "age=109 days") || !strings.Contains(m.Answer[0].String(), "warning=") {
			t.Errorf("TXT: %v", m)
		}
	}
}

func TestTruncation(t *testing.T) {
	// The longest that there is: a name that many share.
	sets := []orbit.Elements{}
	for i := range 50 {
		e := sky.BuiltIn().Station().Orbit().Elements()
		e.Number, e.Name = 100000000+i, strings.Repeat("LONG NAME ", 5)
		sets = append(sets, e)
	}
	s, err := sky.New(sets, sky.Origin{Text: "made"})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zone.New(zone.Config{Origin: strings.Repeat("abcdefgh.", 15)}, sky.NewCatalogue(s))
	if err != nil {
		t.Fatal(err)
	}
	r := NewResponder(Options{Zone: z})
	q := ask("long-name-long-name-long-name-long-name-long-name."+z.Origin, dns.TypeTXT)
	m := read(t, r.Respond(nil, q, client, false))
	if !m.Truncated || len(m.Answer) > 0 || m.Rcode != 0 {
		t.Errorf("over UDP: %v", m)
	}
	if m := read(t, r.Respond(nil, q, client, true)); m.Truncated || len(m.Answer) != 1 {
		t.Errorf("over TCP: %v", m)
	}
	for size, want := range map[uint16]int{0: 512, 511: 512, 512: 512, 600: 600, 4096: 1232, 65535: 1232} {
		b := r.Respond(nil, ask("long-name-long-name-long-name-long-name-long-name."+z.Origin, dns.TypeTXT, withEDNS(size)), client, false)
		m := read(t, b)
		if len(b) > want || m.IsEdns0() == nil || m.IsEdns0().UDPSize() != 1232 {
			t.Errorf("EDNS of %d: %d octets, %v", size, len(b), m)
		}
		if m.Truncated == (want > 700) {
			t.Errorf("EDNS of %d: TC is %t", size, m.Truncated)
		}
	}
}

// Answers over UDP are no weapon: the worst, of any name and type, to a query as short as
// can be.
func TestAmplification(t *testing.T) {
	worst, what := 0., ""
	for _, age := range []int{0, 5, 109} {
		r := newResponder(t, fresh.AddDate(0, 0, age), Options{})
		for _, name := range []string{"example.", "iss.example.", "25544.example.", "ns.example.", "pass.iss.example.", "48.2n-16.4e.pass.iss.example.", "4e.pass.iss.example.", "x.example.", "goes-15.example.", "example.org.", "."} {
			for _, kind := range []uint16{dns.TypeLOC, dns.TypeTXT, dns.TypeSOA, dns.TypeNS, dns.TypeA, dns.TypeANY, dns.TypeDNSKEY} {
				for _, edits := range [][]func(*dns.Msg){nil, {withEDNS(4096)}} {
					q := ask(name, kind, edits...)
					a := r.Respond(nil, q, client, false)
					if ratio := float64(len(a)) / float64(len(q)); ratio > worst {
						worst, what = ratio, fmt.Sprintf("%s %s, %d days, %d to %d octets", name, dns.TypeToString[kind], age, len(q), len(a))
					}
				}
			}
		}
	}
	t.Logf("the worst is %.1f: %s", worst, what)
	if worst > 11 {
		t.Errorf("an answer is %.1f times as long as its query: %s", worst, what)
	}
	// LOC itself, as it is nearly always asked for.
	r := newResponder(t, fresh, Options{})
	q := ask("iss.example.", dns.TypeLOC)
	if a := r.Respond(nil, q, client, false); len(a) > 2*len(q) {
		t.Errorf("LOC: %d to %d octets", len(q), len(a))
	}
}

// The short way says what the long way says.
func TestFastIsFull(t *testing.T) {
	secret := [16]byte{1}
	rapid.Check(t, func(t *rapid.T) {
		now := fresh.Add(time.Duration(rapid.IntRange(-100, 4000).Draw(t, "hours")) * time.Hour)
		r := newResponderT(now, Options{Secret: secret})
		name := rapid.SampledFrom([]string{"iss", "ISS", "25544", "025544", "hubble", "goes-15", "ns", "nobody", "pass", "arktika-m-2"}).Draw(t, "name")
		kind := rapid.SampledFrom([]uint16{dns.TypeLOC, dns.TypeLOC, dns.TypeLOC, dns.TypeTXT, dns.TypeANY}).Draw(t, "kind")
		q := ask(name+rapid.SampledFrom([]string{".example.", ".ExamPle.", ".example.org.", "."}).Draw(t, "zone"), kind, func(m *dns.Msg) {
			m.RecursionDesired = rapid.Bool().Draw(t, "rd")
			m.CheckingDisabled = rapid.Bool().Draw(t, "cd")
			if rapid.Bool().Draw(t, "edns") {
				m.SetEdns0(uint16(rapid.IntRange(0, 5000).Draw(t, "size")), rapid.Bool().Draw(t, "do"))
				switch rapid.IntRange(0, 3).Draw(t, "cookie") {
				case 1:
					m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: 10, Cookie: "0011223344556677"}}
				case 2:
					s := r.serverCookie(&[8]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77}, uint32(now.Unix())-uint32(rapid.IntRange(0, 4000).Draw(t, "old")), client)
					m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: 10, Cookie: "0011223344556677" + hex.EncodeToString(s[:])}}
				case 3:
					m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_NSID{Code: dns.EDNS0NSID}}
				}
			}
		})
		fast, rcode, cookie, done := r.fast(nil, q, client, now)
		if !done {
			if len(fast) > 0 {
				t.Fatal("something was written")
			}
			return
		}
		full, fullCode, fullCookie := r.full(nil, q, client, false, now)
		var a, b dns.Msg
		if err := a.Unpack(fast); err != nil {
			t.Fatal(err)
		}
		if err := b.Unpack(full); err != nil {
			t.Fatal(err)
		}
		if rcode != fullCode || cookie != fullCookie {
			t.Fatalf("%d, %t; full says %d, %t", rcode, cookie, fullCode, fullCookie)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatal(cmp.Diff(a.String(), b.String()))
		}
		if !bytes.Equal(fast, full) {
			t.Fatalf("\n%x is fast,\n%x is full", fast, full)
		}
	})
}

// plainZone is made once: what is fed by the thousand must not wait for it.
var plainZone = sync.OnceValue(func() *zone.Zone {
	z, err := zone.New(zone.Config{Origin: "example."}, sky.NewCatalogue(sky.BuiltIn()))
	if err != nil {
		panic(err)
	}
	return z
})

func newResponderT(now time.Time, o Options) *Responder {
	o.Zone, o.Now = plainZone(), func() time.Time { return now }
	return NewResponder(o)
}

func TestFastIsTaken(t *testing.T) {
	r := newResponder(t, fresh, Options{})
	for what, q := range map[string][]byte{
		"plain": ask("iss.example.", dns.TypeLOC), "number": ask("25544.eXample.", dns.TypeLOC),
		"dig's": ask("iss.example.", dns.TypeLOC, withEDNS(1232, &dns.EDNS0_COOKIE{Code: 10, Cookie: "0011223344556677"})),
	} {
		b := make([]byte, 0, 512)
		n := testing.AllocsPerRun(100, func() { b = r.Respond(b[:0], q, client, false) })
		if _, _, _, done := r.fast(nil, q, client, fresh); !done || n > 0 {
			t.Errorf("%s: fast is %t, %v allocations", what, done, n)
		}
	}
}

// Vectors of RFC 9018, appendix A: what a server has made, and what it takes.
func TestCookiesOfRFC9018(t *testing.T) {
	for _, c := range []struct{ secret, address, cookie string }{
		{"e5e973e5a6b2a43f48e7dc849e37bfcf", "198.51.100.100", "2464c4abcf10c957010000005cf79f111f8130c3eee29480"},
		{"e5e973e5a6b2a43f48e7dc849e37bfcf", "198.51.100.100", "2464c4abcf10c957010000005cf7a871d4a564a1442aca77"},
		{"e5e973e5a6b2a43f48e7dc849e37bfcf", "203.0.113.203", "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e"},
		{"e5e973e5a6b2a43f48e7dc849e37bfcf", "203.0.113.203", "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5"},
		{"dd3bdf9344b678b185a6f5cb60fca715", "2001:db8:220:1:59de:d0f4:8769:82b8", "22681ab97d52c298010000005cf7c57926556bd0934c72f8"},
		{"445536bcd2513298075a5d379663c962", "2001:db8:220:1:59de:d0f4:8769:82b8", "22681ab97d52c298010000005cf7c609a6bb79d16625507a"},
	} {
		r := &Responder{}
		hex.Decode(r.secret[:], []byte(c.secret))
		raw, _ := hex.DecodeString(c.cookie)
		made := binary.BigEndian.Uint32(raw[12:])
		from := netip.MustParseAddr(c.address)
		if k, ok := r.readCookie(raw, from, time.Unix(int64(made), 0)); !ok || !k.valid {
			t.Errorf("%s is not taken", c.cookie)
		}
		if k, ok := r.readCookie(raw, client, time.Unix(int64(made), 0)); !ok || k.valid {
			t.Errorf("%s is taken from another address", c.cookie)
		}
		if got := r.serverCookie((*[8]byte)(raw), made, from); raw[9] == 0 && !bytes.Equal(got[:], raw[8:]) {
			t.Errorf("made %x, want %s", got, c.cookie[16:])
		}
	}
}

func TestSipHashOfThePaper(t *testing.T) {
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	if got := siphash(&key, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}); got != 0xa129ca6149be45e5 {
		t.Errorf("%#x, the paper has a129ca6149be45e5 in appendix A", got)
	}
}

func TestCookies(t *testing.T) {
	now := fresh
	r := newResponder(t, fresh, Options{Rate: 1, Now: func() time.Time { return now }})
	cookieOf := func(m *dns.Msg) string {
		for _, o := range m.IsEdns0().Option {
			if c, ok := o.(*dns.EDNS0_COOKIE); ok {
				return c.Cookie
			}
		}
		return ""
	}
	query := func(cookie string) []byte {
		return ask("iss.example.", dns.TypeLOC, withEDNS(1232, &dns.EDNS0_COOKIE{Code: 10, Cookie: cookie}))
	}
	full := cookieOf(read(t, r.Respond(nil, query("0011223344556677"), client, false)))
	if len(full) != 48 || !strings.HasPrefix(full, "0011223344556677") {
		t.Fatalf("cookie %q", full)
	}
	limited := func(cookie string, from netip.Addr) bool {
		n := 0
		for range 20 {
			if b := r.Respond(nil, query(cookie), from, false); len(b) > 0 && !read(t, b).Truncated {
				n++
			}
		}
		return n < 20
	}
	if limited(full, client) {
		t.Error("who shows our cookie is limited")
	}
	if !limited(full, netip.MustParseAddr("198.51.100.1")) {
		t.Error("another one's cookie helps")
	}
	if !limited("0011223344556677", client) {
		t.Error("who shows none of ours is not limited")
	}
	now = now.Add(59 * time.Minute)
	again := cookieOf(read(t, r.Respond(nil, query(full), client, false)))
	if again == full {
		t.Error("an old cookie is not renewed")
	}
	now = now.Add(2 * time.Minute)
	if !limited(full, client) {
		t.Error("a cookie lasts for more than an hour")
	}
	if limited(again, client) {
		t.Error("the new cookie does not count")
	}
}

func TestRateLimit(t *testing.T) {
	now := fresh
	r := newResponder(t, fresh, Options{Rate: 20, Now: func() time.Time { return now }})
	count := func(n int, from string, q []byte) (sent, short, silent int) {
		for range n {
			b := r.Respond(nil, q, netip.MustParseAddr(from), false)
			switch {
			case len(b) == 0:
				silent++
			case read(t, b).Truncated:
				short++
				if m := read(t, b); len(b) > len(q) || len(m.Answer)+len(m.Ns)+len(m.Extra) > 0 || len(m.Question) != 1 {
					t.Errorf("a short answer is long: %v", m)
				}
			default:
				sent++
			}
		}
		return
	}
	loc, none := ask("iss.example.", dns.TypeLOC, withEDNS(1232)), ask("x.example.", dns.TypeLOC)
	if a, b, c := count(100, "192.0.2.1", loc); a != 20 || b != 40 || c != 40 {
		t.Errorf("100 at once: %d sent, %d cut, %d dropped", a, b, c)
	}
	if a, _, _ := count(10, "192.0.2.200", loc); a != 0 {
		t.Error("another of the same /24 has a limit of its own")
	}
	if a, _, _ := count(10, "192.0.3.1", loc); a != 10 {
		t.Error("another /24 is limited with it")
	}
	if a, _, _ := count(100, "192.0.2.1", none); a != 5 {
		t.Errorf("%d refusals at once, want a quarter", a)
	}
	now = now.Add(500 * time.Millisecond)
	if a, _, _ := count(100, "::ffff:192.0.2.1", loc); a != 10 {
		t.Errorf("after half a second %d more, want 10", a)
	}
	if a, _, _ := count(100, "2001:db8::1", loc); a != 20 {
		t.Errorf("IPv6: %d", a)
	}
	if a, _, _ := count(10, "2001:db8:0:ff::2", loc); a != 0 {
		t.Errorf("the same /56: %d", a)
	}
	if a, _, _ := count(10, "2001:db8:0:100::2", loc); a != 10 {
		t.Errorf("another /56: %d", a)
	}
	for range 100 {
		if b := r.Respond(nil, loc, netip.MustParseAddr("192.0.2.1"), true); read(t, b).Truncated {
			t.Fatal("TCP is limited")
		}
	}
	s := r.Stats()
	if s.Cut == 0 || s.Dropped == 0 || s.TCP != 100 || s.UDP == 0 || s.Answers[0] == 0 {
		t.Errorf("%+v", s)
	}
}

// A flood from everywhere does not grow the table, nor lock out a client for longer than
// it lasts.
func TestRateLimitUnderFlood(t *testing.T) {
	l := newLimiter(10)
	now := fresh
	for i := range 300_000 {
		l.check(netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}), false, now)
	}
	now = now.Add(time.Second)
	if v := l.check(client, false, now); v != send {
		t.Errorf("after the flood: %v", v)
	}
}

func FuzzRespond(f *testing.F) {
	for _, q := range [][]byte{
		ask("iss.example.", dns.TypeLOC), ask("iss.example.", dns.TypeTXT, withEDNS(1232)), ask("example.", dns.TypeANY),
		ask("iss.example.", dns.TypeLOC, withEDNS(1232, &dns.EDNS0_COOKIE{Code: 10, Cookie: "0011223344556677"})),
		ask("48.2n-16.4e.pass.iss.example.", dns.TypeTXT), ask("example.", dns.TypeSOA, func(m *dns.Msg) { m.Opcode = 5 }),
		{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 29, 0, 1},
	} {
		f.Add(q, uint16(0), false)
		f.Add(q, uint16(3000), true)
	}
	f.Fuzz(func(t *testing.T, query []byte, hours uint16, tcp bool) {
		r := newResponderT(fresh.Add(time.Duration(hours)*time.Hour), Options{Secret: [16]byte{1}})
		b := r.Respond(nil, query, client, tcp)
		if len(query) < 12 || query[2]&0x80 != 0 {
			if len(b) > 0 {
				t.Fatalf("no query, and yet %x", b)
			}
			return
		}
		if len(b) < 12 || b[0] != query[0] || b[1] != query[1] || b[2]&0x80 == 0 {
			t.Fatalf("answer %x", b)
		}
		if !tcp && len(b) > maxUDP {
			t.Fatalf("%d octets over UDP", len(b))
		}
		var m dns.Msg
		if err := m.Unpack(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if m.Rcode == 0 && m.Authoritative && len(m.Answer)+len(m.Ns) == 0 && !m.Truncated {
			t.Fatalf("neither records nor SOA: %v", &m)
		}
		if short := cutShort(bytes.Clone(b)); short != nil {
			if err := m.Unpack(short); err != nil || !m.Truncated {
				t.Fatalf("cut: %x: %v", short, err)
			}
		}
	})
}

func BenchmarkRespond(b *testing.B) {
	q := ask("iss.example.", dns.TypeLOC, withEDNS(1232))
	for _, slow := range []bool{false, true} {
		b.Run(map[bool]string{false: "fast", true: "full"}[slow], func(b *testing.B) {
			r := newResponder(b, fresh, Options{})
			r.slow = slow
			out := make([]byte, 0, 512)
			b.ReportAllocs()
			for b.Loop() {
				out = r.Respond(out[:0], q, client, false)
			}
		})
	}
}
