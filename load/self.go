package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/limits"
)

// Generator is what the generator itself has used, so that its limits are not taken for
// the server's.
type Generator struct {
	CPU     float64 // seconds of processor time
	Busy    float64 // share of the processors that this process may use, 0 to 1
	Machine float64 // share of the machine's processors that were busy with anything; NaN if unknown
	// Delay is how long its goroutines waited for a processor, at the 99th percentile.
	Delay time.Duration
	Wall  time.Duration
}

// self watches this process and machine.
type self struct {
	begin         time.Time
	cpu           time.Duration
	busy, total   time.Duration
	g             Generator
	processors    int
	sample, after []metrics.Sample
}

const latencies = "/sched/latencies:seconds"

func watchSelf() *self {
	s := &self{begin: time.Now(), cpu: cpuTime(), processors: min(runtime.GOMAXPROCS(0), runtime.NumCPU())}
	s.busy, s.total = limits.Processors()
	s.sample = []metrics.Sample{{Name: latencies}}
	metrics.Read(s.sample)
	return s
}

func (s *self) stop() {
	s.g.Wall = time.Since(s.begin)
	s.g.CPU = (cpuTime() - s.cpu).Seconds()
	s.g.Busy = s.g.CPU / s.g.Wall.Seconds() / float64(s.processors)
	busy, total := limits.Processors()
	s.g.Machine = math.NaN()
	if total > s.total {
		s.g.Machine = float64(busy-s.busy) / float64(total-s.total)
	}
	s.after = []metrics.Sample{{Name: latencies}}
	metrics.Read(s.after)
	s.g.Delay = delay(s.sample[0].Value, s.after[0].Value, .99)
}

func (s *self) result() Generator { return s.g }

// delay is a quantile of what a histogram of the runtime gained.
func delay(before, after metrics.Value, q float64) time.Duration {
	if before.Kind() != metrics.KindFloat64Histogram || after.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	b, a := before.Float64Histogram(), after.Float64Histogram()
	var all uint64
	for i := range a.Counts {
		all += a.Counts[i] - b.Counts[i]
	}
	left := q * float64(all)
	for i := range a.Counts {
		left -= float64(a.Counts[i] - b.Counts[i])
		if left <= 0 && all > 0 {
			high := a.Buckets[i+1]
			if math.IsInf(high, 1) {
				high = a.Buckets[i]
			}
			return time.Duration(high * 1e9)
		}
	}
	return 0
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
