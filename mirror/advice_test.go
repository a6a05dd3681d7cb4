package mirror

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// file makes a config of a list in a file, beside it.
func fileConfig(t testing.TB, list []byte, more string) *Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "list.ndjson"), list, 0o666); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(more, "path:") {
		more += "path: '{id}'\n"
	}
	c, err := Parse(filepath.Join(dir, "c.yaml"), []byte("list: {file: list.ndjson}\nrecord: {body: .id}\n"+more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFaultsOfAListInAFile(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(`{"id":"a"}`))
	w.Close()
	for name, c := range map[string]struct{ list, want string }{
		"bad line":        {"{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n{\"id\"\n", "list.ndjson:4: the line is no JSON"},
		"packed":          {packed.String(), "list.ndjson:1: it is compressed by gzip"},
		"UTF-16":          {"\xff\xfe{\x00", "list.ndjson:1: it is UTF-16"},
		"several lines":   {"[\n{\"id\":\"a\"}\n]\n", "list.ndjson:1: a record stands on several lines"},
		"one list":        {"[{\"id\":\"a\"},{\"id\":\"b\"}]\n[{\"id\":\"c\"}]\n", "did you mean list.records: .[]?"},
		"two on a line":   {"{\"id\":\"a\"} {\"id\":\"b\"}\n", "list.ndjson:1: something follows"},
		"a mark in front": {"\xef\xbb\xbf{\"id\":\"a\"}\n{\"id\":\"b\"}\n", ""},
	} {
		_, err := mirrorTo(t, fileConfig(t, []byte(c.list), ""), t.TempDir())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// An empty file is a list without records; a file in which nothing is found is a mistake.
func TestEmptyLists(t *testing.T) {
	x, err := mirrorTo(t, fileConfig(t, nil, ""), t.TempDir())
	if err != nil || x.answer() != "The list is empty" {
		t.Errorf("%v, %s", err, x.answer())
	}
	s := newShelf(t, 0)
	x, _, err = s.run(t, s.config(t, byPage, ""), t.TempDir(), 0)
	if err != nil || x.answer() != "The list is empty" {
		t.Errorf("with a total of 0: %v, %s", err, x.answer())
	}
	dir := t.TempDir()
	s.set(func() { s.ids = upTo(0, 5) })
	if _, _, err = s.run(t, s.config(t, byPages, ""), dir, 0); err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.ids = nil })
	if _, _, err = s.run(t, s.config(t, byPages, ""), dir, 0); err == nil || !strings.Contains(err.Error(), "where there were 5 before") {
		t.Errorf("%v", err)
	}
}

// A list that has other lines where the run before ended is read anew.
func TestAnotherFile(t *testing.T) {
	line := func(from, to int) (b []byte) {
		for i := from; i < to; i++ {
			b = fmt.Appendf(b, "{\"id\":\"%d\"}\n", i)
		}
		return b
	}
	c := fileConfig(t, line(0, 5000), "")
	dir := t.TempDir()
	disk := filepath.Join(dir, "4321")
	if err := os.Mkdir(disk, 0o777); err != nil { // so that this one fails, and the run is one that has failures
		t.Fatal(err)
	}
	if x, err := mirrorTo(t, c, dir); !errors.Is(err, ErrSome) || x.Stored != 4999 {
		t.Fatal(err)
	}
	os.Remove(disk)
	if err := os.WriteFile(c.List.File, append(line(6000, 6010), line(0, 5000)...), 0o666); err != nil {
		t.Fatal(err)
	}
	if x, err := mirrorTo(t, c, dir); err != nil || x.Stored != 11 {
		t.Errorf("%v, %+v", err, x.Counts)
	}
}

// The first page ends a mirror whose config fits nothing.
func TestConfigThatFitsNothing(t *testing.T) {
	s := newShelf(t, 300)
	c := s.config(t, byPage, "")
	x, err := mirrorTo(t, s.parsed(t, strings.Replace(c.source0(t), `path: "{id}"`, `path: "{ident}"`, 1)), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "fits none of the 10 records") || !strings.Contains(err.Error(), "no ident") || x.Failed > 0 {
		t.Errorf("%v, %+v", err, x.Counts)
	}
	x, err = mirrorTo(t, s.parsed(t, strings.Replace(c.source0(t), `".items[]"`, `".items"`, 1)), t.TempDir())
	if err == nil || x.Failed > 0 || !strings.Contains(err.Error(), "did you mean list.records: .items[]?") {
		t.Errorf("%v, %+v", err, x)
	}
}

func (s *shelf) parsed(t testing.TB, src string) *Config {
	t.Helper()
	c, err := Parse("shelf.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// source0 is what config made, once more.
func (c *Config) source0(t testing.TB) string {
	b, err := yaml.Marshal(map[string]any{"http": map[string]any{"workers": 2}, "retry": map[string]any{"attempts": 1, "first": "1ms"}})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("list: {url: %q, records: %q, page: {parameter: page}}\nrecord: {url: %q}\npath: %q\n%s", c.List.URL, c.List.Records, c.Record.URL, c.Path, b)
}

// Whatever a header is called, another origin does not get it; nor by way of a page of the list.
func TestStrangersGetNothing(t *testing.T) {
	asked := make(chan http.Header, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Clone()
		fmt.Fprint(w, `{"items":[{"id":2}]}`)
	}))
	defer other.Close()
	s := newShelf(t, 0)
	s.set(func() {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/r/") {
				fmt.Fprint(w, "r")
				return
			}
			w.Header().Set("Link", "<"+other.URL+`/page>; rel="next"`)
			fmt.Fprint(w, `{"items":[{"id":1}]}`)
		})
	})
	c := s.config(t, `/page", link: true`, "headers: {X-Key: abc, Accept: application/json}\n")
	if _, err := mirrorTo(t, c, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got.Get("X-Key") != "" || got.Get("Accept") != "application/json" {
		t.Errorf("another origin got %v", got)
	}
}

func TestForeignFilesAreSpokenOf(t *testing.T) {
	s := newShelf(t, 20)
	c, dir := s.config(t, byPage, ""), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "3"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, said, err := s.run(t, c, dir, 0)
	if err != nil || !strings.Contains(strings.Join(said, "\n"), "1 record was there before the first run") {
		t.Errorf("%v, %q", err, said)
	}
	if _, said, _ = s.run(t, c, dir, 0); len(said) > 0 {
		t.Errorf("again: %q", said)
	}
}

func TestSizesThatAreNotKept(t *testing.T) {
	s := newShelf(t, 0)
	s.set(func() {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/r/") {
				fmt.Fprint(w, "twelve bytes")
				return
			}
			fmt.Fprint(w, `{"items":[{"id":1,"size":12},{"id":2,"size":99},{"id":3,"size":12}]}`)
		})
	})
	c := s.parsed(t, fmt.Sprintf("list: {url: '%[1]s/l', records: '.items[]'}\nrecord: {url: '%[1]s/r/{id}', size: .size}\npath: '{id}'\ncheck: size\n", s.URL))
	dir := t.TempDir()
	for range 2 {
		x, err := mirrorTo(t, c, dir)
		if err != nil || x.Sizes != 1 || !strings.Contains(strings.Join(x.Warnings, "\n"), "1 record is not as long as record.size says: check: size fetches it again in every run") {
			t.Errorf("%v, %+v %q", err, x.Counts, x.Warnings)
		}
	}
}

func TestContentTypeThatIsAskedFor(t *testing.T) {
	s := newShelf(t, 6)
	s.set(func() {
		s.one = func(w http.ResponseWriter, id int) bool {
			w.Header().Set("Content-Type", "Application/PDF; version=1")
			if id == 4 {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html>please log in")
				return true
			}
			return false
		}
	})
	c := s.parsed(t, strings.Replace(s.config(t, byPage, "").source0(t), "record: {", "record: {type: application/pdf, ", 1))
	dir := t.TempDir()
	x, err := mirrorTo(t, c, dir)
	if !errors.Is(err, ErrSome) || x.Kinds["type"] != 1 || len(files(t, dir)) != 5 {
		t.Errorf("%v, %+v", err, x.Counts)
	}
}

func TestDuplicatesAreExplained(t *testing.T) {
	s := newShelf(t, 0)
	s.set(func() {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/r/") {
				fmt.Fprint(w, "r")
				return
			}
			at := 0
			fmt.Sscan(r.FormValue("n"), &at)
			items := []any{}
			for i := at; i < min(at+10, 50); i++ {
				items = append(items, map[string]any{"id": i})
			}
			if at == 0 && r.FormValue("n") == "" {
				items = append(items, items[3])
			}
			json.NewEncoder(w).Encode(map[string]any{"items": items})
		})
	})
	for list, want := range map[string]string{
		`/l"`:                                 "the list shows records again, once in all",
		`/l", page: {parameter: n, start: 0}`: "if n counts records, list.page.step has to be the number of records of a page",
	} {
		x, said, err := s.run(t, s.config(t, list, ""), t.TempDir(), 0)
		if err != nil || !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%s: %v, %q", list, err, said)
		}
		if strings.Contains(fmt.Sprint(said), "changed while") || strings.Contains(x.answer(), "changed") {
			t.Errorf("%s: %q, %s", list, said, x.answer())
		}
	}
}

func TestTimeoutsAndProtocolsInTheWordsOfTheConfig(t *testing.T) {
	s := newShelf(t, 2)
	s.set(func() {
		s.one = func(w http.ResponseWriter, id int) bool {
			if id == 1 {
				time.Sleep(400 * time.Millisecond)
			}
			return false
		}
	})
	c := s.config(t, byPage, "")
	c.HTTP.Request = 100 * time.Millisecond
	x, err := mirrorTo(t, c, t.TempDir())
	if !errors.Is(err, ErrSome) || x.Failures[0].Error != "nothing came for 100ms (http.request)" || x.Kinds["timeout"] != 1 {
		t.Errorf("%v, %+v", err, x.Failures)
	}
	c = s.config(t, byPage, "")
	c.HTTP.Protocol = "h2"
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if _, err = mirrorTo(t, c, t.TempDir()); err == nil || !strings.Contains(err.Error(), "take auto or h1 for http.protocol") {
		t.Errorf("%v", err)
	}
	// Which of its words package http2 says is a matter of luck.
	for _, words := range []string{"http2: failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header", "http2: client conn could not be established"} {
		if err := (&fetcher{c: c}).told(errors.New(words), time.Now()); !strings.Contains(err.Error(), "take auto or h1 for http.protocol") {
			t.Errorf("%v", err)
		}
	}
}

func TestHeldBackIsSaid(t *testing.T) {
	s := newShelf(t, 30)
	s.set(func() {
		s.one = func(w http.ResponseWriter, id int) bool {
			s.mu.Lock()
			first := id == 5 && s.asked[5] == 1
			s.mu.Unlock()
			if first {
				w.Header().Set("Retry-After", "3")
				return status(w, 429)
			}
			return false
		}
	})
	c := s.config(t, byPage, "")
	c.Retry.Attempts = 3
	var lines []string
	var held float64
	_, err := Run(t.Context(), Options{Config: c, Dir: t.TempDir(), Every: 50 * time.Millisecond, Progress: func(p Progress) {
		lines = append(lines, p.Line())
		held = max(held, p.Held.Seconds())
	}})
	if err != nil || !strings.Contains(strings.Join(lines, "\n"), "held back by the server for 2s") || held < 2 {
		t.Errorf("%v, %v, %q", err, held, lines)
	}
}

func TestDryRunSaysWhatTheRunWillDo(t *testing.T) {
	c := fileConfig(t, []byte("{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\"}\n{\"id\":\"a\",\"n\":2}\n{\"id\":\"a\",\"n\":1}\n"), "")
	c.Record.ID = "{id}"
	var b bytes.Buffer
	d, err := Parse(c.file, []byte("list: {file: list.ndjson}\nrecord: {url: 'http://localhost:1/{id}'}\npath: '{id}'\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := DryRun(t.Context(), d, 20, &b); err != nil || strings.Count(b.String(), "once more") != 2 {
		t.Errorf("%v:\n%s", err, &b)
	}
}

func TestTryWhereNothingCanBeHad(t *testing.T) {
	s := newShelf(t, 30)
	s.set(func() { s.one = func(w http.ResponseWriter, id int) bool { return status(w, 500) } })
	k, err := ParseKnob("workers=1,2")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "trials")
	try := Try{Config: s.config(t, byPage, ""), Knobs: []Knob{k}, Dir: dir, Rounds: 4, Time: 50 * time.Millisecond}
	if _, err := try.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "status 500") {
		t.Errorf("%v", err)
	}
	s.set(func() { s.one = func(w http.ResponseWriter, id int) bool { return id == 7 && status(w, 418) } })
	r, err := try.Run(t.Context())
	if err != nil || !strings.Contains(strings.Join(r.Warnings, "\n"), "most of them for: status 418") {
		t.Fatalf("%v, %+v", err, r)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the trials left their directory")
	}
}

func TestReportOfARunThatFailed(t *testing.T) {
	s := newShelf(t, 60)
	s.set(func() { s.broken = "3" })
	x, _, err := s.run(t, s.config(t, byPage, ""), t.TempDir(), 0)
	r := x.Report(1)
	if err == nil || r.Error != err.Error() || !strings.Contains(r.Error, "status 500") {
		t.Errorf("%v, %q, %q", err, r.Error, r.Warnings)
	}
}
