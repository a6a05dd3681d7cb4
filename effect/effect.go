// Package effect turns samples into estimates, and a baseline and a change into
// an effect with an interval.
package effect

// Estimate is a location estimate with a confidence interval; N is the number of samples behind it.
type Estimate struct {
	Value, Low, High float64
	N                int
}

// Effect is a relative change in percent of the baseline, with its interval and the
// two-sided p-value of "no effect".
type Effect struct {
	Percent, Low, High float64
	Confidence         float64
	P                  float64
	N                  int
}
