package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("MIRROR_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// body is what a record holds.
func body(id string) string { return "record " + id + " " + strings.Repeat("x", 200+len(id)) }

// service lists records and serves them. Tests put what misbehaves in place of its parts.
type service struct {
	*httptest.Server
	mu      sync.Mutex
	records []map[string]any
	perPage int
	address string
	list    func(page int)                                               // comes before each page, with mu held
	one     func(w http.ResponseWriter, r *http.Request, id string) bool // true: it has answered
	asked   sync.Map                                                     // id -> *atomic.Int64
	listed  atomic.Int64
}

func newService(t testing.TB, n int) *service {
	s := &service{perPage: 100}
	for i := range n {
		s.records = append(s.records, map[string]any{"id": i, "status": []string{"paid", "open"}[i%2], "created": fmt.Sprintf("2017-08-%02dT10:00:00Z", 1+i%3)})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /records", func(w http.ResponseWriter, r *http.Request) {
		s.listed.Add(1)
		page, _ := strconv.Atoi(r.FormValue("page"))
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.list != nil {
			s.list(page)
		}
		from := min(max(page-1, 0)*s.perPage, len(s.records))
		json.NewEncoder(w).Encode(map[string]any{"total": len(s.records), "records": s.records[from:min(from+s.perPage, len(s.records))]})
	})
	mux.HandleFunc("GET /records/{id}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		n, _ := s.asked.LoadOrStore(id, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		if s.one != nil && s.one(w, r, id) {
			return
		}
		w.Write([]byte(body(id)))
	})
	s.Server = httptest.NewUnstartedServer(mux)
	t.Cleanup(s.Close)
	return s
}

// url starts the server, which from then on does what the test has put in place.
func (s *service) url() string {
	if s.address == "" {
		s.Start()
		s.address = s.URL
	}
	return s.address
}

func (s *service) times(id string) int64 {
	n, ok := s.asked.Load(id)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// config is for tests: everything is short.
func (s *service) config(t testing.TB, more string) *Config {
	t.Helper()
	return s.parse(t, fmt.Sprintf(`
list: {url: "%[1]s/records", records: ".records[]", total: .total, page: {parameter: page}}
record: {url: "%[1]s/records/{id}"}
path: files/{created:2006/01/02}/{status}/{id}.txt
http: {workers: 8, request: 300ms}
retry: {first: 1ms, most: 2s}
`, s.url())+more)
}

func (s *service) parse(t testing.TB, src string) *Config {
	t.Helper()
	c, err := Parse("test.yaml", []byte(src), func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "geheim-token"}[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// files are the records in a directory, by path.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".headway-mirror" {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// whole checks that every record is there once, with what it holds.
func (s *service) whole(t testing.TB, dir string) {
	t.Helper()
	got := files(t, dir)
	for _, r := range s.records {
		id := fmt.Sprint(r["id"])
		created, _ := time.Parse(time.RFC3339, r["created"].(string))
		name := fmt.Sprintf("files/%s/%s/%s.txt", created.Format("2006/01/02"), r["status"], id)
		if got[name] != body(id) {
			t.Errorf("%s holds %.40q", name, got[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is there", name)
	}
	left, _ := os.ReadDir(filepath.Join(dir, ".headway-mirror", "unfinished"))
	if len(left) > 0 {
		t.Errorf("%d unfinished files are left", len(left))
	}
}

func mirrorTo(t testing.TB, c *Config, dir string) (*Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return Run(ctx, Options{Config: c, Dir: dir})
}

func TestAllOnceAndNotAgain(t *testing.T) {
	for _, more := range []string{"", "durable: true\n", "check: size\n", "check: etag\n"} {
		t.Run(more, func(t *testing.T) {
			s := newService(t, 250)
			s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
				w.Header().Set("ETag", `"`+id+`"`)
				if r.Header.Get("If-None-Match") == `"`+id+`"` {
					w.WriteHeader(http.StatusNotModified)
					return true
				}
				return false
			}
			dir := t.TempDir()
			x, err := mirrorTo(t, s.config(t, more), dir)
			if err != nil || x.Stored != 250 || !x.Complete {
				t.Fatalf("%v, %+v", err, x)
			}
			s.whole(t, dir)
			for range 2 {
				x, err = mirrorTo(t, s.config(t, more), dir)
				if err != nil || x.Stored != 0 || x.There != 250 || x.Duplicates != 0 {
					t.Fatalf("again: %v, %+v", err, x)
				}
			}
			s.whole(t, dir)
			if more == "" && s.times("7") != 1 {
				t.Errorf("record 7 was asked for %d times", s.times("7"))
			}
			// What somebody removed comes back.
			os.Remove(filepath.Join(dir, "files/2017/08/01/paid/0.txt"))
			if x, err = mirrorTo(t, s.config(t, more), dir); err != nil || x.Stored != 1 {
				t.Fatalf("after a removal: %v, %+v", err, x)
			}
			s.whole(t, dir)
		})
	}
}

func TestWhatChangedIsReplaced(t *testing.T) {
	for _, check := range []string{"size", "etag"} {
		for _, durable := range []bool{false, true} {
			s := newService(t, 20)
			version := atomic.Int64{}
			s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
				v := version.Load()
				if id != "7" {
					v = 0
				}
				tag := fmt.Sprintf(`"%d"`, v)
				w.Header().Set("ETag", tag)
				if r.Header.Get("If-None-Match") == tag {
					w.WriteHeader(http.StatusNotModified)
				} else {
					w.Write([]byte(body(id) + strings.Repeat("!", int(v))))
				}
				return true
			}
			c := s.config(t, fmt.Sprintf("check: %s\ndurable: %v\n", check, durable))
			dir := t.TempDir()
			if _, err := mirrorTo(t, c, dir); err != nil {
				t.Fatal(err)
			}
			version.Store(3)
			x, err := mirrorTo(t, c, dir)
			if err != nil || x.Stored != 1 || x.There != 19 {
				t.Errorf("%s: %v, %+v", check, err, x.Counts)
			}
			if got := files(t, dir)["files/2017/08/02/open/7.txt"]; got != body("7")+"!!!" {
				t.Errorf("%s: %q", check, got)
			}
		}
	}
}

// raw takes over the connection.
func raw(w http.ResponseWriter, say string, reset bool) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	c.Write([]byte(say))
	if reset {
		c.(*net.TCPConn).SetLinger(0)
	}
	c.Close()
}

// faults are what a server does wrong, once for each record it is done to.
var faults = map[string]func(http.ResponseWriter, *http.Request, string){
	"reset": func(w http.ResponseWriter, _ *http.Request, _ string) { raw(w, "", true) },
	"stall": func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() },
	"truncated": func(w http.ResponseWriter, _ *http.Request, id string) {
		raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"+body(id), false)
	},
	"half": func(w http.ResponseWriter, _ *http.Request, id string) {
		raw(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nrecor", false)
	},
	"two lengths": func(w http.ResponseWriter, _ *http.Request, id string) {
		raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", false)
	},
	"stall in the body": func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Length", "500")
		w.Write([]byte(body(id)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	},
	"429": func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(429) },
	"500": func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, "an error page", 500) },
	"503": func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
		w.WriteHeader(503)
	},
}

func TestFaultsPass(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, 60)
			s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
				if strings.HasSuffix(id, "3") && s.times(id) < 3 {
					fault(w, r, id)
					return true
				}
				return false
			}
			dir := t.TempDir()
			x, err := mirrorTo(t, s.config(t, ""), dir)
			// A request that met a connection reset while idle is sent again by wire, unseen here.
			if err != nil || x.Progress.Retries < 12 && name != "reset" {
				t.Fatalf("%v, %+v", err, x.Progress)
			}
			s.whole(t, dir)
		})
	}
}

// What never goes well is named, stored nowhere, and tried first by the next run.
func TestFailuresAreNamedAndTriedAgain(t *testing.T) {
	for name, fault := range faults {
		if name == "503" {
			continue // would wait for a second each time
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, 150)
			broken := atomic.Bool{}
			broken.Store(true)
			s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
				if broken.Load() && (id == "13" || id == "140") {
					fault(w, r, id)
					return true
				}
				return false
			}
			c := s.config(t, "")
			dir := t.TempDir()
			x, err := mirrorTo(t, c, dir)
			if !errors.Is(err, ErrSome) || x.Failed != 2 || x.Stored != 148 {
				t.Fatalf("%v, %+v", err, x)
			}
			b, _ := os.ReadFile(filepath.Join(dir, ".headway-mirror", failedName))
			if got := bytes.Count(b, []byte("\n")); got != 2 || !bytes.Contains(b, []byte(`"id":140`)) {
				t.Errorf("the file of failures: %s", b)
			}
			if len(files(t, dir)) != 148 {
				t.Errorf("%d files", len(files(t, dir)))
			}
			broken.Store(false)
			x, err = mirrorTo(t, c, dir)
			if err != nil || x.Stored != 2 || x.There != 148 || x.Duplicates != 0 {
				t.Fatalf("again: %v, %+v", err, x)
			}
			s.whole(t, dir)
			for _, name := range []string{failedName, retryName} {
				if _, err := os.Stat(filepath.Join(dir, ".headway-mirror", name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

func TestRetryAfterHoldsBackAll(t *testing.T) {
	s := newService(t, 40)
	var until atomic.Int64
	early := atomic.Int64{}
	s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
		now := time.Now()
		if id == "10" && s.times(id) == 1 {
			until.Store(now.Add(time.Second).UnixNano())
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		// Those that were on their way may come.
		if u := until.Load(); u != 0 && now.UnixNano() > u-int64(800*time.Millisecond) && now.UnixNano() < u-int64(20*time.Millisecond) {
			early.Add(1)
		}
		return false
	}
	dir := t.TempDir()
	if _, err := mirrorTo(t, s.config(t, ""), dir); err != nil {
		t.Fatal(err)
	}
	s.whole(t, dir)
	if early.Load() > 0 {
		t.Errorf("%d requests came while the server had asked for patience", early.Load())
	}
}

func TestRedirectsKeepCredentialsAtHome(t *testing.T) {
	var strangers sync.Map
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strangers.Store(r.URL.Path, r.Header.Clone())
		w.Write([]byte(body(strings.TrimPrefix(r.URL.Path, "/"))))
	}))
	defer other.Close()
	s := newService(t, 30)
	var bad atomic.Int64
	s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
		if r.Header.Get("Authorization") != "Bearer geheim-token" || r.Header.Get("X-Key") != "geheim-token" {
			bad.Add(1)
		}
		switch {
		case id == "3":
			http.Redirect(w, r, other.URL+"/3", http.StatusFound)
		case id == "4" && r.FormValue("again") == "":
			http.Redirect(w, r, "/records/4?again=1", http.StatusMovedPermanently)
		case id == "5":
			http.Redirect(w, r, "/records/5", http.StatusFound) // for ever
		case id == "6":
			w.WriteHeader(http.StatusFound)
		default:
			return false
		}
		return true
	}
	c := s.config(t, "headers: {Authorization: 'Bearer ${TOKEN}', X-Key: '${TOKEN}', Accept: text/plain, Cookie: a=b}\n")
	dir := t.TempDir()
	x, err := mirrorTo(t, c, dir)
	if !errors.Is(err, ErrSome) || x.Failed != 2 || x.Kinds["redirect"] != 2 || bad.Load() > 0 {
		t.Fatalf("%v, %+v; %d without credentials", err, x, bad.Load())
	}
	h, ok := strangers.Load("/3")
	if !ok {
		t.Fatal("the redirect was not followed")
	}
	got := h.(http.Header)
	if got.Get("Authorization") != "" || got.Get("X-Key") != "" || got.Get("Cookie") != "" || got.Get("Accept") != "text/plain" {
		t.Errorf("another host got %v", got)
	}
	if files(t, dir)["files/2017/08/02/paid/4.txt"] != body("4") {
		t.Error("a redirect within the host")
	}
}

// The list loses and gets records while it is read: those that come twice are pulled once.
func TestListThatChanges(t *testing.T) {
	s := newService(t, 300)
	moved := false
	s.list = func(page int) {
		if !moved && page == 2 {
			moved = true
			fresh := map[string]any{"id": 9000, "status": "new", "created": "2017-08-09T10:00:00Z"}
			s.records = append([]map[string]any{fresh}, s.records...)
			s.records[110] = map[string]any{"id": 2, "status": "changed", "created": "2017-08-09T10:00:00Z"}
		}
	}
	s.perPage = 50
	dir := t.TempDir()
	c := s.config(t, "")
	c.HTTP.Workers = 1
	x, err := mirrorTo(t, c, dir)
	if err == nil || !strings.Contains(err.Error(), "changed while it was read") || x.Duplicates == 0 {
		t.Fatalf("%v, %+v", err, x)
	}
	seen := map[string]bool{}
	for name := range files(t, dir) {
		id := filepath.Base(name)
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
	}
	for id, n := range map[string]int64{"2": 1, "49": 1} {
		if s.times(id) != n {
			t.Errorf("%s was asked for %d times", id, s.times(id))
		}
	}
	if len(x.Warnings) == 0 {
		t.Error("no warning that the list changed")
	}
}

func TestHostileFields(t *testing.T) {
	s := newService(t, 0)
	long := strings.Repeat("ä", 150)
	for i, name := range []string{"../../etc/passwd", "..", ".", "", "a\x00b", "a/b", long, long + "x", "Straße", "STRASSE", "strasse", "%2F", "con", ".hidden", "a\nb", "\xff", "CON", ".headway-mirror", "~", "-rf", "a\u0085b"} {
		s.records = append(s.records, map[string]any{"id": i, "name": name})
	}
	for _, style := range []string{"unix", "portable"} {
		above := t.TempDir()
		dir := filepath.Join(above, "in", "side")
		c := s.parse(t, fmt.Sprintf(`
list: {url: "%[1]s/records", records: ".records[]", page: {parameter: page}}
record: {url: "%[1]s/records/{id}"}
path: "{name}"
names: %[2]s
`, s.url(), style))
		x, err := mirrorTo(t, c, dir)
		if err != nil || int(x.Stored) != len(s.records) {
			t.Fatalf("%s: %v, %+v", style, err, x)
		}
		got := files(t, dir)
		if len(got) != len(s.records) || len(files(t, above)) != len(got) {
			t.Errorf("%s: %d files of %d records, %d above", style, len(got), len(s.records), len(files(t, above)))
		}
		low := map[string]string{}
		for name := range got {
			if strings.ContainsAny(name, "/\x00") || len(name) > 255 {
				t.Errorf("%s: the name %q", style, name)
			}
			if other, ok := low[strings.ToLower(name)]; ok && style == "portable" {
				t.Errorf("%q and %q differ in case only", name, other)
			}
			low[strings.ToLower(name)] = name
		}
	}
}

// Two records with one path: the first of the list has it, the other is named.
func TestConflict(t *testing.T) {
	s := newService(t, 4)
	c := s.parse(t, fmt.Sprintf(`
list: {url: "%[1]s/records", records: ".records[]", page: {parameter: page}}
record: {url: "%[1]s/records/{id}"}
path: "{status}.txt"
`, s.url()))
	dir := t.TempDir()
	for range 2 {
		x, err := mirrorTo(t, c, dir)
		if !errors.Is(err, ErrSome) || x.Kinds["conflict"] != 2 {
			t.Fatalf("%v, %+v", err, x)
		}
		got := files(t, dir)
		if len(got) != 2 || got["paid.txt"] != body("0") || got["open.txt"] != body("1") {
			t.Errorf("%v", got)
		}
	}
}

func TestLinksDoNotLeadOut(t *testing.T) {
	s := newService(t, 6)
	dir, out := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "files", "2017", "08"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(dir, "files", "2017", "08", "02")); err != nil {
		t.Fatal(err)
	}
	x, err := mirrorTo(t, s.config(t, ""), dir)
	if !errors.Is(err, ErrSome) || x.Failed != 2 || x.Stored != 4 {
		t.Errorf("%v, %+v", err, x)
	}
	if got, _ := os.ReadDir(out); len(got) > 0 {
		t.Errorf("%d files outside", len(got))
	}
}

func TestRefusals(t *testing.T) {
	s := newService(t, 10)
	s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
		switch id {
		case "1":
			raw(w, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+body(id), false)
		case "2":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("x"))
		case "3":
			w.WriteHeader(http.StatusNoContent)
		case "4":
			w.WriteHeader(http.StatusPartialContent)
			w.Write([]byte("half"))
		case "5":
			http.NotFound(w, r)
		default:
			return false
		}
		return true
	}
	dir := t.TempDir()
	x, err := mirrorTo(t, s.config(t, ""), dir)
	if !errors.Is(err, ErrSome) || x.Failed != 5 || x.Kinds["undelimited"] != 1 || x.Kinds["encoding"] != 1 || x.Progress.Retries != 0 {
		t.Errorf("%v, %+v", err, x)
	}
	if len(files(t, dir)) != 5 {
		t.Errorf("%d files", len(files(t, dir)))
	}
	x, _ = mirrorTo(t, s.config(t, "allow_undelimited: true\n"), dir)
	if x.Failed != 4 || files(t, dir)["files/2017/08/02/open/1.txt"] != body("1") {
		t.Errorf("%+v", x)
	}
}

func TestCredentialsThatAreNotTaken(t *testing.T) {
	s := newService(t, 1000)
	s.one = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	x, err := mirrorTo(t, s.config(t, ""), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "credentials") || x.Failed > 50 {
		t.Errorf("%v, %+v", err, x)
	}
}

func TestServerThatGoes(t *testing.T) {
	s := newService(t, 2000)
	var back atomic.Bool
	var asked atomic.Int64
	s.one = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		if asked.Add(1) > 300 && !back.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	}
	dir := t.TempDir()
	c := s.config(t, "")
	c.Retry.GiveUp = 20
	x, err := mirrorTo(t, c, dir)
	if err == nil || !strings.Contains(err.Error(), "in a row") || x.Failed > 60 {
		t.Fatalf("%v, %+v", err, x)
	}
	back.Store(true)
	if _, err := mirrorTo(t, c, dir); err != nil {
		t.Fatal(err)
	}
	s.whole(t, dir)
}

func TestInterruptedAndResumed(t *testing.T) {
	s := newService(t, 3000)
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	c := s.config(t, "")
	s.one = func(http.ResponseWriter, *http.Request, string) bool {
		time.Sleep(time.Millisecond)
		return false
	}
	x, err := Run(ctx, Options{Config: c, Dir: dir, Every: 100 * time.Millisecond, Progress: func(p Progress) {
		if p.Stored > 1000 {
			cancel(stop)
		}
	}})
	if !errors.Is(err, stop) || x.Stored < 1000 || x.Complete {
		t.Fatalf("%v, %+v", err, x)
	}
	pages := s.listed.Load()
	x, err = mirrorTo(t, c, dir)
	if err != nil || !x.Resumed {
		t.Fatalf("%v, %+v", err, x)
	}
	s.whole(t, dir)
	if again := s.listed.Load() - pages; again > 24 {
		t.Errorf("the second run read %d pages of 31, after the first had stored a third", again)
	}
	for i := range 3000 {
		if n := s.times(strconv.Itoa(i)); n > 2 {
			t.Errorf("record %d was asked for %d times", i, n)
		}
	}
}

func TestOneAtATime(t *testing.T) {
	s := newService(t, 50)
	hold := make(chan struct{})
	s.one = func(http.ResponseWriter, *http.Request, string) bool { <-hold; return false }
	dir := t.TempDir()
	c := s.config(t, "")
	c.HTTP.Request = 0
	done := make(chan error)
	go func() { _, err := mirrorTo(t, c, dir); done <- err }()
	for s.times("0") == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := mirrorTo(t, c, dir); err == nil || !strings.Contains(err.Error(), "another headway mirror") {
		t.Errorf("a second run: %v", err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnotherConfig(t *testing.T) {
	s := newService(t, 5)
	dir := t.TempDir()
	if _, err := mirrorTo(t, s.config(t, ""), dir); err != nil {
		t.Fatal(err)
	}
	c := s.config(t, "")
	c.Path = "other/{id}"
	var wrong *ConfigError
	if _, err := mirrorTo(t, c, dir); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "path files/") {
		t.Errorf("%v", err)
	}
}

func TestWaysThroughAList(t *testing.T) {
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, from int, more string) {
		fmt.Fprintf(w, `{"records":[{"id":%d},{"id":%d}]%s}`, from, from+1, more)
	}
	mux.HandleFunc("GET /cursor", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("at"))
		next := ""
		if at < 8 {
			next = fmt.Sprintf(`,"next":"%d"`, at+2)
		}
		page(w, at, next)
	})
	mux.HandleFunc("GET /follow", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("at"))
		next := `,"next":null`
		if at < 8 {
			next = fmt.Sprintf(`,"next":"?at=%d"`, at+2)
		}
		page(w, at, next)
	})
	mux.HandleFunc("GET /link", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("at"))
		if at < 8 {
			w.Header().Add("Link", fmt.Sprintf(`</link?at=0>; rel="first"; title="a, b", </link?at=%d>; rel="last next"`, at+2))
		}
		page(w, at, "")
	})
	mux.HandleFunc("GET /offset", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("offset"))
		if at < 10 {
			page(w, at, "")
		} else {
			fmt.Fprint(w, `{"records":[]}`)
		}
	})
	mux.HandleFunc("GET /last", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("p"))
		page(w, min(n, 4)*2, `,"pages":4`)
	})
	mux.HandleFunc("GET /circle", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("at"))
		page(w, at, fmt.Sprintf(`,"next":"%d"`, (at+2)%6))
	})
	mux.HandleFunc("GET /same", func(w http.ResponseWriter, r *http.Request) { page(w, 0, "") })
	mux.HandleFunc("GET /html", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") })
	mux.HandleFunc("GET /whole", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `[{"id":1,"text":"one"},{"id":2,"text":"two"},{"id":3,"text":{"a":3}},{"id":4}]`)
	})
	mux.HandleFunc("GET /r/{id}", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(body(r.PathValue("id")))) })
	server := httptest.NewServer(mux)
	defer server.Close()
	list := filepath.Join(t.TempDir(), "list.ndjson")
	if err := os.WriteFile(list, []byte("{\"id\":0}\n{\"id\":1}\n\n{\"id\":2}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, list, record string
		n                  int
		fault              string
	}{
		{"cursor", `url: "{}/cursor", records: ".records[]", cursor: {next: .next, parameter: at}`, "", 10, ""},
		{"URL as cursor", `url: "{}/follow", records: ".records[]", cursor: {next: .next}`, "", 10, ""},
		{"link", `url: "{}/link", records: ".records|.[]", link: true`, "", 10, ""},
		{"offset", `url: "{}/offset", records: ".records[]", page: {parameter: offset, start: 0, step: 2}`, "", 10, ""},
		{"last page", `url: "{}/last", records: ".records[]", page: {parameter: p, start: 0, last: .pages}`, "", 10, ""},
		{"one page", `url: "{}/link", link: false, records: ".records[] | select(.id == 1)"`, "", 1, ""},
		{"circle", `url: "{}/circle", records: ".records[]", cursor: {next: .next, parameter: at}`, "", 6, "in circles"},
		{"same page", `url: "{}/same", records: ".records[]", page: {parameter: p}`, "", 2, "the same as the one before"},
		{"no JSON", `url: "{}/html", records: ".[]"`, "", 0, "no JSON"},
		{"no such field", `url: "{}/link", records: ".items[]"`, "", 0, "jq .items[]"},
		{"absent", `url: "{}/absent", records: ".[]"`, "", 0, "404"},
		{"file", `file: ` + list, "", 3, ""},
		{"bodies in the list", `url: "{}/whole", records: ".[]"`, "body: .text", 3, "some records failed: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := c.record
			if record == "" {
				record = `url: "` + server.URL + `/r/{id}"`
			}
			src := fmt.Sprintf("list: {%s}\nrecord: {%s}\npath: d/{id}.txt\nretry: {attempts: 1}\n", strings.ReplaceAll(c.list, "{}", server.URL), record)
			config, err := Parse(filepath.Join(t.TempDir(), "c.yaml"), []byte(src), nil)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			_, err = mirrorTo(t, config, dir)
			if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
				t.Errorf("%v, want %q", err, c.fault)
			}
			if got := files(t, dir); len(got) < c.n || c.fault == "" && len(got) != c.n {
				t.Errorf("%d files of %d: %v", len(got), c.n, got)
			}
		})
	}
}

func TestLargeBodiesMoveOrEnd(t *testing.T) {
	s := newService(t, 4)
	large := strings.Repeat("0123456789", 100_000)
	s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
		if id != "1" && id != "2" {
			return false
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(large)))
		for i := range 10 {
			w.Write([]byte(large[i*100_000 : (i+1)*100_000]))
			w.(http.Flusher).Flush()
			time.Sleep(60 * time.Millisecond) // longer in all than may pass without a byte
			if id == "2" && i == 5 {
				<-r.Context().Done()
			}
		}
		return true
	}
	dir := t.TempDir()
	c := s.config(t, "")
	c.Retry.Attempts = 2
	x, err := mirrorTo(t, c, dir)
	if !errors.Is(err, ErrSome) || x.Failed != 1 || x.Kinds["timeout"] != 1 {
		t.Fatalf("%v, %+v", err, x)
	}
	got := files(t, dir)
	if got["files/2017/08/02/open/1.txt"] != large || len(got) != 3 {
		t.Errorf("%d files", len(got))
	}
}

func TestHTTP2(t *testing.T) {
	s := newService(t, 0)
	var second, broken atomic.Int64
	h := s.Config.Handler
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			second.Add(1)
		}
		if r.URL.Path == "/records/13" && broken.Add(1) <= 3 {
			panic(http.ErrAbortHandler) // ends the stream within the body
		}
		h.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	s.records = newService(t, 150).records
	s.address = server.URL
	dir := t.TempDir()
	x, err := mirrorTo(t, s.config(t, ""), dir)
	if err == nil {
		t.Errorf("a server of HTTP/2 alone took HTTP/1.1: %+v", x)
	}
	c := s.config(t, "")
	c.HTTP.Protocol = "h2"
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if x, err = mirrorTo(t, c, dir); err != nil || x.Progress.Dialed > 3 || second.Load() < 150 || broken.Load() != 4 {
		t.Fatalf("%v, %+v, %d, %d", err, x, second.Load(), broken.Load())
	}
	s.whole(t, dir)
}

func TestCrowdedDirectory(t *testing.T) {
	s := newService(t, crowd+10)
	s.perPage = 1000
	var said []string
	var mu sync.Mutex
	src := fmt.Sprintf(`
list: {url: "%[1]s/records", records: ".records[]", page: {parameter: page}}
record: {url: "%[1]s/records/{id}"}
path: all/{id}.txt
`, s.url())
	c := s.parse(t, src)
	_, err := Run(t.Context(), Options{Config: c, Dir: t.TempDir(), Warn: func(s string) { mu.Lock(); said = append(said, s); mu.Unlock() }})
	if err != nil || len(said) != 1 || !strings.Contains(said[0], "all/{id#2}/{id}.txt") {
		t.Errorf("%v, %q", err, said)
	}
	c.Path = "all/{id#2}/{id}.txt"
	if _, err := Parse("c", []byte(strings.Replace(src, "all/{id}.txt", c.Path, 1)), nil); err != nil {
		t.Error(err)
	}
}

func TestTry(t *testing.T) {
	s := newService(t, 200)
	// So slow that what else the machine does does not count.
	s.one = func(http.ResponseWriter, *http.Request, string) bool { time.Sleep(20 * time.Millisecond); return false }
	var knobs []Knob
	for _, k := range []string{"workers=1,8", "transport=shared,per-call"} {
		x, err := ParseKnob(k)
		if err != nil {
			t.Fatal(err)
		}
		knobs = append(knobs, x)
	}
	dir := t.TempDir()
	r, err := Try{Config: s.config(t, ""), Knobs: knobs, Dir: dir, Rounds: 4, Time: 300 * time.Millisecond, Seed: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if e := r.Cases[1].Effects["rate"]; e.Percent <= 0 {
		t.Errorf("8 workers: %+v", e)
	}
	if v := r.Cases[3].Values["connections"]; v.Value < 990 {
		t.Errorf("a transport a call: %+v connections for 1000 records", v)
	}
	if got := files(t, dir); len(got) > 0 {
		t.Errorf("trials left %v", got)
	}
	for _, bad := range []string{"workers", "workers=1", "worker=1,2", "idle=a,b", "workers=1,1", "transport=x,y", "request=1,2", "="} {
		if _, err := ParseKnob(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestAutoClimbs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	s := newService(t, 20_000)
	s.perPage = 1000
	room := make(chan struct{}, 12) // what the service does at a time
	s.one = func(http.ResponseWriter, *http.Request, string) bool {
		room <- struct{}{}
		time.Sleep(10 * time.Millisecond)
		<-room
		return false
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
	defer cancel()
	c := s.config(t, "")
	c.HTTP.Request = 5 * time.Second
	var most atomic.Int64
	var said []string
	x, _ := Run(ctx, Options{Config: c, Dir: t.TempDir(), Auto: true, Say: func(s string) { said = append(said, s) },
		Progress: func(p Progress) { most.Store(max(most.Load(), int64(p.Workers))) }})
	if most.Load() < 8 || x.workers > 64 {
		t.Errorf("up to %d workers, at the end %d: %q", most.Load(), x.workers, said)
	}
}

func TestReportAndMetrics(t *testing.T) {
	s := newService(t, 20)
	s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
		if id == "3" {
			http.NotFound(w, r)
		}
		return id == "3"
	}
	m, err := ServeMetrics("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x, err := Run(t.Context(), Options{Config: s.config(t, ""), Dir: t.TempDir(), Progress: m.Show})
	if !errors.Is(err, ErrSome) {
		t.Fatal(err)
	}
	r := x.Report(1)
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.Answer, "19 records are in") || !strings.Contains(strings.Join(r.Warnings, "\n"), "status 404") {
		t.Errorf("%s, %q", r.Answer, r.Warnings)
	}
	h := &http.Transport{}
	defer h.CloseIdleConnections()
	resp, err := (&http.Client{Transport: h}).Get("http://" + m.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	b.ReadFrom(resp.Body)
	for _, want := range []string{"headway_mirror_stored_records_total 19\n", `headway_mirror_failed_records_total{kind="status 404"} 1`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, &b)
		}
	}
}
