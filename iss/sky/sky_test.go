package sky

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

var noon = time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)

// made is an element set like the station's, with another name and number.
func made(number int, name, designator string) orbit.Elements {
	e := BuiltIn().Number(25544).Orbit().Elements()
	e.Number, e.Name, e.Designator = number, name, designator
	return e
}

func mustNew(t testing.TB, sets ...orbit.Elements) *Sky {
	t.Helper()
	s, err := New(sets, Origin{Text: "made"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindBuiltIn(t *testing.T) {
	s := BuiltIn()
	for name, want := range map[string]int{
		"iss": 25544, "ISS": 25544, "25544": 25544, "000025544": 25544, "iss-zarya": 25544, "1998-067a": 25544,
		"iss-zarya-25544": 25544, "hubble": 20580, "hst": 20580, "css": 48274, "tiangong": 48274,
		"goes-15": 36411, "ews-g2": 36411, "ews-g2-goes-15": 36411, "Suomi-NPP": 37849, "landsat-9": 49260,
	} {
		o, err := s.Find(name)
		if err != nil || o.Number != want {
			t.Errorf("Find(%q) = %v, %v; want %d", name, o, err, want)
		}
		if l := s.Lookup([]byte(name)); l != o {
			t.Errorf("Lookup(%q) = %v, Find found %v", name, l, o)
		}
	}
	for _, name := range []string{"", "x", "255440", "0000025544", "iss.", strings.Repeat("a", 64), "-"} {
		if o, err := s.Find(name); !errors.Is(err, ErrUnknown) {
			t.Errorf("Find(%q) = %v, %v; want ErrUnknown", name, o, err)
		}
	}
	if s.Rejected != 0 {
		t.Errorf("%d of the sets that are built in were rejected", s.Rejected)
	}
}

func TestNamesThatCollide(t *testing.T) {
	s := mustNew(t,
		made(7, "COSMOS 2251 DEB", "1993-036Q"), made(6, "COSMOS 2251 DEB", "1993-036P"),
		made(9, "25544", "2020-001A"), made(11, "", ""), made(12, "IRON (ISS)", "2020-001B"),
		made(13, "Ä", "2020-001C"), made(14, "2020-001A", "2021-001A"), made(25544, "ISS (ZARYA)", "1998-067A"))
	var a *AmbiguousError
	if _, err := s.Find("Cosmos-2251-Deb"); !errors.As(err, &a) || len(a.Objects) != 2 || a.Objects[0].Number != 6 {
		t.Errorf("Find of a shared name: %v", err)
	}
	for name, want := range map[string]int{
		"cosmos-2251-deb-6": 6, "25544": 25544, "iss": 25544, "iron": 12, "2020-001a": 9, "2020-001a-14": 14,
	} {
		if o, err := s.Find(name); err != nil || o.Number != want {
			t.Errorf("Find(%q) = %v, %v; want %d", name, o, err, want)
		}
	}
	for n, want := range map[int]string{6: "cosmos-2251-deb-6", 9: "25544-9", 11: "11", 13: "13", 14: "2020-001a-14", 25544: "iss"} {
		if o := s.Number(n); o.Label != want {
			t.Errorf("object %d has label %q, want %q", n, o.Label, want)
		}
	}
	for o := range s.All() { // whatever happens, a label finds its object
		if got, err := s.Find(o.Label); err != nil || got != o {
			t.Errorf("label %q of %d finds %v, %v", o.Label, o.Number, got, err)
		}
	}
}

func TestNewTakesTheLatest(t *testing.T) {
	older, newer, bad := made(1, "A", ""), made(1, "A", ""), made(2, "B", "")
	older.Epoch = newer.Epoch.Add(-time.Hour)
	bad.Eccentricity = 2
	s := mustNew(t, older, newer, older, bad)
	if s.Len() != 1 || !s.Number(1).Epoch.Equal(newer.Epoch) || s.Rejected != 1 {
		t.Errorf("%d objects, epoch %v, %d rejected", s.Len(), s.Number(1).Epoch, s.Rejected)
	}
	if _, err := New([]orbit.Elements{bad}, Origin{}); err == nil {
		t.Error("a sky of nothing")
	}
	if _, err := New(make([]orbit.Elements, MaxObjects+1), Origin{}); err == nil {
		t.Error("a sky of too much")
	}
}

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{
		"ISS (ZARYA)": "iss-zarya", "  A  B ": "a-b", "(X)": "x", "": "", "É": "",
		strings.Repeat("ab ", 40): strings.TrimSuffix(strings.Repeat("ab-", 21), "-") + "",
	} {
		if got := Label(name); got != want {
			t.Errorf("Label(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSearch(t *testing.T) {
	s := BuiltIn()
	first := func(text string) int {
		if f := s.Search(text, 3); len(f) > 0 {
			return f[0].Number
		}
		return 0
	}
	for text, want := range map[string]int{"hub": 0, "hubble": 20580, "noaa": 25338, "20 (jpss": 43013, "4301": 43013, "": 0, "goes": 36411} {
		if got := first(text); got != want {
			t.Errorf("Search(%q) begins with %d, want %d", text, got, want)
		}
	}
	if n := len(s.Search("a", 2)); n != 2 {
		t.Errorf("Search gave %d with a limit of 2", n)
	}
}

func TestAgeAndPass(t *testing.T) {
	o := BuiltIn().Station()
	if a := o.Age(noon); o.Freshness(noon) != Fresh || a < 11*time.Hour || a > 12*time.Hour {
		t.Errorf("age %v, %v", a, o.Freshness(noon))
	}
	for d, want := range map[time.Duration]Freshness{Old - 1: Fresh, Old: Stale, -Old: Stale, TooOld: Worthless} {
		if got := FreshnessOf(d); got != want {
			t.Errorf("elements of %v are %v, want %v", d, got, want)
		}
	}
	vienna := orbit.Place{Latitude: 48.2, Longitude: 16.4}
	p, err := o.NextPass(vienna, noon, 10)
	if err != nil || p.Culmination.Elevation < 10 || p.Set.Time.Before(noon) {
		t.Fatalf("next pass %+v, %v", p, err)
	}
	// In the middle of a pass, it is that one.
	q, err := o.NextPass(vienna, p.Culmination.Time, 10)
	if err != nil || !q.Rise.Time.IsZero() || q.Set.Time.Sub(p.Set.Time).Abs() > time.Second {
		t.Errorf("the pass under way is %+v, %v; want the one that sets at %v", q, err, p.Set.Time)
	}
	if _, err := o.NextPass(orbit.Place{Latitude: 90}, noon, 10); !errors.Is(err, ErrNoPass) {
		t.Errorf("passes over the pole: %v", err)
	}
	geo := BuiltIn().Number(36411)
	below, _ := geo.Below(noon)
	below.Height = 0
	if p, err := geo.NextPass(below, noon, 10); err != nil || !p.Rise.Time.IsZero() || !p.Set.Time.IsZero() {
		t.Errorf("a geostationary object passes: %+v, %v", p, err)
	}
}

func TestPositionIsBelow(t *testing.T) {
	o := BuiltIn().Station()
	p, err := o.At(noon)
	b, err2 := o.Below(noon)
	if err != nil || err2 != nil || p.Place != b || p.Speed < 7.5 || p.Speed > 7.8 || p.Height < 400 || p.Height > 440 {
		t.Errorf("%+v, %v; %+v, %v", p, err, b, err2)
	}
}

func TestReport(t *testing.T) {
	c := NewCatalogue(BuiltIn())
	c.SetFetch(Fetch{Failed: 2, Problem: "no route"})
	r := c.Report(noon)
	if r.Objects != 9 || r.Fresh != 6 || r.TooOld != 3 || r.Station.Label != "iss" || r.Fetch.Failed != 2 || !r.Origin.BuiltIn {
		t.Errorf("%+v", r)
	}
}

func TestSwapWhileRead(t *testing.T) {
	a, b := BuiltIn(), mustNew(t, made(25544, "ISS (ZARYA)", "1998-067A"))
	c := NewCatalogue(a)
	done := make(chan struct{})
	go func() {
		for i := range 1000 {
			c.Swap([]*Sky{a, b}[i%2])
		}
		close(done)
	}()
	for {
		s := c.Now()
		if o, err := s.Find("iss"); err != nil || o != s.Number(25544) {
			t.Fatalf("%v, %v", o, err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestLookupMakesNoGarbage(t *testing.T) {
	s := BuiltIn()
	for _, name := range []string{"ISS", "25544", "nobody"} {
		b := []byte(name)
		if n := testing.AllocsPerRun(100, func() { s.Lookup(b) }); n != 0 {
			t.Errorf("Lookup(%q) allocates %v times", name, n)
		}
	}
	o := s.Station()
	if n := testing.AllocsPerRun(100, func() { o.Below(noon) }); n != 0 {
		t.Errorf("Below allocates %v times", n)
	}
}

func FuzzLabel(f *testing.F) {
	for _, s := range []string{"ISS (ZARYA)", "((", "A)B(C", strings.Repeat("x-", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, p := range append(parts(name), name) {
			l := Label(p)
			if len(l) > 63 || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") || strings.Contains(l, "--") {
				t.Errorf("Label(%q) = %q", p, l)
			}
			if Label(l) != l {
				t.Errorf("Label is not idempotent on %q", l)
			}
			if strings.ContainsFunc(l, func(r rune) bool { return !slices.Contains([]rune("abcdefghijklmnopqrstuvwxyz0123456789-"), r) }) {
				t.Errorf("Label(%q) = %q", p, l)
			}
		}
	})
}

// many element sets, as many and of such kinds as the public catalogue has, with names that
// collide as there.
func many(n int) []orbit.Elements {
	var sets []orbit.Elements
	base := made(0, "", "")
	for i := range n {
		e := base
		e.Number, e.Name = 100+i, fmt.Sprintf("STARLINK-%d", 1000+i)
		e.Designator = fmt.Sprintf("2020-%03d%c", 1+i/26, 'A'+i%26)
		e.Node, e.MeanAnomaly = float64(i%360), float64(7*i%360)
		switch {
		case i%3 == 0:
			e.Name = fmt.Sprintf("COSMOS %d DEB", 1000+i%400)
		case i%10 == 1:
			e.MeanMotion = 1.0027 // deep space takes more room
		case i%50 == 2:
			e.MeanMotion, e.Eccentricity = 2.006, .7
		}
		sets = append(sets, e)
	}
	return append(sets, made(25544, "ISS (ZARYA)", "1998-067A"))[:n]
}

// What 30,000 objects take. The bound is generous; the log has the figure.
func TestMemoryOfTheCatalogue(t *testing.T) {
	sets := many(30_000)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	start := time.Now()
	s := mustNew(t, sets...)
	took := time.Since(start)
	after := heap()
	mb := float64(after-before) / (1 << 20)
	t.Logf("%d objects take %.1f MB, %.0f bytes each, and %v to make", s.Len(), mb, float64(after-before)/float64(s.Len()), took.Round(time.Millisecond))
	if s.Len() != 30_000 || mb > 80 {
		t.Errorf("%d objects take %.1f MB", s.Len(), mb)
	}
	for o := range s.All() {
		if got, err := s.Find(o.Label); err != nil || got != o {
			t.Fatalf("label %q of %d finds %v, %v", o.Label, o.Number, got, err)
		}
	}
	runtime.KeepAlive(sets)
}
