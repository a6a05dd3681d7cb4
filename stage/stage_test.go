package stage

import (
	"math"
	"testing"
	"time"
)

func TestExpected(t *testing.T) {
	for _, c := range []struct {
		elapsed time.Duration
		share   float64
		want    time.Duration
	}{
		{10 * time.Second, 0.25, 40 * time.Second},
		{10 * time.Second, 1, 10 * time.Second},
		{10 * time.Second, 0, 0},
		{10 * time.Second, math.NaN(), 0}, // nothing done of nothing
		{0, 0.5, 0},
	} {
		if got := Expected(c.elapsed, c.share); got != c.want {
			t.Errorf("Expected(%v, %v) = %v, want %v", c.elapsed, c.share, got, c.want)
		}
	}
}
