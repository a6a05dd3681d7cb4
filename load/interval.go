package load

import (
	"math"
	"slices"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/report"
)

// resamples is how often the blocks are drawn anew for an interval.
const resamples = 400

// summary is latencies as a list of those there are, in rising order, each with its
// count: a thousand of them, where a histogram has ten thousand buckets.
type summary struct {
	times      []float64 // ns
	counts     []int64
	ok, failed int64
	came       int64
}

func summarise(r *Result) *summary {
	h := &r.Latency
	s := &summary{ok: h.N(), failed: r.Failed, came: r.Came}
	h.Each(func(t float64, n int64) {
		s.times = append(s.times, t)
		s.counts = append(s.counts, n)
	})
	return s
}

// quantile is as that of a histogram.
func (s *summary) quantile(q float64) float64 {
	left := int64(math.Ceil(q * float64(s.ok)))
	last := 0.0
	for i, n := range s.counts {
		if n == 0 {
			continue
		}
		last = s.times[i]
		if left -= n; left <= 0 {
			break
		}
	}
	return last
}

func (s *summary) mean() float64 {
	sum := 0.0
	for i, n := range s.counts {
		sum += float64(n) * s.times[i]
	}
	return sum / float64(s.ok)
}

// spread spells the blocks of a run over the same times, for sums of them to be quick.
func (r *Result) spread(times []float64) (all []summary) {
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.ok+b.failed == 0 {
			continue
		}
		s := summary{times: times, counts: make([]int64, len(times)), ok: b.ok, failed: b.failed, came: b.came}
		k := 0
		b.latency.Each(func(t float64, n int64) {
			// The least and the greatest of a block are kept exactly, not as the middle of
			// their bucket, so times may lie a bucket apart.
			for k < len(times)-1 && math.Abs(times[k+1]-t) <= math.Abs(times[k]-t) {
				k++
			}
			s.counts[k] += n
		})
		all = append(all, s)
	}
	return all
}

// intervals estimates figures of the whole run, with intervals at 95 % by the block
// bootstrap: requests next to each other in time share their luck, so what is drawn again
// is not requests but twentieths of the run (H. R. Künsch, "The Jackknife and the
// Bootstrap for General Stationary Observations", Annals of Statistics 17, 1989).
func (r *Result) intervals(seed uint64, figures []figure) map[string]report.Value {
	luck := dist.NewStream(seed, "bootstrap")
	full := summarise(r)
	used := r.spread(full.times)
	draws := make([][]float64, len(figures))
	if len(used) >= blocks/2 {
		again := summary{times: full.times, counts: make([]int64, len(full.times))}
		times := make([]int64, len(used))
		for range resamples {
			clear(times)
			for range used {
				times[luck.IntN(len(used))]++
			}
			clear(again.counts)
			again.ok, again.failed, again.came = 0, 0, 0
			for i, k := range times {
				if k == 0 {
					continue
				}
				for j, n := range used[i].counts {
					again.counts[j] += k * n
				}
				again.ok += k * used[i].ok
				again.failed += k * used[i].failed
				again.came += k * used[i].came
			}
			for i, f := range figures {
				draws[i] = append(draws[i], f.of(&again, r.Duration.Seconds()))
			}
		}
	}
	all := map[string]report.Value{}
	for i, f := range figures {
		v := report.Value{Value: f.of(full, r.Duration.Seconds()), Low: math.Inf(-1), High: math.Inf(1), N: len(used)}
		if d := draws[i]; len(d) > 0 {
			slices.Sort(d)
			v.Low, v.High = min(d[len(d)*25/1000], v.Value), max(d[len(d)*975/1000], v.Value)
		}
		// What was drawn again cannot be slower than the slowest: where it is that, nobody knows.
		if f.sample && full.ok > 0 && v.High >= full.quantile(1)/1e6 {
			v.High = math.Inf(1)
		}
		all[f.Name] = v
	}
	return all
}

// figure is what a report tells of a run.
type figure struct {
	report.Metric
	of     func(s *summary, seconds float64) float64
	sample bool // one of the latencies, not a mean of them
}

func latencyOf(name string, minor bool, of func(s *summary) float64) figure {
	return figure{report.Metric{Name: "latency." + name, Unit: "ms", Better: "lower", Minor: minor}, func(s *summary, _ float64) float64 {
		if s.ok == 0 {
			return math.NaN()
		}
		return of(s) / 1e6
	}, false}
}

func quantileOf(name string, minor bool, q float64) figure {
	f := latencyOf(name, minor, func(s *summary) float64 { return s.quantile(q) })
	f.sample = true
	return f
}

// The names of what decides.
const (
	answers   = "answers"
	succeeded = "succeeded"
	decisive  = "latency.p99"
	middling  = "latency.median"
)

var figures = []figure{
	{report.Metric{Name: answers, Unit: "req/s", Better: "higher"}, func(p *summary, s float64) float64 { return float64(p.came) / s }, false},
	{report.Metric{Name: succeeded, Unit: "%", Better: "higher"}, func(p *summary, _ float64) float64 {
		return 100 * float64(p.ok) / float64(p.ok+p.failed)
	}, false},
	quantileOf("median", false, .5),
	quantileOf("p90", true, .9),
	quantileOf("p95", false, .95),
	quantileOf("p99", false, .99),
	quantileOf("p99.9", true, .999),
	latencyOf("mean", true, (*summary).mean),
	quantileOf("max", true, 1),
}

// sample is the figures of a short run, for comparison with others.
func (r *Result) sample() map[string]float64 {
	p := summarise(r)
	m := map[string]float64{}
	for _, f := range figures {
		m[f.Name] = f.of(p, r.Duration.Seconds())
	}
	return m
}
