package sky

import (
	"fmt"
	"time"
)

// Freshness says what elements of an age are worth.
type Freshness uint8

const (
	Fresh     Freshness = iota // good for what such elements are good for
	Stale                      // older than Old: good to find it in the sky, late by seconds or more
	Worthless                  // older than TooOld: somewhere on its orbit
)

func (f Freshness) String() string {
	switch f {
	case Fresh:
		return "fresh"
	case Stale:
		return "old"
	}
	return "too old"
}

// Elements that are fetched daily are a day old, two when a fetch fails. From Old on
// every answer says how old they are; from TooOld on they are no base for a position.
const (
	Old    = 3 * 24 * time.Hour
	TooOld = 14 * 24 * time.Hour
)

// FreshnessOf elements of an age. Elements from the future age backwards.
func FreshnessOf(age time.Duration) Freshness {
	switch age = age.Abs(); {
	case age < Old:
		return Fresh
	case age < TooOld:
		return Stale
	}
	return Worthless
}

// Days writes an age for people: "12 minutes", "7.5 hours", "2.3 days", "109 days".
func Days(age time.Duration) string {
	h := age.Hours()
	switch a := age.Abs().Hours(); {
	case a < 2:
		return fmt.Sprintf("%.0f minutes", age.Minutes())
	case a < 48:
		return fmt.Sprintf("%.1f hours", h)
	case a < 240:
		return fmt.Sprintf("%.1f days", h/24)
	}
	return fmt.Sprintf("%.0f days", h/24)
}
