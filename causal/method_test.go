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
