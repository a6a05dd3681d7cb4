// Package codec has a benchmark and nothing else to run.
package codec

var sink uint64

// Work takes time.
//
//go:noinline
func Work() {
	x := sink | 1
	for range 100_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
