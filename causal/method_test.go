package causal

import (
	"math"
	"testing"
)

func TestMethodError(t *testing.T) {
	for _, c := range []struct{ slept, inserted, want float64 }{
		{0, .5, .004},
		{300, 0, .004},
		{1000, .25, .0085},
		{1000, .01, .004272},
		{2e4, 1, .045177},
		{1e6, .04, .009849},
		{math.NaN(), 1, .045177},
		{math.NaN(), 0, .004},
		{1e6, math.NaN(), .045177},
	} {
		if got := methodError(c.slept, c.inserted); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%v sleeps a second, %v inserted: %g, want %g", c.slept, c.inserted, got, c.want)
		}
	}
}

// Where the error of the method alone is wider than what counts as narrow, a cell is known once more pairs would not help it.
func TestKnownInSpiteOfMethod(t *testing.T) {
	o := defaults(Options{Package: "x"})
	quiet, noisy := &cell{base: make([][]float64, 1), changed: make([][]float64, 1)}, &cell{base: make([][]float64, 1), changed: make([][]float64, 1)}
	during := func(v float64) window {
		w := measured(v)
		w.virtual /= 2
		return w
	}
	before := measured(30e3)
	before.slept = 1e4
	for i := range enough {
		if quiet.known() {
			t.Fatalf("known after %d pairs", i)
		}
		quiet.add(before, during(27e3), before, 0, &o)
		noisy.add(before, during(27e3+1e3*float64(i%4)), before, 0, &o)
	}
	if quiet.half() < narrow || !quiet.known() {
		t.Errorf("within %g: known %v", quiet.half(), quiet.known())
	}
	if noisy.known() {
		t.Errorf("within %g, %g without the error of the method: known", noisy.half(), widest(noisy.own))
	}
}
