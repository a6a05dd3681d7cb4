// Package dep is what a vendored module brings along.
package dep

var sink uint64

// Work takes time.
//
//go:noinline
func Work() {
	x := sink | 1
	for range 200_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
