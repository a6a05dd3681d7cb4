package limits

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
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
	AtOnce    float64       `json:"at_once"`    // of them, 0 to 1, while another processor was interrupted, too: a host stopped them all, or they are threads of one core
}

// String is short enough for the head of a table.
func (i Interruptions) String() string {
	return fmt.Sprintf("each interrupted %.0f times a second, half of these for %v or more, %.1f %% of its time, %.0f %% of them at once with another",
		i.PerSecond, i.Median.Round(100*time.Nanosecond), 100*i.Share, 100*i.AtOnce)
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
		all   [][]gap
		watch time.Duration
		errs  []error
		wg    sync.WaitGroup
		begin = time.Now()
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
			gaps, took := gaps(func() time.Duration { return time.Since(begin) }, d)
			mu.Lock()
			defer mu.Unlock()
			all, watch, errs = append(all, gaps), watch+took, append(errs, err)
		})
	}
	wg.Wait()
	return summarize(all, watch), errors.Join(errs...)
}

// gap is a time in which a processor did not come to its clock.
type gap struct{ at, took time.Duration }

// gaps lists the times between two readings of a clock that are too long, and says how long it looked.
func gaps(clock func() time.Duration, d time.Duration) (long []gap, took time.Duration) {
	begin := clock()
	last := begin
	for last-begin < d {
		now := clock()
		if now-last > interrupted {
			long = append(long, gap{last, now - last})
		}
		last = now
	}
	return long, last - begin
}

// summarize takes the gaps of each processor, in order, and the sum of the times for which they were watched.
func summarize(of [][]gap, watched time.Duration) (i Interruptions) {
	var long []time.Duration
	sum, met := time.Duration(0), 0
	for cpu, its := range of {
		for _, g := range its {
			long = append(long, g.took)
			sum += g.took
			for other := range of {
				if other != cpu && meets(of[other], g) {
					met++
					break
				}
			}
		}
	}
	if len(long) == 0 || watched <= 0 {
		return i
	}
	slices.Sort(long)
	n := float64(len(long))
	return Interruptions{n / watched.Seconds(), long[len(long)/2], sum.Seconds() / watched.Seconds(), float64(met) / n}
}

// meets says whether one of these, which are in order and do not overlap, overlaps with g.
func meets(its []gap, g gap) bool {
	k := sort.Search(len(its), func(k int) bool { return its[k].at+its[k].took > g.at })
	return k < len(its) && its[k].at < g.at+g.took
}
