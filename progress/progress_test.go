package progress_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/headway-lab/headway/progress"
)

// Headway's build finds the three functions by this very text.
func TestAnchors(t *testing.T) {
	src, err := os.ReadFile("progress.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"\nfunc Point(name string) {}\n",
		"\nfunc Begin(name string) {}\n",
		"\nfunc End(name string) {}\n",
	} {
		if n := strings.Count(string(src), line); n != 1 {
			t.Errorf("%q occurs %d times in progress.go, want once", line, n)
		}
	}
}

func TestInlined(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, f := range []string{"Point", "Begin", "End"} {
		if !strings.Contains(string(out), "can inline "+f) {
			t.Errorf("the compiler does not inline %s:\n%s", f, out)
		}
	}
}

func Example() {
	for range 3 { // messages
		progress.Begin("message")
		// ... work ...
		progress.End("message")
	}
	progress.Point("batch")
}

// An iteration with markers costs what an empty one does.
func BenchmarkMarkers(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		for range b.N {
		}
	})
	b.Run("three", func(b *testing.B) {
		for range b.N {
			progress.Begin("work")
			progress.Point("step")
			progress.End("work")
		}
	})
}
