package causal

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// mostThreads is of how many threads the sleeps are counted: to read those of a thread takes 10 us.
const mostThreads = 128

// sleeps is how often the program's threads had gone to sleep by themselves at an instant.
type sleeps struct {
	n  uint64
	at time.Time
}

// sleeps counts them: the voluntary context switches of every thread, in /proc/PID/task/TID/status. The second thread of a Go
// program is the scheduler's monitor (runtime.main starts it before anything else), whose naps wake nobody: it does not count.
func (p *process) sleeps() (sleeps, error) { return countSleeps(p.cmd.Process.Pid) }

func countSleeps(pid int) (sleeps, error) {
	s := sleeps{at: time.Now()}
	dir := filepath.Join("/proc", strconv.Itoa(pid), "task")
	d, err := os.Open(dir)
	if err != nil {
		return s, fmt.Errorf("counting how often the program's threads sleep: %w", err)
	}
	defer d.Close()
	// The kernel lists them in the order in which they began.
	threads, err := d.Readdirnames(-1)
	if err != nil {
		return s, fmt.Errorf("counting how often the program's threads sleep: %w", err)
	}
	s.n = together(threads, func(tid string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, tid, "status")) })
	return s, nil
}

// together adds up what the threads' states say, without the monitor's.
func together(threads []string, status func(tid string) ([]byte, error)) (n uint64) {
	for i, tid := range threads[:min(len(threads), mostThreads)] {
		if i == 1 {
			continue
		}
		if b, err := status(tid); err == nil { // else it has ended
			n += voluntary(b)
		}
	}
	return n
}

// voluntary reads the number of voluntary context switches off a thread's status, see proc_pid_status(5); 0 if there is none.
func voluntary(status []byte) uint64 {
	const name = "\nvoluntary_ctxt_switches:"
	_, after, ok := bytes.Cut(status, []byte(name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(after, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// rate is how often a second they went to sleep between two counts; NaN where that is not known.
func (a sleeps) rate(b sleeps) float64 {
	d := b.at.Sub(a.at).Seconds()
	if d <= 0 || a.at.IsZero() {
		return math.NaN()
	}
	return max(0, float64(b.n)-float64(a.n)) / d // threads that have ended take theirs along
}
