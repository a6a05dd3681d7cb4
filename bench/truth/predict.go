package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/headway-lab/headway/causal"
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
}

// Predictor says what a site's speed-ups would do without shortening it. It may return
// some answers together with an error.
type Predictor interface {
	Predict(ctx context.Context, j Job) (map[int]Interval, error)
}

// profiles is how many profiles of a cell there may be until it is known well enough.
const profiles = 4

// predict asks at least so many times as least says, and again for those speed-ups that are not known to sure points either
// way, but for the error of the method; 0 asks no more. What it says of one is the mean, weighted by the intervals, of all
// profiles: whether there is another depends on how wide they are alone. It also gives the profiles one by one.
func predict(ctx context.Context, p Predictor, j Job, least int, sure float64) (map[int]Interval, map[int][]Interval, error) {
	all, each := map[int]Interval{}, map[int][]Interval{}
	for ask, n := j, 1; ; ask.Seed, n = ask.Seed+1, n+1 {
		effects, err := p.Predict(ctx, ask)
		for d, e := range effects {
			each[d] = append(each[d], e)
			if before, ok := all[d]; ok {
				e = pool(before, e)
			}
			all[d] = e
		}
		if err == nil && n < least {
			continue
		}
		ask.Speedups = nil
		for _, d := range j.Speedups {
			if e, ok := all[d]; ok && sure > 0 && e.own()*(100+e.Percent) > sure {
				ask.Speedups = append(ask.Speedups, d)
			}
		}
		if err != nil || len(ask.Speedups) == 0 || n >= profiles {
			return all, each, err
		}
	}
}

// pool is the mean of two estimates of the same, weighted by the inverse of the variances of what each has for itself: the error of
// the method is in both and stays. They are pooled as logarithms, in which a ratio's interval is even.
func pool(a, b Interval) Interval {
	l := func(percent float64) float64 { return math.Log1p(max(percent, -99.9) / 100) }
	wa, wb := 1/(a.own()*a.own()), 1/(b.own()*b.own())
	mid := (wa*l(a.Percent) + wb*l(b.Percent)) / (wa + wb)
	shared := (wa*a.shared() + wb*b.shared()) / (wa + wb)
	half := math.Hypot(1/math.Sqrt(wa+wb), normal95*shared)
	percent := func(x float64) float64 { return 100 * math.Expm1(min(x, 50)) }
	return Interval{percent(mid), percent(mid - half), percent(mid + half), a.N + b.N, 100 * shared * math.Exp(mid)}
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
		if effects, readErr = effectsOf(r, j.Site.Name, j.Program.Latency); err == nil {
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
		effects[int(math.Round(c.Params["speedup"]))] = i
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
