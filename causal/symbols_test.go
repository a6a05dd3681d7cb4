package causal

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/headway-lab/headway/causal/control"
)

func TestSymbolizerRead(t *testing.T) {
	s := &symbolizer{known: map[uint64][]frame{}}
	err := s.read(0x1000, []uint64{0x1010, 0x1020, 0x1030}, []byte(
		"main.inl\t/src/a.go\t7\t5\t0\nmain.f\t/src/a.go\t20\t10\t0\n\n"+
			"\n"+
			"gopkg.in/yaml%2ev3.f\t/src/y.go\t1\t0\t1\n\n"))
	want := map[uint64][]frame{
		0x10: {{fn: "main.inl", file: "/src/a.go", line: 7, start: 5, inlined: true}, {fn: "main.f", file: "/src/a.go", line: 20, start: 10}},
		0x20: nil,
		0x30: {{fn: "gopkg.in/yaml.v3.f", file: "/src/y.go", line: 1}},
	}
	if err != nil || !reflect.DeepEqual(s.known, want) {
		t.Errorf("%v, %v, want %v", s.known, err, want)
	}
	// What is known is not asked for again; a stack of unknown frames is no stack.
	stacks, err := s.resolve(t.Context(), 0x1000, []control.Sample{{Weight: 3, PCs: []uint64{0x1030, 0x1010}}, {Weight: 4, PCs: []uint64{0x1020}}, {Weight: 5}})
	if err != nil || len(stacks) != 1 || stacks[0].weight != 3 || len(stacks[0].frames) != 3 || stacks[0].frames[0].fn != "gopkg.in/yaml.v3.f" {
		t.Errorf("%+v, %v", stacks, err)
	}
	for _, bad := range []string{"", "\n", "\n\n\n", "x\n", "a\tb\tc\td\te\n\n\n", "main.f\t/a.go\t1\t2\t0\n"} {
		if err := (&symbolizer{known: map[uint64][]frame{}}).read(0, []uint64{1, 2}, []byte(bad)); err == nil {
			t.Errorf("%q is taken for an answer", bad)
		}
	}
	// A program that cannot be asked.
	s = &symbolizer{bin: "/none", dir: t.TempDir()}
	if _, err := s.resolve(t.Context(), 0, []control.Sample{{PCs: []uint64{1}}}); err == nil || !strings.Contains(err.Error(), "resolving addresses") {
		t.Errorf("a program that is not there gives %v", err)
	}
}

// Every answer is taken as it is or refused.
func FuzzSymbolizerRead(f *testing.F) {
	f.Add(uint64(0), 1, []byte("main.f\t/src/a.go\t20\t10\t0\n\n"))
	f.Add(uint64(1<<63), 3, []byte("\n\n\n"))
	f.Add(uint64(9), 0, []byte("x"))
	f.Add(uint64(9), 2, []byte("a\tb\t-1\t99999999999999999999\t\n\n"))
	f.Add(uint64(9), 2, bytes.Repeat([]byte("x"), 70_000))
	f.Fuzz(func(t *testing.T, base uint64, n int, out []byte) {
		pcs := make([]uint64, min(max(n, 0), 100))
		for i := range pcs {
			pcs[i] = base + uint64(i)
		}
		s := &symbolizer{known: map[uint64][]frame{}}
		if err := s.read(base, pcs, out); err != nil {
			return
		}
		if len(s.known) != len(pcs) {
			t.Fatalf("%d addresses, %d answers", len(pcs), len(s.known))
		}
		for _, fs := range s.known {
			for i, f := range fs {
				if f.inlined != (i < len(fs)-1) {
					t.Fatalf("frames %+v", fs)
				}
			}
		}
	})
}

// The reasons why a program ended, for a person.
func TestErrEnded(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":        "the program ended with status 3 during the profile",
		"kill -SEGV $$": "the program was ended by signal 11 (segmentation fault) during the profile",
		"exit 0":        "the program ended by itself during the profile",
	} {
		err := &errEnded{exec.Command("sh", "-c", script).Run()}
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s gives %q", script, err)
		}
	}
	if err := (&errEnded{exec.ErrNotFound}); err.Error() != "the program ended during the profile: "+exec.ErrNotFound.Error() {
		t.Errorf("%v", err)
	}
}
