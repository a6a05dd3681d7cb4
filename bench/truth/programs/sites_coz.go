//go:build coz

package main

// These are the functions of sites.go with every loop on one line as far as debug
// information goes: Coz credits lines, and its --fixed-line takes one.

//go:noinline
func siteA(n int) uint64 {
	x := uint64(n) | 1
//line sites.go:100
	for range n {
//line sites.go:100
		x ^= x << 13
//line sites.go:100
		x ^= x >> 7
//line sites.go:100
		x ^= x << 17
//line sites.go:100
	}
	return x
}

//go:noinline
func siteB(n int) uint64 {
	x := uint64(n) | 3
//line sites.go:200
	for range n {
//line sites.go:200
		x ^= x << 13
//line sites.go:200
		x ^= x >> 7
//line sites.go:200
		x ^= x << 17
//line sites.go:200
	}
	return x
}

//go:noinline
func other(n int) uint64 {
	x := uint64(n) | 5
//line sites.go:300
	for range n {
//line sites.go:300
		x ^= x << 13
//line sites.go:300
		x ^= x >> 7
//line sites.go:300
		x ^= x << 17
//line sites.go:300
	}
	return x
}
