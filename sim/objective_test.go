package sim_test

import (
	"testing"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/sim"
)

// A service-level objective in a unit test: 99 % of the requests within 550 ms, by the
// upper end of the interval. It holds with least connections, and not with random routing.
func TestServiceLevelObjective(t *testing.T) {
	dynos := sim.Pool(250, func(int) sim.Node {
		return sim.Cable(2, sim.Queue(sim.Delay(dist.Fixed(20), sim.Delay(dist.Exponential(100), sim.Server("rails")))))
	})
	load := sim.Config{Arrivals: sim.Poisson(1), Requests: 20_000}
	r, err := sim.Experiment{Seed: 1, Cases: []sim.Case{
		{Name: "random", Config: load, Network: sim.Random(dynos...)},
		{Name: "least connections", Config: load, Network: sim.LeastConnections(balance.RandomTies, dynos...)},
	}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p99 := r.Cases[1].Values["latency.p99"]; p99.High > 550 {
		t.Errorf("the p99 latency is %.0f ms, up to %.0f", p99.Value, p99.High)
	}
	if p99 := r.Cases[0].Values["latency.p99"]; p99.Low < 550 {
		t.Errorf("random routing meets the objective as well, with %.0f ms: it says nothing", p99.Value)
	}
}
