package mirror

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shelf is a service whose list a test changes between and within runs: pages of ten ids, by number at
// /page, by cursor at /cursor; /p404 answers 404 behind the last page.
type shelf struct {
	*httptest.Server
	mu      sync.Mutex
	ids     []int
	epoch   int                                              // of the cursors: those of another one have expired
	one     func(w http.ResponseWriter, id int) (taken bool) // comes before each record
	page    func(n int)                                      // before each page of /page, with mu held
	asked   map[int]int
	pages   []string     // that were asked for
	handler http.Handler // in place of all this
	broken  string       // a page or cursor that is answered with status 500
}

func upTo(from, to int) (ids []int) {
	for i := from; i < to; i++ {
		ids = append(ids, i)
	}
	return ids
}

func newShelf(t testing.TB, n int) *shelf {
	s := &shelf{ids: upTo(0, n), asked: map[int]int{}}
	mux := http.NewServeMux()
	items := func(ids []int) (all []any) {
		all = []any{}
		for _, id := range ids {
			all = append(all, map[string]any{"id": id})
		}
		return all
	}
	byNumber := func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n, _ := strconv.Atoi(r.FormValue("page"))
		s.pages = append(s.pages, r.FormValue("page"))
		if s.page != nil {
			s.page(n)
		}
		if s.broken == r.FormValue("page") {
			http.Error(w, "broken", 500)
			return
		}
		from := min(max(n-1, 0)*10, len(s.ids))
		to := min(from+10, len(s.ids))
		if from == to && r.URL.Path == "/p404" {
			http.NotFound(w, r)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"items": items(s.ids[from:to]), "total": len(s.ids)})
	}
	mux.HandleFunc("GET /page", byNumber)
	mux.HandleFunc("GET /p404", byNumber)
	mux.HandleFunc("GET /cursor", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := 0
		if c := r.FormValue("after"); c != "" {
			var epoch int
			fmt.Sscanf(c, "%d-%d", &epoch, &at)
			if epoch != s.epoch {
				http.Error(w, "the cursor has expired", http.StatusGone)
				return
			}
		}
		from := min(at, len(s.ids))
		to := min(from+10, len(s.ids))
		page := map[string]any{"items": items(s.ids[from:to]), "next": nil}
		if to < len(s.ids) {
			page["next"] = fmt.Sprintf("%d-%d", s.epoch, to)
		}
		json.NewEncoder(w).Encode(page)
	})
	mux.HandleFunc("GET /r/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		s.mu.Lock()
		s.asked[id]++
		one := s.one
		s.mu.Unlock()
		if one == nil || !one(w, id) {
			fmt.Fprintf(w, "record %d\n", id)
		}
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.handler
		s.mu.Unlock()
		if h == nil {
			h = mux
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shelf) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *shelf) config(t testing.TB, list, more string) *Config {
	t.Helper()
	c, err := Parse("shelf.yaml", fmt.Appendf(nil, `
list: {url: "%[1]s%[2]s, records: ".items[]"}
record: {url: "%[1]s/r/{id}"}
path: "{id}"
http: {workers: 2}
retry: {attempts: 1, first: 1ms}
%[3]s`, s.URL, list, more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	byPage   = `/page", total: .total, page: {parameter: page}`
	byPages  = `/page", page: {parameter: page}`
	by404    = `/p404", page: {parameter: page}`
	byCursor = `/cursor", cursor: {next: .next, parameter: after}`
)

// run runs, and ends the run when so many records were asked for; 0 lets it come to its end.
func (s *shelf) run(t testing.TB, c *Config, dir string, most int) (*Result, []string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var n atomic.Int64
	old := s.one
	if most > 0 {
		s.set(func() {
			s.one = func(w http.ResponseWriter, id int) bool {
				if n.Add(1) > int64(most) {
					cancel()
					time.Sleep(10 * time.Millisecond)
				}
				return old != nil && old(w, id)
			}
		})
	}
	defer func() { s.set(func() { s.one = old }) }()
	var said []string
	var mu sync.Mutex
	x, err := Run(ctx, Options{Config: c, Dir: dir, Warn: func(s string) { mu.Lock(); said = append(said, s); mu.Unlock() }})
	if x == nil {
		t.Fatal(err)
	}
	return x, append(said, x.Warnings...), err
}

// onDisk says which of the ids are not there.
func missing(t testing.TB, dir string, ids []int) (gone []int) {
	t.Helper()
	all := files(t, dir)
	for _, id := range ids {
		if all[strconv.Itoa(id)] != fmt.Sprintf("record %d\n", id) {
			gone = append(gone, id)
		}
	}
	return gone
}

// named are the ids in a file of failures.
func named(t testing.TB, dir, file string) (ids []int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, ".headway-mirror", file))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var f struct{ Record struct{ ID int } }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ids = append(ids, f.Record.ID)
	}
	return ids
}

func status(w http.ResponseWriter, code int) bool {
	w.WriteHeader(code)
	return true
}

func TestOneForbiddenRecordHoldsNothingUp(t *testing.T) {
	s := newShelf(t, 30)
	s.set(func() { s.one = func(w http.ResponseWriter, id int) bool { return id == 29 && status(w, 403) } })
	s.set(func() { s.page = func(int) { time.Sleep(20 * time.Millisecond) } })
	c, dir := s.config(t, byPage, ""), t.TempDir()
	if x, _, err := s.run(t, c, dir, 0); !errors.Is(err, ErrSome) || x.Failed != 1 {
		t.Fatal(err, x.Counts)
	}
	for i := range 3 {
		s.set(func() { s.ids = append(upTo(100+10*i, 110+10*i), s.ids...) })
		x, _, err := s.run(t, c, dir, 0)
		if !errors.Is(err, ErrSome) || x.Stored != 10 || x.Failed != 1 {
			t.Errorf("run %d: %v, %+v", i, err, x.Counts)
		}
	}
	if got := named(t, dir, failedName); fmt.Sprint(got) != "[29]" {
		t.Errorf("named: %v", got)
	}
}

func TestBrokenRecordsHoldNothingUp(t *testing.T) {
	s := newShelf(t, 300)
	s.set(func() { s.one = func(w http.ResponseWriter, id int) bool { return id < 150 && status(w, 500) } })
	c, dir := s.config(t, byPage, ""), t.TempDir()
	c.Retry.GiveUp = 40
	for i := 0; i < 10 && len(missing(t, dir, upTo(150, 300))) > 0; i++ {
		s.run(t, c, dir, 0)
	}
	if gone := missing(t, dir, upTo(150, 300)); len(gone) > 0 {
		t.Fatalf("after ten runs %d records are missing", len(gone))
	}
	for i := range 3 {
		s.set(func() { s.ids = append(s.ids, upTo(1000+10*i, 1010+10*i)...) })
		x, _, err := s.run(t, c, dir, 0)
		if !errors.Is(err, ErrSome) || x.Stored != 10 || x.Failed != 150 {
			t.Errorf("run %d: %v, %+v", i, err, x.Counts)
		}
		if got := named(t, dir, failedName); len(got) != 150 {
			t.Errorf("run %d: %d are named: %v", i, len(got), got)
		}
		if got := named(t, dir, retryName); len(got) > 0 {
			t.Errorf("run %d: %s is left, with %v", i, retryName, got)
		}
	}
	s.set(func() { s.one = nil })
	if x, _, err := s.run(t, c, dir, 0); err != nil || x.Stored != 150 {
		t.Errorf("mended: %v, %+v", err, x.Counts)
	}
}

// A run that ends early keeps the names of what failed in earlier ones.
func TestNamesOutliveAnInterruption(t *testing.T) {
	s := newShelf(t, 100)
	s.set(func() {
		s.one = func(w http.ResponseWriter, id int) bool { return 80 <= id && id < 100 && status(w, 500) }
	})
	c, dir := s.config(t, byPage, ""), t.TempDir()
	s.run(t, c, dir, 0)
	if got := named(t, dir, failedName); len(got) != 20 {
		t.Errorf("named at first: %v", got)
	}
	s.set(func() { s.ids = append(upTo(200, 260), s.ids...) })
	x, said, err := s.run(t, c, dir, 15)
	if got := named(t, dir, failedName); len(got) != 20 {
		t.Errorf("named: %v; retry: %v; %v, %q, %+v", got, named(t, dir, retryName), err, said, x.Counts)
	}
}

// halfway interrupts a run when some of the list is done for sure, so that the next one has a place to go on from.
func (s *shelf) halfway(t *testing.T, c *Config, dir string) {
	t.Helper()
	begun := slices.Clone(s.ids[:20])
	var mu sync.Mutex
	over := false // a request may outlive the run that made it, and the directory
	waits := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return !over && len(missing(t, dir, begun)) > 0
	}
	s.set(func() {
		s.one = func(_ http.ResponseWriter, id int) bool {
			for id >= 40 && waits() {
				time.Sleep(time.Millisecond)
			}
			return false
		}
	})
	s.run(t, c, dir, 52)
	s.set(func() { s.one = nil })
	mu.Lock()
	over = true
	mu.Unlock()
}

func TestResumedListThatLostRecords(t *testing.T) {
	s := newShelf(t, 200)
	c, dir := s.config(t, byPage, ""), t.TempDir()
	s.halfway(t, c, dir)
	s.set(func() { s.ids = upTo(50, 200) })
	x, said, err := s.run(t, c, dir, 0)
	gone := missing(t, dir, upTo(50, 200))
	if len(gone) > 0 && err == nil && len(said) == 0 {
		t.Fatalf("%d records are missing, and nobody says so: %s", len(gone), x.answer())
	}
	if len(gone) > 0 || err != nil {
		t.Errorf("%v; missing: %v", err, gone)
	}
}

func TestResumedListThatGrewAtItsFront(t *testing.T) {
	s := newShelf(t, 200)
	c, dir := s.config(t, byPage, ""), t.TempDir()
	s.halfway(t, c, dir)
	s.set(func() { s.ids = append(upTo(1000, 1030), s.ids...) })
	x, said, err := s.run(t, c, dir, 0)
	gone := missing(t, dir, s.ids)
	if len(gone) > 0 && err == nil && len(said) == 0 {
		t.Fatalf("%d records are missing, and nobody says so: %s", len(gone), x.answer())
	}
	if len(gone) > 0 || err != nil {
		t.Errorf("%v, %q; missing: %v", err, said, gone)
	}
}

// What grows at its end only is gone on with where it was, and nothing counts as twice.
func TestResumedListThatGrewAtItsEnd(t *testing.T) {
	for _, list := range []string{byPage, byCursor} {
		s := newShelf(t, 95)
		c, dir := s.config(t, list, ""), t.TempDir()
		s.halfway(t, c, dir)
		s.set(func() { s.ids = upTo(0, 120); s.pages = nil })
		x, _, err := s.run(t, c, dir, 0)
		if err != nil || x.Duplicates != 0 || len(missing(t, dir, upTo(0, 120))) > 0 {
			t.Errorf("%v, %+v", err, x.Counts)
		}
		s.mu.Lock()
		if list == byPage && len(s.pages) > 0 && s.pages[0] == "1" {
			t.Errorf("the list was read from its beginning: %v", s.pages)
		}
		s.mu.Unlock()
	}
}

func TestExpiredCursor(t *testing.T) {
	s := newShelf(t, 200)
	c, dir := s.config(t, byCursor, ""), t.TempDir()
	s.halfway(t, c, dir)
	s.set(func() { s.epoch++ })
	x, said, err := s.run(t, c, dir, 0)
	if err != nil || len(missing(t, dir, upTo(0, 200))) > 0 || x.Duplicates > 0 {
		t.Fatalf("%v, %+v", err, x.Counts)
	}
	if !strings.Contains(strings.Join(said, "\n"), "from its beginning") {
		t.Errorf("said: %q", said)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, n := range s.asked {
		if n > 2 { // those under way when the first run ended
			t.Errorf("%d was asked for %d times", id, n)
		}
	}
}

func TestNotFoundBehindTheLastPage(t *testing.T) {
	s := newShelf(t, 25)
	c, dir := s.config(t, by404, ""), t.TempDir()
	_, _, err := s.run(t, c, dir, 0)
	if err == nil || !strings.Contains(err.Error(), "list.page.end") {
		t.Errorf("no hint: %v", err)
	}
	s.set(func() { s.ids = upTo(0, 33) })
	for range 2 {
		s.run(t, c, dir, 0)
	}
	if gone := missing(t, dir, upTo(0, 33)); len(gone) > 0 {
		t.Errorf("missing: %v", gone)
	}
	// And where the config or the total says that this is the end, it is.
	for _, list := range []string{`/p404", page: {parameter: page, end: 404}`, `/p404", total: .total, page: {parameter: page}`} {
		if x, _, err := s.run(t, s.config(t, list, ""), t.TempDir(), 0); err != nil || x.Stored != 33 {
			t.Errorf("%s: %v, %+v", list, err, x.Counts)
		}
	}
}

// A page that is broken for good does not keep new records out for ever.
func TestBrokenPageDoesNotHideWhatIsNew(t *testing.T) {
	s := newShelf(t, 100)
	s.set(func() { s.broken = "6" })
	c, dir := s.config(t, byPage, ""), t.TempDir()
	s.run(t, c, dir, 0)
	s.set(func() { s.ids = append(upTo(500, 510), s.ids...) })
	for range 3 {
		if _, _, err := s.run(t, c, dir, 0); err == nil {
			t.Fatal("a list with a broken page is not done")
		}
	}
	if gone := missing(t, dir, upTo(500, 510)); len(gone) > 0 {
		t.Errorf("missing: %v", gone)
	}
}

func TestSecretsAreInNoFile(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	var server *httptest.Server
	broken := true
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.FormValue("key")
		keys = append(keys, key)
		if r.URL.Path != "/l" {
			if id := strings.TrimPrefix(r.URL.Path, "/r/"); strings.HasSuffix(id, "3") && broken {
				w.WriteHeader(500)
				return
			}
			fmt.Fprint(w, "r")
			return
		}
		at, _ := strconv.Atoi(r.FormValue("o"))
		if at >= 40 && broken {
			w.WriteHeader(500)
			return
		}
		q := strings.ReplaceAll(key, "/", "%2F")
		var items []any
		for i := at; i < at+10; i++ {
			items = append(items, map[string]any{"id": i, "url": fmt.Sprintf("%s/r/%d?key=%s", server.URL, i, q), "say": "${TOKEN} costs $$ 3"})
		}
		page := map[string]any{"items": items, "next": fmt.Sprintf("%s/l?key=%s&o=%d", server.URL, q, at+10)}
		if at >= 60 {
			page["next"] = nil
		}
		json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	config := func(token string) *Config {
		c, err := Parse("sec.yaml", fmt.Appendf(nil, `
list: {url: '%[1]s/l?key=${TOKEN}', records: '.items[]', cursor: {next: .next}}
record: {url: '%[1]s/r/{id}?key=${TOKEN}&say={say}'}
path: '{id}'
http: {workers: 2}
retry: {attempts: 1, first: 1ms}
`, server.URL), func(string) (string, bool) { return token, true })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	dir := t.TempDir()
	for i, token := range []string{"first/secret1", "second/secret2", "third/secret3"} {
		mu.Lock()
		keys, broken = nil, i < 2
		mu.Unlock()
		x, err := mirrorTo(t, config(token), dir)
		if i < 2 && err == nil || i == 2 && err != nil {
			t.Fatalf("run %d: %v %+v", i, err, x.Failures)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("run %d says %v", i, err)
		}
		mu.Lock()
		sent := slices.Clone(keys)
		mu.Unlock()
		for _, k := range sent {
			if k != strings.TrimSpace(token) {
				t.Errorf("run %d sent %q", i, k)
			}
		}
		if i == 2 && x.Failed > 0 {
			t.Log(x.Failures)
			t.Errorf("%+v", x.Counts)
		}
		for _, name := range []string{"journal", failedName, retryName} {
			b, _ := os.ReadFile(filepath.Join(dir, ".headway-mirror", name))
			for _, part := range []string{"secret1", "secret2", "secret3", "first/", "first%2F", "second", "third"} {
				if strings.Contains(string(b), part) {
					t.Errorf("run %d: %s holds %q", i, name, part)
				}
			}
		}
	}
	if n := len(files(t, dir)); n != 70 {
		t.Errorf("%d files", n)
	}
}

func TestAListThatSaysItHasMore(t *testing.T) {
	s := newShelf(t, 0)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, from, n int) {
		items := []any{}
		for i := from; i < min(from+n, 250); i++ {
			items = append(items, map[string]any{"id": i})
		}
		json.NewEncoder(w).Encode(map[string]any{"items": items, "total": 250})
	}
	mux.HandleFunc("GET /offset", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("offset"))
		size, _ := strconv.Atoi(r.FormValue("limit"))
		answer(w, at, min(size, 100))
	})
	mux.HandleFunc("GET /zero", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("page"))
		answer(w, 50*at, 50)
	})
	mux.HandleFunc("GET /gap", func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.FormValue("page"))
		answer(w, 50*(at-1), 50*(at%3+1)/(at%3+1)*btoi(at != 3))
	})
	mux.HandleFunc("GET /next", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", `</next?page=2>; rel="next"`)
		answer(w, 0, 20)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s.set(func() {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/r/") {
				fmt.Fprint(w, "r")
				return
			}
			mux.ServeHTTP(w, r)
		})
	})
	for _, c := range []struct{ list, head, hint string }{
		{`/offset", total: .total, page: {parameter: offset, start: 0, step: 200, size: 200, size_parameter: limit}`, "150 of the list's 250 records", "list.page.step"},
		{`/zero", total: .total, page: {parameter: page}`, "200 of the list's 250 records", "list.page.start"},
		{`/gap", total: .total, page: {parameter: page}`, "100 of the list's 250 records", "list.page.last"},
		{`/next"`, "20 records", "list.link"},
		{`/gap?page=3"`, "no records", "list.records"},
	} {
		x, _, err := s.run(t, s.config(t, c.list, ""), t.TempDir(), 0)
		if err == nil || errors.Is(err, ErrSome) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v", c.list, err)
		}
		if got := x.answer(); strings.Contains(got, "All") || !strings.Contains(got, c.head) {
			t.Errorf("%s: %s", c.list, got)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestTheHeadlineCountsWhatIsThere(t *testing.T) {
	s := newShelf(t, 200)
	c, dir := s.config(t, byPage, ""), t.TempDir()
	x, _, _ := s.run(t, c, dir, 52)
	there := len(files(t, dir))
	if want := fmt.Sprintf("%d records are in", there); !strings.Contains(x.answer(), want) {
		t.Errorf("interrupted, with %d on disk: %s", there, x.answer())
	}
	x, _, _ = s.run(t, c, dir, 60)
	if there = len(files(t, dir)); !strings.Contains(x.answer(), fmt.Sprintf("%d records are in", there)) {
		t.Errorf("interrupted again, with %d on disk: %s", there, x.answer())
	}
	s.set(func() { s.broken = "18" })
	x, _, _ = s.run(t, c, dir, 0)
	if there = len(files(t, dir)); !strings.Contains(x.answer(), fmt.Sprintf("%d records are in", there)) {
		t.Errorf("a broken page, with %d on disk: %s", there, x.answer())
	}
	s.set(func() { s.broken = "" })
	x, _, err := s.run(t, c, dir, 0)
	if err != nil || !strings.Contains(x.answer(), "All 200 records are in") {
		t.Errorf("%v: %s", err, x.answer())
	}
	if want := fmt.Sprintf("%d of them new", x.Stored); x.Stored == 0 || !strings.Contains(x.answer(), want) {
		t.Errorf("stored %d: %s", x.Stored, x.answer())
	}
	if x, _, err = s.run(t, c, dir, 0); err != nil || x.answer() != fmt.Sprintf("All 200 records are in %s; none of them is new", dir) {
		t.Errorf("%v: %s", err, x.answer())
	}
}

func TestFailedRecordThatLeftTheList(t *testing.T) {
	s := newShelf(t, 40)
	s.set(func() {
		s.one = func(w http.ResponseWriter, id int) bool { return (id == 0 || id == 35) && status(w, 404) }
	})
	c, dir := s.config(t, byPage, ""), t.TempDir()
	if x, _, err := s.run(t, c, dir, 0); !errors.Is(err, ErrSome) || x.Failed != 2 {
		t.Fatal(err, x.Counts)
	}
	s.set(func() { s.ids = upTo(1, 40) })
	x, _, err := s.run(t, c, dir, 0)
	if !errors.Is(err, ErrSome) || x.Failed != 1 {
		t.Errorf("35 is in the list and absent, 0 is gone: %v, %+v", err, x.Counts)
	}
	s.set(func() { s.ids = upTo(1, 35) })
	if x, _, err = s.run(t, c, dir, 0); err != nil || x.Failed != 0 {
		t.Errorf("both have left: %v, %+v", err, x.Counts)
	}
	if got := named(t, dir, failedName); len(got) > 0 {
		t.Errorf("named: %v", got)
	}
}

// A record whose fields were mended at the source is not failed for its old ones.
func TestFailedForItsOldFields(t *testing.T) {
	s := newService(t, 30)
	delete(s.records[7], "created")
	c, dir := s.config(t, ""), t.TempDir()
	if x, err := mirrorTo(t, c, dir); !errors.Is(err, ErrSome) || x.Failed != 1 {
		t.Fatal(err, x.Counts)
	}
	s.mu.Lock()
	s.records[7]["created"] = "2017-08-02T10:00:00Z"
	s.mu.Unlock()
	if x, err := mirrorTo(t, c, dir); err != nil || x.Stored != 1 {
		t.Errorf("%v, %+v", err, x.Counts)
	}
	s.whole(t, dir)
}

// Whenever it is interrupted, whatever the list does meanwhile: a last run over a list that
// rests has all, and says so.
func TestInterruptedOverAListThatChanges(t *testing.T) {
	for _, list := range []string{byPage, byPages, byCursor} {
		s := newShelf(t, 120)
		c, dir := s.config(t, list, ""), t.TempDir()
		next := 1000
		for i := range 8 {
			s.run(t, c, dir, 10+7*i)
			s.set(func() {
				switch i % 3 {
				case 0:
					s.ids = append(upTo(next, next+5), s.ids...)
					next += 5
				case 1:
					s.ids = append(s.ids[:3:3], s.ids[15:]...)
				case 2:
					s.ids = append(s.ids, upTo(next, next+5)...)
					next += 5
				}
			})
		}
		x, _, err := s.run(t, c, dir, 0)
		if err != nil {
			t.Errorf("%s: %v", list, err)
		}
		if gone := missing(t, dir, s.ids); len(gone) > 0 {
			t.Errorf("%s: %s, but %v", list, x.answer(), gone)
		}
	}
}

// What the version before has left is taken up: its journal, its position given up, its failures.
func TestJournalOfTheFirstVersion(t *testing.T) {
	s := newShelf(t, 200)
	s.set(func() { s.one = func(w http.ResponseWriter, id int) bool { return id == 7 && status(w, 500) } })
	c, dir := s.config(t, byPage, ""), t.TempDir()
	s.run(t, c, dir, 90)
	name := filepath.Join(dir, ".headway-mirror", "journal")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	old := []byte("headway mirror journal 1\n")
	table := crc32.MakeTable(crc32.Castagnoli)
	positions := 0
	for b = b[len(old):]; len(b) > 0; {
		kind, n := b[0], binary.LittleEndian.Uint32(b[1:])
		body := b[9 : 9+n]
		b = b[9+n:]
		if kind == 'P' {
			body = []byte("50 6")
			positions++
		}
		old = append(old, kind)
		old = binary.LittleEndian.AppendUint32(old, uint32(len(body)))
		old = binary.LittleEndian.AppendUint32(old, crc32.Checksum(append([]byte{kind}, body...), table))
		old = append(old, body...)
	}
	if err := os.WriteFile(name, old, 0o666); err != nil || positions == 0 {
		t.Fatal(err, positions)
	}
	os.Remove(filepath.Join(dir, ".headway-mirror", passName))
	s.set(func() { s.one = nil })
	x, said, err := s.run(t, c, dir, 0)
	if err != nil || len(missing(t, dir, s.ids)) > 0 || x.There < 50 || x.Failed > 0 {
		t.Errorf("%v, %+v", err, x.Counts)
	}
	if !strings.Contains(strings.Join(said, "\n"), "earlier version") {
		t.Errorf("said: %q", said)
	}
}

// Another way through the list is no other mirror; another place for the files is.
func TestAnotherList(t *testing.T) {
	s := newShelf(t, 120)
	dir := t.TempDir()
	s.halfway(t, s.config(t, byPage, ""), dir)
	x, said, err := s.run(t, s.config(t, byCursor, ""), dir, 0)
	if err != nil || len(missing(t, dir, s.ids)) > 0 || x.There == 0 || !strings.Contains(strings.Join(said, "\n"), "another than in the run before") {
		t.Errorf("%v, %+v, %q", err, x.Counts, said)
	}
	if _, said, err := s.run(t, s.config(t, byCursor, ""), dir, 0); err != nil || len(said) > 0 {
		t.Errorf("%v, %q", err, said)
	}
}

// Killed where the list had changed and was begun anew, the next run knows no less.
func TestKilledWhereTheListWasBegunAnew(t *testing.T) {
	s := newShelf(t, 200)
	c, dir := s.config(t, byPage, ""), t.TempDir()
	s.halfway(t, c, dir)
	s.set(func() { s.ids = upTo(20, 200) })
	own := filepath.Join(dir, ".headway-mirror")
	kept := map[string][]byte{}
	keep := func() {
		for _, name := range []string{"journal", passName} {
			kept[name], _ = os.ReadFile(filepath.Join(own, name))
		}
	}
	s.set(func() {
		s.page = func(n int) {
			if n == 1 && len(kept) == 0 { // the list has just been begun anew
				keep()
			}
		}
	})
	s.run(t, c, dir, 1)
	s.set(func() { s.page = nil })
	if len(kept) == 0 {
		t.Fatal("the list was not begun anew")
	}
	for name, b := range kept {
		if err := os.WriteFile(filepath.Join(own, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x, said, err := s.run(t, c, dir, 0)
	if err != nil || len(said) > 0 || len(missing(t, dir, upTo(20, 200))) > 0 {
		t.Errorf("%v, %q, %s", err, said, x.answer())
	}
}
