package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seen is a set of hashes in 8 bytes each, and what the table has free: 10 to 15 bytes a
// record, 10 to 15 MB a million. Beside a hash it keeps seven bits of a second one, and whether
// it was met in this pass. Its memory is not the garbage collector's, which would let it
// take twice as much; free gives it back.
type seen struct {
	shards [256]shard
}

type shard struct {
	slots []uint64 // 56 bits of the hash, 7 of the tag, 1 for "this pass"; 0 is free
	n     int
	pages []byte // that the slots are in; nil if they are Go's
}

// resize gives a shard other slots, all free.
func (s *shard) resize(n int) {
	pages, err := unix.Mmap(-1, 0, 8*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		s.slots, s.pages = make([]uint64, n), nil
		return
	}
	s.pages = pages
	s.slots = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(pages))), n)
}

// free empties the set.
func (s *seen) free() {
	for i := range s.shards {
		if p := s.shards[i].pages; p != nil {
			unix.Munmap(p)
		}
		s.shards[i] = shard{}
	}
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

// slot finds the place of a hash.
func (s *shard) slot(key uint64) int {
	n := uint64(len(s.slots))
	// The low bits of a key have been spent on the shard.
	for i := (key >> 32) * n >> 32; ; i++ {
		if i >= n {
			i = 0
		}
		if v := s.slots[i]; v == 0 || v&keyBits == key {
			return int(i)
		}
	}
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
	if len(sh.slots) == 0 {
		return false, 0, false
	}
	v := sh.slots[sh.slot(key)]
	return v != 0, uint8(v & tagBits >> 1), v&thisPass != 0
}

// put adds a hash, or changes what is kept beside it.
func (s *seen) put(h uint64, tag uint8, now bool) {
	i, key := split(h)
	sh := &s.shards[i]
	if 5*(sh.n+1) > 4*len(sh.slots) {
		old, pages := sh.slots, sh.pages
		sh.resize(max(512, len(old)+len(old)/2))
		for _, v := range old {
			if v != 0 {
				sh.slots[sh.slot(v&keyBits)] = v
			}
		}
		if pages != nil {
			unix.Munmap(pages)
		}
	}
	at := sh.slot(key)
	if sh.slots[at] == 0 {
		sh.n++
	}
	v := key | uint64(tag&0x7f)<<1
	if now {
		v |= thisPass
	}
	sh.slots[at] = v
}

// pass begins another pass: nothing was met in it yet.
func (s *seen) pass() {
	for i := range s.shards {
		slots := s.shards[i].slots
		for k := range slots {
			slots[k] &^= thisPass
		}
	}
}
