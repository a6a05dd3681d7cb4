package instrument

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Every edit finds its text exactly once in the file it names.
func TestAnchors(t *testing.T) {
	goroots(t, func(t *testing.T, goroot, version string) {
		for pkg, list := range edits {
			for _, e := range list {
				b, err := os.ReadFile(filepath.Join(goroot, "src", pkg, e.file))
				if err != nil {
					t.Errorf("%s: %v", version, err)
					continue
				}
				if n := strings.Count(string(b), e.old); n != 1 {
					t.Errorf("%s: %s/%s holds this %d times, want once:\n%s", version, pkg, e.file, n, e.old)
				}
				if strings.Count(e.new, "\n") > strings.Count(e.old, "\n") && !strings.Contains(e.new, "headway") {
					t.Errorf("%s/%s: an edit adds nothing of headway's:\n%s", pkg, e.file, e.new)
				}
			}
		}
		for pkg := range decls {
			if edits[pkg] == nil {
				t.Errorf("declarations for %s, which is not edited", pkg)
			}
		}
	})
}

// rewritten calls rewrite as the go command would for a package of the standard
// library, and returns the original files beside the new ones.
func rewritten(t *testing.T, goroot, pkg string, conf *Config) (was, is []string) {
	t.Helper()
	ctx := build.Default
	ctx.GOROOT, ctx.Compiler, ctx.CgoEnabled = goroot, "gc", false
	p, err := ctx.ImportDir(filepath.Join(goroot, "src", pkg), 0)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-o", "x.a", "-p", pkg, "-std", "-pack"}
	for _, f := range p.GoFiles {
		was = append(was, filepath.Join(p.Dir, f))
	}
	dir, out, err := rewrite(append(args, was...), pkg, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if !slices.Equal(out[:len(args)], args) {
		t.Errorf("%s: the compiler's flags became %q", pkg, out[:len(args)])
	}
	return was, out[len(args):]
}

// Stack traces of a rewritten library show the lines of the original.
func TestLinesAreKept(t *testing.T) {
	goroots(t, func(t *testing.T, goroot, version string) {
		for pkg := range edits {
			was, is := rewritten(t, goroot, pkg, &Config{})
			if len(is) <= len(was) {
				t.Errorf("%s: %d files became %d, want at least one more", pkg, len(was), len(is))
			}
			changed := 0
			for i, orig := range was {
				if is[i] == orig {
					continue
				}
				changed++
				fset := token.NewFileSet()
				a, err := parser.ParseFile(fset, orig, nil, parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				b, err := parser.ParseFile(fset, is[i], nil, parser.ParseComments)
				if err != nil {
					t.Fatalf("%s/%s no longer parses: %v", pkg, filepath.Base(orig), err)
				}
				sameLines(t, fset, a, b)
			}
			files := map[string]bool{}
			for _, e := range edits[pkg] {
				files[e.file] = true
			}
			if changed != len(files) {
				t.Errorf("%s: %d files changed, want %d", pkg, changed, len(files))
			}
			fset := token.NewFileSet()
			for _, extra := range is[len(was):] {
				if _, err := parser.ParseFile(fset, extra, nil, parser.ParseComments); err != nil {
					t.Errorf("%s: the added file does not parse: %v", pkg, err)
				}
			}
		}
	})
}

// sameLines compares where the functions of a and of its edited copy b start
// and end, and what their lines hold.
func sameLines(t *testing.T, fset *token.FileSet, a, b *ast.File) {
	t.Helper()
	file := fset.Position(a.Package).Filename
	if got := fset.Position(b.Package).Filename; got != file {
		t.Errorf("positions are in %s, want %s", got, file)
	}
	at := map[string]int{}
	names := map[string]int{}
	statements := map[int]bool{}
	ast.Inspect(b, func(n ast.Node) bool {
		if s, ok := n.(ast.Stmt); ok {
			statements[fset.Position(s.Pos()).Line] = true
		}
		return true
	})
	for _, fn := range Functions(fset, b) {
		at[fn.Name] = fn.Line
		names[fn.Name]++
	}
	for _, fn := range Functions(fset, a) {
		if names[fn.Name] == 1 && at[fn.Name] != fn.Line {
			t.Errorf("%s: %s starts at line %d, was %d", file, fn.Name, at[fn.Name], fn.Line)
		}
		if names[fn.Name] == 0 {
			t.Errorf("%s: %s is gone", file, fn.Name)
		}
	}
	// The edits push the one statement that follows them on their line.
	lost, all := 0, 0
	ast.Inspect(a, func(n ast.Node) bool {
		if s, ok := n.(ast.Stmt); ok {
			all++
			if !statements[fset.Position(s.Pos()).Line] {
				lost++
			}
		}
		return true
	})
	if allowed := strings.Count(read(t, fset.PositionFor(b.Package, false).Filename), "headway"); lost > allowed {
		t.Errorf("%s: %d of %d statements moved to other lines", file, lost, all)
	}
}

// Functions of edited files carry marks, too.
func TestMarksBesideEdits(t *testing.T) {
	goroots(t, func(t *testing.T, goroot, version string) {
		for pkg, list := range edits {
			if pkg == "runtime" {
				continue // has no marks
			}
			var marks []Mark
			for _, e := range list {
				path := filepath.Join(goroot, "src", pkg, e.file)
				fset := token.NewFileSet()
				f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				for _, fn := range Functions(fset, f) {
					m := Mark{Kind: Site, ID: uint32(len(marks)) + 1000, Func: fn.Name, File: path, Line: fn.Line}
					if fn.Body != nil && !fn.nosplit && !slices.ContainsFunc(marks, func(o Mark) bool { return o.File == m.File && o.Line == m.Line }) {
						marks = append(marks, m)
					}
				}
			}
			_, is := rewritten(t, goroot, pkg, &Config{Packages: map[string][]Mark{pkg: marks}})
			var all strings.Builder
			for _, file := range is {
				all.WriteString(read(t, file))
			}
			for _, m := range marks {
				if n := strings.Count(all.String(), fmt.Sprintf("headwayEnter(%d)", m.ID)); n != 1 {
					t.Errorf("%s: %s in %s:%d has %d marks, want 1", pkg, m.Func, m.File, m.Line, n)
				}
			}
			if len(marks) == 0 {
				t.Errorf("%s: nothing to mark", pkg)
			}
		}
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestApply(t *testing.T) {
	text := "package x\n\nfunc a() {\n\tone()\n}\n\nfunc b() {\n\ttwo() // 2\n\tthree()\n}\n"
	got, err := apply("x", "/src/x.go", text, []edit{
		{"x.go", "\ttwo()", "\tzero()\n\ttwo()"},     // ends within a line
		{"x.go", "\tone()\n", "\tone()\n\tmore()\n"}, // ends with one
		{"x.go", "\tthree()\n", "\tfour()\n"},        // keeps the count
	})
	want := "package x\n\nfunc a() {\n\tone()\n\tmore()\n//line /src/x.go:5\n}\n\nfunc b() {\n\tzero()\n\ttwo() // 2\n//line /src/x.go:9\n\tfour()\n}\n"
	if err != nil || got != want {
		t.Errorf("apply gives %v and\n%s\nwant\n%s", err, got, want)
	}
	if _, err := apply("x", "/src/x.go", text, []edit{{"x.go", "one()\n}", "1"}, {"x.go", "}\n\nfunc b", "2"}}); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("edits that overlap give %v", err)
	}
}

// A library that is not the one known is refused by name.
func TestAnchorError(t *testing.T) {
	text := "package x\n\tone()\n\tone()\n"
	for _, c := range []struct {
		old  string
		says string
	}{
		{"\tone()\n", `sync/mutex.go has 2 of the expected text "one()"`},
		{"\n\n\tnone()\n\tmore\n", `sync/mutex.go has 0 of the expected text "none()"`},
	} {
		_, err := apply("sync", "/src/mutex.go", text, []edit{{"mutex.go", c.old, ""}})
		var anchor *AnchorError
		if !errors.As(err, &anchor) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "this Go version is not supported: ") {
			t.Errorf("%q gives %v", c.old, err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("the message has more than one line: %q", err)
		}
	}
	// A file that is gone.
	dir := t.TempDir()
	file := filepath.Join(dir, "other.go")
	if err := os.WriteFile(file, []byte("package sync\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for pkg := range edits {
		tmp, _, err := rewrite([]string{"-std", file}, pkg, &Config{})
		os.RemoveAll(tmp)
		var anchor *AnchorError
		if !errors.As(err, &anchor) || !strings.Contains(err.Error(), "package "+pkg+" has no file "+anchor.File) {
			t.Errorf("%s without its files gives %v", pkg, err)
		}
	}
}

// Only the standard library's own packages are edited, and only what has marks beside them.
func TestRewriteLeavesAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(file, []byte("package sync\n\nfunc f() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-p", "sync", file}
	dir, out, err := rewrite(args, "sync", &Config{Packages: map[string][]Mark{"other": {{Kind: Entry, Func: "f"}}}})
	if dir != "" || err != nil || !slices.Equal(out, args) {
		t.Errorf("a user's package sync gives %q %q %v", dir, out, err)
	}
	dir, out, err = rewrite([]string{"-p", "sync", file}, "sync [sync.test]", &Config{Packages: map[string][]Mark{"sync": {{Kind: Entry, Func: "f", ID: 3}}}})
	defer os.RemoveAll(dir)
	if err != nil || len(out) != 4 {
		t.Fatalf("a marked package under test gives %q, %v", out, err)
	}
	if got := read(t, out[2]); got != "//line "+file+":1:1\npackage sync\n\nfunc f() { headwayPoint(3); }\n" {
		t.Errorf("the marked file holds %q", got)
	}
	if got := read(t, out[3]); !strings.HasPrefix(got, "//line ") || !strings.Contains(got, "package sync\n") || !strings.Contains(got, "func headwayPoint(id uint32)") {
		t.Errorf("the added file holds %q", got)
	}
}

// A file may begin with a byte order mark, but nothing may come before that.
func TestByteOrderMark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(file, []byte("\ufeffpackage p\n\nfunc f() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, out, err := rewrite([]string{file}, "p", &Config{Packages: map[string][]Mark{"p": {{Kind: Entry, Func: "f", ID: 3}}}})
	defer os.RemoveAll(dir)
	if err != nil || len(out) != 2 {
		t.Fatalf("%q, %v", out, err)
	}
	if got := read(t, out[0]); got != "//line "+file+":1:1\npackage p\n\nfunc f() { headwayPoint(3); }\n" {
		t.Errorf("the marked file holds %q", got)
	}
}

// A replacement is anchored as the edits are.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.go")
	if err := os.WriteFile(file, []byte("package http\n\nvar x = 1\nvar y = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(m Mark) (string, error) {
		dir, out, err := rewrite([]string{file}, "net/http", &Config{Packages: map[string][]Mark{"net/http": {m}}})
		defer os.RemoveAll(dir)
		if err != nil {
			return "", err
		}
		return read(t, out[0]), nil
	}
	got, err := do(Mark{Kind: Replace, ID: 7, File: "server.go", Old: "x = 1", New: "x = %d"})
	if err != nil || !strings.Contains(got, "var x = 7\nvar y") {
		t.Errorf("a replacement gives %q, %v", got, err)
	}
	var anchor *AnchorError
	if _, err := do(Mark{Kind: Replace, File: "server.go", Old: "z"}); !errors.As(err, &anchor) || anchor.Count != 0 {
		t.Errorf("a text that is not there gives %v", err)
	}
	if _, err := do(Mark{Kind: Replace, File: "none.go", Old: "x"}); !errors.As(err, &anchor) || anchor.File != "none.go" {
		t.Errorf("a file that is not there gives %v", err)
	}
}

func TestProgressBodies(t *testing.T) {
	src := read(t, "../../progress/progress.go")
	got, ok := progressBodies(src)
	if !ok {
		t.Fatal("package progress has none of its markers")
	}
	for _, want := range []string{
		"func Point(name string) { headwayNamed(name, 0) }\n",
		"func Begin(name string) { headwayNamed(name, 0) }\n",
		"func End(name string) { headwayNamed(name, 1) }\n",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "\n") != strings.Count(src, "\n") {
		t.Error("lines moved")
	}
	if got, ok := progressBodies("package p\n\nfunc Points(name string) {}\nfunc Point(name string) { do() }\n"); ok {
		t.Errorf("other functions became %s", got)
	}
}

func TestFlags(t *testing.T) {
	conf := &Config{Packages: map[string][]Mark{"b": {{Kind: Entry, Func: "f"}}, "a": {{Kind: Exit, Func: "g"}}}}
	flags := conf.Flags("/a/headway", true)
	if len(flags) != 3 || flags[0] != "-toolexec=/a/headway toolexec" || !strings.HasPrefix(flags[1], "-gcflags=a=-headway=") || !strings.HasPrefix(flags[2], "-gcflags=b=-headway=") || conf.Global {
		t.Errorf("flags are %q", flags)
	}
	before := flags[1]
	conf.Packages["a"][0].Func = "h"
	if conf.Flags("x", true)[1] == before {
		t.Error("other marks have the same cache entry")
	}
	hash := conf.hash()
	if flags := conf.Flags("/a b/headway", false); len(flags) != 1 || flags[0] != "-toolexec='/a b/headway' toolexec" || !conf.Global {
		t.Errorf("flags beside the user's are %q, global %v", flags, conf.Global)
	}
	conf.Packages["a"][0].Func = "i"
	if conf.hash() == hash {
		t.Error("other marks have the same identity")
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := conf.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := load(path)
	if err != nil || back.hash() != conf.hash() {
		t.Errorf("the config comes back as %+v, %v", back, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var syntax *json.SyntaxError
	if _, err := load(path); !errors.As(err, &syntax) && err == nil {
		t.Errorf("half a config gives %v", err)
	}
	if c, err := load(""); err != nil || len(c.Packages) != 0 {
		t.Errorf("no config gives %v, %v", c, err)
	}
}

func TestMainUsage(t *testing.T) {
	if code := Main(nil); code != 2 {
		t.Errorf("no tool gives status %d", code)
	}
	if code := Main([]string{filepath.Join(t.TempDir(), "none"), "x"}); code != 1 {
		t.Errorf("a tool that is not there gives status %d", code)
	}
	t.Setenv(ConfigEnv, filepath.Join(t.TempDir(), "none"))
	if code := Main([]string{"compile", "-V=full"}); code != 1 {
		t.Errorf("a config that is not there gives status %d", code)
	}
}

// The architecture that is built for, not the one that builds, chooses the hooks.
func TestGOARCH(t *testing.T) {
	t.Setenv("GOARCH", "")
	if goarch() != defaultArch {
		t.Errorf("without GOARCH it is %s", goarch())
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Setenv("GOARCH", arch)
		_, is := rewritten(t, goroot(t), "runtime", &Config{})
		own := ""
		for _, file := range is {
			own += read(t, file)
		}
		for _, of := range append([]string{"debt"}, architectures...) {
			hook, err := sources.ReadFile("hooks/headway_" + of + ".go.txt")
			if got, want := strings.Contains(own, string(hook)), of == arch || of == "debt"; err != nil || got != want {
				t.Errorf("%s has the hooks of %s: %v, %v", arch, of, got, err)
			}
		}
	}
	t.Setenv("GOARCH", "riscv64")
	dir := goroot(t) + "/src/runtime/"
	var args []string
	for _, e := range edits["runtime"] {
		if !slices.Contains(args, dir+e.file) {
			args = append(args, dir+e.file)
		}
	}
	tmp, _, err := rewrite(args, "runtime", &Config{})
	os.RemoveAll(tmp)
	if err == nil || err.Error() != "linux/riscv64 is not supported; amd64 and arm64 are" {
		t.Errorf("riscv64 gives %v", err)
	}
}

func TestAssemble(t *testing.T) {
	theirs := goroot(t) + "/src/runtime/asm_amd64.s"
	for _, c := range []struct {
		name, arch, pkg string
		ours            bool
	}{
		{"the runtime", "amd64", "runtime", true},
		{"as its own tests have it", "amd64", "runtime [runtime.test]", true},
		{"another package", "amd64", "reflect", false},
		{"an architecture that needs none", "arm64", "runtime", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOARCH", c.arch)
			args := []string{"-p", "runtime", "./memmove_amd64.s", theirs}
			dir, out, err := assemble(args, c.pkg)
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if args[3] != theirs || len(out) != 4 || !slices.Equal(out[:3], args[:3]) {
				t.Fatalf("%q became %q", args, out)
			}
			text := read(t, out[3])
			if !c.ours {
				if dir != "" || text != read(t, theirs) {
					t.Errorf("it was changed: %s", out[3])
				}
				return
			}
			if want := "#line 1 \"" + theirs + "\"\n" + read(t, theirs); !strings.HasPrefix(text, want) || !strings.Contains(text[len(want):], "headwayTicks") {
				t.Errorf("%s is not theirs and ours after it", out[3])
			}
		})
	}
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// hello is the directory of a small program, and the command that rewrites the library as that is built.
func hello(t *testing.T) (self, dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds part of the standard library")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.org/hello\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello\\n\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return self, dir
}

// The rewritten library compiles and links, for both architectures, and the
// edits change what the build cache takes the compiler for.
func TestBuild(t *testing.T) {
	self, dir := hello(t)
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			bin := filepath.Join(dir, "hello-"+arch)
			cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, (&Config{}).Flags(self, true)...), ".")...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off", ConfigEnv+"=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			b, err := os.ReadFile(bin)
			if err != nil || !strings.Contains(string(b), "runtime.headwayRun") {
				t.Errorf("the program is not built with the hooks, %v", err)
			}
			if arch != defaultArch {
				return
			}
			if out, err := exec.Command(bin).CombinedOutput(); err != nil || string(out) != "hello\n" {
				t.Errorf("the program prints %q, %v", out, err)
			}
		})
	}
}

// What upstream lets the compiler inline stays so: an edit that makes a function of the fast paths too long costs more by a call than
// by what it does.
func TestInlined(t *testing.T) {
	self, dir := hello(t)
	// But for those that are hardly ever called, or by other packages only, whose calls of the runtime are never inlined, or whose work is long.
	may := []string{"(*FD).writeLock", "(*RWMutex).TryRLock", "(*rlocker).Lock", "(*rlocker).Unlock", "Gosched", "dropg", "gopreempt_m",
		"internal_sync_nanotime", "time_runtimeNano"}
	inlined := func(flags []string) map[string]bool {
		args := []string{"build", "-o", os.DevNull}
		for _, pkg := range []string{"internal/poll", "internal/sync", "runtime", "sync"} {
			args = append(args, "-gcflags="+pkg+"=-m")
		}
		cmd := exec.Command("go", append(append(args, flags...), ".")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", ConfigEnv+"=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		names := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			if _, name, ok := strings.Cut(strings.TrimSpace(line), ": can inline "); ok && !strings.Contains(name, "go.shape") {
				names[name] = true
			}
		}
		return names
	}
	now := inlined((&Config{}).Flags(self, true))
	upstream := inlined(nil)
	for name := range upstream {
		if !now[name] && !slices.Contains(may, name) {
			t.Errorf("%s is no longer inlined", name)
		}
	}
	for _, name := range []string{"(*RWMutex).RLock", "(*RWMutex).RUnlock", "headwayClock", "headwayShift", "headwayTimers"} {
		if !now[name] {
			t.Errorf("%s is not inlined", name)
		}
	}
	if !upstream["(*RWMutex).RLock"] || !upstream["dropg"] { // else there was nothing to compare with
		t.Errorf("upstream inlines %d functions, and not those that are known", len(upstream))
	}
}

// The collector scans objects of up to 512 bytes by the span, which is faster; upstream's descriptor of a goroutine is one of them.
func TestDescriptorSize(t *testing.T) {
	self, dir := hello(t)
	build := func(most int) (string, error) {
		conf := &Config{Packages: map[string][]Mark{"runtime": {{Kind: Replace, File: "runtime2.go", Old: "type g struct {\n",
			New: fmt.Sprintf("var _ [%d - unsafe.Sizeof(g{})]byte; type g struct {\n", most)}}}}
		path := filepath.Join(t.TempDir(), "conf")
		if err := conf.Write(path); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", append(append([]string{"build", "-o", os.DevNull}, conf.Flags(self, true)...), "runtime")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", ConfigEnv+"="+path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := build(512); err != nil {
		t.Errorf("a descriptor of 512 bytes at most: %v\n%s", err, out)
	}
	if out, err := build(300); err == nil || !strings.Contains(out, "invalid array length") && !strings.Contains(out, "overflows") {
		t.Errorf("a descriptor of 300 bytes, which is less than upstream's, gives %v, %s", err, out)
	}
}

// What is not part of the identity may change while the build cache goes on serving what the older one made.
func TestIdentityKnowsAllSources(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if b, err := sources.ReadFile(name); !strings.HasSuffix(name, "_test.go") && (err != nil || len(b) == 0) {
			t.Errorf("%s is not embedded: %v", name, err)
		}
	}
}

func TestPackageName(t *testing.T) {
	for text, want := range map[string]string{
		"package a\n": "a",
		"/*\npackage on other systems: see below.\n*/\n\n// package too\n\npackage b // c\n\nimport \"d\"\n": "b",
		"//go:build linux\n\n/* x */ package c;func f() {\n}\n":                                              "c",
	} {
		if got := packageName(text); got != want {
			t.Errorf("%q is package %s, want %s", text, got, want)
		}
	}
}

// What a package is compiled to does not depend on the directory in which it was rewritten.
func TestSameObject(t *testing.T) {
	goroots(t, func(t *testing.T, goroot, version string) {
		dir := t.TempDir()
		src := filepath.Join(dir, "p.go")
		if err := os.WriteFile(src, []byte("package p\n\ntype T struct{ n int }\n\nfunc (t *T) Work() int { for t.n < 9 { t.n++ }; return t.n }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		conf := filepath.Join(dir, "conf.json")
		if err := (&Config{Packages: map[string][]Mark{"example.org/p": {{Kind: Site, ID: 3, Func: "(*T).Work"}}}}).Write(conf); err != nil {
			t.Fatal(err)
		}
		tool := filepath.Join(goroot, "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH, "compile")
		compile := func(object string, flags ...string) string {
			object = filepath.Join(dir, object)
			cmd := exec.Command(os.Args[0], slices.Concat([]string{"toolexec", tool, "-o", object, "-p", "example.org/p", "-complete=false"}, flags, []string{src})...)
			cmd.Env = append(os.Environ(), ConfigEnv+"="+conf, "TOOLEXEC_IMPORTPATH=example.org/p")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			b, err := os.ReadFile(object)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		for _, flags := range [][]string{{"-trimpath", dir + "=>/src"}, {"-trimpath=" + dir + "=>/src"}, {"-c=1"}, {"-dwarf=true"}} {
			one, two := compile("1.o", flags...), compile("2.o", flags...)
			if !strings.Contains(one, "headwayEnter") {
				t.Errorf("%s: no mark in the object", flags)
			}
			if strings.Contains(one, "headway-compile-") || one != two {
				t.Errorf("%s: it depends on the directory", flags)
			}
			if withDWARF := strings.Contains(one, "go:info."); withDWARF != (flags[0] == "-dwarf=true") {
				t.Errorf("%s: debugging information: %v", flags, withDWARF)
			}
		}
	})
}
