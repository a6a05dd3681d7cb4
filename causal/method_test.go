package causal

import (
	"math"
	"testing"
)

func TestMethodError(t *testing.T) {
	for _, c := range []struct {
		ns   []float64
		want float64
	}{
		{nil, 0.006},
		{[]float64{10e6, 10e6}, 0.006},
		{[]float64{1e6}, 0.0060208},
		{[]float64{30e3, 50e3}, 0.0138654},
		{[]float64{80e3}, 0.0086639},
		{[]float64{100}, 0.0138654},
	} {
		if got := methodError(c.ns); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v ns an operation: %g, want %g", c.ns, got, c.want)
		}
	}
}

// Where the error of the method alone is wider than what counts as narrow, a cell is known once more pairs would not help it.
func TestKnownInSpiteOfMethod(t *testing.T) {
	o := defaults(Options{Package: "x"})
	quiet, noisy := &cell{base: make([][]float64, 1), changed: make([][]float64, 1)}, &cell{base: make([][]float64, 1), changed: make([][]float64, 1)}
	for i := range enough {
		if quiet.known() {
			t.Fatalf("known after %d pairs", i)
		}
		quiet.add(measured(30e3), measured(27e3), measured(30e3), 0, &o)
		noisy.add(measured(30e3), measured(27e3+1e3*float64(i%4)), measured(30e3), 0, &o)
	}
	if quiet.half() < narrow || !quiet.known() {
		t.Errorf("within %g: known %v", quiet.half(), quiet.known())
	}
	if noisy.known() {
		t.Errorf("within %g, %g without the error of the method: known", noisy.half(), widest(noisy.own))
	}
}
