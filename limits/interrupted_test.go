package limits

import (
	"math"
	"testing"
	"time"
)

func TestGaps(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name string
		take []time.Duration // what each reading of the clock takes, over and over
		for_ time.Duration
		want Interruptions
	}{
		{"nothing", []time.Duration{us}, 1000 * us, Interruptions{}},
		{"the longest reading", []time.Duration{us, 2 * us}, 1000 * us, Interruptions{}},
		{"one in ten", []time.Duration{us, us, us, us, us, us, us, us, us, 11 * us}, 20_000 * us, Interruptions{50_000, 11 * us, .55, 0}},
		{"two lengths", []time.Duration{us, 9 * us, us, 9 * us, us, 29 * us}, 50_000 * us, Interruptions{60_000, 9 * us, .94, 0}},
	} {
		now, k := time.Duration(0), -1
		long, took := gaps(func() time.Duration {
			if k >= 0 {
				now += c.take[k%len(c.take)]
			}
			k++
			return now
		}, c.for_)
		got := summarize([][]gap{long}, took)
		if got.Median != c.want.Median || math.Abs(got.PerSecond-c.want.PerSecond) > .001*c.want.PerSecond || math.Abs(got.Share-c.want.Share) > .001 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestAtOnce(t *testing.T) {
	one := []gap{{0, 5}, {10, 2}, {20, 10}, {50, 1}}
	for _, c := range []struct {
		name string
		of   [][]gap
		want float64
	}{
		{"one processor", [][]gap{one}, 0},
		{"the same on two", [][]gap{one, one}, 1},
		{"an idle other", [][]gap{one, nil}, 0},
		{"one within, one that ends as another begins", [][]gap{one, {{5, 5}, {22, 3}}}, 2. / 6},
		{"one across two", [][]gap{one, {{4, 7}}}, 3. / 5},
		{"with either of two others", [][]gap{one, {{11, 2}}, {{50, 8}}}, 4. / 6},
	} {
		if got := summarize(c.of, time.Second); math.Abs(got.AtOnce-c.want) > 1e-9 {
			t.Errorf("%s: %v at once, want %v", c.name, got.AtOnce, c.want)
		}
	}
}

// How often a machine interrupts is its own matter.
func TestInterrupted(t *testing.T) {
	got, err := Interrupted(300 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", got)
	if got != (Interruptions{}) && (got.PerSecond <= 0 || got.Median <= interrupted || got.Share <= 0 || got.Share > 1 || got.AtOnce < 0 || got.AtOnce > 1) {
		t.Errorf("%+v", got)
	}
}
