package causal

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/usage"
)

// program is the source of what is profiled: the packages and their functions.
type program struct {
	pkgs  []*pkg
	main  *pkg // the package that was asked for
	fset  *token.FileSet
	files map[string]*ast.File // parsed so far, nil: it does not parse
	funcs map[string]map[string]place
	low   func(path string) bool // where no mark may be

	broken string // a file that does not parse, whose functions are not known
}

// place is where a function is.
type place struct {
	pkg  *pkg
	file string
	fn   *instrument.Function
}

func newProgram(pkgs []*pkg) *program {
	imports := map[string][]string{}
	for _, p := range pkgs {
		imports[p.ImportPath] = p.Imports
	}
	return &program{pkgs: pkgs, main: pkgs[len(pkgs)-1], fset: token.NewFileSet(), files: map[string]*ast.File{}, funcs: map[string]map[string]place{}, low: instrument.Low(imports)}
}

// symbol is a package's name in a symbol table.
func (p *pkg) symbol() string {
	if p.Name == "main" {
		return "main"
	}
	return p.path()
}

func (p *pkg) path() string {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return path
}

func (p *pkg) sources() []string {
	var out []string
	out = append(out, p.GoFiles...)
	out = append(out, p.CgoFiles...)
	if p.ForTest != "" {
		out = append(out, p.TestGoFiles...)
	}
	for i, f := range out {
		if !filepath.IsAbs(f) {
			out[i] = filepath.Join(p.Dir, f)
		}
	}
	return out
}

func (pr *program) parse(path string) *ast.File {
	if f, ok := pr.files[path]; ok {
		return f
	}
	f, err := parser.ParseFile(pr.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		f = nil
		pr.broken = cmp.Or(pr.broken, path)
	}
	pr.files[path] = f
	return f
}

// functions lists the functions of a package by name.
func (pr *program) functions(p *pkg) map[string]place {
	if m, ok := pr.funcs[p.ImportPath]; ok {
		return m
	}
	m := map[string]place{}
	names := new(instrument.Namer)
	seen := map[string]bool{}
	for _, path := range p.sources() {
		f := pr.parse(path)
		if f == nil || seen[path] {
			continue
		}
		seen[path] = true
		for _, fn := range names.Functions(pr.fset, f) {
			m[fn.Name] = place{p, path, fn}
		}
	}
	pr.funcs[p.ImportPath] = m
	return m
}

// findFiles puts the sources' paths into frames of a program that was built with
// -trimpath, where a file is named by its import path.
func (pr *program) findFiles(stacks []stackOf) {
	known := map[[2]string]string{}
	for _, st := range stacks {
		for i := range st.frames {
			f := &st.frames[i]
			if filepath.IsAbs(f.file) {
				continue
			}
			key := [2]string{packageOf(f.fn), f.file}
			path, ok := known[key]
			if !ok {
				path = f.file
				for _, p := range pr.byPath(f.fn) {
					for _, src := range p.sources() {
						if path == f.file && filepath.Base(src) == filepath.Base(f.file) {
							path = src
						}
					}
				}
				known[key] = path
			}
			f.file = path
		}
	}
}

// unescape turns %2e in a symbol's package path into a dot.
func unescape(name string) string { return strings.ReplaceAll(name, "%2e", ".") }

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// lastElement is the last element of an import path that says something: not the major version.
func lastElement(importPath string) string {
	if dir, base := path.Split(importPath); dir != "" && majorVersion.MatchString(base) {
		return path.Base(dir)
	}
	return path.Base(importPath)
}

// shortName is the name of a site with the last element of each import path alone, as in source: caddyhttp.(*Server).serveHTTP,
// caddyhttp/server.go:12. The standard library's paths are short, and their names need them: internal/runtime/syscall/linux.Syscall6.
func shortName(name string) string {
	if fn, at, ok := strings.Cut(name, " at "); ok {
		return shortName(fn) + " at " + shortName(at)
	}
	if first, _, ok := strings.Cut(name, "/"); !ok || !strings.Contains(first, ".") {
		return name
	}
	if isLine(name) {
		dir, file := path.Split(name)
		return path.Join(lastElement(path.Clean(dir)), file)
	}
	p := packageOf(name)
	return unescape(lastElement(p)) + name[len(p):]
}

// byPath finds the packages a qualified name can belong to: the longest path first.
func (pr *program) byPath(name string) []*pkg {
	var out []*pkg
	for _, p := range pr.pkgs {
		if strings.HasPrefix(name, p.symbol()+".") || strings.HasPrefix(name, p.path()+".") {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		// The last element of the path, as in source: http.(*conn).serve.
		for _, p := range pr.pkgs {
			if strings.HasPrefix(name, lastElement(p.path())+".") || strings.HasPrefix(name, p.Name+".") {
				out = append(out, p)
			}
		}
	}
	// Of the variants of a package under test, the one compiled for the test first.
	sort.SliceStable(out, func(i, j int) bool {
		if len(out[i].path()) != len(out[j].path()) {
			return len(out[i].path()) > len(out[j].path())
		}
		return out[i].ForTest != "" && out[j].ForTest == ""
	})
	return out
}

func localName(p *pkg, name string) string {
	for _, pre := range []string{p.path(), p.symbol(), lastElement(p.path()), p.Name} {
		if rest, ok := strings.CutPrefix(name, pre+"."); ok {
			return rest
		}
	}
	return name
}

// function resolves a name as a stack trace prints it, or suggests near ones.
func (pr *program) function(name string) (place, error) {
	name = unescape(name)
	pkgs := pr.byPath(name)
	var near []string
	for _, p := range pkgs {
		funcs := pr.functions(p)
		local := localName(p, name)
		for _, try := range []string{local, local + "[...]"} {
			if pl, ok := funcs[try]; ok {
				if pl.fn.Body == nil {
					return place{}, usage.Errorf("function %s has no Go body (it is assembly, or linked from elsewhere): name its caller", name)
				}
				return pl, nil
			}
		}
		for f := range funcs {
			near = append(near, p.symbol()+"."+f)
		}
	}
	if len(pkgs) == 0 {
		for f := range pr.functions(pr.main) {
			near = append(near, pr.main.symbol()+"."+f)
		}
		for _, p := range pr.pkgs {
			if p.Standard && (p.path() == "net/http" || p.path() == "net/http/internal/http2") {
				for f := range pr.functions(p) {
					near = append(near, p.symbol()+"."+f)
				}
			}
		}
	}
	return place{}, usage.Errorf("no function %s in the program%s", name, suggest(name, near))
}

// line resolves FILE:LINE.
func (pr *program) line(name string) (p *pkg, file string, line int, err error) {
	i := strings.LastIndexByte(name, ':')
	line, cerr := strconv.Atoi(name[i+1:])
	if cerr != nil || line < 1 {
		return nil, "", 0, usage.Errorf("%s is not FILE:LINE", name)
	}
	want := filepath.ToSlash(name[:i])
	type hit struct {
		p    *pkg
		file string
	}
	var hits []hit
	var near []string
	for _, p := range pr.pkgs {
		for _, f := range p.sources() {
			s := filepath.ToSlash(f)
			short := p.path() + "/" + filepath.Base(f)
			if s == want || short == want || strings.HasSuffix(s, "/"+strings.TrimPrefix(want, "./")) {
				hits = append(hits, hit{p, f})
			}
			if p == pr.main || !p.Standard {
				near = append(near, short)
			}
		}
	}
	if len(hits) == 0 {
		return nil, "", 0, usage.Errorf("no file %s in the program%s", want, suggest(want, near))
	}
	best := hits[0]
	for _, h := range hits {
		if h.p.path() == pr.main.path() || h.p.ForTest != "" {
			best = h
			break
		}
		if h.file != best.file && !best.p.Standard == !h.p.Standard {
			return nil, "", 0, usage.Errorf("%s can be %s or %s: give more of the path", want, best.file, h.file)
		}
		if best.p.Standard && !h.p.Standard {
			best = h
		}
	}
	f := pr.parse(best.file)
	if f == nil {
		return nil, "", 0, usage.Errorf("%s does not parse", best.file)
	}
	lines := instrument.StatementLines(pr.fset, f)
	at := sort.SearchInts(lines, line)
	if at == len(lines) || lines[at] != line {
		var close []string
		if at > 0 {
			close = append(close, strconv.Itoa(lines[at-1]))
		}
		if at < len(lines) {
			close = append(close, strconv.Itoa(lines[at]))
		}
		return nil, "", 0, usage.Errorf("no statement starts at %s (statements start at line %s)", name, strings.Join(close, " and "))
	}
	return best.p, best.file, line, nil
}

func isLine(name string) bool {
	i := strings.LastIndexByte(name, ':')
	return i > 0 && strings.Contains(name[:i], ".go")
}

// suggest names what is written most like name.
func suggest(name string, all []string) string {
	type scored struct {
		name string
		d    int
	}
	var best []scored
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s] || strings.Contains(s, ".func") {
			continue
		}
		seen[s] = true
		d := distance(tail(name), tail(s))
		if strings.Contains(strings.ToLower(s), strings.ToLower(tail(name))) {
			d = min(d, 1)
		}
		if d <= max(1, len(tail(name))/3) {
			best = append(best, scored{s, d*1000 + distance(name, s)})
		}
	}
	sort.Slice(best, func(i, j int) bool {
		if best[i].d != best[j].d {
			return best[i].d < best[j].d
		}
		return best[i].name < best[j].name
	})
	if len(best) == 0 {
		return ""
	}
	var names []string
	for _, b := range best[:min(3, len(best))] {
		names = append(names, b.name)
	}
	return "; did you mean " + strings.Join(names, ", ") + "?"
}

func tail(s string) string { return s[strings.LastIndexAny(s, "./")+1:] }

// distance counts the letters to insert, take out, change, or swap with the next one.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j], row[j-1]) + 1
			if a[i-1] == b[j-1] {
				row[j] = min(row[j], last[j-1])
			} else {
				row[j] = min(row[j], last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
