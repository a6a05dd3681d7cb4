package orbit

import "errors"

// The errors of the theory, with the numbers the published code gives them. They
// come back as they are, so == and switch will do.
var (
	ErrEccentricity = errors.New("orbit: mean eccentricity has left 0 to 1")                // 1
	ErrMeanMotion   = errors.New("orbit: mean motion is not positive")                      // 2
	ErrPerturbed    = errors.New("orbit: sun and moon push the eccentricity out of 0 to 1") // 3
	ErrSemiLatus    = errors.New("orbit: semi-latus rectum is negative")                    // 4
	ErrSuborbital   = errors.New("orbit: elements at epoch are below the ground")           // 5: no longer in use, see Orbit.At
	ErrDecayed      = errors.New("orbit: satellite has decayed")                            // 6
)

// ErrTooFar is ours: a time that is not a number, or more than 300 years from epoch.
var ErrTooFar = errors.New("orbit: more than 300 years from epoch")

// Code is the published number of an error of the theory: 1 to 6, 0 for nil, and -1
// for any other error.
func Code(err error) int {
	if err == nil {
		return 0
	}
	for i, e := range []error{ErrEccentricity, ErrMeanMotion, ErrPerturbed, ErrSemiLatus, ErrSuborbital, ErrDecayed} {
		if errors.Is(err, e) {
			return i + 1
		}
	}
	return -1
}
