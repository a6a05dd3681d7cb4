// Package journal keeps what a mirror has done in one file that is only appended to, so
// that a run that was killed goes on where it was.
//
// The file is a line that says what it is, then blocks: a kind, a length, a checksum, and what
// the block says. What a kill or a power cut has torn off at the end does not count,
// and is cut off when the file is opened.
package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	magic = "headway mirror journal 2\n"
	// The first version had positions that said less.
	magic1 = "headway mirror journal 1\n"
)

// Kinds of blocks.
const (
	kindConfig   = 'C' // what the mirror is of; the first block, and again where that changes
	kindDone     = 'D' // entries of records that are on disk
	kindPosition = 'P' // all that the listing has before it is done or named as failed
	kindEnd      = 'E' // all of the listing was, and the next pass begins at its beginning
	kindTag      = 'T' // ETags
)

// MaxBlock bounds a block, in bytes.
const MaxBlock = 1 << 20

var table = crc32.MakeTable(crc32.Castagnoli)

// Done is a record that is on disk: hashes of what it is, and of where.
type Done struct{ ID, Path uint64 }

// Reader is told what an existing journal says, in order.
type Reader struct {
	Done func(Done)
	Tag  func(id uint64, tag string)
	End  func()
}

// State is where the mirror was.
type State struct {
	Config   string // as given to Create
	Position string // in the listing, "" at its beginning
	Passes   int    // how often the listing was done
	Records  int64  // blocks of Done hold them
	Torn     int64  // bytes that were cut off
	// Upgraded says that the journal was of the first version and is one of this now, without its
	// position. Halfway says that it had one.
	Upgraded, Halfway bool

	version1 bool
}

// Read reads a journal and returns its state and the length of its sound part. It fails if the
// beginning is not that of a journal; everything after that can only be torn.
func Read(r io.Reader, to Reader) (State, int64, error) {
	var s State
	head := make([]byte, len(magic))
	if n, err := io.ReadFull(r, head); err != nil {
		if bytes.HasPrefix([]byte(magic), head[:n]) || bytes.HasPrefix([]byte(magic1), head[:n]) {
			return s, 0, nil // killed while it was made
		}
		return s, 0, errors.New("it is no journal of headway mirror")
	}
	s.version1 = string(head) == magic1
	if string(head) != magic && !s.version1 {
		if bytes.HasPrefix(head, []byte("headway mirror journal ")) {
			return s, 0, fmt.Errorf("it is of another version, %q; this headway writes %q", head[:len(head)-1], magic[:len(magic)-1])
		}
		return s, 0, errors.New("it is no journal of headway mirror")
	}
	sound := int64(len(magic))
	var frame [9]byte
	var body []byte
	for {
		if _, err := io.ReadFull(r, frame[:]); err != nil {
			return s, sound, torn(err)
		}
		n := binary.LittleEndian.Uint32(frame[1:])
		if n > MaxBlock {
			return s, sound, nil
		}
		if int(n) > cap(body) {
			body = make([]byte, n)
		}
		body = body[:n]
		if _, err := io.ReadFull(r, body); err != nil {
			return s, sound, torn(err)
		}
		if sum(frame[0], body) != binary.LittleEndian.Uint32(frame[5:]) {
			return s, sound, nil
		}
		switch frame[0] {
		case kindConfig:
			s.Config = string(body)
		case kindDone:
			if n%16 != 0 {
				return s, sound, nil
			}
			for b := body; len(b) > 0; b = b[16:] {
				s.Records++
				if to.Done != nil {
					to.Done(Done{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])})
				}
			}
		case kindPosition:
			s.Position = string(body)
		case kindTag:
			if n < 8 {
				return s, sound, nil
			}
			if to.Tag != nil {
				to.Tag(binary.LittleEndian.Uint64(body), string(body[8:]))
			}
		case kindEnd:
			s.Position = ""
			s.Passes++
			if to.End != nil {
				to.End()
			}
		default:
			return s, sound, nil
		}
		sound += int64(len(frame)) + int64(n)
	}
}

func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func sum(kind byte, body []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte{kind}, table), table, body)
}

// Journal is one that is being written, by one goroutine at a time.
type Journal struct {
	f   *os.File
	buf []byte
	end int64 // where the sound part ends
	err error
}

// Open opens the journal of that name in an open directory, or begins one for a mirror of config.
// What it says goes to to; a torn end is cut off.
func Open(dir int, name, config string, to Reader) (*Journal, State, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, State{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	j := &Journal{f: os.NewFile(uintptr(fd), name)}
	info, err := j.f.Stat()
	if err != nil {
		return nil, State{}, errors.Join(err, j.f.Close())
	}
	s, sound, err := Read(&buffered{r: j.f}, to)
	if err != nil {
		return nil, s, errors.Join(err, j.f.Close())
	}
	s.Torn = info.Size() - sound
	if s.version1 && sound > 0 {
		if err := j.upgrade(dir, name, sound); err != nil {
			return nil, s, errors.Join(fmt.Errorf("writing it anew, as this version has it: %w", err), j.f.Close())
		}
		s.Upgraded, s.Halfway, s.Position = true, s.Position != "", ""
		sound = j.end
	} else if s.Torn > 0 {
		if err := j.f.Truncate(sound); err != nil {
			return nil, s, errors.Join(err, j.f.Close())
		}
	}
	j.end = sound
	if sound == 0 {
		j.buf = append(j.buf, magic...)
	}
	if s.Config == "" {
		s.Config = config
		j.block(kindConfig, []byte(config))
		if err := j.Flush(); err != nil {
			return nil, s, errors.Join(err, j.f.Close())
		}
	}
	return j, s, nil
}

// upgrade writes the journal anew, as one of this version, and puts it in the place of the old one. Positions
// are left out: the first version kept them with the credentials that they may hold.
func (j *Journal) upgrade(dir int, name string, sound int64) error {
	temp := name + ".new"
	fd, err := unix.Openat(dir, temp, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return &os.PathError{Op: "open", Path: temp, Err: err}
	}
	to := os.NewFile(uintptr(fd), name)
	end, err := copyWithout(to, io.NewSectionReader(j.f, 0, sound), kindPosition)
	if err == nil {
		err = to.Sync()
	}
	if err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		unix.Unlinkat(dir, temp, 0)
		return errors.Join(err, to.Close())
	}
	j.f.Close()
	j.f, j.end = to, end
	return nil
}

// copyWithout copies the blocks of a sound journal but those of one kind.
func copyWithout(w io.Writer, from io.Reader, kind byte) (int64, error) {
	r := &buffered{r: from}
	if _, err := io.CopyN(io.Discard, r, int64(len(magic1))); err != nil {
		return 0, err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	b.WriteString(magic)
	end := int64(len(magic))
	var frame [9]byte
	for {
		if _, err := io.ReadFull(r, frame[:]); err == io.EOF {
			return end, b.Flush()
		} else if err != nil {
			return 0, err
		}
		n := int64(binary.LittleEndian.Uint32(frame[1:]))
		to := io.Writer(b)
		if frame[0] == kind {
			to = io.Discard
		} else {
			end += int64(len(frame)) + n
		}
		to.Write(frame[:])
		if _, err := io.CopyN(to, r, n); err != nil {
			return 0, err
		}
	}
}

// buffered reads in large pieces.
type buffered struct {
	r    io.Reader
	buf  [64 << 10]byte
	from int
	to   int
}

func (b *buffered) Read(p []byte) (int, error) {
	if b.from == b.to {
		n, err := b.r.Read(b.buf[:])
		if n == 0 {
			return 0, err
		}
		b.from, b.to = 0, n
	}
	n := copy(p, b.buf[b.from:b.to])
	b.from += n
	return n, nil
}

func (j *Journal) block(kind byte, body []byte) {
	j.buf = append(j.buf, kind)
	j.buf = binary.LittleEndian.AppendUint32(j.buf, uint32(len(body)))
	j.buf = binary.LittleEndian.AppendUint32(j.buf, sum(kind, body))
	j.buf = append(j.buf, body...)
}

// Done notes records; they count after the next Flush.
func (j *Journal) Done(all []Done) {
	for len(all) > 0 {
		n := min(len(all), MaxBlock/16)
		body := make([]byte, 0, 16*n)
		for _, d := range all[:n] {
			body = binary.LittleEndian.AppendUint64(body, d.ID)
			body = binary.LittleEndian.AppendUint64(body, d.Path)
		}
		j.block(kindDone, body)
		all = all[n:]
	}
}

// Tag notes the ETag of a record.
func (j *Journal) Tag(id uint64, tag string) {
	if len(tag) <= 4096 {
		j.block(kindTag, append(binary.LittleEndian.AppendUint64(nil, id), tag...))
	}
}

// Position notes that all that the listing has before s is done.
func (j *Journal) Position(s string) { j.block(kindPosition, []byte(s)) }

// Config notes that the mirror is of another config from here.
func (j *Journal) Config(s string) { j.block(kindConfig, []byte(s)) }

// End notes that all of the listing is done.
func (j *Journal) End() { j.block(kindEnd, nil) }

// Flush writes what was noted. Where that fails, nothing of it counts, and nothing more is
// written after it, for it would stand behind something torn.
func (j *Journal) Flush() error {
	if j.err != nil || len(j.buf) == 0 {
		return j.err
	}
	n, err := j.f.WriteAt(j.buf, j.end)
	if err != nil {
		if n > 0 {
			j.f.Truncate(j.end) // if that fails too, the checksum tells
		}
		j.err = fmt.Errorf("the journal: %w", err)
		return j.err
	}
	j.end += int64(n)
	j.buf = j.buf[:0]
	return nil
}

// Sync flushes, and waits until it is on disk.
func (j *Journal) Sync() error {
	if err := j.Flush(); err != nil {
		return err
	}
	return j.f.Sync()
}

// Size is how long the journal is, in bytes.
func (j *Journal) Size() int64 { return j.end }

// Close closes the file without writing what was not flushed.
func (j *Journal) Close() error { return j.f.Close() }
