package instrument

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

type insertion struct {
	at   int // byte offset
	text string
	rank int // order at the same offset
	cut  int // bytes that it stands in place of
}

// insertMarks adds the marks that belong into this file, and returns how many
// did. It changes no line: everything goes beside what is there.
// The namer has seen the package's files before this one.
func insertMarks(path, text string, marks []Mark, n *Namer) (string, int, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		// The compiler will say it better.
		return text, 0, nil
	}
	funcs := n.Functions(fset, f)
	var ins []insertion
	bracketed := map[*Function]bool{}
	used := 0
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	for _, m := range marks {
		if m.Kind == Line || m.Kind == Site && m.Func == "" {
			if !sameFile(fset.Position(f.Package).Filename, m.File) && !sameFile(path, m.File) {
				continue
			}
			add := lineMark(fset, f, m, offset)
			if add != nil {
				used++
			}
			ins = append(ins, add...)
			continue
		}
		for _, fn := range funcs {
			if fn.Body == nil || !fn.matches(m) {
				continue
			}
			at := offset(fn.Body.Lbrace) + 1
			switch m.Kind {
			case Site:
				if fn.nosplit {
					continue
				}
				var add []insertion
				if !bracketed[fn] && !mayRunOnSystemStack(f) {
					add = fn.brackets(m.ID, offset)
				}
				if add == nil {
					add = []insertion{{at: at, text: deferred(f, fmt.Sprintf("headwayExit(headwayEnter(%d))", m.ID)), rank: 2}}
				}
				ins = append(ins, add...)
				bracketed[fn] = true // a second mark cannot rewrite the same returns
			case Entry:
				ins = append(ins, insertion{at: at, text: fmt.Sprintf(" headwayPoint(%d); ", m.ID)})
			case Exit:
				ins = append(ins, insertion{at: at, text: deferred(f, fmt.Sprintf("headwayPoint(%d)", m.ID)), rank: 1})
			}
			used++
			break
		}
	}
	if len(ins) == 0 {
		return text, 0, nil
	}
	sort.SliceStable(ins, func(i, j int) bool {
		if ins[i].at != ins[j].at {
			return ins[i].at < ins[j].at
		}
		return ins[i].rank < ins[j].rank
	})
	var out strings.Builder
	done := 0
	for _, in := range ins {
		out.WriteString(text[done:in.at])
		out.WriteString(in.text)
		done = in.at + in.cut
	}
	out.WriteString(text[done:])
	return out.String(), used, nil
}

// mayRunOnSystemStack is where timers call functions.
func mayRunOnSystemStack(f *ast.File) bool { return f.Name.Name == "time" }

// deferred is a defer statement, which where timers call functions must not run: not every one is allowed on the system stack.
func deferred(f *ast.File, call string) string {
	if mayRunOnSystemStack(f) {
		return " if headwayGoroutine() { defer " + call + " }; "
	}
	return " defer " + call + "; "
}

// sameFile reports whether name, as a user or a symbol table wrote it, can mean path.
func sameFile(path, name string) bool {
	if name == "" {
		return false
	}
	path, name = filepath.ToSlash(path), filepath.ToSlash(name)
	return path == name || strings.HasSuffix(path, "/"+name) || filepath.Base(path) == filepath.Base(name) && !strings.Contains(name, "/") || strings.HasSuffix(name, "/"+filepath.Base(path)) && filepath.IsAbs(name)
}

// A Function is a function declaration or literal of a file.
type Function struct {
	Name    string // as in a stack trace, less the package: f, (*T).m, f.func1
	Line    int
	End     int
	Body    *ast.BlockStmt
	typ     *ast.FuncType
	file    string
	nosplit bool
}

func (fn *Function) matches(m Mark) bool {
	if m.Line != 0 {
		return fn.Line == m.Line && sameFile(fn.file, m.File)
	}
	return fn.Name == m.Func
}

// Functions lists the functions of a package's only file; see Namer.
func Functions(fset *token.FileSet, f *ast.File) []*Function {
	return new(Namer).Functions(fset, f)
}

// A Namer names functions as the compiler does, which numbers the init
// functions and the closures of variables through all files of a package.
type Namer struct{ inits, closures int }

// Functions lists the functions of the package's next file. Closures are
// numbered in source order. Under other names, which depend on the Go version, are
// closures that were inlined into another function, and those in a loop over a
// function and after it.
func (n *Namer) Functions(fset *token.FileSet, f *ast.File) []*Function {
	var out []*Function
	add := func(name string, pos token.Pos, typ *ast.FuncType, body *ast.BlockStmt, doc *ast.CommentGroup) {
		p := fset.Position(pos)
		fn := &Function{Name: name, Line: p.Line, Body: body, typ: typ, file: p.Filename}
		if body != nil {
			fn.End = fset.Position(body.End()).Line
		}
		if doc != nil {
			for _, c := range doc.List {
				if strings.HasPrefix(c.Text, "//go:nosplit") || strings.HasPrefix(c.Text, "//go:systemstack") || strings.HasPrefix(c.Text, "//go:nowritebarrier") {
					fn.nosplit = true
				}
			}
		}
		out = append(out, fn)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := declName(d)
			if name == "init" {
				name += "." + strconv.Itoa(n.inits)
				n.inits++
			}
			add(name, d.Pos(), d.Type, d.Body, d.Doc)
			if d.Body != nil {
				closures(d.Body, name, 0, false, add)
			}
		case *ast.GenDecl:
			n.closures = closures(d, "init", n.closures, false, add)
		}
	}
	return out
}

// closures adds the closures below root, numbered from n+1 on, and returns the last number.
func closures(root ast.Node, outer string, n int, nested bool, add func(string, token.Pos, *ast.FuncType, *ast.BlockStmt, *ast.CommentGroup)) int {
	ast.Inspect(root, func(node ast.Node) bool {
		lit, ok := node.(*ast.FuncLit)
		if !ok {
			return true
		}
		n++
		name := outer + ".func" + strconv.Itoa(n)
		if nested {
			name = outer + "." + strconv.Itoa(n)
		}
		add(name, lit.Pos(), lit.Type, lit.Body, nil)
		closures(lit.Body, name, 0, true, add)
		return false
	})
	return n
}

func declName(d *ast.FuncDecl) string {
	generic := ""
	if d.Type.TypeParams != nil {
		generic = "[...]"
	}
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name + generic
	}
	t := d.Recv.List[0].Type
	star := false
	if s, ok := t.(*ast.StarExpr); ok {
		star = true
		t = s.X
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t, generic = x.X, "[...]"
	case *ast.IndexListExpr:
		t, generic = x.X, "[...]"
	case *ast.ParenExpr:
		t = x.X
	}
	id, ok := t.(*ast.Ident)
	if !ok {
		return d.Name.Name
	}
	if star {
		return "(*" + id.Name + generic + ")." + d.Name.Name
	}
	return id.Name + generic + "." + d.Name.Name
}

// StatementLines returns the lines of a file on which a statement of a block starts.
func StatementLines(fset *token.FileSet, f *ast.File) []int {
	var out []int
	eachList(f, func(list []ast.Stmt) {
		for _, s := range list {
			out = append(out, fset.Position(s.Pos()).Line)
		}
	})
	sort.Ints(out)
	return out
}

func eachList(f *ast.File, do func([]ast.Stmt)) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if len(n.List) > 0 {
				switch n.List[0].(type) {
				case *ast.CaseClause, *ast.CommClause:
					return true // a switch holds no statements, its cases do
				}
			}
			do(n.List)
		case *ast.CaseClause:
			do(n.Body)
		case *ast.CommClause:
			do(n.Body)
		}
		return true
	})
}

// lineMark returns the insertions for a progress point at a line, or for a
// site that is the statement on it; nil if there is no such statement.
func lineMark(fset *token.FileSet, f *ast.File, m Mark, offset func(token.Pos) int) []insertion {
	var found ast.Stmt
	eachList(f, func(list []ast.Stmt) {
		for _, s := range list {
			if fset.Position(s.Pos()).Line != m.Line || sitKind(s) == 0 && m.Kind == Site {
				continue
			}
			if _, empty := s.(*ast.EmptyStmt); empty || found != nil && m.Kind == Line {
				continue
			}
			found = s
		}
	})
	if found == nil {
		return nil
	}
	at, end := offset(found.Pos()), offset(found.End())
	if m.Kind == Line {
		return []insertion{{at: at, text: fmt.Sprintf("headwayPoint(%d); ", m.ID)}}
	}
	enter := fmt.Sprintf("headwayT%d := headwayEnter(%d); ", m.ID, m.ID)
	jumps := hasGoto(f, found) // which must not jump over the variable
	switch sitKind(found) {
	case plain:
		if jumps {
			return nil
		}
		return []insertion{{at: at, text: enter, rank: 2}, {at: end, text: fmt.Sprintf("; headwayExit(headwayT%d)", m.ID)}}
	case returning:
		// The mark on the function's body puts the site back.
		return []insertion{{at: at, text: fmt.Sprintf("headwayEnter(%d); ", m.ID), rank: 2}}
	case ifInit:
		s := found.(*ast.IfStmt)
		if jumps {
			return nil
		}
		return []insertion{{at: at, text: enter, rank: 2}, {at: offset(s.Cond.Pos()), text: fmt.Sprintf("headwayDone(headwayT%d) && headwayBool(", m.ID)}, {at: offset(s.Cond.End()), text: ")"}}
	case ifCond:
		s := found.(*ast.IfStmt)
		return []insertion{{at: offset(s.Cond.Pos()), text: fmt.Sprintf("headwayCond(headwayEnter(%d), headwayBool(", m.ID)}, {at: offset(s.Cond.End()), text: "))"}}
	}
	return nil
}

const (
	plain = iota + 1
	returning
	ifInit
	ifCond
)

// sitKind says how a statement can be bracketed, 0 if it cannot.
func sitKind(s ast.Stmt) int {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return returning // nothing may follow the end of a function that has results
			}
		}
		return plain
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt:
		return plain
	case *ast.ReturnStmt:
		if len(s.Results) > 0 {
			return returning
		}
	case *ast.IfStmt:
		if s.Init != nil {
			return ifInit
		}
		return ifCond
	}
	return 0
}

// hasGoto reports whether the function around a statement holds a goto.
func hasGoto(f *ast.File, s ast.Stmt) bool {
	found := false
	var walk func(body ast.Node)
	walk = func(body ast.Node) {
		has := false
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				walk(n.Body)
				return false
			case *ast.BranchStmt:
				has = has || n.Tok == token.GOTO
			case *ast.FuncDecl:
				if n.Body != nil {
					walk(n.Body)
				}
				return false
			}
			return true
		})
		if has && body.Pos() <= s.Pos() && s.End() <= body.End() {
			found = true
		}
	}
	walk(f)
	return found
}

// Bracketable reports whether the statement on a line can be a site of its own.
func Bracketable(fset *token.FileSet, f *ast.File, line int) bool {
	return lineMark(fset, f, Mark{Kind: Site, Line: line}, func(p token.Pos) int { return 0 }) != nil
}

// Markable reports whether the function's body can be a site: it may be
// preempted and may hold a defer statement.
func (fn *Function) Markable() bool { return fn.Body != nil && !fn.nosplit }

// Low returns whether a package is part of the runtime or lies under it, where no mark may be: threads without a P run what the
// runtime imports. Its monitor, for one, reads the control group's limits with internal/strconv. imports is what each package
// of the program imports.
func Low(imports map[string][]string) func(path string) bool {
	under := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if !under[path] {
			under[path] = true
			for _, p := range imports[path] {
				add(p)
			}
		}
	}
	add("runtime")
	return func(path string) bool {
		switch path {
		case "syscall", "sync", "sync/atomic", "internal/sync", "internal/godebug", "internal/synctest", "weak", "unique":
			return true
		}
		return under[path] || strings.HasPrefix(path, "runtime/") || strings.HasPrefix(path, "internal/runtime/")
	}
}
