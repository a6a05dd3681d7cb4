//go:build !coz

package main

// siteA is the code that a profile makes virtually faster and an edit really shorter.
// Every step of the loop needs the one before it, so that its speed does not hang on
// how the linker aligned it.
//
//go:noinline
func siteA(n int) uint64 {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// siteB is the other code: the same work under another name.
//
//go:noinline
func siteB(n int) uint64 {
	x := uint64(n) | 3
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// other is work that is neither.
//
//go:noinline
func other(n int) uint64 {
	x := uint64(n) | 5
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
