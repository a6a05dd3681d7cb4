package histogram_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headway-lab/headway/histogram"
)

// Quantiles are those of the sorted times, to a thousandth.
func TestQuantilesAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 1<<rapid.IntRange(1, 50).Draw(t, "bits")).Draw(t, "time")
		}), 1, 200).Draw(t, "times")
		var h, first, second histogram.Histogram
		sum := 0.0
		for i, x := range times {
			h.Add(x)
			sum += float64(x)
			if i%3 == 0 {
				first.Add(x)
			} else {
				second.Add(x)
			}
		}
		slices.Sort(times)
		n := len(times)
		if h.N() != int64(n) || h.Min() != times[0] || h.Max() != times[n-1] || math.Abs(h.Mean()*float64(n)-sum) > 1e-9*sum {
			t.Fatalf("n %d, min %d, max %d, mean %g", h.N(), h.Min(), h.Max(), h.Mean())
		}
		for _, q := range []float64{0, .1, .5, .9, .99, 1} {
			want := float64(times[max(int(math.Ceil(q*float64(n)))-1, 0)])
			if got := h.Quantile(q); math.Abs(got-want) > want/1000+.5 {
				t.Fatalf("quantile %g: %g, want %g", q, got, want)
			}
		}
		first.Merge(&second)
		if first.N() != h.N() || first.Quantile(.5) != h.Quantile(.5) || first.Min() != h.Min() || first.Max() != h.Max() {
			t.Fatal("merging two halves is not counting all")
		}
		pivot := rapid.SampledFrom(times).Draw(t, "pivot")
		above := int64(0)
		for _, x := range times {
			if float64(x) > float64(pivot)*(1+1e-3)+1 {
				above++
			}
		}
		if got := h.Above(pivot); got < above || got > int64(n) {
			t.Fatalf("%d above %d, want at least %d", got, pivot, above)
		}
		counted := int64(0)
		h.Each(func(_ float64, c int64) { counted += c })
		if counted != h.N() {
			t.Fatalf("Each tells of %d of %d", counted, h.N())
		}
	})
}

func TestEmpty(t *testing.T) {
	var h histogram.Histogram
	if h.Quantile(.5) != 0 || h.N() != 0 || !math.IsNaN(h.Mean()) || h.Above(0) != 0 {
		t.Error("an empty histogram says something")
	}
	h.Tail(24, func(float64, float64) { t.Error("an empty histogram has a tail") })
	h.Add(-5)
	h.Reset()
	if h.N() != 0 || h.Max() != 0 {
		t.Error("Reset leaves something")
	}
}

func TestTailKeepsTenBeyond(t *testing.T) {
	var h histogram.Histogram
	for i := range int64(1000) {
		h.Add(i)
	}
	last := 0.0
	h.Tail(24, func(share, x float64) {
		if share <= last || (1-share)*1000 < 9.99 || math.Abs(x-share*1000) > 1.5 {
			t.Errorf("share %g: %g", share, x)
		}
		last = share
	})
	if last < .98 {
		t.Errorf("the tail ends at %g", last)
	}
}
