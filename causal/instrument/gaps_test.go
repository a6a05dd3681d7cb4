package instrument

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a payment takes of interruptions is arithmetic, which is done here outside the runtime on turns that a simulation makes up.
func TestGaps(t *testing.T) {
	dir := t.TempDir()
	program := cut(t, "hooks/headway_debt.go.txt", "headwayGaps", "after", "share", "took", "headwayYields", "headwayGap", "headwayTurn", "headwayGaveWay", "headwayShareKnown") + `
type headwayP struct{ owed, met, wall, cpu int64 }

var clock, away int64 // the time, and how much of it the thread had no processor

func nanotime() int64 { return clock }
func headwayOff(now, wall, cpu int64) int64 { return away - cpu }

func main() {
	for _, c := range []struct {
		name           string
		turn           int64   // ns, of standing still
		every, takes   float64 // ns, of interruptions
		gaveWay        bool
		rises          float64 // the debt
		low, high      float64 // of what is met, as a part of what is owed
	}{
		{"never interrupted", 200, 1e18, 0, false, 0, 0, 0},
		{"interrupted", 200, 40_000, 2_000, false, 0, .045, .050},
		{"for long", 200, 1_000_000, 50_000, false, 0, .045, .053},
		{"while the debt rises by three quarters", 200, 40_000, 2_000, false, .75, .043, .052},
		{"gave way to others", 200, 1_000_000, 50_000, true, 0, 0, .0003},
		{"slow turns", 1_500, 1e18, 0, false, 0, 0, 0},
		// What matters here is that it comes to an end.
		{"slower turns than are reckoned with", 20_000, 1e18, 0, false, 0, 0, 40},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		s := &headwayP{}
		next := float64(clock) + r.ExpFloat64()*c.every
		var owed, met, shares, stood int64
		for range 20_000 {
			const owe = 20_000
			s.wall, s.cpu = clock, away
			share := s.share(owe)
			g, t0, target := headwayGaps{usual: headwayTurn}, clock, float64(owe-share)
			began := clock
			for {
				left := int64(target) - (clock - t0)
				if left <= 0 {
					break
				}
				d := c.turn
				if left <= headwayYields {
					d = min(d, 50)
				}
				for next < float64(clock+d) {
					d += int64(c.takes)
					if c.gaveWay {
						away += int64(c.takes)
					}
					next += c.takes + r.ExpFloat64()*c.every
				}
				clock += d
				rise := float64(d) * c.rises
				target += rise
				t0 += g.after(s, d, int64(rise), left)
			}
			s.took(owe, g.met)
			owed, met, shares, stood = owed+owe, met+g.met, shares+share, stood+clock-began
		}
		part, taken := float64(met)/float64(owed), float64(shares)/float64(owed)
		fmt.Printf("%s: met %.4f, taken off %.4f, stood %.3f of what was owed\n", c.name, part, taken, float64(stood)/float64(owed))
		if part < c.low || part > c.high {
			fmt.Printf("FAIL: met %.4f, want %.4f to %.4f\n", part, c.low, c.high)
		}
		if part < .2 && math.Abs(taken-part) > .05*part {
			fmt.Println("FAIL: what is met is not what is taken off")
		}
	}
}
`
	src, err := format.Source([]byte("package main\n\nimport (\n\"fmt\"\n\"math\"\n\"math/rand/v2\"\n)\n\n" + program))
	if err != nil {
		t.Fatalf("%v\n%s", err, program)
	}
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, src, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("FAIL")) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("\n%s", out)
}

// cut takes declarations out of a file, by their names.
func cut(t *testing.T, file string, names ...string) string {
	t.Helper()
	set := token.NewFileSet()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(set, file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	left := map[string]bool{}
	for _, n := range names {
		left[n] = true
	}
	take := func(name, before string, n ast.Node) {
		if left[name] {
			b.WriteString(before + string(src[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]) + "\n")
			delete(left, name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			take(d.Name.Name, "", d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					take(s.Name.Name, "type ", s)
				case *ast.ValueSpec:
					take(s.Names[0].Name, d.Tok.String()+" ", s)
				}
			}
		}
	}
	if len(left) > 0 {
		t.Fatalf("%s has no %v", file, left)
	}
	return b.String()
}
