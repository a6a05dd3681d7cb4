package control

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// constants evaluates the constants of a file, and nothing else of it.
func constants(t *testing.T, path string) map[string]constant.Value {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	kept := f.Decls[:0:0]
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			kept = append(kept, d)
		}
	}
	f.Decls, f.Imports = kept, nil
	conf := types.Config{Error: func(err error) {}} // some need what is no longer there
	pkg, _ := conf.Check("p", fset, []*ast.File{f}, nil)
	out := map[string]constant.Value{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && c.Val().Kind() == constant.Int {
			out[name] = c.Val()
		}
	}
	return out
}

const hooks = "../instrument/hooks/headway"

// The runtime's side has the same layout.
func TestLayout(t *testing.T) {
	ours, theirs := constants(t, "layout.go"), constants(t, hooks+".go.txt")
	if len(ours) < 25 {
		t.Errorf("only %d constants in layout.go", len(ours))
	}
	for name, v := range ours {
		twin := "headway" + strings.ToUpper(name[:1]) + name[1:]
		if name == "One" || strings.HasPrefix(name, "at") {
			continue // there it is a shift by 16, and fields
		}
		if w, ok := theirs[twin]; !ok {
			t.Errorf("the runtime has no %s", twin)
		} else if !constant.Compare(v, token.EQL, w) {
			t.Errorf("%s is %v, the runtime's %s is %v", name, v, twin, w)
		}
	}
	for name := range theirs {
		if rest, ok := strings.CutPrefix(name, "headwayOff"); ok {
			if _, ok := ours["off"+rest]; !ok {
				t.Errorf("layout.go has no off%s", rest)
			}
		}
	}
}

// Nothing in the block overlaps, and the words are aligned.
func TestLayoutFits(t *testing.T) {
	header := []int{offMagic, offPid, offOn, offSample, offGen, offProcs, offText, offHead, offNames, offExt, offForgive, offKept, offAway, offAways}
	seen := map[int]bool{}
	for _, off := range header {
		if seen[off] || off%8 != 0 || off+8 > offW {
			t.Errorf("a header word at %d", off)
		}
		seen[off] = true
	}
	areas := []int{offW, offName, offP, offPoint, offCalls, offRing, size}
	for i := 1; i < len(areas); i++ {
		if areas[i] <= areas[i-1] || areas[i]%8 != 0 {
			t.Errorf("areas begin at %v", areas)
		}
	}
	if NamedBase <= 0 || NamedBase+MaxName/2 > MaxPoint {
		t.Errorf("named points are %d to %d of %d", NamedBase, NamedBase+MaxName/2, MaxPoint)
	}
}

// The runtime's structures lie where Debt, Count and Paid read them.
func TestAccounts(t *testing.T) {
	src, err := os.ReadFile(hooks + ".go.txt")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	kept := f.Decls[:0:0]
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			kept = append(kept, d)
		}
	}
	f.Decls, f.Imports = kept, nil
	stubs, err := parser.ParseFile(fset, "", "package runtime\n\nvar atomic struct{}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	// atomic.Uint32 is as large as a uint32, and sys.NotInHeap nothing.
	ast.Inspect(f, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok {
			if sel, ok := field.Type.(*ast.SelectorExpr); ok {
				if field.Type = ast.NewIdent(strings.ToLower(sel.Sel.Name)); sel.Sel.Name == "NotInHeap" {
					field.Type = &ast.StructType{Fields: &ast.FieldList{}}
				}
			}
		}
		return true
	})
	sizes := types.SizesFor("gc", "amd64")
	conf := types.Config{Sizes: sizes, Error: func(error) {}}
	pkg, _ := conf.Check("runtime", fset, []*ast.File{f, stubs}, nil)
	offsets := func(name string) (map[string]int64, int64) {
		s := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		var fields []*types.Var
		for i := range s.NumFields() {
			fields = append(fields, s.Field(i))
		}
		out := map[string]int64{}
		for i, off := range sizes.Offsetsof(fields) {
			out[fields[i].Name()] = off
		}
		return out, sizes.Sizeof(s)
	}
	at, n := offsets("headwayP")
	for name, want := range map[string]int64{"seq": 0, "high": 8, "since": 16, "w": 24, "base": atBase, "cseq": atCounts, "paid": atPaid, "pays": atPays} {
		if got, ok := at[name]; !ok || got != want {
			t.Errorf("headwayP.%s is at %d (%v), want %d", name, got, ok, want)
		}
	}
	// What other Ps look at before every effect is not beside what every switch of goroutines changes.
	for name, at := range at {
		shared := slices.Contains([]string{"seq", "high", "since", "w", "place", "lastAt", "base", "mine"}, name)
		if first := at < 64; first != shared && name != "_" {
			t.Errorf("headwayP.%s is at %d", name, at)
		}
	}
	if n > 256 {
		t.Errorf("headwayP has %d bytes, 256 fit", n)
	}
	at, n = offsets("headwayAway")
	if at["since"] != atAwaySince || at["w"] != atAwayW || at["base"] != atAwayBase || n != atAwayNext || offAwayAt+maxAway*n > offW {
		t.Errorf("headwayAway is %v, %d bytes", at, n)
	}
	at, n = offsets("headwayCounter")
	if at["n"] != 0 || at["sumv"] != 8 || at["last"] != 16 || n != 32 {
		t.Errorf("headwayCounter is %v, %d bytes", at, n)
	}
}

var capital = regexp.MustCompile(`[A-Z]`)

// The system calls have the numbers that package unix knows.
func TestSystemCalls(t *testing.T) {
	sys, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		known := constants(t, filepath.Join(strings.TrimSpace(string(sys)), "unix/zsysnum_linux_"+arch+".go"))
		n := 0
		for name, v := range constants(t, hooks+"_"+arch+".go.txt") {
			call := "SYS" + strings.ToUpper(capital.ReplaceAllString(strings.TrimPrefix(name, "headwaySys"), "_$0"))
			if w, ok := known[call]; !ok || !constant.Compare(v, token.EQL, w) {
				t.Errorf("%s: %s is %v, package unix says %v (%s)", arch, name, v, w, call)
			}
			n++
		}
		if n < 8 {
			t.Errorf("%s: only %d system calls", arch, n)
		}
	}
	var st syscall.Stat_t
	mode := map[string]uintptr{"amd64": 24, "arm64": 16}[runtime.GOARCH]
	if unsafe.Offsetof(st.Mode) != mode || unsafe.Offsetof(st.Ino) != 8 {
		t.Errorf("a file's mode is at %d and its number at %d", unsafe.Offsetof(st.Mode), unsafe.Offsetof(st.Ino))
	}
}
