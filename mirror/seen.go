package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/mirror/store"
)

// seen is a set of hashes, and for each seven bits of a second one and whether it was met in
// this pass. The zero value is ready for use.
//
// The first 100,000 or so are in memory, 8 bytes each and what the table has free. What is more
// goes into a file without a name if there is one, so that the memory does not grow with the
// mirror: one read finds a hash, from the page cache as a rule, and one write keeps it.
// Memory is not the garbage collector's, which would let it take twice as much.
type seen struct {
	shards [256]shard
	file   *slotFile
	err    error // what was lost with the file; the set is of no use then
}

// shard holds the hashes with the same last byte, in one table of slots.
type shard struct {
	n, size int
	slots   []uint64 // 56 bits of the hash, 7 of the tag, 1 for "this pass"; 0 is free
	pages   []byte   // that the slots are in; nil if they are Go's
	at      int64    // of the slots in the file; where they are not in memory
}

// mostInMemory is the slots that a shard may have in memory if there is a file: 256 take 2 MB.
const mostInMemory = 1024

// inMemory gives a shard other slots, all free.
func (s *shard) inMemory(n int) {
	s.size, s.at = n, 0
	pages, err := unix.Mmap(-1, 0, 8*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		s.slots, s.pages = make([]uint64, n), nil
		return
	}
	s.pages = pages
	s.slots = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(pages))), n)
}

// leave gives the memory of a shard's slots back.
func (s *shard) leave() {
	if s.pages != nil {
		unix.Munmap(s.pages)
	}
	s.slots, s.pages = nil, nil
}

// free empties the set.
func (s *seen) free() {
	for i := range s.shards {
		s.shards[i].leave()
	}
	s.file.close()
	*s = seen{}
}

const (
	thisPass = 1
	tagBits  = 0x7f << 1
	keyBits  = ^uint64(0xff)
)

// hash is stable between runs, and nobody can make two ids alike at will.
func hash(kind byte, b []byte) uint64 {
	var room [256]byte
	s := sha256.Sum256(append(append(room[:0], kind), b...))
	return binary.LittleEndian.Uint64(s[:])
}

// home is where a key is looked for first. The low bits of a key have been spent on the shard.
func home(key uint64, size int) int { return int((key >> 32) * uint64(size) >> 32) }

// slot finds the place of a key, and what is there.
func (s *seen) slot(sh *shard, key uint64) (int, uint64) {
	for i := home(key, sh.size); ; i++ {
		if i == sh.size {
			i = 0
		}
		v := s.read(sh, i)
		if v == 0 || v&keyBits == key {
			return i, v
		}
	}
}

// read reads a slot.
func (s *seen) read(sh *shard, i int) uint64 {
	if sh.slots != nil {
		return sh.slots[i]
	}
	v, err := s.file.read(sh.at, i, sh.size)
	s.lost(err)
	return v
}

// lost notes that the file cannot be read.
func (s *seen) lost(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("the index of what is mirrored, a file without a name in %s: %w", store.Own, err)
	}
}

// write changes a slot.
func (s *seen) write(sh *shard, i int, v uint64) {
	if sh.slots == nil && s.file.write(sh.at, i, v) != nil {
		s.load(sh) // as where a disk is full that copies what is written over
	}
	if sh.slots != nil {
		sh.slots[i] = v
	}
}

// load takes a shard's slots into memory.
func (s *seen) load(sh *shard) {
	if sh.slots != nil || sh.size == 0 {
		return
	}
	at := sh.at
	sh.inMemory(sh.size)
	s.lost(s.file.readAll(sh.slots, at))
	s.file.forget(at, sh.size)
}

// store takes a shard's slots to the file, if they are many and it has room for them.
func (s *seen) store(sh *shard) {
	if sh.size <= mostInMemory || s.file == nil {
		return
	}
	at, err := s.file.add(sh.slots)
	if err != nil {
		return // they are as good where they are
	}
	sh.leave()
	sh.at = at
}

// grow gives a shard half as many slots again.
func (s *seen) grow(sh *shard) {
	s.load(sh)
	old := *sh
	sh.inMemory(max(512, old.size+old.size/2))
	for _, v := range old.slots {
		if v != 0 {
			i, _ := s.slot(sh, v&keyBits)
			sh.slots[i] = v
		}
	}
	old.leave()
	s.store(sh)
}

func split(h uint64) (shard int, key uint64) {
	key = h & keyBits
	if key == 0 {
		key = 1 << 63
	}
	return int(h & 0xff), key
}

// get says whether a hash is there, with which tag, and whether this pass has met it.
func (s *seen) get(h uint64) (there bool, tag uint8, now bool) {
	i, key := split(h)
	sh := &s.shards[i]
	if sh.size == 0 {
		return false, 0, false
	}
	_, v := s.slot(sh, key)
	return v != 0, uint8(v & tagBits >> 1), v&thisPass != 0
}

// put adds a hash, or changes what is kept beside it.
func (s *seen) put(h uint64, tag uint8, now bool) {
	i, key := split(h)
	sh := &s.shards[i]
	if 5*(sh.n+1) > 4*sh.size {
		s.grow(sh)
	}
	at, old := s.slot(sh, key)
	if old == 0 {
		sh.n++
	}
	v := key | uint64(tag&0x7f)<<1
	if now {
		v |= thisPass
	}
	if v != old {
		s.write(sh, at, v)
	}
}

// pass begins another pass: nothing was met in it yet.
func (s *seen) pass() {
	for i := range s.shards {
		sh := &s.shards[i]
		s.load(sh)
		for k := range sh.slots {
			sh.slots[k] &^= thisPass
		}
		s.store(sh)
	}
}
