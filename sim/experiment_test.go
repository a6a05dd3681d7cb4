package sim

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/headway-lab/headway/dist"
)

func mm1(name string, mean float64) Case {
	return Case{Name: name, Config: Config{Arrivals: Poisson(10), Requests: 20_000, Window: All}, Network: Queue(Delay(dist.Exponential(mean), Server("s")))}
}

// The effect of a faster server on the mean latency of M/M/1: 1/(mu-lambda) falls from 30 to
// 10 ms, by 66.7 %. Luck is the same in both cases, so the interval is narrow.
func TestExperiment(t *testing.T) {
	x := Experiment{Question: "?", Cases: []Case{mm1("slow", 7.5), mm1("fast", 5)}, Seed: 1}
	r, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	e := r.Cases[1].Effects["latency.mean"]
	if e.Low > -66.67 || e.High < -66.67 || e.High-e.Low > 6 || !e.Real {
		t.Errorf("the effect on the mean is %+v", e)
	}
	if r.Answer[:4] != "Fast" {
		t.Errorf("the answer is %q", r.Answer)
	}
	for _, m := range r.Metrics {
		if m.Name == "successful" || m.Name == "traveling" {
			t.Errorf("%s is told, and says nothing", m.Name)
		}
	}
}

// Same file, same seed, same bytes, on any number of processors.
func TestSameBytes(t *testing.T) {
	text := func(procs int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		r, err := Experiment{Cases: []Case{mm1("a", 7), mm1("b", 5)}, Seed: 7, Least: 8, Most: 8}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.Started = time.Time{}
		var b bytes.Buffer
		if err := r.JSON(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	one := text(1)
	for _, procs := range []int{2, 7} {
		if text(procs) != one {
			t.Errorf("with %d processors the report differs", procs)
		}
	}
}

// What was complete when it was interrupted is kept.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := Experiment{Cases: []Case{mm1("a", 7), mm1("b", 5)}, Least: 1000, Most: 1000, Progress: func(done, _ int, _ int64) {
		if done == 40 {
			cancel()
		}
	}}
	r, err := x.Run(ctx)
	if !errors.Is(err, context.Canceled) || r == nil || r.Cases[0].Values["latency.mean"].N < 15 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestOverload(t *testing.T) {
	r, err := Experiment{Cases: []Case{mm1("too much", 11)}, Least: 4, Most: 4}.Run(t.Context())
	if err != nil || len(r.Warnings) != 1 {
		t.Errorf("%v, warnings %q", err, r.Warnings)
	}
	if r, err = (Experiment{Cases: []Case{mm1("bearable", 8)}, Least: 4, Most: 4}).Run(t.Context()); err != nil || len(r.Warnings) != 0 {
		t.Errorf("%v, warnings %q", err, r.Warnings)
	}
	for _, x := range []Experiment{{}, {Cases: []Case{mm1("a", 1)}, Least: 2}, {Cases: []Case{mm1("a", math.NaN())}}} {
		if _, err := x.Run(t.Context()); err == nil {
			t.Errorf("%+v runs", x)
		}
	}
}
