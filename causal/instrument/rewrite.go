package instrument

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// rewrite prepares the compilation of one package: files that change are
// written to a temporary directory, and the arguments point there.
func rewrite(args []string, importPath string, conf *Config) (dir string, out []string, err error) {
	path, _, _ := strings.Cut(importPath, " ") // "pkg [pkg.test]"
	std := flagValue(args, "-std") || path == "runtime"
	var marks []Mark
	marks = append(marks, conf.Packages[path]...)
	changes := map[string][]edit{}
	var extra []source
	if std {
		for _, e := range edits[path] {
			changes[e.file] = append(changes[e.file], e)
		}
	}
	isProgress := path == progress
	if len(changes) == 0 && len(marks) == 0 && !isProgress {
		return "", args, nil
	}
	if dir, err = scratch(); err != nil {
		return "", nil, fmt.Errorf("rewriting %s: %w", path, err)
	}
	files := goFiles(args)
	texts := make(map[int]string)
	read := func(i int) (string, error) {
		if t, ok := texts[i]; ok {
			return t, nil
		}
		b, err := os.ReadFile(args[i])
		return strings.TrimPrefix(string(b), "\ufeff"), err // a byte order mark may only be the first in a file
	}
	for file, list := range changes {
		at := -1
		for _, i := range files {
			if filepath.Base(args[i]) == file {
				at = i
			}
		}
		if at < 0 {
			return dir, nil, &AnchorError{Package: path, File: file}
		}
		text, err := read(at)
		if err != nil {
			return dir, nil, err
		}
		if text, err = apply(path, original(args[at]), text, list); err != nil {
			return dir, nil, err
		}
		texts[at] = text
	}
	var rest []Mark
	for _, m := range marks {
		if m.Kind != Replace {
			rest = append(rest, m)
			continue
		}
		at := -1
		for _, i := range files {
			if filepath.Base(args[i]) == m.File {
				at = i
			}
		}
		if at < 0 {
			return dir, nil, &AnchorError{Package: path, File: m.File}
		}
		text, err := read(at)
		if err != nil {
			return dir, nil, err
		}
		if text, err = apply(path, original(args[at]), text, []edit{{m.File, m.Old, strings.ReplaceAll(m.New, "%d", fmt.Sprint(m.ID))}}); err != nil {
			return dir, nil, err
		}
		texts[at] = text
	}
	if len(rest) > 0 {
		names := new(Namer)
		for _, i := range files {
			text, err := read(i)
			if err != nil {
				return dir, nil, err
			}
			changed, used, err := insertMarks(args[i], text, rest, names)
			if err != nil {
				return dir, nil, err
			}
			if used > 0 {
				texts[i] = changed
			}
		}
	}
	if isProgress {
		for _, i := range files {
			text, err := read(i)
			if err != nil {
				return dir, nil, err
			}
			if changed, ok := progressBodies(text); ok {
				texts[i] = changed
			}
		}
	}
	pkgName := ""
	out = append(out, args...)
	for _, i := range files {
		if pkgName == "" {
			text, err := read(i)
			if err != nil {
				return dir, nil, err
			}
			pkgName = packageName(text)
		}
		text, ok := texts[i]
		if !ok {
			continue
		}
		dst := filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(args[i])))
		if err := os.WriteFile(dst, []byte("//line "+original(args[i])+":1:1\n"+text), 0o600); err != nil {
			return dir, nil, err
		}
		out[i] = dst
	}
	if path == "runtime" {
		if extra, err = hooks(); err != nil {
			return dir, nil, err
		}
	} else {
		src := "package " + pkgName + "\n\nimport _ \"unsafe\"\n"
		if std {
			src += decls[path]
		}
		if len(marks) > 0 {
			src += markDecls
		}
		if isProgress {
			src += progressDecls
		}
		extra = append(extra, source{"headway0.go", src})
	}
	where := ""
	if len(files) > 0 {
		where = filepath.Dir(args[files[0]]) + "/"
	}
	for _, e := range extra {
		dst := filepath.Join(dir, e.name)
		if err := os.WriteFile(dst, []byte("//line "+where+e.name+":1:1\n"+e.text), 0o600); err != nil {
			return dir, nil, err
		}
		out = append(out, dst)
	}
	return dir, out, nil
}

// source is a file that is added to a package.
type source struct{ name, text string }

// hooks are the files that are added to package runtime, for the architecture that is built for.
func hooks() (all []source, err error) {
	entries, err := sources.ReadDir("hooks")
	if err != nil {
		return nil, err
	}
	found := false
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".go.txt")
		arch := strings.TrimPrefix(name, "headway_")
		if !ok || arch != goarch() && slices.Contains(architectures, arch) {
			continue
		}
		b, err := sources.ReadFile("hooks/" + e.Name())
		if err != nil {
			return nil, err
		}
		found = found || arch == goarch()
		all = append(all, source{name + ".go", string(b)})
	}
	if !found {
		return nil, fmt.Errorf("linux/%s is not supported; amd64 and arm64 are", goarch())
	}
	return all, nil
}

// assemble adds our assembly, if there is some for this architecture, to that of package runtime.
func assemble(args []string, importPath string) (dir string, out []string, err error) {
	if path, _, _ := strings.Cut(importPath, " "); path != "runtime" {
		return "", args, nil
	}
	ours, err := sources.ReadFile("hooks/headway_" + goarch() + ".s.txt")
	if err != nil {
		return "", args, nil
	}
	host := "asm_" + goarch() + ".s"
	for i, a := range args {
		if filepath.Base(a) != host {
			continue
		}
		text, err := os.ReadFile(a)
		if err != nil {
			return "", nil, fmt.Errorf("rewriting %s: %w", host, err)
		}
		if dir, err = scratch(); err != nil {
			return "", nil, fmt.Errorf("rewriting %s: %w", host, err)
		}
		if abs, err := filepath.Abs(a); err == nil && !strings.HasPrefix(a, "./") {
			a = abs
		}
		dst := filepath.Join(dir, host)
		if err := os.WriteFile(dst, []byte("#line 1 \""+a+"\"\n"+string(text)+string(ours)), 0o600); err != nil {
			return dir, nil, err
		}
		args = append([]string{}, args...)
		args[i] = dst
	}
	return dir, args, nil
}

// scratch makes a directory beside the configuration, which is removed even if this process is killed.
func scratch() (string, error) {
	beside := ""
	if c := os.Getenv(ConfigEnv); c != "" {
		beside = filepath.Dir(c)
	}
	return os.MkdirTemp(beside, "headway-compile-")
}

const markDecls = `
//go:linkname headwayEnter runtime.headwayEnter
func headwayEnter(id uint32) uint32

//go:linkname headwayExit runtime.headwayExit
func headwayExit(prev uint32)

//go:linkname headwayPoint runtime.headwayPoint
func headwayPoint(id uint32)

//go:linkname headwayGoroutine runtime.headwayGoroutine
func headwayGoroutine() bool

func headwayDone(prev uint32) bool { headwayExit(prev); return true }

type headwayBool = bool

func headwayCond(prev uint32, v bool) bool { headwayExit(prev); return v }
`

const progressDecls = `
//go:linkname headwayNamed runtime.headwayNamed
func headwayNamed(name string, kind uint32)
`

var progressBody = regexp.MustCompile(`(?m)^func (Point|Begin|End)\(name string\) \{\s*\}`)

// progressBodies gives the markers of package progress their meaning.
func progressBodies(text string) (string, bool) {
	n := 0
	text = progressBody.ReplaceAllStringFunc(text, func(s string) string {
		n++
		kind := "0"
		if strings.Contains(s, "End(") {
			kind = "1"
		}
		return s[:strings.Index(s, "{")] + "{ headwayNamed(name, " + kind + ") }"
	})
	return text, n > 0
}

// An AnchorError says that the standard library is not one this version knows.
type AnchorError struct {
	Package, File, Text string
	Count               int
}

func (e *AnchorError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("this Go version is not supported: package %s has no file %s (Go 1.26 and 1.27 work; set --go or GOTOOLCHAIN)", e.Package, e.File)
	}
	return fmt.Sprintf("this Go version is not supported: %s/%s has %d of the expected text %q (Go 1.26 and 1.27 work; set --go or GOTOOLCHAIN)", e.Package, e.File, e.Count, firstLine(e.Text))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// original is the path of a file to compile as //line directives shall have it.
func original(file string) string {
	if abs, err := filepath.Abs(file); err == nil && !strings.HasPrefix(file, "./") {
		return abs
	}
	return file
}

// apply makes the edits, and puts the line numbers of what follows them in the original back.
func apply(pkg, original, text string, list []edit) (string, error) {
	file := filepath.Base(original)
	type place struct {
		at int
		e  edit
	}
	var places []place
	for _, e := range list {
		if n := strings.Count(text, e.old); n != 1 {
			return "", &AnchorError{Package: pkg, File: file, Text: e.old, Count: n}
		}
		places = append(places, place{strings.Index(text, e.old), e})
	}
	sort.Slice(places, func(i, j int) bool { return places[i].at < places[j].at })
	var out strings.Builder
	done := 0
	for _, p := range places {
		if p.at < done {
			return "", fmt.Errorf("edits of %s/%s overlap at %q", pkg, file, firstLine(p.e.old))
		}
		out.WriteString(text[done:p.at])
		out.WriteString(p.e.new)
		done = p.at + len(p.e.old)
		if strings.Count(p.e.old, "\n") == strings.Count(p.e.new, "\n") {
			continue
		}
		if !strings.HasSuffix(p.e.old, "\n") {
			nl := strings.IndexByte(text[done:], '\n')
			if nl < 0 {
				continue
			}
			out.WriteString(text[done : done+nl+1])
			done += nl + 1
		}
		fmt.Fprintf(&out, "//line %s:%d\n", original, strings.Count(text[:done], "\n")+1)
	}
	out.WriteString(text[done:])
	return out.String(), nil
}

func flagValue(args []string, name string) bool {
	for _, a := range args {
		if a == name {
			return true
		}
	}
	return false
}

// goFiles returns the indexes of the source files among the compiler's arguments.
func goFiles(args []string) []int {
	var out []int
	for i := len(args) - 1; i >= 0 && strings.HasSuffix(args[i], ".go"); i-- {
		out = append([]int{i}, out...)
	}
	return out
}

// packageName is what the package clause says, after comments in which lines may begin alike.
func packageName(text string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "main" // the compiler will say it better
	}
	return f.Name.Name
}

func goarch() string {
	if a := os.Getenv("GOARCH"); a != "" {
		return a
	}
	return defaultArch
}
