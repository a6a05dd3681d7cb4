package causal

import (
	"context"
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/causal/control"
)

// count is the state of a point whose visits were at the virtual times in at, up to now.
func count(at []int64, now int64) (c control.Count) {
	for _, v := range at {
		if v <= now {
			c.N++
			c.Sum += v
			c.Last = max(c.Last, v)
		}
	}
	return c
}

// Points that are visited in a rhythm have its period, wherever the window begins and ends.
func TestPeriod(t *testing.T) {
	r := &runner{metrics: []*metric{{name: "step"}}}
	rapid.Check(t, func(t *rapid.T) {
		period := int64(rapid.IntRange(1, 50).Draw(t, "period"))
		var at []int64
		for v := int64(rapid.IntRange(1, 50).Draw(t, "first")); v < 3000; v += period {
			at = append(at, v)
		}
		a := int64(rapid.IntRange(0, 1000).Draw(t, "begin"))
		b := a + int64(rapid.IntRange(0, 1900).Draw(t, "length"))
		took := func(now int64) snapshot {
			return snapshot{now: 10 * now, virtual: now, begin: []control.Count{count(at, now)}, end: []control.Count{{}}}
		}
		w := r.between(took(a), took(b))
		n := count(at, b).N - count(at, a).N
		if w.events[0] != n || w.fewest() != n || w.real != time.Duration(10*(b-a)) || w.virtual != time.Duration(b-a) {
			t.Fatalf("%+v, want %d events", w, n)
		}
		switch got := w.values[0]; {
		case n == 0:
			if !math.IsNaN(got) {
				t.Fatalf("no visits give %g", got)
			}
		case count(at, a).N > 0:
			if got != float64(period) {
				t.Fatalf("period %g, want %d", got, period)
			}
		default: // nothing before the window to count from
			if got != float64(b-a)/float64(n) {
				t.Fatalf("period %g, want %g", got, float64(b-a)/float64(n))
			}
		}
	})
}

// Where every request is inside the window, Little's law gives the mean of their
// latencies exactly; with requests over the edges, it stays near it.
func TestLatency(t *testing.T) {
	r := &runner{metrics: []*metric{{name: "latency f", latency: true}}}
	rapid.Check(t, func(t *rapid.T) {
		var begins, ends []int64
		sum := 0.0
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			b := int64(rapid.IntRange(1, 1000).Draw(t, "begin"))
			d := int64(rapid.IntRange(1, 300).Draw(t, "latency"))
			begins, ends = append(begins, b), append(ends, b+d)
			sum += float64(d)
		}
		took := func(now int64) snapshot {
			return snapshot{now: now, virtual: now, begin: []control.Count{count(begins, now)}, end: []control.Count{count(ends, now)}}
		}
		w := r.between(took(0), took(2000))
		if want := sum / float64(len(begins)); math.Abs(w.values[0]-want) > 1e-9 {
			t.Fatalf("latency %g, want %g", w.values[0], want)
		}
		// Windows that follow each other hold the whole: nothing is lost at the edges.
		cut := int64(rapid.IntRange(1, 1300).Draw(t, "cut"))
		whole := 0.0
		for _, w := range []window{r.between(took(0), took(cut)), r.between(took(cut), took(2000))} {
			if !math.IsNaN(w.values[0]) {
				whole += w.values[0] * float64(w.events[0])
			} else if w.events[0] > 0 {
				t.Fatalf("%d requests ended and none took time", w.events[0])
			}
		}
		if n := count(ends, cut).N; n > 0 && math.Abs(whole-sum) > 1e-6 {
			t.Fatalf("two windows hold %g, the whole %g", whole, sum)
		}
	})
}

// Counters that began before accounting did, and sums that wrap, make no difference.
func TestLatencyOffsets(t *testing.T) {
	r := &runner{metrics: []*metric{{name: "latency f", latency: true}, {name: "step"}}}
	took := func(now int64, in, out control.Count) snapshot {
		return snapshot{now: now, virtual: now, begin: []control.Count{in, in}, end: []control.Count{out, {}}}
	}
	const base = math.MaxInt64 - 5
	wrap := func(x int64, d int64) int64 { return int64(uint64(x) + uint64(d)) }
	// Two are in flight all the time: 10 of each in 1000 ns, so each takes 200.
	a := took(1_000_000, control.Count{N: 107, Sum: base}, control.Count{N: 105, Sum: 7})
	b := took(1_001_000, control.Count{N: 117, Sum: wrap(base, 10*1_000_500)}, control.Count{N: 115, Sum: 7 + 10*1_000_500})
	if w := r.between(a, b); w.values[0] != 200 || w.events[0] != 10 {
		t.Errorf("latency %g of %d, want 200 of 10", w.values[0], w.events[0])
	}
	if w := r.between(a, a); !math.IsNaN(w.values[0]) || !math.IsNaN(w.values[1]) {
		t.Errorf("an empty window gives %v", w.values)
	}
}

// running is a runner whose program is a block of memory and a process that never starts.
func running(t *testing.T) *runner {
	t.Helper()
	b, err := control.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &runner{o: &Options{}, marks: newCarriers(), proc: &process{block: b, child: child{cmd: &exec.Cmd{Process: self}, done: make(chan struct{})}, begun: time.Now()}}
}

// weights reads back what set has written, as the runtime would.
func weights(t *testing.T, r *runner) (out []int32) {
	t.Helper()
	mem, err := os.ReadFile(r.proc.block.Path)
	if err != nil {
		t.Fatal(err)
	}
	var built []int
	for _, k := range r.marks.list {
		built = append(built, k.built)
	}
	for _, k := range append(built, r.marks.rest...) {
		at := 4096 + 4*k
		out = append(out, int32(uint32(mem[at])|uint32(mem[at+1])<<8|uint32(mem[at+2])<<16|uint32(mem[at+3])<<24))
	}
	return out
}

func TestSet(t *testing.T) {
	r := running(t)
	r.marks = marked("a.f", "a.g", "a.h")
	flat := &site{weights: map[int]float64{1: 1, 2: 0.5}}
	for _, c := range []struct {
		s       *site
		speedup int
		want    [3]int32
	}{
		{flat, 100, [3]int32{control.One, control.One / 2, 0}},
		{flat, 50, [3]int32{control.One / 2, control.One / 4, 0}},
		{flat, 0, [3]int32{1, 1, 0}}, // a baseline does the same work
		{&site{weights: map[int]float64{2: 1}, inherit: true}, 0, [3]int32{control.Inherit, 1, control.Inherit}},
		{&site{weights: map[int]float64{2: 1}, inherit: true}, 25, [3]int32{control.Inherit, control.One / 4, control.Inherit}},
		{nil, 50, [3]int32{}},
	} {
		r.set(c.s, c.speedup)
		if got := weights(t, r); [3]int32(got) != c.want {
			t.Errorf("%+v at %d%%: weights %v, want %v", c.s, c.speedup, got, c.want)
		}
	}
	// Of a build with more marks than are needed, the others hand on what is around them.
	some := marked("a.h", "a.f")
	if !r.bears(r.marks, some) {
		t.Fatal("marks that cost nothing are not borne")
	}
	r.marks = some
	r.set(flat, 100) // a.h whole, half of a.f
	if got, want := weights(t, r), []int32{control.One, control.One / 2, control.Inherit}; !slices.Equal(got, want) || some.list[0].built != 3 || some.list[1].built != 1 {
		t.Errorf("weights %v, want %v; a.h is %d, a.f is %d", got, want, some.list[0].built, some.list[1].built)
	}
}

// measure ends with the program and with the context.
func TestMeasureEnds(t *testing.T) {
	r := running(t)
	r.metrics = []*metric{{name: "step"}}
	r.window, r.gap = 5*time.Millisecond, time.Millisecond
	w, err := r.measure(t.Context(), nil, 0)
	if err != nil || w.real < r.window || w.events[0] != 0 || !math.IsNaN(w.values[0]) {
		t.Errorf("a program that stands still gives %+v, %v", w, err)
	}
	if !(w.slept >= 0) {
		t.Errorf("in a baseline threads sleep %g times a second", w.slept)
	}
	if w, err := r.measure(t.Context(), nil, 50); err != nil || !math.IsNaN(w.slept) {
		t.Errorf("in an experiment threads sleep %g times a second, %v", w.slept, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.measure(ctx, nil, 0); err != context.Canceled {
		t.Errorf("a cancelled context gives %v", err)
	}
	close(r.proc.done)
	if _, err := r.measure(t.Context(), nil, 0); err == nil || err.Error() != (&errEnded{}).Error() {
		t.Errorf("a program that ended gives %v", err)
	}
}
