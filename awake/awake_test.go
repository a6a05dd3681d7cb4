package awake

import (
	"os"
	"slices"
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
func TestRun(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Skip(err)
	}
	k, err := run()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	if len(k.cmds) != set.Count() {
		t.Fatalf("%d processes for %d processors", len(k.cmds), set.Count())
	}
	if got := k.How(); got != "by processes of the idle class" {
		t.Errorf("kept awake %s", got)
	}
	var pids []int
	for _, c := range k.cmds {
		pid := c.Process.Pid
		pids = append(pids, pid)
		// All its threads: those of the runtime wake often, and must not take a processor from anybody either.
		var policies []string
		idle := func() bool {
			policies = policiesOf(t, pid)
			return len(policies) > 1 && !slices.ContainsFunc(policies, func(p string) bool { return p != "5" }) // SCHED_IDLE
		}
		for begin := time.Now(); !idle(); time.Sleep(10 * time.Millisecond) {
			if time.Since(begin) > 10*time.Second {
				t.Errorf("the threads of process %d have scheduling policies %q", pid, policies)
				break
			}
		}
		if nice := stat("/proc/"+strconv.Itoa(pid), 19); nice != "19" {
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

// policiesOf are the scheduling policies of a process's threads.
func policiesOf(t *testing.T, pid int) (policies []string) {
	dir := "/proc/" + strconv.Itoa(pid)
	tasks, err := os.ReadDir(dir + "/task")
	if err != nil {
		t.Skip(err)
	}
	for _, task := range tasks {
		if p := stat(dir+"/task/"+task.Name(), 41); p != "" {
			policies = append(policies, p)
		}
	}
	return policies
}

// stat is a field of a process's or a thread's stat, counted from 1; empty if it has ended.
func stat(dir string, field int) string {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return ""
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
