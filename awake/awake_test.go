package awake

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Arg {
		os.Exit(Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// Every processor gets one process, of the idle class, that runs; Stop ends them all.
func TestStart(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Skip(err)
	}
	k, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	if len(k.cmds) != set.Count() {
		t.Fatalf("%d processes for %d processors", len(k.cmds), set.Count())
	}
	var pids []int
	for _, c := range k.cmds {
		pid := c.Process.Pid
		pids = append(pids, pid)
		policy := ""
		for begin := time.Now(); time.Since(begin) < 10*time.Second && policy != "5"; time.Sleep(10 * time.Millisecond) {
			policy = stat(t, pid, 41)
		}
		if policy != "5" { // SCHED_IDLE
			t.Errorf("process %d has scheduling policy %s", pid, policy)
		}
		if nice := stat(t, pid, 19); nice != "19" {
			t.Errorf("process %d has nice value %s", pid, nice)
		}
	}
	k.Stop()
	for _, pid := range pids {
		if unix.Kill(pid, 0) == nil {
			t.Errorf("process %d still runs", pid)
		}
	}
}

// stat is a field of /proc/PID/stat, counted from 1.
func stat(t *testing.T, pid, field int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.Fields(rest)[field-3]
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"0"}, {"x", "1"}, {"-1", "1"}, {"0", "x"}} {
		if stay(args) == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
