package mirror

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// slotFile keeps tables of slots in a file without a name, which is gone with the process.
type slotFile struct {
	f   *os.File
	end int64

	// What was read last. A record is looked up several times before it is kept.
	window   [windowSlots]uint64
	from     int64
	in       int
	bytes    [8 * windowSlots]byte
	transfer []byte
}

// windowSlots is how many slots are read at once. In a table that is four fifths full a search for what is not
// there looks at 13 (Knuth, The Art of Computer Programming 3, 6.4).
const windowSlots = 32

// newSlotFile makes one in an open directory; nil where that cannot be.
func newSlotFile(dir int) *slotFile {
	fd, err := unix.Openat(dir, ".", unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		const name = "index"
		if fd, err = unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600); err != nil {
			return nil
		}
		unix.Unlinkat(dir, name, 0)
	}
	return &slotFile{f: os.NewFile(uintptr(fd), "index")}
}

// read reads slot i of a table of so many.
func (f *slotFile) read(at int64, i, size int) (uint64, error) {
	place := at + 8*int64(i)
	if k := (place - f.from) / 8; place >= f.from && k < int64(f.in) {
		return f.window[k], nil
	}
	n := min(windowSlots, size-i)
	f.in = 0
	if _, err := f.f.ReadAt(f.bytes[:8*n], place); err != nil {
		return 0, err
	}
	for k := range n {
		f.window[k] = binary.LittleEndian.Uint64(f.bytes[8*k:])
	}
	f.from, f.in = place, n
	return f.window[0], nil
}

func (f *slotFile) write(at int64, i int, v uint64) error {
	place := at + 8*int64(i)
	if k := (place - f.from) / 8; place >= f.from && k < int64(f.in) {
		f.window[k] = v
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, err := f.f.WriteAt(b[:], place)
	return err
}

// add appends a table, and returns where it is.
func (f *slotFile) add(slots []uint64) (int64, error) {
	b := f.room(len(slots))
	for i, v := range slots {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	at := f.end
	if _, err := f.f.WriteAt(b, at); err != nil {
		f.forget(at, len(slots))
		return 0, err
	}
	f.end += int64(len(b))
	return at, nil
}

func (f *slotFile) readAll(slots []uint64, at int64) error {
	b := f.room(len(slots))
	if _, err := f.f.ReadAt(b, at); err != nil {
		return err
	}
	for i := range slots {
		slots[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return nil
}

// forget gives the room of a table back to the disk, where its file system can do that.
func (f *slotFile) forget(at int64, size int) {
	f.in = 0
	unix.Fallocate(int(f.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, 8*int64(size))
}

func (f *slotFile) room(slots int) []byte {
	if cap(f.transfer) < 8*slots {
		f.transfer = make([]byte, 8*slots)
	}
	return f.transfer[:8*slots]
}

func (f *slotFile) close() {
	if f != nil {
		f.f.Close()
	}
}
