package limits

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Interruptions are the times in which a thread that did nothing but read the clock, on a processor of its own, did not come to
// it: the kernel's interrupts, other programs, and what a host took, of which the kernel may know nothing.
type Interruptions struct {
	PerSecond float64       `json:"per_second"` // on each processor
	Median    time.Duration `json:"median_ns"`  // of their lengths
	Share     float64       `json:"share"`      // of the time, 0 to 1
}

// String is short enough for the head of a table.
func (i Interruptions) String() string {
	return fmt.Sprintf("each interrupted %.0f times a second, half of these for %v or more, %.1f %% of its time", i.PerSecond, i.Median.Round(100*time.Nanosecond), 100*i.Share)
}

// interrupted is what is not the reading of a clock any more.
const interrupted = 2 * time.Microsecond

// Interrupted watches every processor that the process may run on at once, for so long. Reading the clock keeps them all busy
// meanwhile. The method is that of David Riddoch's sysjitter.
func Interrupted(d time.Duration) (Interruptions, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return Interruptions{}, err
	}
	var (
		mu    sync.Mutex
		all   []time.Duration
		watch time.Duration
		errs  []error
		wg    sync.WaitGroup
	)
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		left--
		wg.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine, it is no use to others there
			var one unix.CPUSet
			one.Set(cpu)
			err := unix.SchedSetaffinity(0, &one)
			begin := time.Now()
			gaps, took := gaps(func() time.Duration { return time.Since(begin) }, d)
			mu.Lock()
			defer mu.Unlock()
			all, watch, errs = append(all, gaps...), watch+took, append(errs, err)
		})
	}
	wg.Wait()
	return summarize(all, watch), errors.Join(errs...)
}

// gaps lists the times between two readings of a clock that are too long, and says how long it looked.
func gaps(clock func() time.Duration, d time.Duration) (long []time.Duration, took time.Duration) {
	begin := clock()
	last := begin
	for last-begin < d {
		now := clock()
		if now-last > interrupted {
			long = append(long, now-last)
		}
		last = now
	}
	return long, last - begin
}

func summarize(long []time.Duration, watched time.Duration) (i Interruptions) {
	if len(long) == 0 || watched <= 0 {
		return i
	}
	slices.Sort(long)
	sum := time.Duration(0)
	for _, d := range long {
		sum += d
	}
	return Interruptions{float64(len(long)) / watched.Seconds(), long[len(long)/2], sum.Seconds() / watched.Seconds()}
}
