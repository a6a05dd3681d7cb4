package instrument

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Where a mark goes: the marked source, with E, X and P for the calls.
func TestInsertMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		body string // after "package p\n\n", so that it starts on line 3
		mark Mark
		want string // "" where nothing changes
	}{
		{"function", "func f() { do() }", Mark{Kind: Entry, Func: "f"},
			"func f() { headwayPoint(1);  do() }"},
		{"function's end", "func f() int { return 1 }", Mark{Kind: Exit, Func: "f"},
			"func f() int { defer headwayPoint(1);  return 1 }"},
		{"function as a site", "func f() {\n\tdo()\n}", Mark{Kind: Site, Func: "f"},
			"func f() { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tdo()\n; headwayExit(headwayF1) }"},
		{"function with returns as a site", "func f() {\n\tif ok() {\n\t\treturn // here\n\t}\n\tfunc() { return }()\n}", Mark{Kind: Site, Func: "f"},
			"func f() { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tif ok() {\n\t\t{ headwayExit(headwayF1); return } // here\n\t}\n\tfunc() { return }()\n; headwayExit(headwayF1) }"},
		{"function with a result as a site", "func f() int {\n\treturn num()\n}", Mark{Kind: Site, Func: "f"},
			"func f() (headwayR0 int) { headwayF1 := headwayEnter(1); _ = headwayF1; \n\t{ headwayR0 = num(); headwayExit(headwayF1); return }\n}"},
		{"function with results as a site", "func f() (int, error) {\n\tif ok() {\n\t\treturn 1, nil\n\t}\n\treturn f()\n}", Mark{Kind: Site, Func: "f"},
			"func f() (headwayR0 int, headwayR1 error) { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tif ok() {\n\t\t{ headwayR0, headwayR1 = 1, nil; headwayExit(headwayF1); return }\n\t}\n\t{ headwayR0, headwayR1 = f(); headwayExit(headwayF1); return }\n}"},
		{"function with named results as a site", "func f() (n, _ int, err error) {\n\tif ok() {\n\t\treturn\n\t}\n\treturn 1, 2, nil\n}", Mark{Kind: Site, Func: "f"},
			"func f() (n, headwayR1 int, err error) { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tif ok() {\n\t\t{ headwayExit(headwayF1); return }\n\t}\n\t{ n, headwayR1, err = 1, 2, nil; headwayExit(headwayF1); return }\n}"},
		{"function without an end as a site", "func f() int {\n\tfor {\n\t}\n}", Mark{Kind: Site, Func: "f"},
			"func f() (headwayR0 int) { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tfor {\n\t}\n}"},
		{"function that unlocks as a site", "type M struct{}\n\nfunc (M) Unlock() {}\nfunc f(m M) (x int) {\n\tdefer m.Unlock()\n\treturn 1\n}", Mark{Kind: Site, Func: "f"},
			"type M struct{}\n\nfunc (M) Unlock() {}\nfunc f(m M) (x int) { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tdefer m.Unlock()\n\t{ x = 1; headwayExit(headwayF1); return }\n}"},
		{"function that defers work as a site", "func f() {\n\tdefer do()\n}", Mark{Kind: Site, Func: "f"},
			"func f() { defer headwayExit(headwayEnter(1)); \n\tdefer do()\n}"},
		{"function in which a result's name is another's, too, as a site", "func f() (x int) {\n\tif x := num(); x > 1 {\n\t\treturn x\n\t}\n\treturn 1\n}", Mark{Kind: Site, Func: "f"},
			"func f() (x int) { defer headwayExit(headwayEnter(1)); \n\tif x := num(); x > 1 {\n\t\treturn x\n\t}\n\treturn 1\n}"},
		{"function in which a closure has a result's name as a site", "func f() (x int) {\n\tfunc() { x := 1; _ = x }()\n\treturn 1\n}", Mark{Kind: Site, Func: "f"},
			"func f() (x int) { headwayF1 := headwayEnter(1); _ = headwayF1; \n\tfunc() { x := 1; _ = x }()\n\t{ x = 1; headwayExit(headwayF1); return }\n}"},
		{"closure with a result as a site", "var v = func() func() int { return func() int { return 1 } }", Mark{Kind: Site, Func: "init.func1"},
			"var v = func() (headwayR0 func() int) { headwayF1 := headwayEnter(1); _ = headwayF1;  { headwayR0 = func() int { return 1 }; headwayExit(headwayF1); return } }"},
		{"empty function", "func f() {}", Mark{Kind: Entry, Func: "f"},
			"func f() { headwayPoint(1); }"},
		{"function without a body", "func f()", Mark{Kind: Entry, Func: "f"}, ""},
		{"another function", "func f() {}", Mark{Kind: Entry, Func: "g"}, ""},
		{"method", "type T int\n\nfunc (T) f() {}\nfunc (t *T) g() {}", Mark{Kind: Entry, Func: "(*T).g"},
			"type T int\n\nfunc (T) f() {}\nfunc (t *T) g() { headwayPoint(1); }"},
		{"method of a value", "type T int\n\nfunc (T) f() {}\nfunc (t *T) g() {}", Mark{Kind: Entry, Func: "T.f"},
			"type T int\n\nfunc (T) f() { headwayPoint(1); }\nfunc (t *T) g() {}"},
		{"generic", "func f[T any](x T) {}", Mark{Kind: Entry, Func: "f[...]"},
			"func f[T any](x T) { headwayPoint(1); }"},
		{"generic method", "type M[K comparable, V any] struct{}\n\nfunc (m *M[K, _]) f() {}", Mark{Kind: Entry, Func: "(*M[...]).f"},
			"type M[K comparable, V any] struct{}\n\nfunc (m *M[K, _]) f() { headwayPoint(1); }"},
		{"closure", "func f() {\n\tgo func() { do() }()\n\tdefer func() { func() { do() }() }()\n}", Mark{Kind: Entry, Func: "f.func2.1"},
			"func f() {\n\tgo func() { do() }()\n\tdefer func() { func() { headwayPoint(1);  do() }() }()\n}"},
		{"function by its line", "func f() {}\nfunc g() {}", Mark{Kind: Site, Func: "x", File: "p.go", Line: 4},
			"func f() {}\nfunc g() { headwayF1 := headwayEnter(1); _ = headwayF1; ; headwayExit(headwayF1) }"},
		{"function by the line in another file", "func f() {}\nfunc g() {}", Mark{Kind: Site, Func: "x", File: "q.go", Line: 4}, ""},
		{"nosplit", "//go:nosplit\nfunc f() {}", Mark{Kind: Site, Func: "f"}, ""},
		{"nosplit below words", "// f is short.\n//\n//go:nosplit\nfunc f() {}", Mark{Kind: Site, Func: "f"}, ""},

		{"point before a statement", "func f() {\n\tdo()\n}", Mark{Kind: Line, Line: 4},
			"func f() {\n\theadwayPoint(1); do()\n}"},
		{"point before a loop with a label", "func f() {\nout:\n\tfor {\n\t\tbreak out\n\t}\n}", Mark{Kind: Line, Line: 4},
			"func f() {\nheadwayPoint(1); out:\n\tfor {\n\t\tbreak out\n\t}\n}"},
		{"point in a case", "func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\tdo()\n\t}\n}", Mark{Kind: Line, Line: 6},
			"func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\theadwayPoint(1); do()\n\t}\n}"},
		{"point beside a case", "func f(x int) {\n\tswitch x {\n\tcase 1: do()\n\t}\n}", Mark{Kind: Line, Line: 5},
			"func f(x int) {\n\tswitch x {\n\tcase 1: headwayPoint(1); do()\n\t}\n}"},
		{"point on a case", "func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\tdo()\n\t}\n}", Mark{Kind: Line, Line: 5}, ""},
		{"point in a select", "func f(x chan int) {\n\tselect {\n\tcase <-x:\n\t\tdo()\n\tdefault:\n\t\tdo()\n\t}\n}", Mark{Kind: Line, Line: 8},
			"func f(x chan int) {\n\tselect {\n\tcase <-x:\n\t\tdo()\n\tdefault:\n\t\theadwayPoint(1); do()\n\t}\n}"},
		{"point before fallthrough", "func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\tfallthrough\n\tdefault:\n\t}\n}", Mark{Kind: Line, Line: 6},
			"func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\theadwayPoint(1); fallthrough\n\tdefault:\n\t}\n}"},
		{"point before return", "func f() int {\n\treturn 1\n}", Mark{Kind: Line, Line: 4},
			"func f() int {\n\theadwayPoint(1); return 1\n}"},
		{"the outer of two statements on a line", "func f() {\n\tif ok() { do() }\n}", Mark{Kind: Line, Line: 4},
			"func f() {\n\theadwayPoint(1); if ok() { do() }\n}"},
		{"point on a line without a statement", "func f() {\n\n\tdo()\n}", Mark{Kind: Line, Line: 4}, ""},
		{"point on else", "func f() {\n\tif ok() {\n\t} else if ok() {\n\t\tdo()\n\t}\n}", Mark{Kind: Line, Line: 5}, ""},
		{"point in a closure", "var v = func() {\n\tdo()\n}", Mark{Kind: Line, Line: 4},
			"var v = func() {\n\theadwayPoint(1); do()\n}"},

		{"call", "func f() {\n\tdo()\n}", Mark{Kind: Site, Line: 4},
			"func f() {\n\theadwayT1 := headwayEnter(1); do(); headwayExit(headwayT1)\n}"},
		{"call over lines", "func f() {\n\tdo(\n\t\t1,\n\t) // end\n}", Mark{Kind: Site, Line: 4},
			"func f() {\n\theadwayT1 := headwayEnter(1); do(\n\t\t1,\n\t); headwayExit(headwayT1) // end\n}"},
		{"assignment", "func f() {\n\tx := num()\n\tx++\n\t_ = x\n}", Mark{Kind: Site, Line: 4},
			"func f() {\n\theadwayT1 := headwayEnter(1); x := num(); headwayExit(headwayT1)\n\tx++\n\t_ = x\n}"},
		{"increment", "func f(x int) {\n\tx++\n}", Mark{Kind: Site, Line: 4},
			"func f(x int) {\n\theadwayT1 := headwayEnter(1); x++; headwayExit(headwayT1)\n}"},
		{"send", "func f(x chan int) {\n\tx <- 1\n}", Mark{Kind: Site, Line: 4},
			"func f(x chan int) {\n\theadwayT1 := headwayEnter(1); x <- 1; headwayExit(headwayT1)\n}"},
		{"return", "func f() int {\n\treturn num()\n}", Mark{Kind: Site, Line: 4},
			"func f() int {\n\theadwayEnter(1); return num()\n}"},
		{"empty return", "func f() {\n\treturn\n}", Mark{Kind: Site, Line: 4}, ""},
		{"panic", "func f() int {\n\tpanic(num())\n}", Mark{Kind: Site, Line: 4},
			"func f() int {\n\theadwayEnter(1); panic(num())\n}"},
		{"if", "func f() {\n\tif ok() {\n\t\tdo()\n\t}\n}", Mark{Kind: Site, Line: 4},
			"func f() {\n\tif headwayCond(headwayEnter(1), headwayBool(ok())) {\n\t\tdo()\n\t}\n}"},
		{"if with init", "func f() {\n\tif x := num(); x > 1 || ok() {\n\t\tdo()\n\t}\n}", Mark{Kind: Site, Line: 4},
			"func f() {\n\theadwayT1 := headwayEnter(1); if x := num(); headwayDone(headwayT1) && headwayBool(x > 1 || ok()) {\n\t\tdo()\n\t}\n}"},
		{"if of a type of its own", "type B bool\n\nfunc f(b B) {\n\tif b {\n\t}\n\tif c := b; c {\n\t}\n}", Mark{Kind: Site, Line: 8},
			"type B bool\n\nfunc f(b B) {\n\tif b {\n\t}\n\theadwayT1 := headwayEnter(1); if c := b; headwayDone(headwayT1) && headwayBool(c) {\n\t}\n}"},
		{"if where bool is something else", "func f(bool int) {\n\tif bool > 1 {\n\t}\n}", Mark{Kind: Site, Line: 4},
			"func f(bool int) {\n\tif headwayCond(headwayEnter(1), headwayBool(bool > 1)) {\n\t}\n}"},
		{"else if", "func f() {\n\tif ok() {\n\t} else if ok() {\n\t\tdo()\n\t}\n}", Mark{Kind: Site, Line: 5}, ""},
		{"loop", "func f() {\n\tfor ok() {\n\t}\n}", Mark{Kind: Site, Line: 4}, ""},
		{"the inner of two statements on a line", "func f() {\n\tfor { do() }\n}", Mark{Kind: Site, Line: 4},
			"func f() {\n\tfor { headwayT1 := headwayEnter(1); do(); headwayExit(headwayT1) }\n}"},
		{"in a case", "func f(x int) {\n\tswitch {\n\tcase x > 1:\n\t\tdo()\n\t}\n}", Mark{Kind: Site, Line: 6},
			"func f(x int) {\n\tswitch {\n\tcase x > 1:\n\t\theadwayT1 := headwayEnter(1); do(); headwayExit(headwayT1)\n\t}\n}"},
		{"goto past the statement", "func f() {\n\tif ok() {\n\t\tgoto end\n\t}\n\tdo()\nend:\n\tdo()\n}", Mark{Kind: Site, Line: 7}, ""},
		{"goto elsewhere", "func f() {\n\tfunc() {\n\t\tgoto end\n\tend:\n\t}()\n\tdo()\n}", Mark{Kind: Site, Line: 8},
			"func f() {\n\tfunc() {\n\t\tgoto end\n\tend:\n\t}()\n\theadwayT1 := headwayEnter(1); do(); headwayExit(headwayT1)\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "package p\n\n" + c.body + "\n"
			want := "package p\n\n" + c.want + "\n"
			m := c.mark
			m.ID = 1
			if m.Func == "" {
				m.File = "p.go"
			}
			got, used, err := insertMarks("/src/p.go", text, []Mark{m}, new(Namer))
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if got != text {
					t.Errorf("marked:\n%s", got)
				}
				return
			}
			if got != want || used != 1 {
				t.Errorf("used %d marks:\n%s\nwant:\n%s", used, got, want)
			}
			typeCheck(t, text)
			typeCheck(t, got)
		})
	}
}

const helpers = `package p

func do(...int) {}
func ok() bool { return true }
func num() int { return 1 }
`

// typeCheck asks the type checker whether src compiles beside what a marked
// package gets.
func typeCheck(t *testing.T, src string) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{"p.go": src, "helpers.go": helpers, "headway.go": "package p\n\nimport _ \"unsafe\"\n" + markDecls} {
		f, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Errorf("%s does not parse: %v", name, err)
			return
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.Default(), IgnoreFuncBodies: false, Error: func(err error) {
		if !strings.Contains(err.Error(), "missing function body") {
			t.Errorf("does not compile: %v\n%s", err, src)
		}
	}}
	conf.Check("p", fset, files, nil)
}

// All marks at once, as a build of a profile has them.
func TestInsertMarksTogether(t *testing.T) {
	text := "package p\n\nfunc f() int {\n\tdo()\n\treturn num()\n}\n"
	got, used, err := insertMarks("p.go", text, []Mark{
		{Kind: Site, ID: 4, File: "p.go", Line: 5},
		{Kind: Line, ID: 3, File: "p.go", Line: 4},
		{Kind: Site, ID: 2, File: "p.go", Line: 4},
		{Kind: Site, ID: 1, Func: "f"},
		{Kind: Exit, ID: 2, Func: "f"},
		{Kind: Entry, ID: 1, Func: "f"},
		{Kind: Entry, ID: 9, Func: "g"},
	}, new(Namer))
	want := "package p\n\nfunc f() (headwayR0 int) { headwayPoint(1);  defer headwayPoint(2);  headwayF1 := headwayEnter(1); _ = headwayF1; \n" +
		"\theadwayPoint(3); headwayT2 := headwayEnter(2); do(); headwayExit(headwayT2)\n\theadwayEnter(4); { headwayR0 = num(); headwayExit(headwayF1); return }\n}\n"
	if err != nil || got != want || used != 6 {
		t.Errorf("used %d, %v:\n%s\nwant:\n%s", used, err, got, want)
	}
	typeCheck(t, got)
	// Of two sites of one function only one has its end before the returns.
	got, used, err = insertMarks("p.go", "package p\n\nfunc f() int { return 1 }\n", []Mark{{Kind: Site, ID: 1, Func: "f"}, {Kind: Site, ID: 2, Func: "f"}}, new(Namer))
	if err != nil || used != 2 || strings.Count(got, "headwayExit(headwayF1)") != 1 || strings.Count(got, "defer headwayExit(headwayEnter(2))") != 1 {
		t.Errorf("used %d, %v:\n%s", used, err, got)
	}
	typeCheck(t, got)
	// What does not parse is left to the compiler.
	if got, used, err := insertMarks("p.go", "package p\n\nfunc f( {}\n", []Mark{{Kind: Entry, Func: "f"}}, new(Namer)); err != nil || used != 0 || got != "package p\n\nfunc f( {}\n" {
		t.Errorf("a broken file gives %q, %d, %v", got, used, err)
	}
	// Lines are those that directives say, as a generated file's are.
	got, used, _ = insertMarks("/tmp/y.go", "//line /src/x.y:1:1\npackage p\n\nfunc f() {\n//line /src/x.y:40\n\tdo()\n}\n", []Mark{{Kind: Line, ID: 1, File: "/src/x.y", Line: 40}}, new(Namer))
	if used != 1 || !strings.Contains(got, "\n\theadwayPoint(1); do()\n") {
		t.Errorf("a file with directives gives %d\n%s", used, got)
	}
}

func TestSameFile(t *testing.T) {
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{"/src/p/a.go", "/src/p/a.go", true},
		{"/src/p/a.go", "p/a.go", true},
		{"/src/p/a.go", "a.go", true},
		{"a.go", "a.go", true},
		{"/src/p/a.go", "b.go", false},
		{"/src/p/a.go", "q/a.go", false},
		{"/src/p/aa.go", "a.go", false},
		{"/src/p/a.go", "", false},
		{"a.go", "/src/p/a.go", true}, // the go command may name the files of its directory shortly
	} {
		if got := sameFile(c.path, c.name); got != c.want {
			t.Errorf("sameFile(%q, %q) = %v", c.path, c.name, got)
		}
	}
}

func TestStatementLines(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", "package p\n\nfunc f(x int) {\n\tfor i := 0; i < 3; i++ {\n\n\t\tswitch x {\n\t\tcase 1:\n\t\t\tx++\n\t\t}\n\t}\n\tgo func() {\n\t\tx--\n\t}()\n}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := StatementLines(fset, f), []int{4, 6, 8, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("statements start on lines %v, want %v", got, want)
	}
	for line, want := range map[int]bool{4: false, 5: false, 6: false, 8: true, 11: false, 12: true} {
		if got := Bracketable(fset, f, line); got != want {
			t.Errorf("line %d can be a site: %v, want %v", line, got, want)
		}
	}
}

// tokens are the words of a source without positions, each with its line, without
// the semicolons that the scanner inserts, and without "return", which goes behind what it returns, and "_", which may get a name.
func tokens(text string) (out []string) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(text)), []byte(text), func(token.Position, string) {}, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.SEMICOLON && lit == "\n" || tok == token.RETURN || tok == token.IDENT && lit == "_" {
			continue
		}
		out = append(out, fmt.Sprintf("%d %v %s", fset.PositionFor(pos, false).Line, tok, lit))
	}
}

// kept reports whether all of was is in is, in this order.
func kept(was, is []string) (missing string, ok bool) {
	i := 0
	for _, w := range was {
		for i < len(is) && is[i] != w {
			i++
		}
		if i == len(is) {
			return w, false
		}
		i++
	}
	return "", true
}

// Whatever parses still parses when it is marked, and no word of it moves to another line.
func FuzzInsertMarks(f *testing.F) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		f.Fatal(err)
	}
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), "insertMarks", 40+i)
	}
	for i, body := range []string{
		"func f() { do() }", "func f() {}; func g() { f() }", "func f[T any]() int { return 1 }",
		"func f() {\n\tif x := 1; x > 1 {\n\t} else if y {\n\t}\n}", "func f() { if (T{}) == x { x++ } }",
		"var v = func() { do() }", "type T int; func (t *T) f() { L: for { continue L } }",
		"func f() {\n\tpanic(1)\n}", "func f() {\ngoto x\nx:\n}", "func f() { x <- 1; /* c */ }",
		"//line x.go:3\nfunc f() {\n\tdo()\n}", "func f() { switch { case a: b(); fallthrough; default: ; } }",
		"func f() (_ int, x error) { defer g(); L: return 1,\n\tx }", "func f() (a, _ int) { if a := 1; a > 0 { return a,\n1 }; return(1), 2 }",
		"func f() func() int { return func() int { return 1 } }", "func f() (x T) { for x := range y { return x }; var x int; return }", "func (", "\x00", "func f() { do() //x", "func f() { do()\r\n}", "func init() {}; func _() {}",
	} {
		f.Add("package p\n\n"+body+"\n", "f", 2+i%4)
	}
	f.Fuzz(func(t *testing.T, text, name string, line int) {
		marks := []Mark{
			{Kind: Entry, ID: 1, Func: name}, {Kind: Exit, ID: 2, Func: name}, {Kind: Site, ID: 3, Func: name},
			{Kind: Line, ID: 4, File: "p.go", Line: line}, {Kind: Site, ID: 5, File: "p.go", Line: line},
		}
		got, used, err := insertMarks("p.go", text, marks, new(Namer))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		if _, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			if got != text {
				t.Fatal("what does not parse was marked")
			}
			return
		}
		if used == 0 && got != text {
			t.Fatalf("no mark was used, but the file changed:\n%s", got)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", got, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			t.Fatalf("no longer parses: %v\n%s", err, got)
		}
		if w, ok := kept(tokens(text), tokens(got)); !ok {
			t.Fatalf("%q is gone or moved:\n%s", w, got)
		}
	})
}

// named is a program whose every function says what the compiler calls it.
const named = `package main

import (
	"encoding/json"
	"os"
	"runtime"
)

type said struct {
	Line int
	Name string
}

var all []said

//go:noinline
func here() {
	pc, _, _, _ := runtime.Caller(1)
	fs := runtime.CallersFrames([]uintptr{pc})
	f, _ := fs.Next()
	_, line := runtime.FuncForPC(f.Entry).FileLine(f.Entry)
	all = append(all, said{line, f.Function})
}

var first = func() int { here(); return 1 }()

var second, third = func() int { here(); return 1 }(), func() int {
	here()
	return func() int { here(); return 2 }()
}()

func init() { here() }

func init() {
	here()
	func() { here() }()
}

type T struct{}

func (T) value()    { here(); func() { here() }() }
func (*T) pointer() { here(); func() { here() }() }

type G[K comparable, V any] struct{}

func (G[K, V]) value()    { here() }
func (g *G[_, V]) pointer() {
	here()
	func() { here() }()
}

func generic[T any](T) {
	here()
	func() { here() }()
}

func plain() { here() }

func spawn() {
	done := make(chan bool)
	go func() { here(); close(done) }()
	<-done
	go plain()
	defer plain()
	defer func() {
		here()
		func() {
			here()
			func() { here() }()
		}()
	}()
	x := struct{ f func() }{
		func() { here() },
	}
	x.f()
	for _, f := range []func(){
		func() { here() },
		func() { here() },
	} {
		f()
	}
}

func main() {
	plain()
	T{}.value()
	new(T).pointer()
	G[int, string]{}.value()
	new(G[T, T]).pointer()
	generic(1)
	generic("1")
	spawn()
	json.NewEncoder(os.Stdout).Encode(all)
}
`

// Functions have the names that the compiler gives them.
func TestFunctionsNames(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/named\n\ngo 1.26\n", "main.go": named} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Inlined closures get longer names: a closure is known by its place then.
	cmd := exec.Command("go", "run", "-gcflags=-l", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Line int
		Name string
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "main.go", named, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]int{}
	for _, fn := range Functions(fset, f) {
		if _, ok := known[fn.Name]; ok {
			t.Errorf("two functions are called %s", fn.Name)
		}
		known[fn.Name] = fn.Line
	}
	if len(all) < 25 {
		t.Errorf("only %d functions spoke", len(all))
	}
	for _, s := range all {
		name := strings.TrimPrefix(s.Name, "main.")
		if line, ok := known[name]; !ok {
			t.Errorf("the compiler's %s at line %d is not known", name, s.Line)
		} else if line != s.Line {
			t.Errorf("%s is at line %d, the compiler says %d", name, line, s.Line)
		}
	}
}

// Timers call functions of package time on the system stack, where not every defer statement may run.
func TestDeferred(t *testing.T) {
	for pkg, want := range map[string]string{
		"time":  " if headwayGoroutine() { defer headwayPoint(2) };  if headwayGoroutine() { defer headwayExit(headwayEnter(1)) }; ",
		"timer": " defer headwayPoint(2);  headwayF1 := headwayEnter(1); _ = headwayF1; ; headwayExit(headwayF1) ",
	} {
		head := "package " + pkg + "\n\nfunc f() {"
		got, n, err := insertMarks("x.go", head+"}\n", []Mark{{Kind: Site, ID: 1, Func: "f"}, {Kind: Exit, ID: 2, Func: "f"}}, new(Namer))
		if err != nil || n != 2 || got != head+want+"}\n" {
			t.Errorf("%d marks, %v, %q", n, err, got)
		}
	}
}

// Every function and every statement of real packages can be marked, or is not
// offered: what comes out compiles.
func TestMarksCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks packages of the standard library")
	}
	src := filepath.Join(goroot(t), "src")
	imports := token.NewFileSet()
	from := importer.ForCompiler(imports, "source", nil)
	for _, pkg := range []string{"bufio", "encoding/json", "go/printer", "regexp", "regexp/syntax", "slices", "strconv", "text/template", "text/template/parse", "time"} {
		names, err := filepath.Glob(filepath.Join(src, pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{Site, Entry, Exit, Line, "statement"} {
			fset := token.NewFileSet()
			var files []*ast.File
			namer := new(Namer)
			id, used := uint32(0), 0
			for _, name := range names {
				if ok, err := build.Default.MatchFile(filepath.Split(name)); err != nil || !ok || strings.HasSuffix(name, "_test.go") {
					continue
				}
				text := read(t, name)
				f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				var marks []Mark
				add := func(m Mark) {
					id++
					m.ID = id
					marks = append(marks, m)
				}
				switch kind {
				case Site, Entry, Exit:
					before := *namer
					for _, fn := range namer.Functions(fset, f) {
						if fn.Markable() {
							add(Mark{Kind: kind, Func: fn.Name})
						}
					}
					*namer = before
				case Line:
					for _, line := range slices.Compact(StatementLines(fset, f)) {
						add(Mark{Kind: Line, File: name, Line: line})
					}
				default:
					for _, line := range slices.Compact(StatementLines(fset, f)) {
						if Bracketable(fset, f, line) {
							add(Mark{Kind: Site, File: name, Line: line})
						}
					}
				}
				got, n, err := insertMarks(name, text, marks, namer)
				if err != nil || n != len(marks) {
					t.Errorf("%s, %s: %d of %d marks, %v", name, kind, n, len(marks), err)
				}
				used += n
				marked, err := parser.ParseFile(fset, name, got, 0)
				if err != nil {
					t.Errorf("%s, %s: %v", name, kind, err)
					continue
				}
				files = append(files, marked)
			}
			extra, err := parser.ParseFile(fset, "headway.go", "package "+files[0].Name.Name+"\n\nimport _ \"unsafe\"\n"+markDecls, 0)
			if err != nil {
				t.Fatal(err)
			}
			conf := types.Config{Importer: from, FakeImportC: true, Error: func(err error) {
				if !strings.Contains(err.Error(), "missing function body") {
					t.Errorf("%s, %s: %v", pkg, kind, err)
				}
			}}
			conf.Check(pkg, fset, append(files, extra), nil)
			if used < 10 {
				t.Errorf("%s: only %d marks of kind %s", pkg, used, kind)
			}
		}
	}
}
