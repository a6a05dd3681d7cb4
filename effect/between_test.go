package effect

import (
	"math"
	"testing"
)

// Of n that were measured equally well it is their sample variance less that of measuring; the last row is by hand.
func TestBetween(t *testing.T) {
	for _, c := range []struct {
		mean, variance []float64
		want           float64
	}{
		{nil, nil, 0},
		{[]float64{3}, []float64{1}, 0},
		{[]float64{1, 5}, []float64{2, 2}, 8 - 2},
		{[]float64{1, 2, 6}, []float64{.5, .5, .5}, 7 - .5},
		{[]float64{1, 2}, []float64{2, 2}, 0},
		{[]float64{0, 3}, []float64{1, .5}, (6. - 1) / (3 - 5./3)},
	} {
		if got := Between(c.mean, c.variance); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("of %v, measured with %v: %v, want %v", c.mean, c.variance, got, c.want)
		}
	}
}
