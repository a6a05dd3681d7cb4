// Package lib is another module of the workspace.
package lib

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
