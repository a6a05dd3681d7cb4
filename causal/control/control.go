package control

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Env names the environment variable that tells the profiled program its block.
const Env = "HEADWAY_CONTROL"

// A Block is shared memory. Its methods are for one goroutine.
type Block struct {
	Path string
	mem  []byte
	tail uint64
}

// New makes a block in dir for one run of the program.
func New(dir string) (*Block, error) {
	f, err := os.CreateTemp(dir, "control-")
	if err != nil {
		return nil, fmt.Errorf("making the shared block: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		os.Remove(f.Name())
		return nil, fmt.Errorf("making the shared block: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		os.Remove(f.Name())
		return nil, fmt.Errorf("mapping the shared block: %w", err)
	}
	b := &Block{Path: f.Name(), mem: mem}
	if abs, err := filepath.Abs(b.Path); err == nil {
		b.Path = abs
	}
	b.word(offMagic).Store(magic)
	return b, nil
}

// Close unmaps and removes the block.
func (b *Block) Close() error {
	if b.mem == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(b.mem), os.Remove(b.Path))
	b.mem = nil
	return err
}

func (b *Block) word(off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&b.mem[off]))
}

func (b *Block) signed(off int) *atomic.Int64 {
	return (*atomic.Int64)(unsafe.Pointer(&b.mem[off]))
}

// Pid is the process that claimed the block, 0 before it did.
func (b *Block) Pid() int { return int(b.word(offPid).Load()) }

// TextBase is the address of the process's text segment.
func (b *Block) TextBase() uint64 { return b.word(offText).Load() }

// SetOn switches the accounting. It stays on from the first baseline to the last experiment. See Kept for when that is done.
func (b *Block) SetOn(on bool) {
	b.flag(flagCharges, on)
}

// Kept says whether the program keeps accounts. Once they are asked for it measures first what they take, for which it needs 10 ms of
// a processor, and longer to get them on a busy machine.
func (b *Block) Kept() bool { return b.word(offKept).Load() != 0 }

func (b *Block) flag(f uint64, on bool) {
	if on {
		b.word(offOn).Or(f)
	} else {
		b.word(offOn).And(^f)
	}
	// The program's sampler waits at the low half of the word, see headwayWait there.
	const wake = 1
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.mem[offOn])), wake, math.MaxInt32, 0, 0, 0)
}

// SetSample sets the mean time between two looks at what the program's threads run, in ns; 0 stops sampling.
func (b *Block) SetSample(period int64) {
	b.word(offSample).Store(uint64(period))
	b.word(offGen).Add(1)
	b.flag(flagSamples, period > 0)
}

// SetWeight sets the speed-up of a mark: 0 to One, or Inherit.
func (b *Block) SetWeight(id int, w int32) {
	(*atomic.Int32)(unsafe.Pointer(&b.mem[offW+4*id])).Store(w)
}

// AddDebt delays the whole program by ns, as if something outside had been sped up.
func (b *Block) AddDebt(ns int64) { b.signed(offExt).Add(ns) }

// SetPlacebo has everything delayed evenly by w, in 1/65536 of the time; 0 ends that. It is as if a thread on none of the program's
// processors were in a site all the time: no part of the program is faster than another, so in virtual time it should not notice.
func (b *Block) SetPlacebo(w int64) {
	const at = offAwayAt + (maxAway-1)*atAwayNext // the program leaves the last to the controller
	since := b.signed(at + atAwaySince)
	if since.Load() != 0 {
		high := raised(b.signed(at+atAwayBase).Load(), since.Load(), b.signed(at+atAwayW).Load(), Now())
		for a := b.signed(offAway); ; {
			if old := a.Load(); old >= high || a.CompareAndSwap(old, high) {
				break
			}
		}
		since.Store(0)
		b.signed(offAways).Add(-nowhere)
	}
	if w != 0 {
		b.signed(offAways).Add(nowhere)
		now := Now()
		b.signed(at + atAwayW).Store(w)
		b.signed(at + atAwayBase).Store(b.Debt(now) - b.signed(offExt).Load())
		since.Store(now)
	}
}

// nowhere counts an account at offAways that is on no processor: nobody has stood in line behind that.
const nowhere = 1 << 32

// raised is a debt that was base at the start of a segment of weight w.
func raised(base, since, w, now int64) int64 { return base + max(0, now-since)*w>>16 }

// SetOpen says that clients on the outside keep a schedule of their own (an open workload): they do not wait for answers.
func (b *Block) SetOpen(open bool) { b.flag(flagOpen, open) }

// SetForgive forgives waits on the outside what was inserted before the debt was ns.
func (b *Block) SetForgive(ns int64) { b.signed(offForgive).Store(ns) }

// Procs is the number of Ps seen.
func (b *Block) Procs() int { return int(min(b.word(offProcs).Load(), MaxP)) }

// Now is the clock that the program's runtime reads, in ns.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // the clock always exists
	}
	return ts.Nano()
}

// Debt is the global debt in ns at time now: the highest count of a P that there has been.
func (b *Block) Debt(now int64) int64 {
	debt := b.signed(offAway).Load()
	if b.word(offAways).Load() != 0 {
		for i := 0; i < maxAway; i++ {
			at := offAwayAt + i*atAwayNext
			if since := b.signed(at + atAwaySince).Load(); since != 0 {
				debt = max(debt, raised(b.signed(at+atAwayBase).Load(), since, b.signed(at+atAwayW).Load(), now))
			}
		}
	}
	for p := 0; p < b.Procs(); p++ {
		at := offP + p*256
		seq := (*atomic.Uint32)(unsafe.Pointer(&b.mem[at]))
		for try := 0; ; try++ {
			q := seq.Load()
			high, since, w, base := b.signed(at+8).Load(), b.signed(at+16).Load(), b.signed(at+24).Load(), b.signed(at+atBase).Load()
			if q&1 == 0 && q == seq.Load() || try > 1e5 {
				debt = max(debt, high)
				if since != 0 {
					debt = max(debt, raised(base, since, w, now))
				}
				break
			}
			wait(try)
		}
	}
	return debt + b.signed(offExt).Load()
}

// Paid is how long the Ps have stood still, in ns, and how often.
func (b *Block) Paid() (ns, times int64) {
	for p := 0; p < b.Procs(); p++ {
		ns += b.signed(offP + p*256 + atPaid).Load()
		times += b.signed(offP + p*256 + atPays).Load()
	}
	return ns, times
}

// A Count is the state of a progress point over all Ps.
type Count struct {
	N    uint64 // visits
	Sum  int64  // sum of the virtual times of the visits while on, wrapping
	Last int64  // virtual time of the latest visit, 0 if none while on
}

// Count reads a progress point.
func (b *Block) Count(point int) Count {
	var c Count
	for p := 0; p < b.Procs(); p++ {
		seq := (*atomic.Uint32)(unsafe.Pointer(&b.mem[offP+p*256+atCounts]))
		at := offPoint + (p*MaxPoint+point)*32
		for try := 0; ; try++ {
			q := seq.Load()
			n, sum, last := b.word(at).Load(), b.signed(at+8).Load(), b.signed(at+16).Load()
			if q&1 == 0 && q == seq.Load() || try > 1e5 {
				c.N += n
				c.Sum += sum
				c.Last = max(c.Last, last)
				break
			}
			wait(try)
		}
	}
	return c
}

// wait lets a thread of the program go on that was just changing what shall be read. If this one has taken its
// processor, it would spin for nothing until its own turn is over, which is milliseconds.
func wait(try int) {
	if try >= 8 {
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}

// SetCounts switches whether it is counted how often marks are entered.
func (b *Block) SetCounts(on bool) { b.flag(flagCounts, on) }

// Calls is how often a mark was entered while that was counted.
func (b *Block) Calls(id int) uint64 {
	var n uint64
	for p := 0; p < b.Procs(); p++ {
		n += b.word(offCalls + p*MaxID*8 + id*8).Load()
	}
	return n
}

// Names are the points of package progress that the program has visited, in
// the order of their numbers from NamedBase on. End points end in a NUL.
func (b *Block) Names() []string {
	n := int(min(b.word(offNames).Load(), MaxName/2))
	out := make([]string, 0, n)
	for i := 0; i < n; i++ {
		at := offName + i*nameBytes
		k := min(int(b.mem[at]), nameBytes-1)
		out = append(out, string(b.mem[at+1:at+1+k]))
	}
	return out
}

// A Sample is one stack, innermost first, and the CPU time it stands for.
type Sample struct {
	Weight int64
	PCs    []uint64
}

// Samples returns the samples since the last call, and how many were lost.
func (b *Block) Samples() (out []Sample, lost uint64) {
	head := b.word(offHead).Load()
	if head > b.tail+ring {
		lost = head - b.tail - ring
		b.tail = head - ring
	}
	for ; b.tail < head; b.tail++ {
		at := offRing + int(b.tail%ring)*record
		seq := b.word(at).Load()
		if seq == 0 {
			break // being written
		}
		if seq != b.tail+1 {
			lost++
			continue
		}
		n := int(min(b.word(at+16).Load(), stack))
		s := Sample{Weight: b.signed(at + 8).Load(), PCs: make([]uint64, n)}
		for i := range s.PCs {
			s.PCs[i] = b.word(at + 32 + 8*i).Load()
		}
		if b.word(at).Load() != seq {
			lost++
			continue
		}
		out = append(out, s)
	}
	return out, lost
}
