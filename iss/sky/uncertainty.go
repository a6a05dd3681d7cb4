package sky

import (
	"math"
	"time"
)

// Uncertainty is how far off a position may be, in km, along the ground and in height,
// from elements of an age.
func Uncertainty(age time.Duration) (along, height float64) {
	d := age.Abs().Hours() / 24
	along = min(3+3*d, math.Pi*6371)
	return along, 1 + along/30
}
