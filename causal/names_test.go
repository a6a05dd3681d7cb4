package causal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/usage"
)

// sources makes a program of files: the last package is the one asked for.
func sources(t *testing.T, pkgs ...*pkg) *program {
	t.Helper()
	for _, p := range pkgs {
		p.Dir = t.TempDir()
		for i, text := range p.GoFiles {
			name, text, _ := strings.Cut(text, "\n")
			p.GoFiles[i] = name
			if err := os.WriteFile(filepath.Join(p.Dir, name), []byte("package "+p.Name+"\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return newProgram(pkgs)
}

func example(t *testing.T) *program {
	t.Helper()
	return sources(t,
		&pkg{ImportPath: "net/http", Name: "http", Standard: true, GoFiles: []string{"server.go\ntype conn struct{}\nfunc (c *conn) serve() { c.read() }\nfunc (c *conn) read() {}\nfunc ListenAndServe() {}\n"}},
		&pkg{ImportPath: "gopkg.in/yaml.v3", Name: "yaml", GoFiles: []string{"yaml.go\nfunc Unmarshal() { _ = 1 }\n", "x.go\n"}},
		&pkg{ImportPath: "example.org/it/store", Name: "store", GoFiles: []string{"store.go\ntype Map[K comparable, V any] struct{}\nfunc (m *Map[K, V]) Get(k K) { _ = k }\nfunc Keys[T any](t T) {\n\tfunc() { _ = t }()\n}\nfunc asm()\n", "x.go\n"}},
		&pkg{ImportPath: "example.org/it/cmd", Name: "main", GoFiles: []string{"main.go\n\n\nfunc main() {\n\twork(1)\n}\n\nfunc work(n int) {\n\tgo func() {\n\t\tn++\n\t}()\n}\n\nfunc init() { work(2) }\n"}},
	)
}

func TestFunction(t *testing.T) {
	pr := example(t)
	for name, want := range map[string]string{
		"main.work":                            "work",
		"example.org/it/cmd.work":              "work",
		"main.work.func1":                      "work.func1",
		"main.init.0":                          "init.0",
		"net/http.(*conn).serve":               "(*conn).serve",
		"http.(*conn).serve":                   "(*conn).serve",
		"gopkg.in/yaml.v3.Unmarshal":           "Unmarshal",
		"gopkg.in/yaml%2ev3.Unmarshal":         "Unmarshal",
		"example.org/it/store.(*Map[...]).Get": "(*Map[...]).Get",
		"example.org/it/store.Keys[...]":       "Keys[...]",
		"example.org/it/store.Keys":            "Keys[...]",
		"store.Keys":                           "Keys[...]",
		"example.org/it/store.Keys[...].func1": "Keys[...].func1",
	} {
		pl, err := pr.function(name)
		if err != nil || pl.fn.Name != want {
			t.Errorf("%s is %+v, %v, want %s", name, pl.fn, err, want)
		}
	}
	for name, says := range map[string]string{
		"main.wrok":                  "no function main.wrok in the program; did you mean main.work?",
		"main.Work":                  "did you mean main.work?",
		"net/http.(*conn).server":    "did you mean net/http.(*conn).serve?",
		"(*conn).serve":              "did you mean net/http.(*conn).serve",
		"worc":                       "did you mean main.work?",
		"example.org/it/stor.Keys":   "no function example.org/it/stor.Keys in the program",
		"example.org/it/store.Key":   "did you mean example.org/it/store.Keys[...]?",
		"main.nothingLikeItAnywhere": "no function main.nothingLikeItAnywhere in the program",
		"example.org/it/store.asm":   "function example.org/it/store.asm has no Go body (it is assembly, or linked from elsewhere): name its caller",
		"":                           "no function  in the program",
	} {
		_, err := pr.function(name)
		var wrong *usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q gives %v, want %s", name, err, says)
		}
	}
}

func TestLine(t *testing.T) {
	pr := example(t)
	dir := pr.main.Dir
	for name, want := range map[string]int{
		"main.go:5":                           5,
		"./main.go:5":                         5,
		"example.org/it/cmd/main.go:5":        5,
		filepath.Join(dir, "main.go") + ":10": 10,
		filepath.Base(dir) + "/main.go:9":     9,
		"example.org/it/store/store.go:5":     5,
		"server.go:3":                         3,
	} {
		p, file, line, err := pr.line(name)
		if err != nil || line != want || p == nil || filepath.Dir(file) != p.Dir {
			t.Errorf("%s is %s:%d, %v", name, file, line, err)
		}
	}
	for name, says := range map[string]string{
		"main.go:6":  "no statement starts at main.go:6 (statements start at line 5 and 9)",
		"main.go:1":  "no statement starts at main.go:1 (statements start at line 5)",
		"main.go:99": "(statements start at line 14)",
		"main.go:x":  "main.go:x is not FILE:LINE",
		"main.go:0":  "main.go:0 is not FILE:LINE",
		"mian.go:5":  "no file mian.go in the program",
		"x.go:1":     "give more of the path",
	} {
		_, _, _, err := pr.line(name)
		var wrong *usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s gives %v, want %s", name, err, says)
		}
	}
	for name, want := range map[string]bool{"main.go:3": true, "a/b.go:7": true, "main.work": false, "net/http.(*conn).serve": false, ":3": false, "": false} {
		if isLine(name) != want {
			t.Errorf("isLine(%q) = %v", name, !want)
		}
	}
}

func TestPoints(t *testing.T) {
	pr := example(t)
	k := &marks{}
	ms, err := pr.points(&Options{
		Throughput: []string{"main.work", "main.go:5"},
		Latency:    []string{"store.Keys", "main.work..main.work.func1"},
	}, k)
	if err != nil || len(ms) != 4 {
		t.Fatalf("%v, %v", ms, err)
	}
	seen := map[int]bool{}
	for _, m := range ms {
		for _, id := range []int{m.begin, m.end} {
			if id == 0 && !m.latency {
				continue
			}
			if seen[id] {
				t.Errorf("point %d is used twice", id)
			}
			seen[id] = true
		}
		if r := m.report(); r.Unit != "ns" || r.Better != "lower" {
			t.Errorf("%+v", r)
		}
	}
	n := 0
	for _, list := range k.conf.Packages {
		n += len(list)
	}
	if n != 6 {
		t.Errorf("%d marks, want 6: %v", n, k.conf.Packages)
	}
	// A clone takes more without changing the original.
	c := k.clone()
	c.add("example.org/it/cmd", k.conf.Packages["example.org/it/cmd"][0])
	if len(c.conf.Packages["example.org/it/cmd"]) != len(k.conf.Packages["example.org/it/cmd"])+1 || c.points != k.points {
		t.Error("a clone is no copy")
	}
	for says, o := range map[string]*Options{
		"--throughput: no function main.wrok": {Throughput: []string{"main.wrok"}},
		"--throughput: no statement starts":   {Throughput: []string{"main.go:6"}},
		"--latency: main.go:5 is a line":      {Latency: []string{"main.go:5"}},
		"--latency: no function main.end":     {Latency: []string{"main.work..main.end"}},
		"too many progress points":            {Latency: make([]string, 40)},
	} {
		for i := range o.Latency {
			if o.Latency[i] == "" {
				o.Latency[i] = "main.work"
			}
		}
		_, err := pr.points(o, &marks{})
		var wrong *usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	plain := sources(t, &pkg{ImportPath: "example.org/plain", Name: "main", GoFiles: []string{"main.go\nfunc main() {}\n"}})
	if _, err := plain.points(&Options{Latency: []string{"http"}}, &marks{}); err == nil || !strings.Contains(err.Error(), "does not import net/http") {
		t.Errorf("http without net/http gives %v", err)
	}
	low := sources(t, &pkg{ImportPath: "runtime", Name: "runtime", Standard: true, GoFiles: []string{"proc.go\nfunc schedule() {\n\t_ = 1\n}\n"}})
	for _, name := range []string{"runtime.schedule", "proc.go:3"} {
		if _, err := low.points(&Options{Throughput: []string{name}}, &marks{}); err == nil || !strings.Contains(err.Error(), "package runtime is part of the runtime") {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

// Threads without a P run what the runtime imports: its monitor asks for the limits of the control group once in a while, which
// internal/strconv then reads. A mark there took the program down.
func TestLow(t *testing.T) {
	o := &Options{}
	g, err := newGoTool(t.Context(), o)
	if err != nil {
		t.Skip(err)
	}
	imported, err := g.output(t.Context(), "list", "-deps", "runtime")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := g.list(t.Context(), o, "net/http")
	if err != nil {
		t.Fatal(err)
	}
	pr := newProgram(pkgs)
	for _, path := range strings.Fields(string(imported)) {
		if !pr.low(path) {
			t.Errorf("%s may be marked, and the runtime imports it", path)
		}
	}
	for _, path := range []string{"net/http", "strconv", "os", "internal/poll", "crypto/tls", "internal/reflectlite"} {
		if pr.low(path) {
			t.Errorf("%s may not be marked", path)
		}
	}
}

// The longest import path wins where one is the beginning of another.
// What is shown can be asked for.
func TestShortName(t *testing.T) {
	for full, want := range map[string]string{
		"github.com/caddyserver/caddy/v2.Run":                            "caddy.Run",
		"github.com/caddyserver/caddy/v2/modules/caddyhttp.(*App).Start": "caddyhttp.(*App).Start",
		"github.com/x/y.F[github.com/z/w.T].func1":                       "y.F[github.com/z/w.T].func1",
		"gopkg.in/yaml%2ev3.Unmarshal":                                   "yaml.v3.Unmarshal",
		"example.org/it/store/store.go:12":                               "store/store.go:12",
		"example.org/it/v3/store.go:12":                                  "it/store.go:12",
		"example.org/it.f at example.org/it/it.go:3":                     "it.f at it/it.go:3",
		"internal/runtime/syscall/linux.Syscall6":                        "internal/runtime/syscall/linux.Syscall6",
		"net/http.(*conn).serve at net/http/server.go:7":                 "net/http.(*conn).serve at net/http/server.go:7",
		"main.work":    "main.work",
		"aeshashbody":  "aeshashbody",
		"a/b.f":        "a/b.f",
		"main/x.go:12": "main/x.go:12",
		"":             "",
	} {
		if got := shortName(full); got != want {
			t.Errorf("shortName(%q) = %q, want %q", full, got, want)
		}
	}
	pr := sources(t,
		&pkg{ImportPath: "example.org/it/v2", Name: "it", GoFiles: []string{"it.go\nfunc F() { _ = 1 }\n"}},
		&pkg{ImportPath: "gopkg.in/yaml.v3", Name: "yaml", GoFiles: []string{"yaml.go\nfunc Unmarshal() { _ = 1 }\n"}},
		&pkg{ImportPath: "example.org/cmd", Name: "main", GoFiles: []string{"main.go\nfunc main() { _ = 1 }\n"}},
	)
	for _, name := range []string{"example.org/it/v2.F", "gopkg.in/yaml%2ev3.Unmarshal", "main.main"} {
		long, err := pr.function(name)
		if err != nil {
			t.Fatal(err)
		}
		if short, err := pr.function(shortName(name)); err != nil || short.fn != long.fn || short.pkg != long.pkg {
			t.Errorf("%s is %v, %s is %v (%v)", name, long, shortName(name), short, err)
		}
	}
	if _, err := pr.function("yaml.Unmarshal"); err != nil {
		t.Error(err)
	}
}

func TestByPath(t *testing.T) {
	pr := sources(t,
		&pkg{ImportPath: "example.org/a", Name: "a", GoFiles: []string{"a.go\nfunc F() {}\n"}},
		&pkg{ImportPath: "example.org/a.b", Name: "b", GoFiles: []string{"b.go\nfunc F() {}\n"}},
		&pkg{ImportPath: "example.org/t [example.org/t.test]", Name: "t", ForTest: "example.org/t", GoFiles: []string{"t.go\nfunc F() {}\n"}},
	)
	for name, want := range map[string]string{"example.org/a.b.F": "example.org/a.b", "example.org/a.F": "example.org/a", "example.org/t.F": "example.org/t"} {
		pl, err := pr.function(name)
		if err != nil || pl.pkg.path() != want {
			t.Errorf("%s is in %v, %v", name, pl.pkg, err)
		}
	}
}

// A program built with -trimpath names its files otherwise.
func TestFindFiles(t *testing.T) {
	pr := example(t)
	other := filepath.Join(t.TempDir(), "x.go")
	stacks := []stackOf{{frames: []frame{
		{fn: "main.work", file: "example.org/it/cmd/main.go"},
		{fn: "net/http.(*conn).serve", file: "net/http/server.go"},
		{fn: "example.org/it/store.(*Map[...]).Get", file: "example.org/it@v1.2.3/store/store.go"},
		{fn: "main.work", file: other},
		{fn: "main.work", file: "_cgo_gotypes.go"},
		{fn: "runtime.main", file: "runtime/proc.go"},
	}}}
	pr.findFiles(stacks)
	want := []string{filepath.Join(pr.main.Dir, "main.go"), filepath.Join(pr.pkgs[0].Dir, "server.go"), filepath.Join(pr.pkgs[2].Dir, "store.go"), other, "_cgo_gotypes.go", "runtime/proc.go"}
	for i, f := range stacks[0].frames {
		if f.file != want[i] {
			t.Errorf("%s is in %s, want %s", f.fn, f.file, want[i])
		}
	}
}

func TestSuggest(t *testing.T) {
	all := []string{"main.work", "main.worker", "main.work.func1", "net/http.(*conn).serve", "main.walk"}
	for name, want := range map[string]string{
		"main.wrk":   "; did you mean main.work?",
		"work":       "; did you mean main.work, main.worker?",
		"http.Serve": "; did you mean net/http.(*conn).serve?",
		"zzzzzzzzz":  "",
	} {
		if got := suggest(name, all); !strings.HasPrefix(got, strings.TrimSuffix(want, "?")) || want == "" && got != "" {
			t.Errorf("%s gives %q, want %q", name, got, want)
		}
	}
	if n := strings.Count(suggest("main.a", []string{"main.b", "main.c", "main.d", "main.e"}), "main."); n != 3 {
		t.Errorf("%d names are suggested, want 3", n)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"work", "wrok", 1}, {"work", "worker", 2}, {"work", "walk", 2}, {"ab", "ba", 1}, {"abcd", "badc", 2}, {"abc", "xyz", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	word := rapid.StringMatching(`[a-c]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		ab := distance(a, b)
		if ab != distance(b, a) || (ab == 0) != (a == b) || ab > max(len(a), len(b)) || ab < max(len(a)-len(b), len(b)-len(a)) {
			t.Fatalf("distance(%q, %q) = %d", a, b, ab)
		}
	})
}

// No name makes the look-up panic, and every one that it does not know is a usage error.
func FuzzFunction(f *testing.F) {
	for _, s := range []string{"main.work", "http.(*conn).serve", "a/b.c", "....", "%2e", "main.", "[...]", "main.go:3", ":1", "x.go:", "main.go:999999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		pr := sources(t, &pkg{ImportPath: "example.org/it", Name: "main", GoFiles: []string{"main.go\nfunc work() {}\n"}})
		var wrong *usage.Error
		if pl, err := pr.function(name); err != nil && !errors.As(err, &wrong) || err == nil && pl.fn == nil {
			t.Errorf("%q gives %v, %v", name, pl, err)
		}
		if !isLine(name) {
			return
		}
		if _, _, _, err := pr.line(name); err != nil && !errors.As(err, &wrong) {
			t.Errorf("%q gives %v", name, err)
		}
	})
}
