package mirror

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// The set is a map, in memory and with a file, however many are in it, and when the file is lost
// on the way.
func TestSeenIsAMap(t *testing.T) {
	for _, test := range []struct {
		name       string
		file, lose bool
	}{{name: "memory"}, {name: "file", file: true}, {name: "full disk", file: true, lose: true}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			rapid.Check(t, func(t *rapid.T) {
				var s seen
				defer s.free()
				if test.file {
					s.file = openSlots(t, dir)
				}
				model := map[uint64]uint8{}
				n := rapid.IntRange(0, 3000).Draw(t, "n")
				key := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 1000))
				hash := func(label string) uint64 {
					h := key.Draw(t, label)&^0x7f | 7 // few shards, so that they grow
					if h>>8 == 0 {
						h |= 1 << 40 // which stands for such keys
					}
					return h
				}
				for i := range n {
					if test.lose && i == n/2 && s.file != nil {
						readOnly(t, s.file)
					}
					h := hash("hash")
					tag := uint8(rapid.IntRange(0, 127).Draw(t, "tag"))
					s.put(h, tag, true)
					model[h] = tag
				}
				for h, tag := range model {
					if there, got, now := s.get(h); !there || got != tag || !now {
						t.Fatalf("%x: %v %d %v, want %d", h, there, got, now, tag)
					}
				}
				s.pass()
				for h, tag := range model {
					if there, got, now := s.get(h); !there || got != tag || now {
						t.Fatalf("%x in the next pass: %v %d %v, want %d", h, there, got, now, tag)
					}
				}
				for range 50 {
					h := hash("other")
					if there, _, _ := s.get(h); there != has(model, h) {
						t.Fatalf("%x: %v", h, there)
					}
				}
				if s.err != nil {
					t.Fatal(s.err)
				}
			})
		})
	}
}

func has(m map[uint64]uint8, h uint64) bool { _, ok := m[h]; return ok }

func openSlots(t interface{ Fatal(...any) }, dir string) *slotFile {
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f := newSlotFile(int(d.Fd()))
	if f == nil {
		t.Fatal("no file")
	}
	return f
}

// readOnly makes a file one that can be read and not written, as on a disk that is full.
func readOnly(t interface{ Fatal(...any) }, f *slotFile) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.f.Fd()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	old := f.f
	f.f = os.NewFile(uintptr(fd), "read only")
	old.Close()
}

// Memory does not grow with what is in the set.
func TestSeenIsInTheFile(t *testing.T) {
	s := seen{file: openSlots(t, t.TempDir())}
	defer s.free()
	rng := rand.New(rand.NewPCG(1, 2))
	inMemory := func() (slots int) {
		for i := range s.shards {
			slots += len(s.shards[i].slots)
		}
		return slots
	}
	most := 0
	for range 600_000 {
		s.put(rng.Uint64(), 1, true)
	}
	if most = inMemory(); most != 0 {
		t.Errorf("%d slots in memory", most)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(s.file.f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	// 600,000 of at most four fifths of the slots, and at least eight fifteenths, 8 bytes each.
	if used := st.Blocks * 512; used < 600_000*10 || used > 600_000*15+256*8192 {
		t.Errorf("the file takes %d bytes", used)
	}
}

// What cannot be read ends the run.
func TestSeenLost(t *testing.T) {
	s := seen{file: openSlots(t, t.TempDir())}
	defer s.free()
	for h := range uint64(3000) {
		s.put(h<<40|7, 1, true)
	}
	s.file.f.Truncate(0)
	s.file.in = 0
	s.get(5<<40 | 7)
	if s.err == nil {
		t.Error("no error")
	}
}
