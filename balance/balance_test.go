package balance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func luck(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// all are the policies over n backends.
func all(n int) map[string]Policy {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = float64(1 + i%3)
	}
	return map[string]Policy{
		"random": Random(n, luck(1)), "round robin": RoundRobin(n), "weighted": Weighted(weights), "one each": OneEach(n),
		"least": LeastConnections(n, RandomTies, 0, luck(2)), "least, lowest": LeastConnections(n, LowestTies, 0, nil),
		"least, hold": LeastConnections(n, RandomTies, 50, luck(3)), "least, lowest, hold": LeastConnections(n, LowestTies, 50, nil),
		"least of 2": LeastOf(2, n, luck(4)), "least of 5": LeastOf(5, n, luck(5)), "peak": PeakEWMA(2, n, time.Second, luck(6)),
		"ring": ConsistentHash(n, 20, 0), "bounded ring": ConsistentHash(n, 20, 1.25), "maglev": Maglev(n, 0),
		"sticky": Sticky(LeastOf(2, n, luck(7))), "sticky ring": Sticky(ConsistentHash(n, 20, 1.25)),
	}
}

// Whatever happens, a policy chooses a backend that is in, chooses one if there is one, and
// the least-connections policies choose one with the fewest.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		ops := rapid.SliceOfN(rapid.IntRange(0, 99), 1, 200).Draw(t, "ops")
		for name, p := range all(n) {
			in, size := make([]bool, n), n
			for i := range in {
				in[i] = true
			}
			type held struct {
				b    int
				till time.Duration
			}
			var open []int
			var hold []held
			now := time.Duration(0)
			for i, op := range ops {
				now += time.Duration(op)
				switch {
				case op < 50:
					counts := make([]int, n)
					for _, b := range open {
						counts[b]++
					}
					for _, h := range hold {
						if h.till > now {
							counts[h.b]++
						}
					}
					b := p.Pick(now, uint64(op))
					if b == None {
						if size > 0 && name != "one each" {
							t.Fatalf("%s: nobody is chosen of %v", name, in)
						}
						if name == "one each" {
							for i := range n {
								if in[i] && counts[i] == 0 {
									t.Fatalf("%s: nobody is chosen, but %d is free", name, i)
								}
							}
						}
						continue
					}
					if b < 0 || b >= n || !in[b] {
						t.Fatalf("%s: %d is chosen of %v", name, b, in)
					}
					if name == "one each" && counts[b] > 0 {
						t.Fatalf("%s: %d is chosen and busy", name, b)
					}
					if len(name) >= 5 && name[:5] == "least" && name[len(name)-1] != '2' && name[len(name)-1] != '5' {
						for j := range n {
							if in[j] && (counts[j] < counts[b] || counts[j] == counts[b] && j < b && len(name) > 6 && name[7:10] == "low") {
								t.Fatalf("%s, step %d: %d is chosen of %v", name, i, b, counts)
							}
						}
					}
					open = append(open, b)
				case op < 85 && len(open) > 0:
					j := op % len(open)
					b := open[j]
					open = append(open[:j], open[j+1:]...)
					failed := op%3 == 0
					if failed && len(name) > 4 && name[len(name)-4:] == "hold" {
						hold = append(hold, held{b, now + 50})
					}
					p.Done(now, b, Result{Latency: time.Duration(op), Failed: failed})
				case op >= 85 && name != "one each":
					b := op % n
					in[b] = !in[b]
					p.Set(b, in[b])
					if in[b] {
						size++
					} else {
						size--
					}
				}
			}
		}
	})
}

// One request at a time also where backends come and go while they are busy.
func TestOneEachSet(t *testing.T) {
	p := OneEach(2)
	a, b := p.Pick(0, 0), p.Pick(0, 0)
	if a == b || p.Pick(0, 0) != None {
		t.Fatal("two backends take two requests")
	}
	p.Set(a, false)
	p.Done(0, a, Result{})
	if c := p.Pick(0, 0); c != None {
		t.Errorf("%d is chosen", c)
	}
	p.Set(a, true)
	if c := p.Pick(0, 0); c != a {
		t.Errorf("%d is chosen, not the one that is back", c)
	}
	p.Done(0, b, Result{})
	p.Set(b, false)
	if c := p.Pick(0, 0); c != None {
		t.Errorf("%d is chosen", c)
	}
}

func TestRoundRobin(t *testing.T) {
	p := RoundRobin(4)
	pick := func() int { return p.Pick(0, 0) }
	got := []int{pick(), pick()}
	p.Set(2, false)
	got = append(got, pick(), pick(), pick())
	p.Set(2, true)
	got = append(got, pick(), pick(), pick(), pick())
	if s := fmt.Sprint(got); s != "[0 1 3 0 1 3 0 1 2]" {
		t.Errorf("the turns are %s", s)
	}
	for i := range 4 {
		p.Set(i, false)
	}
	if pick() != None {
		t.Error("nobody is in, and somebody chosen")
	}
	p.Set(3, true)
	for range 2 {
		if pick() != 3 {
			t.Error("the only one in is not chosen")
		}
	}
}

// In every prefix each backend has had its share to within one turn.
func TestWeighted(t *testing.T) {
	weights := []float64{5, 1, 1, 2.5, .5}
	p, had, total := Weighted(weights), make([]float64, 5), 10.
	for i := 1; i <= 10_000; i++ {
		had[p.Pick(0, 0)]++
		for b, w := range weights {
			if d := had[b] - w/total*float64(i); math.Abs(d) > 1.5 {
				t.Fatalf("after %d turns backend %d has had %g", i, b, had[b])
			}
		}
	}
	p = Weighted([]float64{3, 1})
	first := fmt.Sprint(p.Pick(0, 0), p.Pick(0, 0), p.Pick(0, 0), p.Pick(0, 0))
	if first != "0 0 0 1" && first != "0 0 1 0" {
		t.Errorf("the turns begin %s", first)
	}
}

// The example of the published description: three backends, seven entries, with and
// without the second (its table 1).
func TestMaglevTable(t *testing.T) {
	perm := [][]int{{3, 0, 4, 1, 5, 2, 6}, {0, 2, 4, 6, 1, 3, 5}, {3, 4, 5, 6, 0, 1, 2}}
	at := func(b, k int) int { return perm[b][k] }
	table := make([]int32, 7)
	fill(table, []bool{true, true, true}, at)
	if s := fmt.Sprint(table); s != "[1 0 1 0 2 2 0]" {
		t.Errorf("with all: %s", s)
	}
	fill(table, []bool{true, false, true}, at)
	if s := fmt.Sprint(table); s != "[0 0 0 0 2 2 2]" {
		t.Errorf("without the second: %s", s)
	}
}

// Shares are equal, and when a backend goes few others' keys move.
func TestHashing(t *testing.T) {
	const n, keys = 50, 100_000
	for name, c := range map[string]struct {
		p           Policy
		uneven, own float64 // largest share over the mean; keys of others that move
	}{
		"maglev": {Maglev(n, 0), 1.1, .03},
		"ring":   {ConsistentHash(n, 500, 0), 1.2, 0},
	} {
		before, counts := make([]int, keys), make([]float64, n)
		for k := range before {
			before[k] = c.p.Pick(0, uint64(k))
			c.p.Done(0, before[k], Result{})
			counts[before[k]]++
		}
		for b, v := range counts {
			if v > c.uneven*keys/n || v < keys/n/c.uneven {
				t.Errorf("%s: backend %d has %g of %d keys", name, b, v, keys)
			}
		}
		c.p.Set(7, false)
		moved := 0
		for k, b := range before {
			if now := c.p.Pick(0, uint64(k)); now != b && b != 7 {
				moved++
			}
		}
		if float64(moved) > c.own*keys {
			t.Errorf("%s: %d of %d keys of others moved", name, moved, keys)
		}
	}
	p, open := ConsistentHash(n, 100, 1.25), make([]int, n)
	for k := range 10_000 {
		b := p.Pick(0, uint64(k%3)) // three keys want three backends
		if open[b]++; float64(open[b]) > math.Ceil(1.25*float64(k+1)/n) {
			t.Fatalf("backend %d has %d of %d open requests", b, open[b], k+1)
		}
	}
}

// Of two choices with n requests on n backends the fullest has about
// ln ln n / ln 2 + O(1); of one it has about ln n / ln ln n. For n = 10^5: 4 to 5
// against 7 to 9 (Mitzenmacher, table of the maximum load).
func TestTwoChoices(t *testing.T) {
	const n = 100_000
	fullest := func(p Policy) int {
		open, most := make([]int, n), 0
		for range n {
			b := p.Pick(0, 0)
			open[b]++
			most = max(most, open[b])
		}
		return most
	}
	if two, one := fullest(LeastOf(2, n, luck(1))), fullest(Random(n, luck(1))); two < 3 || two > 5 || one < 7 || one > 10 {
		t.Errorf("the fullest has %d of two choices, %d of one", two, one)
	}
}

func TestPeakEWMA(t *testing.T) {
	p := PeakEWMA(2, 2, time.Second, luck(1))
	now, counts := time.Duration(0), [2]int{}
	for range 10_000 {
		b := p.Pick(now, 0)
		counts[b]++
		now += 10 * time.Millisecond
		p.Done(now, b, Result{Latency: []time.Duration{10, 30}[b] * time.Millisecond})
	}
	if counts[0] < 9*counts[1] {
		t.Errorf("the fast one has %d requests, the slow one %d", counts[0], counts[1])
	}
	if counts[1] < 10 {
		t.Errorf("the slow one is never tried again: %d", counts[1])
	}
}

// The cost of a choice does not grow with the pool (farther than caches and logarithms do).
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		for name, p := range all(n) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				window := make([]int, n/2)
				for i := range window {
					window[i] = None
				}
				for i := 0; b.Loop(); i++ {
					at := i % len(window)
					if window[at] != None {
						p.Done(time.Duration(i), window[at], Result{Latency: 1})
					}
					window[at] = p.Pick(time.Duration(i), uint64(i))
				}
			})
		}
	}
}
