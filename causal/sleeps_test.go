package causal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// As proc_pid_status(5) has it.
const threadStatus = "Name:\tserver\nState:\tS (sleeping)\nTgid:\t7\nPid:\t9\nThreads:\t5\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"

func TestVoluntary(t *testing.T) {
	for _, c := range []struct {
		status string
		want   uint64
	}{
		{threadStatus, 150},
		{"Name:\tserver\nvoluntary_ctxt_switches:\t3", 3},
		{"Name:\tserver\nnonvoluntary_ctxt_switches:\t545\n", 0},
		{"Name:\tserver\nvoluntary_ctxt_switches:\t-1\n", 0},
		{"Name:\tserver\nvoluntary_ctxt_switches:\n", 0},
		{"", 0},
	} {
		if got := voluntary([]byte(c.status)); got != c.want {
			t.Errorf("%q: %d, want %d", c.status, got, c.want)
		}
	}
}

func FuzzVoluntary(f *testing.F) {
	f.Add(threadStatus)
	f.Add("\nvoluntary_ctxt_switches:\t18446744073709551615\n")
	f.Fuzz(func(t *testing.T, s string) {
		n := voluntary([]byte(s))
		if n == 0 {
			return
		}
		if again := voluntary([]byte(fmt.Sprintf("\nvoluntary_ctxt_switches:\t%d\n", n))); again != n {
			t.Errorf("%d comes back as %d", n, again)
		}
	})
}

// The monitor's naps do not count, nor do threads that have ended, nor those beyond the bound.
func TestSleepsTogether(t *testing.T) {
	threads := []string{"7", "8", "9", "10"}
	for i := range 2 * mostThreads {
		threads = append(threads, strconv.Itoa(11+i))
	}
	got := together(threads, func(tid string) ([]byte, error) {
		switch tid {
		case "8":
			return []byte("\nvoluntary_ctxt_switches:\t1000000\n"), nil
		case "9":
			return nil, os.ErrNotExist
		}
		return []byte("\nvoluntary_ctxt_switches:\t1\n"), nil
	})
	if got != mostThreads-2 {
		t.Errorf("%d, want %d", got, mostThreads-2)
	}
	if got := together(nil, func(string) ([]byte, error) { return nil, errors.New("asked") }); got != 0 {
		t.Errorf("of no threads: %d", got)
	}
}

// The thread that is left out is the monitor: of a program that only computes it goes to sleep again and again, and hardly any other does.
func TestMonitorIsSecond(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), computesOnly+"=1", "GOMAXPROCS=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	task := fmt.Sprintf("/proc/%d/task", cmd.Process.Pid)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		d, err := os.Open(task)
		if err != nil {
			t.Fatal(err)
		}
		threads, err := d.Readdirnames(-1)
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		monitor := uint64(0)
		if len(threads) > 1 {
			status, err := os.ReadFile(filepath.Join(task, threads[1], "status"))
			if err != nil {
				t.Fatal(err)
			}
			monitor = voluntary(status)
		}
		others, err := countSleeps(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if monitor > 150 && others.n < monitor/2 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the second thread has gone to sleep %d times, all others %d", monitor, others.n)
		}
	}
}

// A program that waits 20 times has gone to sleep at least so often: its only runnable goroutine waits, and no thread has anything to do.
func TestCountSleeps(t *testing.T) {
	before, err := countSleeps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		time.Sleep(2 * time.Millisecond)
	}
	after, err := countSleeps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if n := after.n - before.n; n < 20 || n > 1e6 {
		t.Errorf("%d sleeps while waiting 20 times", n)
	}
	if r := before.rate(after); r <= 0 || math.IsNaN(r) {
		t.Errorf("%g a second", r)
	}
	if r := (sleeps{}).rate(after); !math.IsNaN(r) {
		t.Errorf("%g a second since no count", r)
	}
	if r := after.rate(sleeps{n: 0, at: after.at.Add(time.Second)}); r != 0 {
		t.Errorf("%g a second after threads have ended", r)
	}
	if _, err := countSleeps(1 << 30); err == nil {
		t.Error("a process that does not exist sleeps")
	}
}
