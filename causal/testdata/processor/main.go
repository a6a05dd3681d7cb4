// Command processor asks the hooks, on each processor that it may use, which one that is, and does nothing more.
package main

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

//go:linkname headwayProcessor runtime.headwayProcessor
func headwayProcessor() int64

const most = 1024

type set [most / 64]uint64

func affinity(trap uintptr, s *set) {
	if _, _, e := syscall.RawSyscall(trap, 0, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s))); e != 0 {
		panic(e)
	}
}

func main() {
	time.Sleep(50 * time.Millisecond) // until it is known whom to ask
	runtime.LockOSThread()
	var all set
	affinity(syscall.SYS_SCHED_GETAFFINITY, &all)
	for cpu := range most {
		if all[cpu/64]>>(cpu%64)&1 == 0 {
			continue
		}
		var one set
		one[cpu/64] = 1 << (cpu % 64)
		affinity(syscall.SYS_SCHED_SETAFFINITY, &one)
		for range 1000 {
			if n := headwayProcessor(); n != int64(cpu) {
				fmt.Printf("on processor %d it says %d\n", cpu, n)
				time.Sleep(time.Hour)
			}
		}
	}
	fmt.Println("right on all")
	time.Sleep(time.Hour)
}
