package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	for _, test := range []struct {
		mode fs.FileMode
		data string
	}{{0o600, "one"}, {0o644, "another"}, {0o640, ""}} {
		if err := Replace(file, test.mode, []byte(test.data)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		info, e := os.Stat(file)
		if err := errors.Join(err, e); err != nil || string(b) != test.data || info.Mode() != test.mode {
			t.Errorf("%q, %v, %v; want %q, %v", b, info.Mode(), err, test.data, test.mode)
		}
	}
	alone(t, dir)
}

// What cannot be replaced is as it was, and nothing is left beside it.
func TestFails(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Replace(taken, 0o644, []byte("x")); err == nil {
		t.Error("a file has taken the place of a directory")
	}
	alone(t, dir)
	if err := Replace(filepath.Join(dir, "nowhere", "a"), 0o644, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func alone(t *testing.T, dir string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
