package scenario

import (
	"runtime/metrics"
	"time"

	"go.starlark.net/starlark"
)

// watch cancels the thread when the program has taken too much memory: a list
// that doubles itself needs few steps. The result ends the watch.
func watch(thread *starlark.Thread) (stop func()) {
	end := make(chan struct{})
	done := make(chan struct{})
	limit := heap() + maxMemory
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				if heap() > limit {
					thread.Cancel("the file needs more than a gigabyte of memory")
					return
				}
			}
		}
	}()
	return func() {
		close(end)
		<-done
	}
}

// heap is how many bytes all objects take, those that are garbage included.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
