package elements

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var today = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// csvOf writes sets as CelesTrak does.
func csvOf(sets []orbit.Elements) []byte {
	var b bytes.Buffer
	b.WriteString("OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,EPHEMERIS_TYPE,CLASSIFICATION_TYPE,NORAD_CAT_ID,ELEMENT_SET_NO,REV_AT_EPOCH,BSTAR,MEAN_MOTION_DOT,MEAN_MOTION_DDOT\r\n")
	for _, e := range sets {
		fmt.Fprintf(&b, "%s,%s,%s,%.8f,%.7f,%.4f,%.4f,%.4f,%.4f,0,U,%d,999,%d,%g,%g,0\r\n", e.Name, e.Designator,
			e.Epoch.Format("2006-01-02T15:04:05.000000"), e.MeanMotion, e.Eccentricity, e.Inclination, e.Node, e.ArgPerigee,
			e.MeanAnomaly, e.Number, e.RevolutionCount, e.BStar, e.MeanMotionDot)
	}
	return b.Bytes()
}

// some element sets, the station first, with epochs within a day before t.
func some(n int, t time.Time) []orbit.Elements {
	var sets []orbit.Elements
	base := sky.BuiltIn().Station().Orbit().Elements()
	for i := range n {
		e := base
		e.Epoch = t.Add(-time.Duration(i) * time.Hour / 10)
		if i > 0 {
			e.Number, e.Name, e.Designator = i, "OBJECT "+strconv.Itoa(i), ""
			e.Inclination = float64(i%90) + 30
		}
		sets = append(sets, e)
	}
	return sets
}

// server answers as it is told and remembers what it was asked.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	handler http.HandlerFunc
	asked   []*http.Request
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.handler
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) says(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

func (s *server) sends(body []byte) {
	s.says(func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

type bench struct {
	t      *testing.T
	server *server
	now    time.Time
	cat    *sky.Catalogue
	dir    string
	k      *Keeper
	logged []string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, server: newServer(t), now: today, dir: t.TempDir(), cat: sky.NewCatalogue(sky.BuiltIn())}
	b.restart()
	return b
}

// restart makes a new keeper of what is on disk.
func (b *bench) restart() {
	b.t.Helper()
	var err error
	b.k, err = New(Options{
		From: []string{b.server.URL + "/gp.php?GROUP=active&FORMAT=csv"}, Dir: b.dir, Client: b.server.Client(),
		Now: func() time.Time { return b.now }, Log: func(s string) { b.logged = append(b.logged, s) },
	}, b.cat)
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) step() { b.k.Step(context.Background()) }

// wait goes to the next request and tells how long that was.
func (b *bench) wait() time.Duration {
	d := b.cat.Fetch().Next.Sub(b.now)
	b.now = b.now.Add(max(d, 0)).Add(time.Microsecond).Truncate(time.Microsecond)
	return d
}

func (b *bench) want(objects int, epoch time.Time, problem string) {
	b.t.Helper()
	s, f := b.cat.Now(), b.cat.Fetch()
	if s.Len() != objects || !s.Station().Epoch.Equal(epoch) {
		b.t.Errorf("%d objects, station of %v; want %d, %v", s.Len(), s.Station().Epoch, objects, epoch)
	}
	if problem == "" && f.Problem != "" || !strings.Contains(f.Problem, problem) || (f.Failed > 0) != (problem != "") {
		b.t.Errorf("fetch %+v; want a problem like %q", f, problem)
	}
}

func TestFetchDaily(t *testing.T) {
	b := newBench(t)
	if s := b.cat.Now(); !s.Origin.BuiltIn {
		t.Errorf("origin %v before the first fetch", s.Origin)
	}
	b.server.says(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Last-Modified", "Sun, 22 Nov 2026 11:00:00 GMT")
		w.Write(csvOf(some(100, today)))
	})
	b.step()
	b.want(100, today, "")
	if o := b.cat.Now().Origin; o.BuiltIn || !o.Fetched.Equal(today) || !strings.Contains(o.Text, "gp.php") {
		t.Errorf("origin %+v", o)
	}
	if ua := b.server.asked[0].UserAgent(); !strings.HasPrefix(ua, "headway-iss") {
		t.Errorf("User-Agent %q", ua)
	}
	b.step()
	if n := b.server.count(); n != 1 {
		t.Fatalf("%d requests at once", n)
	}
	if d := b.wait(); d < 24*time.Hour || d > 27*time.Hour {
		t.Errorf("next request in %v", d)
	}
	b.server.says(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != `"one"` || r.Header.Get("If-Modified-Since") != "Sun, 22 Nov 2026 11:00:00 GMT" {
			t.Errorf("not conditional: %v", r.Header)
		}
		w.WriteHeader(http.StatusNotModified)
	})
	b.step()
	b.want(100, today, "")
	if f := b.cat.Fetch(); !f.Done.Equal(b.now) || b.server.count() != 2 {
		t.Errorf("%+v", f)
	}
	// CelesTrak's own way to say 304.
	b.wait()
	b.server.says(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "GP data has not updated since your last successful\ndownload of GROUP=active at 2026-11-22 12:00:00 UTC.\nData is updated once every 2 hours.", http.StatusForbidden)
	})
	b.step()
	b.want(100, today, "")
	b.wait()
	b.server.says(func(w http.ResponseWriter, r *http.Request) {
		z := gzip.NewWriter(w)
		w.Header().Set("Content-Encoding", "gzip")
		z.Write(csvOf(some(101, b.now)))
		z.Close()
	})
	b.step()
	b.want(101, b.now, "")
}

func TestRestart(t *testing.T) {
	b := newBench(t)
	b.server.sends(csvOf(some(50, today)))
	b.step()
	b.cat = sky.NewCatalogue(sky.BuiltIn())
	for range 10 { // in a loop
		b.restart()
		b.step()
	}
	b.want(50, today, "")
	if n := b.server.count(); n != 1 {
		t.Errorf("%d requests by a service that restarts", n)
	}
	// Also if it dies while it asks.
	b.wait()
	b.server.sends(csvOf(some(51, b.now)))
	dying, cancel := context.WithCancel(context.Background())
	b.server.says(func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	b.k.Step(dying)
	for range 10 {
		b.restart()
		b.step()
	}
	if n := b.server.count(); n != 2 {
		t.Errorf("%d requests by a service that dies", n)
	}
	b.want(50, today, "")
}

// A clock that was years ahead does not keep a service from ever asking again.
func TestClockThatWasAhead(t *testing.T) {
	b := newBench(t)
	b.now = today.AddDate(10, 0, 0)
	b.server.sends(csvOf(some(50, b.now)))
	b.step()
	b.now = today
	b.restart()
	b.server.sends(csvOf(some(50, today)))
	b.step()
	if n := b.server.count(); n != 2 {
		t.Errorf("%d requests", n)
	}
	b.want(50, today, "") // nor are elements of the future better than those of today
}

// Whatever the server does, what was good stays, on disk, too, and the problem is told.
func TestBadServers(t *testing.T) {
	hijack := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Write([]byte(answer))
				c.Close()
			}
		}
	}
	body := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write(b) }
	}
	edited := func(edit func([]orbit.Elements) []orbit.Elements) http.HandlerFunc {
		return body(csvOf(edit(some(100, today.Add(30*time.Hour)))))
	}
	good := string(csvOf(some(100, today.Add(30*time.Hour))))
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		problem string
		least   time.Duration
	}{
		{"HTML", body([]byte("<!DOCTYPE html><html><head><title>Maintenance</title></head><body>Back soon")), "web page, not element sets: Maintenance Back soon", 2 * time.Hour},
		{"nothing", body(nil), "it is empty", 2 * time.Hour},
		{"text", body([]byte("No GP data found")), "no element sets", 2 * time.Hour},
		{"JSON that is none", body([]byte(`{"error":"out of order"}`)), "no element sets", 2 * time.Hour},
		{"half a JSON", body([]byte(`[{"OBJECT_NAME":"X","NORAD_CAT_ID":25544`)), "no element sets", 2 * time.Hour},
		{"octets", body(bytes.Repeat([]byte{0, 0xff, '\n'}, 10000)), "no element sets", 2 * time.Hour},
		{"half of it", body([]byte(good[:len(good)/2])), "only 49 objects where there were 100", 2 * time.Hour},
		{"broken off", hijack("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(good)) + "\r\n\r\n" + good[:9000]), "broke off", 2 * time.Hour},
		{"no HTTP", hijack("220 ftp ready\r\n"), "malformed HTTP", 10 * time.Minute},
		{"closes", hijack(""), "EOF", 10 * time.Minute},
		{"older", body(csvOf(some(100, today.Add(-24*time.Hour)))), "older than what is there", 2 * time.Hour},
		{"from the future", body(csvOf(some(100, today.Add(1000*time.Hour)))), "100 of 100 element sets are not right", 2 * time.Hour},
		{"other objects", edited(func(s []orbit.Elements) []orbit.Elements {
			for i := range s[1:] {
				s[1+i].Number += 5000
			}
			return s
		}), "other objects", 2 * time.Hour},
		{"no station", edited(func(s []orbit.Elements) []orbit.Elements { return s[1:] }), "the space station (25544) is missing", 2 * time.Hour},
		{"another station", edited(func(s []orbit.Elements) []orbit.Elements { s[0].Inclination = 98; return s }), "the orbit of the space station (25544) is another", 2 * time.Hour},
		{"other orbits", edited(func(s []orbit.Elements) []orbit.Elements {
			for i := 1; i < 20; i++ {
				s[i].MeanMotion = 2
			}
			return s
		}), "19 of 100 objects have other orbits", 2 * time.Hour},
		{"bad sets", body([]byte(strings.ReplaceAll(good, ",30.0000,", ",430.0000,")[:len(good)-1] + strings.Repeat("a,b,c\r\n", 20))), "element sets are not right", 2 * time.Hour},
		{"http.StatusForbidden", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Blocked <b>you</b>", http.StatusForbidden)
		}, "forbids it (403), perhaps for too many requests from this address: Blocked you", 24 * time.Hour},
		{"404", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", 404) }, "answers 404: gone", 24 * time.Hour},
		{"301", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.test/", http.StatusMovedPermanently)
		}, "has moved (301) to https://elsewhere.test/", 24 * time.Hour},
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", 500) }, "problem (500): oops", 2 * time.Hour},
		{"503", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "18000")
			w.WriteHeader(503)
		}, "busy (503)", 5 * time.Hour},
		{"429", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "1"); w.WriteHeader(429) }, "busy (429)", 2 * time.Hour},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := newBench(t)
			b.server.sends(csvOf(some(100, today)))
			b.step()
			b.wait()
			b.server.says(c.handler)
			before := b.server.count()
			b.step()
			b.want(100, today, c.problem)
			if n := b.server.count() - before; n != 1 {
				t.Errorf("%d requests", n)
			}
			if d := b.wait(); d < c.least || d > c.least*11/10+time.Second {
				t.Errorf("next try in %v, want %v and a little", d, c.least)
			}
			b.step()
			b.want(100, today, c.problem)
			if b.cat.Fetch().Failed != 2 {
				t.Errorf("%+v", b.cat.Fetch())
			}
			if d := b.wait(); d < c.least || c.least <= 2*time.Hour && d < 2*c.least && c.what != "429" {
				t.Errorf("the second time: next try in %v", d)
			}
			b.cat = sky.NewCatalogue(sky.BuiltIn())
			b.restart()
			b.want(100, today, c.problem) // a restart keeps both the sets and the memory of the trouble
			b.server.sends(csvOf(some(100, b.now)))
			b.step()
			b.want(100, b.now, "")
		})
	}
}

// With no good set ever, the built-in one goes on.
func TestServerThatWasNeverUp(t *testing.T) {
	b := newBench(t)
	built := b.cat.Now()
	b.server.Close()
	var waits []time.Duration
	for range 8 {
		b.step()
		waits = append(waits, b.wait().Round(time.Minute))
	}
	if b.cat.Now() != built || b.cat.Fetch().Failed != 8 || !b.cat.Fetch().Done.IsZero() {
		t.Errorf("%v, %+v", b.cat.Now().Origin, b.cat.Fetch())
	}
	if waits[0] > 12*time.Minute || waits[1] < waits[0] || waits[7] < 6*time.Hour || waits[7] > 7*time.Hour {
		t.Errorf("waits %v", waits)
	}
	if len(b.logged) != 8 || !strings.Contains(b.logged[0], "going on with what there is, next try in") {
		t.Errorf("log %q", b.logged)
	}
}

func TestSlowServerIsLeft(t *testing.T) {
	b := newBench(t)
	b.server.says(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("OBJECT_NAME,"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() { b.k.Run(ctx); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it hangs")
	}
	if !b.cat.Now().Origin.BuiltIn {
		t.Error(b.cat.Now().Origin)
	}
}

// An object whose set is older than ours keeps ours.
func TestNoObjectGoesBack(t *testing.T) {
	b := newBench(t)
	b.server.sends(csvOf(some(100, today)))
	b.step()
	b.wait()
	next := some(100, b.now)
	next[7].Epoch = today.AddDate(0, 0, -9)
	b.server.sends(csvOf(next))
	b.step()
	b.want(100, b.now, "")
	if e := b.cat.Now().Number(7).Epoch; !e.Equal(today.Add(-42 * time.Minute)) {
		t.Errorf("object 7 went back to %v", e)
	}
}

// What was kept and is lost is fetched again soon, but not sooner than is polite, nor from a server
// that has refused.
func TestLostFileIsFetchedSoon(t *testing.T) {
	for _, forbidden := range []bool{false, true} {
		b := newBench(t)
		b.server.sends(csvOf(some(50, today)))
		b.step()
		if forbidden {
			b.wait()
			b.server.says(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
			b.step()
		}
		files, _ := filepath.Glob(filepath.Join(b.dir, "*.elements"))
		if len(files) != 1 || os.Remove(files[0]) != nil {
			t.Fatalf("%v", files)
		}
		b.now = b.now.Add(10 * time.Minute)
		b.cat = sky.NewCatalogue(sky.BuiltIn())
		b.restart()
		switch wait := b.cat.Fetch().Next.Sub(b.now); {
		case !forbidden && wait != polite-10*time.Minute:
			t.Errorf("%v until the next request", wait)
		case forbidden && wait < 23*time.Hour:
			t.Errorf("%v until a server that has refused is asked again", wait)
		}
	}
}

// Sets that are not right are told of, with what is wrong with the first.
func TestBadSetsAreTold(t *testing.T) {
	b := newBench(t)
	body := csvOf(some(50, today))
	bad := append(append([]byte{}, body...), "NOBODY,2020-001A,2026-08-05T00:00:00,nonsense\n"...)
	b.server.sends(bad)
	b.step()
	b.want(50, today, "")
	log := strings.Join(b.logged, "\n")
	if !strings.Contains(log, "50 element sets from ") || !strings.Contains(log, "; 1 is not right; the first: line 52") {
		t.Errorf("log %q", b.logged)
	}
	if n := b.cat.Fetch().Rejected; n != 1 {
		t.Errorf("%d rejected", n)
	}
	b.logged = nil
	b.restart() // from disk
	if n := b.cat.Fetch().Rejected; n != 1 || !strings.Contains(strings.Join(b.logged, "\n"), "1 is not right") {
		t.Errorf("after a restart %d, %q", n, b.logged)
	}
	b.wait()
	b.server.sends(csvOf(some(50, b.now)))
	b.step()
	if n := b.cat.Fetch().Rejected; n != 0 {
		t.Errorf("%d rejected of a good answer", n)
	}
}

// A checksum and a line that is cut in a file of one's own.
func TestBadSetsOfAFile(t *testing.T) {
	const good = "ISS (ZARYA)\n1 25544U 98067A   26217.02190500  .00005828  00000+0  11248-3 0  9996\n" +
		"2 25544  51.6318  58.4155 0007310  13.5287 346.5896 15.49349819579321\n"
	for what, text := range map[string]string{
		"checksum":  good + strings.Replace(strings.ReplaceAll(good, "25544", "25545"), "9996", "9993", 1),
		"truncated": good + strings.ReplaceAll(good, "25544", "25546")[:120],
	} {
		path := filepath.Join(t.TempDir(), "sets.tle")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cat := sky.NewCatalogue(sky.BuiltIn())
		log := ""
		if _, err := New(Options{From: []string{path}, Log: func(s string) { log += s }}, cat); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if cat.Now().Len() != 1 || cat.Fetch().Rejected != 1 || !strings.Contains(log, "1 element set from ") || !strings.Contains(log, "1 is not right; the first: line ") {
			t.Errorf("%s: %d objects, %+v, log %q", what, cat.Now().Len(), cat.Fetch(), log)
		}
	}
}

// What is on disk may be anything.
func TestBadDisk(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"cut":     func(p string) error { return os.Truncate(p, 10) },
		"empty":   func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"garbage": func(p string) error { return os.WriteFile(p, []byte("\x00{"), 0o644) },
		"gone":    os.Remove,
	} {
		for _, ext := range []string{"*.elements", "*.json"} {
			t.Run(what+ext, func(t *testing.T) {
				b := newBench(t)
				b.server.sends(csvOf(some(50, today)))
				b.step()
				files, _ := filepath.Glob(filepath.Join(b.dir, ext))
				if len(files) != 1 {
					t.Fatalf("%v", files)
				}
				if err := spoil(files[0]); err != nil {
					t.Fatal(err)
				}
				b.cat = sky.NewCatalogue(sky.BuiltIn())
				b.logged = nil
				b.restart()
				if what != "gone" || ext == "*.elements" {
					if len(b.logged) != 1 || !strings.Contains(b.logged[0], "cannot be used") {
						t.Errorf("log %q", b.logged)
					}
				}
				if !b.cat.Now().Origin.BuiltIn {
					t.Errorf("%v is served", b.cat.Now().Origin)
				}
				b.now = b.now.Add(28 * time.Hour)
				b.server.says(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("If-None-Match") != "" {
						t.Error("it asks whether there is something newer than what it has lost")
					}
					w.Write(csvOf(some(50, b.now)))
				})
				b.step()
				b.want(50, b.now, "")
			})
		}
	}
	t.Run("cannot be written", func(t *testing.T) {
		b := newBench(t)
		b.k.o.Dir = filepath.Join(b.dir, "none", "such")
		b.server.sends(csvOf(some(50, today)))
		b.step()
		b.want(50, today, "")
		if !strings.Contains(strings.Join(b.logged, "\n"), "cannot be kept") {
			t.Errorf("log %q", b.logged)
		}
	})
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := Writable(dir); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
	if Writable(filepath.Join(dir, "none")) == nil {
		t.Error("a directory that is not there")
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sets.json")
	write := func(s string, t time.Time) {
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			panic(err)
		}
		os.Chtimes(path, t, t)
	}
	cat := sky.NewCatalogue(sky.BuiltIn())
	now := today
	o := Options{From: []string{path}, Now: func() time.Time { return now }}
	if _, err := New(o, cat); err == nil {
		t.Error("a file that is not there")
	}
	write("<html>", now)
	if _, err := New(o, cat); err == nil || !strings.Contains(err.Error(), "web page") || !strings.Contains(err.Error(), path) {
		t.Errorf("a web page: %v", err)
	}
	write(string(csvOf(some(10, today))), now)
	k, err := New(o, cat)
	if err != nil {
		t.Fatal(err)
	}
	step := func(objects int, problem bool) {
		t.Helper()
		now = now.Add(2 * time.Minute)
		k.Step(context.Background())
		if cat.Now().Len() != objects || (cat.Fetch().Problem != "") != problem {
			t.Errorf("%d objects, %+v; want %d", cat.Now().Len(), cat.Fetch(), objects)
		}
	}
	step(10, false)
	write(string(csvOf(some(20, today))), now)
	step(20, false)
	write("oops", now)
	step(20, true)
	os.Remove(path)
	step(20, true)
	write(string(csvOf(some(30, today))), now)
	step(30, false)
}

func TestOptions(t *testing.T) {
	cat := sky.NewCatalogue(sky.BuiltIn())
	for _, o := range []Options{
		{Every: time.Hour}, {From: []string{"ftp://x.test/y"}}, {From: []string{"http:///y"}}, {From: []string{"nofile"}},
		{Dir: "/dev/null/x"},
	} {
		if _, err := New(o, cat); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	k, err := New(Options{}, cat)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k.Run(ctx)
	if !cat.Now().Origin.BuiltIn || cat.Fetch() != (sky.Fetch{}) {
		t.Errorf("%v %+v", cat.Now().Origin, cat.Fetch())
	}
}

// Several sources make one sky.
func TestSources(t *testing.T) {
	a, b := newServer(t), newServer(t)
	a.sends(csvOf(some(10, today)))
	b.says(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	cat := sky.NewCatalogue(sky.BuiltIn())
	now := today
	k, err := New(Options{From: []string{a.URL, b.URL}, Now: func() time.Time { return now }}, cat)
	if err != nil {
		t.Fatal(err)
	}
	k.Step(context.Background())
	if cat.Now().Len() != 10 || !strings.Contains(cat.Fetch().Problem, b.URL) {
		t.Errorf("%d objects, %+v", cat.Now().Len(), cat.Fetch())
	}
	more := some(20, today)[10:]
	b.sends(csvOf(more))
	now = now.Add(3 * time.Hour)
	k.Step(context.Background())
	if cat.Now().Len() != 20 || cat.Fetch().Problem != "" || a.count() != 1 {
		t.Errorf("%d objects, %+v, %d requests", cat.Now().Len(), cat.Fetch(), a.count())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(csvOf(some(3, today)))
	f.Add([]byte("<html><b"))
	f.Add([]byte(`[{"OBJECT_NAME":"X"}]`))
	f.Add([]byte("CCSDS_OMM_VERS = 2.0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sets, bad, err := Parse(b)
		if err == nil && len(sets) == 0 || bad.Sets < 0 || (bad.Sets > 0) != (bad.First != nil) && err == nil {
			t.Errorf("%d sets, %v bad, %v", len(sets), bad, err)
		}
		if len(sets) > 0 {
			check(sets, bad.Sets, some(3, today), today)
			merge(sets, some(3, today), today)
		}
	})
}
