// Package trial compares variants of one thing by short measurements that are interleaved
// in time, because every machine and every network is noisy: a round measures each
// variant once, in an order drawn anew, and a change is compared with the baseline of its
// own round.
package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

// Sample is what one measurement found, by the name of the metric. What is missing or NaN
// does not count.
type Sample map[string]float64

// Variant is one way to do it.
type Variant struct {
	Name   string
	Group  string
	Params map[string]float64
	// Measure does it once. An error ends all trials.
	Measure func(context.Context) (Sample, error)
}

// Plan says how variants are compared.
type Plan struct {
	Metrics []report.Metric
	// Rounds is how often each variant is measured, at least effect.MinN.
	Rounds     int
	Seed       uint64
	Confidence float64 // 0 is 0.95
	// Progress is called after every measurement; nil is allowed.
	Progress func(done, total int, v Variant, s Sample, took time.Duration)
}

// Run measures all variants, the first of which (in each group) is the baseline, and
// returns a case for each, in order. When ctx ends before all rounds are complete,
// it returns what the complete ones say, and the cause; no cases if none is complete.
func Run(ctx context.Context, p Plan, variants []Variant) ([]report.Case, error) {
	if p.Rounds < effect.MinN {
		return nil, fmt.Errorf("%d rounds: want at least %d, for an interval", p.Rounds, effect.MinN)
	}
	if len(variants) == 0 {
		return nil, errors.New("nothing to try")
	}
	luck := dist.NewStream(p.Seed, "order of trials")
	order := make([]int, len(variants))
	for i := range order {
		order[i] = i
	}
	samples := make([][]Sample, len(variants))
	var failed error
	done := 0
rounds:
	for range p.Rounds {
		for i := len(order) - 1; i > 0; i-- {
			j := luck.IntN(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		round := make([]Sample, len(variants))
		for _, i := range order {
			begin := time.Now()
			s, err := variants[i].Measure(ctx)
			if ctx.Err() != nil {
				failed = context.Cause(ctx)
				break rounds
			}
			if err != nil {
				failed = fmt.Errorf("%s: %w", variants[i].Name, err)
				break rounds
			}
			round[i] = s
			done++
			if p.Progress != nil {
				p.Progress(done, p.Rounds*len(variants), variants[i], s, time.Since(begin))
			}
		}
		for i, s := range round {
			samples[i] = append(samples[i], s)
		}
	}
	if len(samples[0]) == 0 {
		return nil, failed
	}
	return Cases(p, variants, samples), failed
}

// Cases says what samples show that were measured some other way: samples[i][k] is that of variant i
// in round k, nil if it is missing.
func Cases(p Plan, variants []Variant, samples [][]Sample) []report.Case {
	all := make([]report.Case, len(variants))
	baseline := map[string]int{} // by group
	ps := map[string][]float64{} // by metric
	for _, m := range p.Metrics {
		ps[m.Name] = make([]float64, len(variants))
	}
	for i, v := range variants {
		base, there := baseline[v.Group]
		if !there {
			base = i
			baseline[v.Group] = i
		}
		c := report.Case{Name: v.Name, Group: v.Group, Baseline: !there, Params: v.Params, Values: map[string]report.Value{}}
		if c.Params == nil {
			c.Params = map[string]float64{}
		}
		for _, m := range p.Metrics {
			x := column(samples[i], m.Name)
			e := effect.Of(x, p.Confidence, p.Seed)
			if e.N == 0 {
				continue
			}
			c.Values[m.Name] = report.Value{Value: e.Value, Low: e.Low, High: e.High, N: e.N}
			if there {
				f := effect.Paired(column(samples[base], m.Name), x, p.Confidence, p.Seed)
				if f.N == 0 {
					continue
				}
				if c.Effects == nil {
					c.Effects = map[string]report.Effect{}
				}
				c.Effects[m.Name] = report.Effect{Percent: f.Percent, Low: f.Low, High: f.High, Confidence: f.Confidence, N: f.N}
				ps[m.Name][i] = f.P
			}
		}
		all[i] = c
	}
	control(p.Metrics, all, ps, 1-level(p.Confidence))
	return all
}

// control takes from the effects those that chance explains where many are tried at once.
func control(metrics []report.Metric, all []report.Case, ps map[string][]float64, rate float64) {
	for _, m := range metrics {
		var tried []int
		var p []float64
		for i, c := range all {
			if _, ok := c.Effects[m.Name]; ok {
				tried, p = append(tried, i), append(p, ps[m.Name][i])
			}
		}
		for k, real := range effect.FDR(p, rate) {
			e := all[tried[k]].Effects[m.Name]
			e.Real = real
			all[tried[k]].Effects[m.Name] = e
		}
	}
}

func level(c float64) float64 {
	if c > 0 && c < 1 {
		return c
	}
	return 0.95
}

// column is a metric in all rounds, NaN where it is missing.
func column(samples []Sample, name string) []float64 {
	x := make([]float64, len(samples))
	for i, s := range samples {
		v, ok := s[name]
		if !ok {
			v = math.NaN()
		}
		x[i] = v
	}
	return x
}
