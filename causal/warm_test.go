package causal

import "testing"

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		a, b, c float64
		steady  bool
	}{
		{100, 100, 100, true},
		{102, 100, 98, true},    // next to nothing
		{110, 100, 105, true},   // to and fro
		{100, 115, 95, true},    // to and fro
		{115, 107, 100, false},  // still becomes faster
		{100, 107, 115, false},  // still becomes slower
		{100, 100, 80, false},   // as yet
		{100, 140, 90, false},   // has hardly begun
		{100, 0, 100, false},    // a pause
		{0, 0, 0, false},        // nothing
		{1000, 100, 100, false}, // a jump
	} {
		if got := steady(c.a, c.b, c.c); got != c.steady {
			t.Errorf("%v, %v, %v: %v", c.a, c.b, c.c, got)
		}
	}
}
