//go:build coz && cgo

package harness

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// What coz.h does, without needing coz.h: ask libcoz, which is preloaded, for a counter.
static uint64_t *counter(int type, const char *name) {
	size_t *(*get)(int, const char *) = dlsym(RTLD_DEFAULT, "_coz_get_counter");
	return get ? (uint64_t *)get(type, name) : NULL;
}

// Coz's handler of SIGPROF does not ask for the signal stack. On the stack of a goroutine,
// which has no room for it, it overwrites what lies below, and most programs with several
// goroutines at work crash within seconds. libcoz's sigaction lets nobody change SIGPROF,
// so this is the C library's own.
static int on_signal_stack(void) {
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	int (*act)(int, const struct sigaction *, struct sigaction *) = libc ? dlsym(libc, "sigaction") : NULL;
	struct sigaction sa;
	if (!act || act(SIGPROF, NULL, &sa) != 0) return -1;
	sa.sa_flags |= SA_ONSTACK;
	return act(SIGPROF, &sa, NULL);
}
*/
import "C"

import (
	"sync"
	"sync/atomic"
)

func init() {
	counters.progress = (*uint64)(C.counter(1, C.CString("progress")))
	// Only where there are requests: Coz makes an experiment twice as long as the last
	// while any counter of its own stands still. And from 0: it does not do that itself,
	// and what is open is what began less what ended.
	requests := sync.OnceValue(func() (c [2]*uint64) {
		for i := range c {
			c[i] = (*uint64)(C.counter(C.int(2+i), C.CString("request")))
			if c[i] != nil {
				atomic.StoreUint64(c[i], 0)
			}
		}
		return c
	})
	counters.begin = func() *uint64 { return requests()[0] }
	counters.end = func() *uint64 { return requests()[1] }
	if C.on_signal_stack() != 0 {
		panic("Coz's handler of SIGPROF cannot be moved to the signal stack")
	}
	exit = func(code int) { C.exit(C.int(code)) } // Coz saves when the C library exits
}
