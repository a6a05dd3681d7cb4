package load

import (
	"math"
	"slices"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
)

// resamples is how often the blocks are drawn anew for an interval.
const resamples = 400

// interval estimates a figure of the whole run, with an interval at 95 % by the block
// bootstrap: requests next to each other in time share their luck, so what is drawn again
// is not requests but twentieths of the run (H. R. Künsch, "The Jackknife and the
// Bootstrap for General Stationary Observations", Annals of Statistics 17, 1989).
func (r *Result) intervals(seed uint64, figures []figure) map[string]report.Value {
	luck := dist.NewStream(seed, "bootstrap")
	all := map[string]report.Value{}
	full := pieceOf(r)
	var used []*piece
	for i := range r.blocks {
		if r.blocks[i].ok+r.blocks[i].failed > 0 {
			used = append(used, &r.blocks[i])
		}
	}
	draws := make([][]float64, len(figures))
	if len(used) >= blocks/2 {
		times := make([]int64, len(used))
		var again piece
		for range resamples {
			clear(times)
			for range used {
				times[luck.IntN(len(used))]++
			}
			again.latency.Reset()
			again.ok, again.failed = 0, 0
			for i, k := range times {
				again.latency.MergeTimes(&used[i].latency, k)
				again.ok += k * used[i].ok
				again.failed += k * used[i].failed
			}
			for i, f := range figures {
				draws[i] = append(draws[i], f.of(&again, r.Duration.Seconds()))
			}
		}
	}
	for i, f := range figures {
		v := report.Value{Value: f.of(full, r.Duration.Seconds()), Low: math.Inf(-1), High: math.Inf(1), N: len(used)}
		if d := draws[i]; len(d) > 0 {
			slices.Sort(d)
			v.Low, v.High = min(d[len(d)*25/1000], v.Value), max(d[len(d)*975/1000], v.Value)
		}
		if math.IsInf(v.Value, 1) {
			v.Value = math.NaN()
		}
		all[f.Name] = v
	}
	return all
}

func pieceOf(r *Result) *piece {
	p := &piece{ok: r.Succeeded, failed: r.Failed}
	p.latency.Merge(&r.Latency)
	return p
}

// figure is what a report tells of a run.
type figure struct {
	report.Metric
	of func(p *piece, seconds float64) float64
}

func latencyOf(name string, minor bool, of func(h *histogram.Histogram) float64) figure {
	return figure{report.Metric{Name: "latency." + name, Unit: "ms", Better: "lower", Minor: minor}, func(p *piece, _ float64) float64 {
		if p.ok == 0 {
			return math.NaN()
		}
		return of(&p.latency) / 1e6
	}}
}

func quantileOf(name string, minor bool, q float64) figure {
	return latencyOf(name, minor, func(h *histogram.Histogram) float64 { return h.Quantile(q) })
}

// The names of what decides.
const (
	answers   = "answers"
	succeeded = "succeeded"
	decisive  = "latency.p99"
	middling  = "latency.median"
)

var figures = []figure{
	{report.Metric{Name: answers, Unit: "req/s", Better: "higher"}, func(p *piece, s float64) float64 { return float64(p.ok) / s }},
	{report.Metric{Name: succeeded, Unit: "%", Better: "higher"}, func(p *piece, _ float64) float64 {
		return 100 * float64(p.ok) / float64(p.ok+p.failed)
	}},
	quantileOf("median", false, .5),
	quantileOf("p90", true, .9),
	quantileOf("p95", false, .95),
	quantileOf("p99", false, .99),
	quantileOf("p99.9", true, .999),
	latencyOf("mean", true, (*histogram.Histogram).Mean),
	latencyOf("max", true, func(h *histogram.Histogram) float64 { return float64(h.Max()) }),
}

// sample is the figures of a short run, for comparison with others.
func (r *Result) sample() map[string]float64 {
	p := pieceOf(r)
	m := map[string]float64{}
	for _, f := range figures {
		m[f.Name] = f.of(p, r.Duration.Seconds())
	}
	return m
}
