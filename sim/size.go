package sim

import (
	"fmt"
	"math"

	"github.com/headway-lab/headway/dist"
)

// perSize is a time in proportion to the size of a request.
type perSize struct{ dist.Dist }

// PerSize is the size of a request times a draw of d, as the time of a delay or the work
// of a shared machine.
func PerSize(d dist.Dist) dist.Dist { return perSize{d} }

// Variance is not that of d: it depends on the sizes.
func (perSize) Variance() float64 { return math.NaN() }
func (d perSize) String() string  { return fmt.Sprintf("per_size(%v)", d.Dist) }

// checkDist is dist.Check for times of this package.
func checkDist(d dist.Dist) error {
	if p, ok := d.(perSize); ok {
		d = p.Dist
	}
	if err := dist.Check(d); err != nil {
		return err
	}
	if m := d.Mean(); m > longest && !math.IsInf(m, 1) {
		return fmt.Errorf("%v: %g ms are more than three years", d, m)
	}
	return nil
}
