//go:build cgo

package main

/*
static unsigned long long spin(long n) {
	unsigned long long x = (unsigned long long)n | 1;
	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}
*/
import "C"

const haveC = true

// siteA spends its time in C.
//
//go:noinline
func siteA(n int) uint64 { return uint64(C.spin(C.long(n))) }
