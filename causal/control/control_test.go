package control

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// newBlock makes a block that the test writes into as the runtime would.
func newBlock(t interface {
	Helper()
	Fatal(...any)
	Cleanup(func())
}, dir string) *Block {
	t.Helper()
	b, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func (b *Block) counter(proc, point int, n uint64, sum, last int64) {
	at := offPoint + (proc*MaxPoint+point)*32
	b.word(at).Store(n)
	b.signed(at + 8).Store(sum)
	b.signed(at + 16).Store(last)
}

func TestNewClose(t *testing.T) {
	dir := t.TempDir()
	b, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(b.Path) || filepath.Dir(b.Path) != dir {
		t.Errorf("the block is at %s", b.Path)
	}
	info, err := os.Stat(b.Path)
	if err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
		t.Errorf("the block is %v, %v, want %d bytes that only the user may read", info, err, size)
	}
	if got := b.word(offMagic).Load(); got != magic {
		t.Errorf("it begins with %x", got)
	}
	// The program sees the same memory.
	b.SetOn(true)
	raw, err := os.ReadFile(b.Path)
	if err != nil || raw[offOn] != 1 {
		t.Errorf("the file does not show that accounting is on, %v", err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := New(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "making the shared block") {
		t.Errorf("a directory that is not there gives %v", err)
	}
}

func TestSettings(t *testing.T) {
	b := newBlock(t, t.TempDir())
	if b.Pid() != 0 || b.Procs() != 0 || b.TextBase() != 0 || len(b.Names()) != 0 {
		t.Error("a fresh block is not empty")
	}
	b.word(offPid).Store(42)
	b.word(offText).Store(0x401000)
	b.word(offProcs).Store(3)
	if b.Pid() != 42 || b.TextBase() != 0x401000 || b.Procs() != 3 {
		t.Errorf("pid %d, text %x, procs %d", b.Pid(), b.TextBase(), b.Procs())
	}
	b.word(offProcs).Store(1 << 40)
	if b.Procs() != MaxP {
		t.Errorf("more Ps than fit are %d", b.Procs())
	}
	b.SetOn(true)
	on := b.word(offOn).Load()
	b.SetOn(false)
	if on != 1 || b.word(offOn).Load() != 0 {
		t.Error("SetOn does not switch")
	}
	if b.Kept() {
		t.Error("that accounts are kept is for the program to say")
	}
	b.word(offKept).Store(1)
	if !b.Kept() {
		t.Error("what the program says of its accounts is not seen")
	}
	b.SetSample(1e6)
	if b.word(offSample).Load() != 1e6 || b.word(offOn).Load() != flagSamples {
		t.Error("SetSample does not switch")
	}
	b.SetOn(true)
	b.SetSample(0)
	b.SetOpen(true)
	if b.word(offOn).Load() != flagCharges|flagOpen {
		t.Errorf("an open workload sets the word to %d", b.word(offOn).Load())
	}
	b.SetOpen(false)
	if b.word(offSample).Load() != 0 || b.word(offGen).Load() != 2 || b.word(offOn).Load() != flagCharges {
		t.Error("every setting of the sampling has a generation, and leaves the accounting alone")
	}
	b.SetCounts(true)
	if b.word(offOn).Load() != flagCharges|flagCounts {
		t.Errorf("counting sets the word to %d", b.word(offOn).Load())
	}
	b.SetCounts(false)
	b.SetOn(false)
	if b.word(offOn).Load() != 0 {
		t.Errorf("when nothing is wanted the word is %d", b.word(offOn).Load())
	}
	b.SetForgive(7)
	if b.signed(offForgive).Load() != 7 {
		t.Error("SetForgive does not store")
	}
	b.SetWeight(0, Inherit)
	b.SetWeight(MaxID-1, One)
	for id, want := range map[int]int32{0: Inherit, 1: 0, MaxID - 1: One} {
		if got := *(*int32)(unsafe.Pointer(&b.mem[offW+4*id])); got != want {
			t.Errorf("the weight of mark %d is %d, want %d", id, got, want)
		}
	}
	if b.mem[offName] != 0 {
		t.Error("the last weight runs into the names")
	}
}

func TestCounters(t *testing.T) {
	b := newBlock(t, t.TempDir())
	b.counter(0, 5, 10, 1000, 70)
	b.counter(1, 5, 3, -200, 90)
	b.counter(2, 5, 100, 100, 100) // of a P that was never seen
	b.counter(1, 6, 1, 1, 1)
	b.word(offProcs).Store(2)
	if got, want := b.Count(5), (Count{N: 13, Sum: 800, Last: 90}); got != want {
		t.Errorf("point 5 counted %+v, want %+v", got, want)
	}
	if got := b.Count(MaxPoint - 1); got != (Count{}) {
		t.Errorf("the last point counted %+v", got)
	}
	b.word(offCalls + 8*9).Store(4)
	b.word(offCalls + MaxID*8 + 8*9).Store(5)
	if got := b.Calls(9); got != 9 {
		t.Errorf("mark 9 was entered %d times, want 9", got)
	}
	b.signed(offP + atPaid).Store(30)
	b.signed(offP + atPays).Store(1)
	b.signed(offP + 256 + atPaid).Store(12)
	b.signed(offP + 256 + atPays).Store(2)
	if ns, times := b.Paid(); ns != 42 || times != 3 {
		t.Errorf("paid %d ns in %d times", ns, times)
	}
}

func TestDebt(t *testing.T) {
	b := newBlock(t, t.TempDir())
	b.word(offProcs).Store(2)
	b.AddDebt(1000)
	b.AddDebt(-1)
	b.signed(offP + 8).Store(50)        // finished
	b.signed(offP + 256 + 8).Store(7)   // finished
	b.signed(offP + 256 + 16).Store(10) // since 10, at a quarter
	b.signed(offP + 256 + 24).Store(One / 4)
	b.signed(offP + 256 + atBase).Store(30)
	for now, want := range map[int64]int64{0: 1049, 10: 1049, 14: 1049, 90: 1049, 94: 1050, 410: 1129} {
		if got := b.Debt(now); got != want {
			t.Errorf("at %d the debt is %d, want %d", now, got, want)
		}
	}
	if a, b := Now(), Now(); a <= 0 || a > b {
		t.Errorf("the clock says %d, then %d", a, b)
	}
}

// A placebo raises the debt from what it is, by its part of the time, and what it has raised stays.
func TestPlacebo(t *testing.T) {
	b := newBlock(t, t.TempDir())
	b.word(offProcs).Store(1)
	b.AddDebt(1000)
	b.signed(offP + 8).Store(50)
	for _, w := range []int64{One / 2, One / 4} {
		from, debt := Now(), b.Debt(Now())
		b.SetPlacebo(w)
		if now := Now(); b.word(offAways).Load() != nowhere || b.Debt(now) < debt || b.Debt(now) > debt+(now-from)*w/One {
			t.Errorf("the debt was %d and is %d after %d ns", debt, b.Debt(now), now-from)
		}
		if now := Now(); b.Debt(now+1000*One)-b.Debt(now) != 1000*w {
			t.Errorf("in %d ns it rises by %d, want %d", 1000*One, b.Debt(now+1000*One)-b.Debt(now), 1000*w)
		}
	}
	before := b.Debt(Now())
	b.SetPlacebo(0)
	after := b.Debt(Now())
	if after < before || b.Debt(Now()+1e9) != after || b.word(offAways).Load() != 0 {
		t.Errorf("the debt was %d, is %d at the end, and %d a second later", before, after, b.Debt(Now()+1e9))
	}
}

// A reader that meets a writer halfway waits for it, if not for ever: a reading
// that took long, because the writer was halted, may be anything.
func TestSequence(t *testing.T) {
	b := newBlock(t, t.TempDir())
	b.word(offProcs).Store(1)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		pseq, cseq := b.word(offP), b.word(offP+atCounts)
		for i := int64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			pseq.Add(1)
			b.signed(offP + 8).Store(1000 + i)
			b.signed(offP + 16).Store(1)
			b.signed(offP + 24).Store((1000 - i%1000) * One)
			b.signed(offP + atBase).Store(i % 1000)
			b.signed(offP + 8).Store(0)
			pseq.Add(1)
			cseq.Add(1)
			b.counter(0, 0, uint64(i), i, i)
			cseq.Add(1)
		}
	}()
	for range 20_000 {
		begin := Now()
		c, d := b.Count(0), b.Debt(2)
		if Now()-begin > 100_000 {
			continue
		}
		if c.Sum != int64(c.N) || c.Last != int64(c.N) {
			t.Errorf("half a counter: %+v", c)
			break
		}
		if d != 0 && d != 1000 {
			t.Errorf("half an account: %d", d)
			break
		}
	}
	close(stop)
	<-done
}

func TestNames(t *testing.T) {
	b := newBlock(t, t.TempDir())
	put := func(i int, name string) {
		at := offName + i*nameBytes
		b.mem[at] = byte(copy(b.mem[at+1:at+nameBytes], name))
		b.word(offNames).Store(uint64(i + 1))
	}
	long := strings.Repeat("long", 30)
	put(0, "batch")
	put(1, "message")
	put(2, "message\x00")
	put(3, "")
	put(4, long)
	if got, want := b.Names(), []string{"batch", "message", "message\x00", "", long[:nameBytes-1]}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	b.word(offNames).Store(1 << 40)
	b.mem[offName] = 255
	if got := b.Names(); len(got) != MaxName/2 || len(got[0]) != nameBytes-1 {
		t.Errorf("a broken block gives %d names, the first %q", len(got), got[0])
	}
}

// put writes sample i as the runtime does.
func (b *Block) put(i uint64, weight int64, pcs ...uint64) {
	at := offRing + int(i%ring)*record
	b.word(at).Store(0)
	b.signed(at + 8).Store(weight)
	b.word(at + 16).Store(uint64(len(pcs)))
	for j, pc := range pcs[:min(len(pcs), stack)] {
		b.word(at + 32 + 8*j).Store(pc)
	}
	b.word(at).Store(i + 1)
	b.word(offHead).Store(i + 1)
}

func TestSamples(t *testing.T) {
	b := newBlock(t, t.TempDir())
	if out, lost := b.Samples(); len(out) != 0 || lost != 0 {
		t.Errorf("a fresh block has samples %v, lost %d", out, lost)
	}
	b.put(0, 10, 1, 2, 3)
	b.put(1, 20)
	out, lost := b.Samples()
	if fmt.Sprint(out) != "[{10 [1 2 3]} {20 []}]" || lost != 0 {
		t.Errorf("samples %v, lost %d", out, lost)
	}
	// One that is being written is read the next time.
	b.put(2, 30, 9)
	b.put(3, 40, 9)
	at := offRing + 2*record
	b.word(at).Store(0)
	if out, lost := b.Samples(); len(out) != 0 || lost != 0 {
		t.Errorf("half a sample gives %v, lost %d", out, lost)
	}
	b.word(at).Store(3)
	if out, _ := b.Samples(); len(out) != 2 || out[0].Weight != 30 || out[1].Weight != 40 {
		t.Errorf("then %v", out)
	}
	// More frames than fit are cut.
	b.put(4, 1, make([]uint64, 3*stack)...)
	if out, _ := b.Samples(); len(out) != 1 || len(out[0].PCs) != stack {
		t.Errorf("a deep stack gives %v", out)
	}
}

// Whatever the reader's rhythm, every sample arrives in order or is counted as lost.
func TestSamplesAll(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		b := newBlock(t, dir)
		var written, got, lost, last uint64
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			for range rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(ring-5, ring+5)).Draw(t, "n") {
				b.put(written, int64(written), written)
				written++
			}
			out, l := b.Samples()
			lost += l
			for _, s := range out {
				got++
				if s.PCs[0] != uint64(s.Weight) || s.PCs[0] < last {
					t.Fatalf("sample %v after %d", s, last)
				}
				last = s.PCs[0]
			}
		}
		if got+lost != written {
			t.Fatalf("%d written, %d read, %d lost", written, got, lost)
		}
	})
}
