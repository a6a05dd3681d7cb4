//go:build coz && cgo

package harness

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// What coz.h does, without needing coz.h: ask libcoz, which is preloaded, for a counter.
static uint64_t *counter(int type, const char *name) {
	size_t *(*get)(int, const char *) = dlsym(RTLD_DEFAULT, "_coz_get_counter");
	return get ? (uint64_t *)get(type, name) : NULL;
}
*/
import "C"

func init() {
	counters.progress = (*uint64)(C.counter(1, C.CString("progress")))
	counters.begin = (*uint64)(C.counter(2, C.CString("request")))
	counters.end = (*uint64)(C.counter(3, C.CString("request")))
	exit = func(code int) { C.exit(C.int(code)) } // Coz saves when the C library exits
}
