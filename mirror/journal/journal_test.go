package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func directory(t testing.TB) (int, string) {
	name := t.TempDir()
	fd, err := unix.Open(name, unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd, filepath.Join(name, "journal")
}

// collect tells all that a journal says.
func collect(to *[]string) Reader {
	return Reader{
		Done: func(d Done) { *to = append(*to, fmt.Sprint("done ", d.ID, d.Path)) },
		Tag:  func(id uint64, tag string) { *to = append(*to, fmt.Sprint("tag ", id, tag)) },
		End:  func() { *to = append(*to, "end") },
	}
}

func TestSaysWhatWasSaid(t *testing.T) {
	dir, _ := directory(t)
	j, s, err := Open(dir, "journal", "config", Reader{})
	if err != nil || s.Config != "config" || s.Position != "" {
		t.Fatal(err, s)
	}
	j.Done([]Done{{1, 2}, {3, 4}})
	j.Tag(1, `"abc"`)
	j.Position("page 7")
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	j.Done([]Done{{5, 6}}) // not flushed: does not count
	j.Close()
	var all []string
	j, s, err = Open(dir, "journal", "another", collect(&all))
	if err != nil || s.Config != "config" || s.Position != "page 7" || s.Records != 2 || s.Torn != 0 {
		t.Fatal(err, s)
	}
	if got := fmt.Sprint(all); got != `[done 1 2 done 3 4 tag 1"abc"]` {
		t.Error(got)
	}
	j.End()
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	j.Close()
	j, s, err = Open(dir, "journal", "", Reader{})
	if err != nil || s.Position != "" || s.Passes != 1 {
		t.Error(err, s)
	}
	j.Close()
}

// Wherever it is torn, what is before counts, and writing goes on from there.
func TestTornAnywhere(t *testing.T) {
	dir, name := directory(t)
	j, _, err := Open(dir, "journal", "config", Reader{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(5) {
		j.Done([]Done{{i, i}})
		j.Position(fmt.Sprint(i))
		if err := j.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(name, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		var all []string
		j, s, err := Open(dir, "journal", "config", collect(&all))
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if s.Position != "" && fmt.Sprint(s.Records-1) != s.Position && fmt.Sprint(s.Records-2) != s.Position {
			t.Errorf("cut at %d: position %s with %d records", n, s.Position, s.Records)
		}
		j.Position("later")
		if err := j.Flush(); err != nil {
			t.Fatal(err)
		}
		j.Close()
		j, s2, err := Open(dir, "journal", "config", Reader{})
		if err != nil || s2.Position != "later" || s2.Records != s.Records || s2.Torn != 0 {
			t.Errorf("cut at %d, then written: %v, %+v after %+v", n, err, s2, s)
		}
		j.Close()
	}
}

func TestNotAJournal(t *testing.T) {
	dir, name := directory(t)
	for _, s := range []string{"something else, which is long enough", "headway mirror journal 9\nxxxxxxx"} {
		os.WriteFile(name, []byte(s), 0o666)
		if _, _, err := Open(dir, "journal", "", Reader{}); err == nil {
			t.Errorf("%q was taken", s)
		}
		if b, _ := os.ReadFile(name); string(b) != s {
			t.Errorf("%q was changed", s)
		}
	}
	os.Remove(name)
	os.Symlink("/etc/passwd", name)
	if _, _, err := Open(dir, "journal", "", Reader{}); err == nil {
		t.Error("a link was followed")
	}
}

// A bit that turns over ends the journal there; nothing that was not said is ever read.
func TestNoLies(t *testing.T) {
	dir, name := directory(t)
	rapid.Check(t, func(t *rapid.T) {
		os.Remove(name)
		j, _, err := Open(dir, "journal", "c", Reader{})
		if err != nil {
			t.Fatal(err)
		}
		said := map[uint64]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "blocks") {
			id := rapid.Uint64().Draw(t, "id")
			said[id] = true
			j.Done([]Done{{id, 1}})
		}
		if err := j.Flush(); err != nil {
			t.Fatal(err)
		}
		j.Close()
		b, _ := os.ReadFile(name)
		at := rapid.IntRange(len(magic), len(b)-1).Draw(t, "at")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		Read(bytes.NewReader(b), Reader{Done: func(d Done) {
			if !said[d.ID] || d.Path != 1 {
				t.Errorf("%+v was never said", d)
			}
		}})
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(magic))
	f.Add([]byte(magic + "P\x01\x00\x00\x00abcdx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, sound, err := Read(bytes.NewReader(b), Reader{})
		if sound > int64(len(b)) || err != nil && sound > 0 {
			t.Errorf("%d sound bytes of %d, %v", sound, len(b), err)
		}
	})
}

// A journal of the first version is read and becomes one of this version, without its positions, which may
// hold credentials.
func TestFirstVersion(t *testing.T) {
	dir, name := directory(t)
	j, _, err := Open(dir, "journal", "config", Reader{})
	if err != nil {
		t.Fatal(err)
	}
	j.Done([]Done{{1, 2}})
	j.Position("10 http://h/?key=secret")
	j.End()
	j.Done([]Done{{3, 4}})
	j.Tag(3, "tag")
	j.Position("20 http://h/?key=secret")
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	j.Close()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, magic1)
	if err := os.WriteFile(name, append(b, "Dtorn"...), 0o666); err != nil {
		t.Fatal(err)
	}
	var first, second []string
	j, s, err := Open(dir, "journal", "config", collect(&first))
	if err != nil || !s.Upgraded || !s.Halfway || s.Position != "" || s.Config != "config" || s.Passes != 1 {
		t.Fatal(err, s)
	}
	j.Done([]Done{{5, 6}})
	j.Position("new")
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	j.Close()
	if b, _ = os.ReadFile(name); bytes.Contains(b, []byte("secret")) || !bytes.HasPrefix(b, []byte(magic)) {
		t.Errorf("%q", b)
	}
	j, s, err = Open(dir, "journal", "config", collect(&second))
	if err != nil || s.Upgraded || s.Position != "new" || s.Torn != 0 {
		t.Fatal(err, s)
	}
	j.Close()
	if got, want := fmt.Sprint(second), fmt.Sprint(append(first, "done 5 6")); got != want || len(first) != 4 {
		t.Errorf("%s, want %s", got, want)
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}
