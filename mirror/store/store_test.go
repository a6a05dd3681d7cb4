package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// trees calls f with every way there is to name a file: of one without a name, by a
// descriptor or through /proc, and of a temporary one.
func trees(t *testing.T, f func(t *testing.T, tree *Tree, dir string)) {
	for _, c := range []struct {
		name string
		set  func(*Tree)
	}{
		{"as probed", func(*Tree) {}},
		{"through proc", func(t *Tree) { t.procfs = true }},
		{"temporary file and rename", func(t *Tree) { t.unnamed = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			tree, err := Open(dir, 4)
			if err == nil {
				err = tree.Prepare()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			c.set(tree)
			f(t, tree, dir)
		})
	}
}

func write(t *testing.T, tree *Tree, d *Dir, name, text string, replace bool) error {
	t.Helper()
	make := func() (File, error) { return tree.Create(d) }
	if replace {
		make = tree.CreateToReplace
	}
	f, err := make()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if replace {
		return f.Replace(d, name)
	}
	return f.Name(d, name)
}

func TestNamesOnceAndReplaces(t *testing.T) {
	trees(t, func(t *testing.T, tree *Tree, dir string) {
		d, err := tree.Dir("a/b/c")
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Release(d)
		at := filepath.Join(dir, "a/b/c/x")
		is := func(want string) {
			t.Helper()
			if b, err := os.ReadFile(at); string(b) != want || err != nil {
				t.Errorf("%q, %v; want %q", b, err, want)
			}
		}
		if _, there, err := tree.Lookup(d, "x"); there || err != nil {
			t.Errorf("it is there before: %v", err)
		}
		if err := write(t, tree, d, "x", "first", false); err != nil {
			t.Fatal(err)
		}
		is("first")
		if err := write(t, tree, d, "x", "second", false); !errors.Is(err, ErrExists) {
			t.Errorf("a name that is taken: %v", err)
		}
		is("first")
		if err := write(t, tree, d, "x", "third", true); err != nil {
			t.Fatal(err)
		}
		is("third")
		if info, there, err := tree.Lookup(d, "x"); !there || info.Size != 5 || err != nil {
			t.Errorf("%+v, %v, %v", info, there, err)
		}
		f, err := tree.Create(d)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("half"))
		f.Abandon()
		left, err := os.ReadDir(filepath.Join(dir, Own, "unfinished"))
		if err != nil || len(left) > 0 {
			t.Errorf("%d unfinished files are left, %v", len(left), err)
		}
	})
}

// What a killed process left is removed; links and dots lead nowhere.
func TestSweepsAndStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	tree, err := Open(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	stale := filepath.Join(dir, Own, "unfinished", "7")
	if err := os.WriteFile(stale, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tree.Prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left unfinished is there still: %v", err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "link/a", "..", "a/../../b", "."} {
		if d, err := tree.Dir(path); err == nil {
			t.Errorf("%s is opened: %+v", path, d)
		}
	}
	// More directories than may be open at a time.
	for _, path := range []string{"a", "b", "c", "d", "a/a", "b/b", "a"} {
		d, err := tree.Dir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(t, tree, d, "x"+filepath.Base(path), path, true); err != nil {
			t.Fatal(err)
		}
		tree.Release(d)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "b/b/xb")); string(b) != "b/b" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%d files outside, %v", len(left), err)
	}
}
