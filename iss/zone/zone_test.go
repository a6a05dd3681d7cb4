package zone

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// fresh is a moment at which the station's elements that are built in were fresh.
var fresh = time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)

func newZone(t testing.TB, c Config) *Zone {
	t.Helper()
	if c.Origin == "" {
		c.Origin = "example"
	}
	z, err := New(c, sky.NewCatalogue(sky.BuiltIn()))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestNames(t *testing.T) {
	z := newZone(t, Config{
		Origin: "Sky.Example.", Home: []netip.Addr{netip.MustParseAddr("192.0.2.80")},
		Servers: []Host{
			{"ns1.deep.sky.example.", []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}},
			{"ns.elsewhere.test.", nil},
		},
	})
	const none, empty = "NXDOMAIN", "NODATA"
	for _, c := range []struct {
		name, kind string
		want       string // or what the data begins with
	}{
		{"sky.example.", "SOA", "ns1.deep.sky.example. hostmaster.sky.example."},
		{"sky.example.", "NS", "ns1.deep.sky.example."},
		{"sky.example.", "A", "192.0.2.80"},
		{"sky.example.", "AAAA", empty},
		{"sky.example.", "TXT", `"objects=9"`},
		{"sky.example.", "LOC", empty},
		{"sky.example.", "MX", empty},
		{"ns1.deep.sky.example.", "A", "192.0.2.1"},
		{"ns1.deep.sky.example.", "AAAA", "2001:db8::1"},
		{"ns1.deep.sky.example.", "LOC", empty},
		{"deep.sky.example.", "A", empty},
		{"ns2.deep.sky.example.", "A", none},
		{"ns.sky.example.", "A", none},
		{"iss.sky.example.", "LOC", ""},
		{"ISS.Sky.exAmple.", "LOC", ""},
		{"25544.sky.example.", "LOC", ""},
		{"hubble.sky.example.", "LOC", ""},
		{"iss.sky.example.", "TXT", `"object=ISS (ZARYA)" "number=25544" "designator=1998-067A" "epoch=2026-08-05T00:31:32Z" "age=11.5 hours" "elements=built in"`},
		{"iss.sky.example.", "A", empty},
		{"iss.sky.example.", "SOA", empty},
		{"nobody.sky.example.", "LOC", none},
		{"25545.sky.example.", "LOC", none},
		{"x.iss.sky.example.", "LOC", none},
		{"iss.iss.sky.example.", "LOC", none},
		{"pass.sky.example.", "TXT", none},
		{"pass.iss.sky.example.", "TXT", `"usage=LATITUDE-LONGITUDE.pass.iss.sky.example."`},
		{"pass.iss.sky.example.", "LOC", empty},
		{"4e.pass.iss.sky.example.", "TXT", empty},
		{"2n-16.4e.pass.iss.sky.example.", "TXT", `"object=ISS (ZARYA)" "observer=2.0n-16.4e" "rise=`},
		{"48.2n-16.4e.pass.iss.sky.example.", "TXT", `"object=ISS (ZARYA)" "observer=48.2n-16.4e" "rise=2026-08-05T`},
		{"48.20n-16.36E.pass.iss.sky.example.", "TXT", `"object=ISS (ZARYA)" "observer=48.2n-16.4e" "rise=2026-08-05T`},
		{"vienna.pass.25544.sky.example.", "TXT", `"object=ISS (ZARYA)" "observer=48.2n-16.4e" "rise=2026-08-05T`},
		{"48.2n-16.4e.pass.iss.sky.example.", "LOC", empty},
		{"89s-0w.pass.iss.sky.example.", "TXT", `"object=ISS (ZARYA)" "observer=89.0s-0.0e" "pass=none above 10 degrees within two days"`},
		{"91n-0w.pass.iss.sky.example.", "TXT", none},
		{"1n-181e.pass.iss.sky.example.", "TXT", none},
		{"48.2n.pass.iss.sky.example.", "TXT", none},
		{"1.48.2n-16.4e.pass.iss.sky.example.", "TXT", none},
		{"vienna.4e.pass.iss.sky.example.", "TXT", none},
		{"atlantis.pass.iss.sky.example.", "TXT", none},
		{"vienna.pass.nobody.sky.example.", "TXT", none},
	} {
		a := z.Answer(c.name, dns.StringToType[c.kind], fresh)
		switch {
		case a.Outside, a.Busy:
			t.Errorf("%s %s: %+v", c.name, c.kind, a)
		case !a.Exists:
			if c.want != none {
				t.Errorf("%s %s does not exist, want %s", c.name, c.kind, c.want)
			}
		case len(a.Records) == 0:
			if c.want != empty {
				t.Errorf("%s %s is empty, want %s", c.name, c.kind, c.want)
			}
		default:
			rr := a.Records[0]
			if c.want == none || c.want == empty || !strings.HasPrefix(data(rr), c.want) {
				t.Errorf("%s %s is %s, want %s", c.name, c.kind, data(rr), c.want)
			}
			if h := rr.Header(); dns.TypeToString[h.Rrtype] != c.kind || h.Class != dns.ClassINET || h.Rrtype == dns.TypeLOC && (h.Ttl != 4 || h.Name != c.name) {
				t.Errorf("%s %s: header %v", c.name, c.kind, h)
			}
		}
	}
	for _, name := range []string{"example.", ".", "iss.example.", "notsky.example.", "iss.sky.example.org."} {
		if a := z.Answer(name, dns.TypeLOC, fresh); !a.Outside || a.Exists || a.Records != nil {
			t.Errorf("%s: %+v, want it outside", name, a)
		}
	}
	if a := z.Answer("sky.example.", dns.TypeNS, fresh); len(a.Records) != 2 || len(a.Extra) != 2 {
		t.Errorf("NS: %+v", a)
	}
	if a := z.Answer("iss.sky.example.", dns.TypeANY, fresh); len(a.Records) != 2 {
		t.Errorf("ANY: %+v", a)
	}
	if s := z.SOA(); s.Minttl != 60 || s.Serial == 0 || z.NegativeSOA().Hdr.Ttl != 60 {
		t.Errorf("SOA: %v", s)
	}
}

// LOC says where the theory says that it is.
func TestLOCIsThePosition(t *testing.T) {
	z := newZone(t, Config{})
	for _, name := range []string{"iss", "hubble", "css", "goes-15"} {
		o, err := sky.BuiltIn().Find(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := o.Below(fresh)
		if err != nil {
			t.Fatal(err)
		}
		rr := z.Answer(name+".example.", dns.TypeLOC, fresh).Records[0].(*dns.LOC)
		got := LOC{Latitude: rr.Latitude, Longitude: rr.Longitude, Altitude: rr.Altitude}.Place()
		if math.Abs(got.Latitude-want.Latitude) > 2e-7 || math.Abs(got.Longitude-want.Longitude) > 2e-7 || math.Abs(got.Height-want.Height) > 1e-5 {
			t.Errorf("%s is at %+v, LOC says %+v", name, want, got)
		}
	}
}

// Precision in a LOC record tells the age of its elements to everybody.
func TestLOCSaysItsWorth(t *testing.T) {
	z := newZone(t, Config{})
	o := sky.BuiltIn().Station()
	var before uint64
	for _, c := range []struct {
		age  time.Duration
		text string
		note string
	}{
		{0, "1m 6000m 3000m", ""},
		{24 * time.Hour, "1m 20000m 3000m", ""},
		{sky.Old, "1m 50000m 3000m", "elements are 3.0 days old: position may be off by 21 km"},
		{109 * 24 * time.Hour, "1m 30000000m 100000m", "elements are 109 days old: position may be off by 12211 km"},
		{900 * 24 * time.Hour, "1m 50000000m 200000m", "elements are 900 days old: position may be off by 20015 km"},
	} {
		l, note, err := z.LOC(o, o.Epoch.Add(c.age))
		if err != nil || !strings.HasSuffix(l.String(), " "+c.text) || note != c.note {
			t.Errorf("%v: %v, %q, %v; want ...%s, %q", c.age, l, note, err, c.text, c.note)
		}
		if cm := centimetres(l.Horizontal); cm < before {
			t.Errorf("%v: more precise than before", c.age)
		} else {
			before = cm
		}
	}
	a := z.Answer("iss.example.", dns.TypeLOC, o.Epoch.Add(100*24*time.Hour))
	if !a.Old || a.Note == "" || len(a.Records) != 1 {
		t.Errorf("%+v", a)
	}
	txt := data(z.Answer("iss.example.", dns.TypeTXT, o.Epoch.Add(100*24*time.Hour)).Records[0])
	if !strings.Contains(txt, `"age=100 days"`) || !strings.Contains(txt, `"warning=elements are 100 days old: position may be off by 10303 km"`) {
		t.Errorf("TXT: %s", txt)
	}
	exact := newZone(t, Config{Exact: true})
	if l, _, err := exact.LOC(o, fresh); err != nil || !strings.HasSuffix(l.String(), "m 1m 1m 1m") {
		t.Errorf("the published form: %v, %v", l, err)
	}
}

// What is known of low orbits is not said of high ones.
func TestHighOrbitsHaveNoFigure(t *testing.T) {
	e := sky.BuiltIn().Station().Orbit().Elements()
	e.MeanMotion, e.Number, e.Name = 1.0027, 1, "GEO"
	s, err := sky.New([]orbit.Elements{e}, sky.Origin{Text: "made"})
	if err != nil {
		t.Fatal(err)
	}
	z, err := New(Config{Origin: "example."}, sky.NewCatalogue(s))
	if err != nil {
		t.Fatal(err)
	}
	a := z.Answer("geo.example.", dns.TypeLOC, e.Epoch.AddDate(3, 0, 0))
	if len(a.Records) != 1 || strings.Contains(a.Note, "km") || !strings.Contains(a.Note, "is not known for so high an orbit") || len(a.Note) > 100 {
		t.Errorf("%+v", a)
	}
}

func TestRefuse(t *testing.T) {
	z := newZone(t, Config{Refuse: 10 * 24 * time.Hour})
	o := sky.BuiltIn().Station()
	if a := z.Answer("iss.example.", dns.TypeLOC, o.Epoch.Add(9*24*time.Hour)); len(a.Records) != 1 {
		t.Errorf("9 days: %+v", a)
	}
	for _, days := range []time.Duration{10, -10, 1000} {
		a := z.Answer("iss.example.", dns.TypeLOC, o.Epoch.Add(days*24*time.Hour))
		if len(a.Records) != 0 || !a.Exists || a.Old || !strings.Contains(a.Note, "too old for a position") {
			t.Errorf("%d days: %+v", days, a)
		}
	}
	txt := data(z.Answer("iss.example.", dns.TypeTXT, o.Epoch.Add(11*24*time.Hour)).Records[0])
	if !strings.Contains(txt, "no-location=") {
		t.Errorf("TXT: %s", txt)
	}
}

// What is refused is refused in every form: a pass tells where an object is, too.
func TestRefusePasses(t *testing.T) {
	z := newZone(t, Config{Refuse: 10 * 24 * time.Hour})
	o := sky.BuiltIn().Station()
	pass := func(age time.Duration) string {
		t.Helper()
		return data(z.Answer("vienna.pass.iss.example.", dns.TypeTXT, o.Epoch.Add(age)).Records[0])
	}
	if txt := pass(24 * time.Hour); !strings.Contains(txt, `"rise=`) {
		t.Errorf("one day: %s", txt)
	}
	for _, age := range []time.Duration{10 * 24 * time.Hour, 109 * 24 * time.Hour} {
		if txt := pass(age); strings.Contains(txt, "rise=") || strings.Contains(txt, "azimuth") || !strings.Contains(txt, "too old for a position") {
			t.Errorf("%v: %s", age, txt)
		}
	}
	if txt := pass(10*24*time.Hour - time.Minute); strings.Contains(txt, "azimuth") {
		t.Errorf("a pass that comes when elements are too old: %s", txt)
	}
}

// What falls down, and what is too high for the format.
func TestNoPosition(t *testing.T) {
	falls := sky.BuiltIn().Station().Orbit().Elements()
	falls.MeanMotion, falls.Number, falls.Name = 16.6, 1, "FALLS"
	high := falls
	high.MeanMotion, high.Eccentricity, high.MeanAnomaly, high.Number, high.Name = .36, .2, 180, 2, `"HIGH" \`+strings.Repeat("é", 300)
	high.BStar = 0
	twin := falls
	twin.Number = 3
	s, err := sky.New([]orbit.Elements{falls, high, twin}, sky.Origin{Text: "made"})
	if err != nil {
		t.Fatal(err)
	}
	z, err := New(Config{Origin: "example."}, sky.NewCatalogue(s))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"1": "no position", "2": "no LOC record reaches this height", "falls": "2 objects are called falls"} {
		a := z.Answer(name+".example.", dns.TypeLOC, falls.Epoch.Add(400*24*time.Hour))
		if name == "2" {
			a = z.Answer(name+".example.", dns.TypeLOC, falls.Epoch)
		}
		if !a.Exists || len(a.Records) != 0 || !strings.Contains(a.Note, want) {
			t.Errorf("%s: %+v, want a note with %q", name, a, want)
		}
	}
	for _, name := range []string{"2.example.", "falls.example."} { // names by strangers make no bad record
		rr := z.Answer(name, dns.TypeTXT, falls.Epoch).Records[0]
		b := make([]byte, 4096)
		n, err := dns.PackRR(rr, b, 0, nil, false)
		if err != nil || n > 500 {
			t.Fatalf("%v: %d bytes, %v", rr, n, err)
		}
		if got, _, err := dns.UnpackRR(b[:n], 0); err != nil || got.String() != rr.String() {
			t.Errorf("%v is read as %v, %v", rr, got, err)
		}
	}
}

// A letter that the record cannot have is one mark, whatever it takes in UTF-8.
func TestQuote(t *testing.T) {
	for s, want := range map[string]string{"Ünïcode": "?n?code", `a"b\c`: `a\"b\\c`, "\x00\xff": "??"} {
		if got := quote(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{
		{}, {Origin: "."}, {Origin: "a..b"}, {Origin: "a b"}, {Origin: "münchen.example"}, {Origin: "a@b"}, {Origin: "x.", Contact: "a.b@c"}, {Origin: strings.Repeat("abcdefghi.", 16)},
		{Origin: "x.", Servers: []Host{{Name: ""}}}, {Origin: "x.", Contact: "a..b"},
	} {
		if _, err := New(c, sky.NewCatalogue(sky.BuiltIn())); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestPassesAreKept(t *testing.T) {
	c := newPasses()
	o := sky.BuiltIn().Station()
	vienna := cities["vienna"]
	p, err := c.next(o, vienna, fresh)
	if err != nil {
		t.Fatal(err)
	}
	for range cap(c.turns) { // nobody may compute now
		c.turns <- struct{}{}
	}
	if q, err := c.next(o, vienna, p.Rise.Time); err != nil || q != p {
		t.Errorf("%+v, %v; want what is kept", q, err)
	}
	if _, err := c.next(o, vienna, p.Set.Time.Add(time.Second)); !errors.Is(err, errBusy) {
		t.Errorf("after it has set: %v, want a new one", err)
	}
	if _, err := c.next(o, cities["berlin"], fresh); !errors.Is(err, errBusy) {
		t.Errorf("another place: %v", err)
	}
	if _, err := c.next(o, orbit.Place{Latitude: 89}, fresh); !errors.Is(err, sky.ErrNoPass) {
		t.Errorf("where it cannot be seen: %v", err)
	}
	z := newZone(t, Config{})
	z.passes = c
	if a := z.Answer("berlin.pass.iss.example.", dns.TypeTXT, fresh); !a.Busy || !a.Exists || len(a.Records) > 0 {
		t.Errorf("%+v", a)
	}
}

// What cannot be seen by geometry is not seen by search either.
func TestReaches(t *testing.T) {
	s := sky.BuiltIn()
	for o := range s.All() {
		for lat := -90.; lat <= 90; lat += 15 {
			if reaches(o, lat) || o.Orbit().Period() > 3*time.Hour {
				continue
			}
			if p, err := o.NextPass(orbit.Place{Latitude: lat}, o.Epoch, 0); !errors.Is(err, sky.ErrNoPass) {
				t.Errorf("%s over %v: %+v, %v", o.Label, lat, p, err)
			}
		}
	}
}

func TestLOCMakesNoGarbage(t *testing.T) {
	z := newZone(t, Config{})
	o := sky.BuiltIn().Station()
	if n := testing.AllocsPerRun(100, func() { z.LOC(o, fresh) }); n != 0 {
		t.Errorf("LOC allocates %v times", n)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"iss", "48.2n-16.4e.pass.iss", "4e.pass.iss", "pass.iss", `\000`, `a\.b`, "x..y"} {
		f.Add(s, dns.TypeTXT)
	}
	z := newZone(f, Config{})
	f.Fuzz(func(t *testing.T, name string, kind uint16) {
		a := z.Answer(name+".example.", kind, fresh)
		for _, rr := range a.Records {
			if strings.Contains(rr.String(), "\n") {
				t.Errorf("%q", rr)
			}
		}
		if !a.Exists && len(a.Records) > 0 {
			t.Errorf("%+v", a)
		}
	})
}
