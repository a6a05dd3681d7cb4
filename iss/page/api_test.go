package page

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

func still() time.Time { return noon }

func get(t testing.TB, s *Site, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func read[T any](t testing.TB, r *http.Response) (v T) {
	t.Helper()
	d := json.NewDecoder(r.Body)
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What is asked wrongly is refused with the parameter to change, as JSON.
func TestRefusals(t *testing.T) {
	s := newSite(t, still)
	for target, want := range map[string]string{
		"/api/v1/position/iss?at=noon":                                               `400 at: at is "noon"; want a time such as 2026-08-05T12:00:00Z, or seconds since 1970`,
		"/api/v1/position/iss?at=1990-01-01T00:00:00Z":                               `400 at: at is 1990-01-01T00:00:00Z, which is more than a year from now`,
		"/api/v1/position/iss?at=1e99":                                               `400 at: at is "1e99"; want a time such as 2026-08-05T12:00:00Z, or seconds since 1970`,
		"/api/v1/position/iss?At=0":                                                  `400 At: there is no parameter "At" here`,
		"/api/v1/position/iss?at=1&at=2":                                             `400 at: at is there 2 times; want it once`,
		"/api/v1/position/iss?%zz":                                                   `400 : the query cannot be read: invalid URL escape "%zz"`,
		"/api/v1/position/nobody":                                                    `404 id: there is no object "nobody"; /api/v1/objects?q= searches`,
		"/api/v1/objects?limit=51":                                                   `400 limit: limit is "51"; want a whole number from 1 to 50`,
		"/api/v1/objects?limit=1.5":                                                  `400 limit: limit is "1.5"; want a whole number from 1 to 50`,
		"/api/v1/objects?q=" + strings.Repeat("a", 65):                               `400 q: q has 65 bytes; want 64 at most`,
		"/api/v1/track/iss?step=0":                                                   `400 step: step is "0"; want a number from 1 to 86400 seconds`,
		"/api/v1/track/iss?from=2026-08-05T12:00:00Z&to=2026-08-05T11:00:00Z":        `400 to: to is before from`,
		"/api/v1/track/iss?from=2026-08-05T12:00:00Z&to=2026-08-07T11:00:00Z&step=1": `400 step: that is 169201 points; want 2000 at most: a longer step or a shorter time`,
		"/api/v1/passes/iss":                                                         `400 lat: lat and lon say from where it is seen, in degrees: lat=48.2&lon=16.4`,
		"/api/v1/passes/iss?lat=1":                                                   `400 lon: lon is missing`,
		"/api/v1/passes/iss?lon=1":                                                   `400 lat: lat is missing`,
		"/api/v1/passes/iss?lat=91&lon=0":                                            `400 lat: lat is "91"; want a number from -90 to 90 degrees`,
		"/api/v1/passes/iss?lat=NaN&lon=0":                                           `400 lat: lat is "NaN"; want a number from -90 to 90 degrees`,
		"/api/v1/passes/iss?lat=0&lon=0&days=11":                                     `400 days: days is "11"; want a whole number from 1 to 10`,
		"/api/v1/passes/iss?lat=0&lon=0&visible=maybe":                               `400 visible: visible is "maybe"; want true or false`,
		"/api/v1/passes/iss?lat=0&lon=0&elevation=90":                                `400 elevation: elevation is "90"; want a number from 0 to 89 degrees`,
		"/api/v1/live/iss?x=1":                                                       `400 x: there is no parameter "x" here`,
		"/api/v1/nothing":                                                            `404 : there is nothing here; GET /api/v1/ says what there is`,
		"/api/v2/objects":                                                            `404 : there is nothing here; GET /api/v1/ says what there is`,
	} {
		r := get(t, s, target)
		f := read[Fault](t, r)
		if got := fmt.Sprintf("%d %s: %s", r.StatusCode, f.Parameter, f.Error); got != want {
			t.Errorf("%s\n got %s\nwant %s", target, got, want)
		}
		if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", target, r.Header)
		}
	}
	r := httptest.NewRequest("POST", "/api/v1/objects", nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" || !strings.Contains(w.Body.String(), "only GET and HEAD") {
		t.Errorf("POST: %d %s", w.Code, w.Body)
	}
}

func TestPositionIsTheOrbits(t *testing.T) {
	s := newSite(t, still)
	type reply struct {
		Object   Object
		Position Position
	}
	for _, id := range []string{"iss", "25544", "ISS", "1998-067a", "iss-zarya", "ISS%20(ZARYA)"} {
		v := read[reply](t, get(t, s, "/api/v1/position/"+id+"?at=2026-08-05T12:00:30Z"))
		o := sky.BuiltIn().Number(25544)
		want, err := o.Below(noon.Add(30 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		p := v.Position
		if math.Abs(p.Latitude-want.Latitude) > 1e-6 || math.Abs(p.Longitude-want.Longitude) > 1e-6 || math.Abs(p.Altitude-want.Height) > 1e-3 {
			t.Errorf("%s: %+v, want %+v", id, p, want)
		}
		if v.Object.DNS != "iss.example" || v.Object.Number != 25544 || !p.Time.Equal(noon.Add(30*time.Second)) || v.Object.Elements.Freshness != "fresh" || p.Note != "" {
			t.Errorf("%s: %+v", id, v)
		}
		if l, _, err := s.o.Zone.LOC(o, p.Time); err != nil || l.String() != p.LOC {
			t.Errorf("LOC %q, want %q", p.LOC, l)
		}
	}
	// The same moment written in other ways.
	want := read[reply](t, get(t, s, "/api/v1/position/iss?at=2026-08-05T12:00:30Z")).Position
	for _, at := range []string{"1785931230", "1785931230.0", "2026-08-05T14:00:30%2B02:00", "2026-08-05T14:00:30+02:00", "2026-08-05t12:00:30z"} {
		if got := read[reply](t, get(t, s, "/api/v1/position/iss?at="+at)).Position; got != want {
			t.Errorf("at=%s: %+v, want %+v", at, got, want)
		}
	}
	// Old elements are said to be old.
	if v := read[reply](t, get(t, s, "/api/v1/position/goes-15")); v.Object.Elements.Freshness != "too old" || v.Position.Note == "" {
		t.Errorf("%+v", v)
	}
}

func TestTrack(t *testing.T) {
	s := newSite(t, still)
	type reply struct {
		Step   float64 `json:"step_seconds"`
		Points []Point
	}
	v := read[reply](t, get(t, s, "/api/v1/track/iss?from=2026-08-05T12:00:00Z&to=2026-08-05T13:00:00Z&step=60"))
	if len(v.Points) != 61 || !v.Points[60].Time.Equal(noon.Add(time.Hour)) {
		t.Fatalf("%d points", len(v.Points))
	}
	o := sky.BuiltIn().Number(25544)
	for i, p := range v.Points {
		want, _ := o.Below(noon.Add(time.Duration(i) * time.Minute))
		if math.Abs(p.Latitude-want.Latitude) > 1e-4 || math.Abs(p.Longitude-want.Longitude) > 1e-4 {
			t.Errorf("point %d: %+v, want %+v", i, p, want)
		}
	}
	if v := read[reply](t, get(t, s, "/api/v1/track/iss")); len(v.Points) < 170 || len(v.Points) > 190 {
		t.Errorf("%d points unasked", len(v.Points))
	}
}

func TestPassesAreTheOrbits(t *testing.T) {
	s := newSite(t, still)
	type reply struct{ Passes []Pass }
	v := read[reply](t, get(t, s, "/api/v1/passes/iss?lat=48.204&lon=16.396"))
	want, err := sky.BuiltIn().Number(25544).Orbit().Passes(orbit.Place{Latitude: 48.2, Longitude: 16.4}, noon, noon.AddDate(0, 0, 3), 10)
	if err != nil || len(want) < 10 {
		t.Fatal(len(want), err)
	}
	if len(v.Passes) != len(want) {
		t.Fatalf("%d passes, want %d", len(v.Passes), len(want))
	}
	for i, p := range v.Passes {
		w := want[i]
		if p.Rise.Time.Sub(w.Rise.Time).Abs() > time.Second || p.Set.Time.Sub(w.Set.Time).Abs() > time.Second || math.Abs(p.Highest.Elevation-w.Culmination.Elevation) > .1 || p.Visible != w.Visible {
			t.Errorf("pass %d: %+v, want %+v", i, p, w)
		}
	}
	get(t, s, "/api/v1/passes/iss?lat=48.2001&lon=16.4")
	if c, k := s.passes.computed.Load(), s.passes.kept.Load(); c != 1 || k != 1 {
		t.Errorf("computed %d times, kept %d", c, k)
	}
	all := read[reply](t, get(t, s, "/api/v1/passes/iss?lat=-15&lon=16.4"))
	few := read[reply](t, get(t, s, "/api/v1/passes/iss?lat=-15&lon=16.4&visible=true"))
	if len(few.Passes) == 0 || len(few.Passes) >= len(all.Passes) {
		t.Errorf("%d of %d are visible", len(few.Passes), len(all.Passes))
	}
	for _, p := range few.Passes {
		if !p.Visible {
			t.Errorf("%+v is not visible", p)
		}
	}
	// One that never sets.
	stay := read[reply](t, get(t, s, "/api/v1/passes/ews-g2?lat=0&lon=66"))
	if len(stay.Passes) != 1 || stay.Passes[0].Rise != nil || stay.Passes[0].Set != nil {
		t.Errorf("geostationary: %+v", stay)
	}
}

// However many ask, few compute, and memory is bounded.
func TestPassesAreBounded(t *testing.T) {
	s := newSite(t, still)
	for range cap(s.passes.busy) {
		s.passes.busy <- struct{}{}
	}
	r := get(t, s, "/api/v1/passes/iss?lat=1&lon=1")
	if f := read[Fault](t, r); r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" || f.Error != errBusy.Error() {
		t.Errorf("%d %+v", r.StatusCode, f)
	}
	for range cap(s.passes.busy) {
		<-s.passes.busy
	}
	// What failed for want of time is not kept.
	if r := get(t, s, "/api/v1/passes/iss?lat=1&lon=1"); r.StatusCode != 200 {
		t.Errorf("then: %d", r.StatusCode)
	}
	o := sky.BuiltIn().Number(36411)
	s.passes.most = 50
	for i := range 70 {
		_, _, err := s.passes.find(t.Context(), o, orbit.Place{Latitude: float64(i%9000) / 100}, noon, 1, 89)
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.passes.known); n != 50 || s.passes.order.Len() != n {
		t.Errorf("%d kept, %d in order; want 50", n, s.passes.order.Len())
	}
}

func TestDecayed(t *testing.T) {
	c := sky.NewCatalogue(sky.BuiltIn())
	e := sky.BuiltIn().Number(25544).Orbit().Elements()
	e.BStar = .05 // it falls within hours
	made, err := sky.New([]orbit.Elements{e}, sky.Origin{Text: "made"})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func() time.Time { return noon.Add(20 * 24 * time.Hour) })
	s.o.Catalogue = c
	c.Swap(made)
	r := get(t, s, "/api/v1/position/iss")
	if f := read[Fault](t, r); r.StatusCode != http.StatusGone && r.StatusCode != http.StatusUnprocessableEntity || !strings.HasPrefix(f.Error, "iss: ") {
		t.Errorf("%d %+v", r.StatusCode, f)
	}
	r = get(t, s, "/")
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode != 200 || !strings.Contains(string(body), "<h1>The space station: ") || strings.Contains(string(body), `id="map"`) {
		t.Errorf("the page of what has decayed: %d", r.StatusCode)
	}
}

// What the API says of an object in the field dns, it takes.
func TestNamesOfTheZoneAreTaken(t *testing.T) {
	s := newSite(t, still)
	for _, id := range []string{"hubble.example", "HUBBLE.example.", "20580.example"} {
		v := read[struct{ Object Object }](t, get(t, s, "/api/v1/position/"+id))
		if v.Object.Number != 20580 || v.Object.DNS != "hubble.example" {
			t.Errorf("%s: %+v", id, v)
		}
	}
	for _, id := range []string{"hubble.example.org", "a.hubble.example", ".example"} {
		if r := get(t, s, "/api/v1/position/"+id); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", id, r.StatusCode)
		}
	}
	body, _ := io.ReadAll(get(t, s, "/?object=hubble.example").Body)
	if !strings.Contains(string(body), "dig @127.0.0.1 -p 5353 TXT hubble.example<") || !strings.Contains(string(body), "dig @127.0.0.1 -p 5353 TXT 48.2n-16.4e.pass.hubble.example<") {
		t.Error("the page does not say how to ask this server")
	}
	body, _ = io.ReadAll(get(t, s, "/").Body)
	if !strings.Contains(string(body), `content="Where the space station is now`) {
		t.Error("the description")
	}
}

func TestLatestVersionWithoutNumber(t *testing.T) {
	s := newSite(t, still)
	for _, p := range []string{"/api/objects?q=hubble", "/api/position/iss?at=0", "/api/passes/iss?lat=1&lon=2", "/api/track/iss", "/api/live/iss"} {
		r := get(t, s, p)
		if want := "/api/v1/" + strings.TrimPrefix(p, "/api/"); r.StatusCode != 307 || r.Header.Get("Location") != want {
			t.Errorf("%s: %d %s", p, r.StatusCode, r.Header.Get("Location"))
		}
	}
	if r := get(t, s, "/api//evil.example/"); r.StatusCode/100 == 3 && strings.HasPrefix(r.Header.Get("Location"), "//") {
		t.Error("a redirect to elsewhere")
	}
}

func TestPackingAndKeeping(t *testing.T) {
	s := newSite(t, still)
	var css, js string
	for name, a := range s.static {
		if strings.HasPrefix(name, "/assets/page") {
			if strings.HasSuffix(name, ".css") {
				css = name
			} else {
				js = name
			}
		}
		_ = a
	}
	for _, target := range []string{"/", css, js, "/api/v1/track/iss", "/api/v1/objects?limit=50"} {
		plain := get(t, s, target)
		body, _ := io.ReadAll(plain.Body)
		packed := get(t, s, target, "Accept-Encoding", "br;q=1, gzip;q=0.5")
		if packed.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(packed.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s is not packed: %v", target, packed.Header)
			continue
		}
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != string(body) || len(body) == 0 {
			t.Errorf("%s: packed it is something else: %v", target, err)
		}
		if r := get(t, s, target, "Accept-Encoding", "gzip;q=0, identity"); r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is packed for those who do not want it", target)
		}
		tag := plain.Header.Get("ETag")
		if r := get(t, s, target, "If-None-Match", `"x", `+tag); tag == "" || r.StatusCode != 304 {
			t.Errorf("%s: %d for what is known by %s", target, r.StatusCode, tag)
		}
		if r := get(t, s, target, "If-None-Match", `"x"`); r.StatusCode != 200 {
			t.Errorf("%s: %d for what is not known", target, r.StatusCode)
		}
	}
	if r := get(t, s, css); !strings.Contains(r.Header.Get("Cache-Control"), "immutable") || r.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%v", r.Header)
	}
	if r := get(t, s, "/assets/page.css"); r.StatusCode != 404 {
		t.Errorf("a name without its hash: %d", r.StatusCode)
	}
}

// The page asks for nothing but its own, and no script stands in it but the one whose hash the policy has.
func TestPolicy(t *testing.T) {
	s := newSite(t, still)
	r := get(t, s, "/?object=%3Cscript%3Ealert(1)%3C/script%3E&lat=x")
	body, _ := io.ReadAll(r.Body)
	page := string(body)
	csp := r.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || !strings.Contains(csp, themeHash) {
		t.Error(csp)
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, " style=") || strings.Contains(page, " onclick") {
		t.Error("the page holds what the policy forbids")
	}
	if strings.Count(page, "<script") != 2 || !strings.Contains(page, "<script>"+string(theme)+"</script>") {
		t.Error("the script in the page is not the one whose hash the policy has")
	}
	for _, outside := range []string{"http://", "https://", "//"} {
		for part := range strings.SplitSeq(page, `"`) {
			if strings.HasPrefix(part, outside) {
				t.Errorf("the page leads to %s", part)
			}
		}
	}
	if r.StatusCode != 404 || !strings.Contains(page, "Nothing is called") {
		t.Errorf("%d for what does not exist", r.StatusCode)
	}
}

func TestMetricsAndHealth(t *testing.T) {
	s := newSite(t, still)
	s.o.Metrics = func(w io.Writer) { io.WriteString(w, "headway_iss_dns_queries_total 7\n") }
	get(t, s, "/")
	get(t, s, "/api/v1/position/nobody")
	get(t, s, "/api/v1/passes/iss?lat=1&lon=1")
	body, _ := io.ReadAll(get(t, s, "/metrics").Body)
	text := string(body)
	for _, want := range []string{
		`headway_iss_http_requests_total{route="GET /{$}",status="2xx"} 1`, `headway_iss_http_requests_total{route="GET /api/v1/position/{id}",status="4xx"} 1`,
		"headway_iss_passes_computed_total 1", `headway_iss_objects{freshness="too old"} 3`, "headway_iss_served_total 3", "headway_iss_dns_queries_total 7",
		`headway_iss_http_request_seconds_bucket{route="GET /{$}",le="+Inf"} 1`, `headway_iss_http_request_seconds_count{route="GET /{$}"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	// Every sample belongs to a family that is declared before it.
	declared := ""
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			declared = f[2]
		} else if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, declared) && !strings.HasPrefix(line, "headway_iss_dns") {
			t.Errorf("%s after %s", line, declared)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 200, "/served": 200, "/robots.txt": 200, "/nothing": 404} {
		if r := get(t, s, path); r.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, r.StatusCode, want)
		}
	}
	s.o.Pod.SetReady(false)
	if r := get(t, s, "/readyz"); r.StatusCode != 503 {
		t.Errorf("readyz: %d", r.StatusCode)
	}
}

func TestOptionsAreNeeded(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("a site without a catalogue")
	}
}

// No query makes it panic, or cost more than it may; what is not answered is refused in JSON.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"at=2026-08-05T12:00:00Z", "lat=1&lon=2&days=10&elevation=0", "from=1e9&to=0&step=1e-300", "q=%00&limit=-1", "lat=-0&lon=-180&height=9000&visible=1", ";", "at=%2b1&at=", "step=Inf"} {
		f.Add(q)
	}
	s := newSite(f, still)
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsAny(query, " \x00\r\n\t#") || len(query) > 500 {
			t.Skip()
		}
		for _, path := range []string{"/api/v1/objects", "/api/v1/position/iss", "/api/v1/track/iss", "/api/v1/passes/iss", "/"} {
			r := httptest.NewRequest("GET", path, nil)
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if path == "/" {
				if w.Code != 200 && w.Code != 404 {
					t.Errorf("%s?%s: %d", path, query, w.Code)
				}
				continue
			}
			var v any
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 && w.Code != 400 {
				t.Errorf("%s?%s: %d %v", path, query, w.Code, err)
			}
			if w.Body.Len() > 400_000 {
				t.Errorf("%s?%s: %d bytes", path, query, w.Body.Len())
			}
		}
	})
}
