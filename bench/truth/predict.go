package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/headway-lab/headway/causal"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/stage"
)

// Job is what a predictor is asked: the effect of one site of one program.
type Job struct {
	Program  Program
	Site     Site
	Step     time.Duration
	Iters    float64
	Speedups []int
	Duration time.Duration
	Seed     uint64
	Placebo  bool
}

// Predictor says what a site's speed-ups would do without shortening it. It may return
// some answers together with an error.
type Predictor interface {
	Predict(ctx context.Context, j Job) (map[int]Interval, error)
}

// profiles is how many profiles of a cell there may be until it is known well enough.
const profiles = 12

// asking is the profiles of one cell: at least so many as least says, and more of those speed-ups that are not known to sure
// points either way, but for the error of the method; 0 asks no more. Whether there is another depends on how wide the
// intervals are and how the profiles differ, and on nothing else, but for what open says: if it is not nil there are more
// of what it says is not settled, too.
type asking struct {
	Predictor
	job   Job // the next one
	least int
	sure  float64
	open  func(speedup int, e Interval) bool
	// blurred says whether the real edit is known less well than what was predicted; nil where there is none.
	blurred func(speedup int, e Interval) bool
	most    int // profiles, if there is anything open
	n       int
	before  int // how many of these are of earlier visits
	each    map[int][]Interval
	err     error
}

func ask(p Predictor, j Job, least int, sure float64) *asking {
	return &asking{Predictor: p, job: j, least: least, sure: sure, most: settled, each: map[int][]Interval{}}
}

// more says whether another profile is due.
func (a *asking) more() bool {
	most := profiles
	if a.open != nil && (a.sure == 0 || a.most > profiles) {
		most = a.most
	}
	return a.Predictor != nil && a.err == nil && a.n < max(a.least, most) && len(a.job.Speedups) > 0
}

// profile makes one.
func (a *asking) profile(ctx context.Context) {
	var effects map[int]Interval
	effects, a.err = a.Predict(ctx, a.job)
	for d, e := range effects {
		a.each[d] = append(a.each[d], e)
	}
	a.n++
	a.job.Seed++
}

// settle settles what the next is to be asked.
func (a *asking) settle() {
	if a.n >= a.least {
		a.job.Speedups = slices.DeleteFunc(slices.Clone(a.job.Speedups), func(d int) bool {
			if len(a.each[d]) == 0 {
				return true
			}
			e := pool(a.each[d])
			known := a.sure == 0 || a.n >= profiles || e.points() <= a.sure
			return known && (a.open == nil || !a.open(d, e))
		})
	}
}

// byEdits says whether there is anything open that more rounds of edits would settle sooner than another profile.
func (a *asking) byEdits() bool {
	return a.n >= a.least && a.open != nil && a.blurred != nil && slices.ContainsFunc(a.job.Speedups, func(d int) bool {
		if len(a.each[d]) == 0 {
			return false
		}
		e := pool(a.each[d])
		return a.open(d, e) && a.blurred(d, e)
	})
}

// effects is the mean of the profiles.
func (a *asking) effects() map[int]Interval {
	all := map[int]Interval{}
	for d, each := range a.each {
		all[d] = pool(each)
	}
	return all
}

// pool is the mean of several estimates of the same that may differ by more than their intervals, as processes do: each
// counts by the inverse of the variance that it has for itself and of the variance between them, [effect.Between]. The error of the method is in all of them
// and stays. They are pooled as logarithms, in which a ratio's interval is even.
func pool(each []Interval) Interval {
	l := func(i Interval) float64 { return math.Log1p(max(i.Percent, -99.9) / 100) }
	variance := func(i Interval) float64 { return math.Pow(i.own()/normal95, 2) }
	var means, variances []float64
	for _, i := range each {
		means, variances = append(means, l(i)), append(variances, variance(i))
	}
	between := effect.Between(means, variances)
	by := func(i Interval) float64 { return 1 / (variance(i) + between) }
	mid, weight := weighted(each, l, by)
	shared, _ := weighted(each, Interval.shared, by)
	half := normal95 * math.Hypot(1/math.Sqrt(weight), shared)
	percent := func(x float64) float64 { return 100 * math.Expm1(min(x, 50)) }
	n := 0
	for _, i := range each {
		n += i.N
	}
	return Interval{percent(mid), percent(mid - half), percent(mid + half), n, 100 * shared * math.Exp(mid)}
}

// weighted is the mean of what value says, by weight, and the sum of the weights.
func weighted(each []Interval, value, weight func(Interval) float64) (mean, sum float64) {
	for _, i := range each {
		mean += weight(i) * value(i)
		sum += weight(i)
	}
	return mean / sum, sum
}

// normal95 is how many standard deviations an interval at 95 % reaches.
const normal95 = 1.96

// shared is the standard deviation of the error of the method, of the logarithm of the ratio.
func (i Interval) shared() float64 { return i.Shared / max(0.1, 100+i.Percent) }

// own is half of the interval of the logarithm without the error of the method: what more profiles narrow.
func (i Interval) own() float64 {
	half := (math.Log1p(max(i.High, -99.9)/100) - math.Log1p(max(i.Low, -99.9)/100)) / 2
	return math.Sqrt(max(half*half-math.Pow(normal95*i.shared(), 2), 1e-12))
}

// points is the same as a difference of effects, in points.
func (i Interval) points() float64 { return i.own() * (100 + i.Percent) }

// profiler predicts with headway's causal profiler.
type profiler struct {
	module string
	runs   int
	log    io.Writer // events of the profile; nil for none
}

func (p profiler) Predict(ctx context.Context, j Job) (map[int]Interval, error) {
	var stderr tail
	o := causal.Options{
		Dir:      p.module,
		Package:  j.Program.pkg(),
		Args:     j.Program.args(j.Step, j.Iters),
		Env:      j.Program.env(os.Environ()),
		Sites:    []string{j.Site.Name},
		Speedups: j.Speedups,
		Duration: j.Duration,
		Runs:     p.runs,
		Open:     j.Program.Open,
		Seed:     j.Seed,
		Placebo:  j.Placebo,
		Stdout:   io.Discard,
		Stderr:   &stderr,
	}
	if j.Program.Latency {
		o.Latency = []string{"main.requestBegin..main.requestEnd"}
	} else {
		o.Throughput = []string{"main.progress"}
	}
	if p.log != nil {
		o.Events = func(e stage.Event) { fmt.Fprintf(p.log, "    %s: %s\n", e.Phase, e.Text) }
	}
	r, err := causal.Run(ctx, o)
	effects := map[int]Interval{}
	if r != nil {
		var readErr error
		site := j.Site.Name
		if j.Placebo {
			site = "placebo"
		}
		if effects, readErr = effectsOf(r, site, j.Program.Latency); err == nil {
			err = readErr
		}
	}
	if err != nil && stderr.Len() > 0 {
		err = fmt.Errorf("%w (the program said: %s)", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return effects, err
}

// effectsOf reads a site's effects off a report, as change of the time per operation
// (or latency), whatever way round the report's metric is.
func effectsOf(r *report.Report, site string, latency bool) (map[int]Interval, error) {
	metric, err := metricOf(r, latency)
	if err != nil {
		return nil, err
	}
	effects := map[int]Interval{}
	for _, c := range r.Cases {
		e, ok := c.Effects[metric.Name]
		if c.Group != site || c.Baseline || !ok {
			continue
		}
		i := Interval{e.Percent, e.Low, e.High, e.N, e.Shared}
		if metric.Better == "higher" {
			i = Interval{inverse(e.Percent), inverse(e.High), inverse(e.Low), e.N, 100 * i.shared() * (1 + inverse(e.Percent)/100)}
		}
		at, ok := c.Params["speedup"]
		if !ok {
			at = c.Params["delayed"] // a placebo
		}
		effects[int(math.Round(at))] = i
	}
	if len(effects) == 0 {
		return effects, fmt.Errorf("the report has no effect of %s on %s", site, metric.Name)
	}
	return effects, nil
}

// metricOf is the one metric that the profile was asked for.
func metricOf(r *report.Report, latency bool) (report.Metric, error) {
	var found []report.Metric
	for _, m := range r.Metrics {
		name := strings.ToLower(m.Name)
		if latency && (strings.Contains(name, "latency") || strings.Contains(name, "request")) ||
			!latency && strings.Contains(name, "progress") {
			found = append(found, m)
		}
	}
	switch {
	case len(found) > 0:
		return found[0], nil
	case len(r.Metrics) == 1:
		return r.Metrics[0], nil
	}
	return report.Metric{}, errors.New("the report has no metric of the program's progress")
}

// inverse turns the percent change of a rate into the one of its reciprocal.
func inverse(percent float64) float64 {
	if percent <= -100 {
		return math.Inf(1)
	}
	return 100 * (1/(1+percent/100) - 1)
}

// tail keeps the last bytes written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	if t.Len() > 4096 {
		t.Next(t.Len() - 1024)
	}
	return t.Buffer.Write(b)
}
