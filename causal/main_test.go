package causal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headway-lab/headway/causal/instrument"
)

// computesOnly has the test's binary do nothing else, for a minute.
const computesOnly = "CAUSAL_TEST_COMPUTES_ONLY"

// The test is its own toolexec command, and leaves nothing behind: no file, no
// process, no goroutine.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		os.Exit(instrument.Main(os.Args[2:]))
	}
	if os.Getenv(computesOnly) != "" {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		}
		return
	}
	dir, err := os.MkdirTemp("", "causal-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("TMPDIR", dir)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, left := range leftovers(dir) {
			fmt.Fprintln(os.Stderr, "left behind:", left)
			code = max(code, 1)
		}
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// leftovers names the files in dir and the processes that run a program from it.
func leftovers(dir string) (out []string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "gocoverdir") {
			out = append(out, path)
		}
		return nil
	})
	procs, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, p := range procs {
		if exe, err := os.Readlink(p); err == nil && strings.HasPrefix(exe, dir) {
			out = append(out, "process "+filepath.Base(filepath.Dir(p))+" of "+exe)
		}
	}
	return out
}
