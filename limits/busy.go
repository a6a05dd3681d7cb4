package limits

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Processors returns how long all processors together have been busy since the machine started, and how long there were
// any, to a hundredth of a second: the first line of /proc/stat. What a host took counts as busy. What is nice counts as idle:
// it steps back, and package awake is of that kind. Both are 0 where there is no such file.
func Processors() (busy, total time.Duration) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return processors(line)
}

func processors(line string) (busy, total time.Duration) {
	fields := strings.Fields(line)
	// cpu user nice system idle iowait irq softirq steal; the times of guests are in user already
	for i := 1; i < min(len(fields), 9); i++ {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, 0
		}
		t := time.Duration(n) * 10 * time.Millisecond // USER_HZ
		total += t
		if i != 2 && i != 4 && i != 5 {
			busy += t
		}
	}
	return busy, total
}

// Usable returns how many processors a Go program started from here gets, if nothing says otherwise: those that the process may run
// on, or its cgroup's quota if that is less. It is the runtime's own rule (runtime.SetDefaultGOMAXPROCS).
func Usable() int {
	now := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(now)
	runtime.SetDefaultGOMAXPROCS()
	return runtime.GOMAXPROCS(0)
}
