package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/usage"
)

// probe is a short run at a rate.
type probe struct {
	rate     float64
	distance float64
	r        *Result
}

// gridSize is how many rates around the limit each round of a search measures, and
// gridWidth how far the outermost lie from the middle, as a factor.
const (
	gridSize  = 5
	gridWidth = 1.35
)

// least is how many requests a probe has to have to say anything.
const least = 5

// probes is about how many of them a search takes: a dozen to come near, and eight rounds.
const probes = 60

// search finds the highest rate that keeps the objective.
//
// First the rate doubles until the objective is missed and is halved until it is kept,
// then the gap is closed to a tenth. Then come rounds: each measures the same few rates
// around the limit, in random order, and reads off them where the objective is just met,
// by monotone regression (the latency of a server does not fall with its load) of the
// logarithms. The rounds are independent, so their figures carry an interval.
func (j *Job) search(ctx context.Context) (*report.Report, func(io.Writer) error, error) {
	o := j.Options
	if o.Closed || o.Times != nil {
		return nil, nil, usage.Errorf("--find searches a rate, which neither a closed loop nor a log has")
	}
	started := time.Now()
	s, err := open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	f := &finder{j: j, s: s, o: o, began: started}
	f.each = max(o.Duration/probes, 80*time.Millisecond)
	f.send = f.real
	low, high, err := f.bracket(ctx)
	if err != nil {
		return nil, nil, err
	}
	var limits []float64
	if high.r != nil {
		limits, err = f.rounds(ctx, math.Sqrt(low.rate*high.rate))
	}
	if err != nil && ctx.Err() == nil {
		return nil, nil, err
	}
	if err != nil && len(limits) < effect.MinN {
		return nil, nil, err
	}
	return f.report(limits, low, high, started), func(w io.Writer) error { return f.pooled().WriteHDR(w) }, err
}

type finder struct {
	j     *Job
	s     *session
	o     Options
	each  time.Duration
	began time.Time
	n     uint64
	all   []probe
	stuck string // why the generator could send no faster
	// send measures at a rate; tests have a server in virtual time here.
	send func(ctx context.Context, rate float64, phase string) (*Result, error)
}

// measure sends at a rate and says how far from the objective that is.
func (f *finder) measure(ctx context.Context, rate float64, phase string) (probe, error) {
	r, err := f.send(ctx, rate, phase)
	if err != nil {
		return probe{}, err
	}
	p := probe{rate, f.j.Objective.distance(r), r}
	f.all = append(f.all, p)
	return p, nil
}

// real sends to the server.
func (f *finder) real(ctx context.Context, rate float64, phase string) (*Result, error) {
	o := f.o
	o.Rate = rate
	o.Warmup = f.each / 5
	o.Duration = f.each - o.Warmup
	f.n++
	o.Seed += f.n * 104729
	o.Progress = func(p Progress) {
		p.Elapsed = time.Since(f.began)
		p.Total = max(f.o.Duration, p.Elapsed+time.Second)
		f.j.progress(fmt.Sprintf("%s %.4g/s", phase, rate), p)
	}
	r, err := f.s.run(ctx, o)
	if err != nil {
		return nil, err
	}
	if f.j.Objective.distance(r) > 0 {
		// What an overload has left behind shall not meet the next probe.
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(f.each/4, 500*time.Millisecond)):
		}
	}
	return r, nil
}

// bracket finds a rate that keeps the objective and one that does not, near each other. The
// second is empty if the generator cannot send fast enough to miss it.
func (f *finder) bracket(ctx context.Context) (low, high probe, err error) {
	rate := f.o.Rate
	for {
		p, err := f.measure(ctx, rate, "search")
		if err != nil {
			return low, high, err
		}
		if p.distance > 0 {
			high = p
			if low.r != nil {
				break
			}
			if rate /= 2; rate*f.each.Seconds() < least || time.Since(f.began) > f.o.Duration {
				return low, high, fmt.Errorf("%s: %w, down to %s a second: there %s; at lower rates runs of %v have too few requests, which a longer --duration would mend",
					f.j.Objective, errNever, number(p.rate), missed(p.r, f.j.Objective), f.each.Round(time.Millisecond))
			}
			continue
		}
		low = p
		if high.r != nil {
			break
		}
		if why := p.r.Limited(); why != "" && p.r.Generator.Busy > busyGenerator {
			f.stuck = why
			return low, probe{}, nil
		}
		most := f.j.MaxRate
		if most == 0 {
			most = maxRate
		}
		if rate >= most {
			f.stuck = "no higher rate was allowed"
			return low, probe{}, nil
		}
		rate = min(2*rate, most)
	}
	for high.rate/low.rate > 1.1 {
		p, err := f.measure(ctx, math.Sqrt(low.rate*high.rate), "search")
		if err != nil {
			return low, high, err
		}
		if p.distance > 0 {
			high = p
		} else {
			low = p
		}
	}
	return low, high, nil
}

func missed(r *Result, o Objective) string {
	for _, t := range o.Terms {
		if t.Quantile == 0 {
			if share := float64(r.Failed) / float64(max(r.Succeeded+r.Failed, 1)); share >= t.Share {
				return fmt.Sprintf("%.3g %% of the requests fail: %s", 100*share, r.mainFault())
			}
			continue
		}
		if q := r.Quantile(t.Quantile); q > float64(t.Latency) {
			if math.IsInf(q, 1) {
				return "too many requests fail: " + r.mainFault()
			}
			return fmt.Sprintf("%s is %s", t.Name, duration(q))
		}
	}
	return "it is missed"
}

// rounds measures around a rate until the time is over.
func (f *finder) rounds(ctx context.Context, middle float64) ([]float64, error) {
	var limits []float64
	luck := f.o.stream("order of probes")
	for len(limits) < 2*effect.MinN || time.Since(f.began) < f.o.Duration {
		var rates []float64
		for k := range gridSize {
			rates = append(rates, middle*math.Pow(gridWidth, 2*float64(k)/(gridSize-1)-1))
		}
		for i := len(rates) - 1; i > 0; i-- {
			k := luck.IntN(i + 1)
			rates[i], rates[k] = rates[k], rates[i]
		}
		var round []probe
		for _, rate := range rates {
			p, err := f.measure(ctx, rate, "measure")
			if err != nil {
				return limits, err
			}
			round = append(round, p)
		}
		limits = append(limits, crossing(round))
		// The grid follows what is known by now, so that it does not end before the limit.
		middle = math.Exp(effect.Of(logs(limits), 0, 0).Value)
		if len(limits) >= 100 {
			break
		}
	}
	return limits, nil
}

func logs(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Log(v)
	}
	return y
}

// crossing is the rate at which the objective is just met: where the distance, made
// monotone by pooling adjacent violators, is 0, between logarithms of rates; at the end
// of the probes if it is met, or missed, at all of them.
func crossing(round []probe) float64 {
	slices.SortFunc(round, func(a, b probe) int { return cmp.Compare(a.rate, b.rate) })
	type block struct {
		sum float64
		n   int
	}
	var fit []block
	for _, p := range round {
		fit = append(fit, block{p.distance, 1})
		for n := len(fit); n > 1 && fit[n-2].sum/float64(fit[n-2].n) >= fit[n-1].sum/float64(fit[n-1].n); n-- {
			fit[n-2].sum += fit[n-1].sum
			fit[n-2].n += fit[n-1].n
			fit = fit[:n-1]
		}
	}
	var y []float64
	for _, b := range fit {
		for range b.n {
			y = append(y, b.sum/float64(b.n))
		}
	}
	if y[0] > 0 {
		return round[0].rate
	}
	for i := 1; i < len(y); i++ {
		if y[i] > 0 {
			w := -y[i-1] / (y[i] - y[i-1])
			return math.Exp((1-w)*math.Log(round[i-1].rate) + w*math.Log(round[i].rate))
		}
	}
	return round[len(round)-1].rate
}

// pooled is the latencies of all probes that kept the objective.
func (f *finder) pooled() *Result {
	r := &Result{Statuses: map[int]int64{}, Faults: map[Fault]int64{}, Examples: map[Fault]error{}}
	for _, p := range f.all {
		if p.distance <= 0 {
			if r.Begun.IsZero() {
				r.Begun = p.r.Begun
			}
			r.merged(p.r)
		}
	}
	return r
}

func (f *finder) report(limits []float64, low, high probe, started time.Time) *report.Report {
	rep := newReport(f.o, started)
	objective := f.j.Objective.String()
	rep.Question = fmt.Sprintf("How many requests a second does %s serve with %s?", what(f.o), objective)
	rep.Metrics = []report.Metric{{Name: "rate", Unit: "req/s", Better: "higher"}}
	c := report.Case{Name: objective, Params: map[string]float64{"connections": float64(f.s.connections())}, Values: map[string]report.Value{}}
	if len(limits) > 0 {
		e := effect.Of(logs(limits), 0, f.o.Seed)
		v := report.Value{Value: math.Exp(e.Value), Low: math.Exp(e.Low), High: math.Exp(e.High), N: e.N}
		c.Values["rate"] = v
		rep.Answer = fmt.Sprintf("%s serves %s requests a second (%s to %s) with %s.", what(f.o), number(v.Value), number(v.Low), number(v.High), objective)
		if n := v.Value * f.each.Seconds() * .8; n < f.j.Objective.sharp() {
			// So short a run says more of how it begins than of the server: too rosy, and no interval shows that.
			v.Low, v.High = math.Inf(-1), math.Inf(1)
			c.Values["rate"] = v
			rep.Answer = fmt.Sprintf("%s may serve about %s requests a second with %s, but the runs were too short to know.", what(f.o), number(v.Value), objective)
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("each short run had about %.0f requests, too few to see %s well; --duration %v would do",
				n, objective, (probes*time.Duration(f.j.Objective.sharp()/v.Value/.8*1e9)).Round(time.Second)))
		}
		if busy := f.busy(v.Value); busy != "" {
			rep.Warnings = append(rep.Warnings, "near that rate "+busy)
		}
	} else {
		c.Values["rate"] = report.Value{Value: low.rate, Low: low.rate, High: math.Inf(1), N: 1}
		rep.Answer = fmt.Sprintf("%s serves at least %s requests a second with %s.", what(f.o), number(low.rate), objective)
		rep.Warnings = append(rep.Warnings, f.stuck)
	}
	rep.Cases = []report.Case{c}
	rep.Plots = f.plots()
	rep.Environment.More = low.r.environment(f.o)
	rep.Environment.More["counted"] = fmt.Sprintf("%d short runs in %d rounds", len(f.all), len(limits))
	return rep
}

// busy says what limited the generator in the probes near a rate, if anything did in most of them.
func (f *finder) busy(rate float64) string {
	n, limited, why := 0, 0, ""
	for _, p := range f.all {
		if p.rate > rate/1.2 && p.rate < rate*1.05 {
			n++
			if w := p.r.Limited(); w != "" {
				limited++
				why = w
			}
		}
	}
	if 2*limited > n {
		return why
	}
	return ""
}

// plots are what all probes showed, by rate.
func (f *finder) plots() []report.Plot {
	latency := report.Plot{Title: "Latency over the rate", X: report.Axis{Name: "rate", Unit: "requests/s", Scale: "log"},
		Y: report.Axis{Name: "latency", Unit: "ms", Scale: "log"}}
	latency.Note = "means of all probes at about the same rate"
	byRate := map[int][]probe{}
	for _, p := range f.all {
		k := int(math.Round(math.Log(p.rate) / math.Log(1.05)))
		byRate[k] = append(byRate[k], p)
	}
	keys := make([]int, 0, len(byRate))
	for k := range byRate {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	lines := map[float64]*report.Line{}
	order := []float64{.5}
	for _, t := range f.j.Objective.Terms {
		if t.Quantile > 0 && !slices.Contains(order, t.Quantile) {
			order = append(order, t.Quantile)
		}
	}
	if len(order) == 1 {
		order = append(order, .99)
	}
	for _, q := range order {
		lines[q] = &report.Line{Name: fmt.Sprintf("p%g", 100*q)}
	}
	low, high := math.Inf(1), 0.0
	for _, k := range keys {
		var h histogram.Histogram
		rate := 0.0
		for _, p := range byRate[k] {
			h.Merge(&p.r.Latency)
			rate += math.Log(p.rate)
		}
		if h.N() == 0 {
			continue
		}
		x := math.Exp(rate / float64(len(byRate[k])))
		low, high = min(low, x), max(high, x)
		for _, q := range order {
			lines[q].Points = append(lines[q].Points, report.Point{X: x, Y: h.Quantile(q) / 1e6})
		}
	}
	for _, q := range order {
		latency.Lines = append(latency.Lines, *lines[q])
	}
	for _, t := range f.j.Objective.Terms {
		if t.Quantile > 0 && high > 0 {
			y := float64(t.Latency) / 1e6
			latency.Lines = append(latency.Lines, report.Line{Name: t.Name, Reference: true, Points: []report.Point{{X: low, Y: y}, {X: high, Y: y}}})
		}
	}
	return []report.Plot{latency}
}
