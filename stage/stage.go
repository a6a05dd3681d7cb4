// Package stage says how far long work is, for every verb in the same words. The package that does the work knows its
// own counts; the command makes one Event of them, and has one display for all.
package stage

import "time"

// Event tells how far the work is.
type Event struct {
	Phase   string        // one or two words: "build", "sample", "simulate"
	Text    string        // one line for a person
	Elapsed time.Duration // since the work began
	Total   time.Duration // expected of the whole, 0 if unknown
	Warning bool          // Text is what somebody should know, whatever the phase
}

// Expected is how long the whole takes if it goes on as it went: share, from 0 to 1, is what was done in the time that
// has elapsed. It is 0, unknown, as long as nothing is done.
func Expected(elapsed time.Duration, share float64) time.Duration {
	if !(share > 0) { // nor is a share of nothing known
		return 0
	}
	return time.Duration(float64(elapsed) / share)
}
