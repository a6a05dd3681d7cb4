package causal

import (
	"math"
	"testing"

	"github.com/headway-lab/headway/causal/control"
)

func TestPerVisit(t *testing.T) {
	at := func(now int64, begin, end uint64) snapshot {
		return snapshot{now: now, begin: []control.Count{{N: begin}}, end: []control.Count{{N: end}}}
	}
	for _, c := range []struct {
		name string
		a, b snapshot
		ends bool
		want float64
	}{
		{"visits", at(1000, 5, 0), at(21_000, 25, 0), false, 1000},
		{"requests that ended", at(1000, 5, 2), at(21_000, 105, 22), true, 1000},
		{"too few", at(1000, 5, 0), at(21_000, 14, 0), false, math.NaN()},
		{"none ended", at(1000, 5, 2), at(21_000, 105, 2), true, math.NaN()},
	} {
		got := perVisit(c.a, c.b, c.ends)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v ns, want %v", c.name, got, c.want)
		}
	}
}
