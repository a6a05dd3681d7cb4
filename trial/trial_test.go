package trial_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/trial"
)

var plan = trial.Plan{
	Metrics: []report.Metric{{Name: "rate", Unit: "req/s", Better: "higher"}},
	Rounds:  12,
	Seed:    1,
}

// noisy is a measurement on a machine that drifts: what it reads has the factor, and
// drift that all variants of a round share.
func noisy(factor float64, clock *int, s *dist.Stream) func(context.Context) (trial.Sample, error) {
	return func(context.Context) (trial.Sample, error) {
		*clock++
		drift := 1 + float64(*clock)/40
		return trial.Sample{"rate": 100 * factor * drift * (1 + s.Norm()/50)}, nil
	}
}

func TestEffectsAreFoundThroughDrift(t *testing.T) {
	clock, s := 0, dist.NewStream(1, "noise")
	cases, err := trial.Run(t.Context(), plan, []trial.Variant{
		{Name: "as it is", Measure: noisy(1, &clock, s)},
		{Name: "a fifth more", Measure: noisy(1.2, &clock, s)},
		{Name: "the same", Measure: noisy(1, &clock, s)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !cases[0].Baseline || cases[0].Effects != nil {
		t.Errorf("the first is no baseline: %+v", cases[0])
	}
	if e := cases[1].Effects["rate"]; !e.Real || e.Low > 20 || e.High < 20 || e.High-e.Low > 10 {
		t.Errorf("a fifth more: %+v", e)
	}
	if e := cases[2].Effects["rate"]; e.Real || e.N != plan.Rounds {
		t.Errorf("the same: %+v", e)
	}
}

// Of many changes without effect, at most one in twenty families shows any.
func TestChanceIsNoDiscovery(t *testing.T) {
	families, found := 200, 0
	for f := range families {
		clock, s := 0, dist.NewStream(uint64(f), "noise")
		var variants []trial.Variant
		for range 10 {
			variants = append(variants, trial.Variant{Name: "same", Measure: noisy(1, &clock, s)})
		}
		p := plan
		p.Seed = uint64(f)
		cases, err := trial.Run(t.Context(), p, variants)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Effects["rate"].Real {
				found++
				break
			}
		}
	}
	// Binomial with 200 draws of 5 %: more than 22 has a probability below .0003.
	if found > 22 {
		t.Errorf("%d of %d families without effect show one", found, families)
	}
}

func TestInterruptedKeepsCompleteRounds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough, n := errors.New("enough"), 0
	measure := func(context.Context) (trial.Sample, error) {
		if n++; n == 11 {
			cancel(enough)
		}
		return trial.Sample{"rate": 1}, nil
	}
	cases, err := trial.Run(ctx, plan, []trial.Variant{{Name: "a", Measure: measure}, {Name: "b", Measure: measure}})
	if !errors.Is(err, enough) || len(cases) != 2 || cases[1].Effects["rate"].N != 5 {
		t.Errorf("got %v, %+v", err, cases)
	}
}

func TestFailureNamesTheVariant(t *testing.T) {
	broken := errors.New("broken")
	p := plan
	calls := 0
	p.Progress = func(done, total int, _ trial.Variant, _ trial.Sample, _ time.Duration) { calls++ }
	_, err := trial.Run(t.Context(), p, []trial.Variant{{Name: "b", Measure: func(context.Context) (trial.Sample, error) { return nil, broken }}})
	if !errors.Is(err, broken) || err.Error() != "b: broken" || calls != 0 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	p.Rounds = 3
	if _, err := trial.Run(t.Context(), p, nil); err == nil {
		t.Error("three rounds carry no interval")
	}
}
