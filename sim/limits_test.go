package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/dist"
)

// What cannot be simulated ends in an error that says why, not in a hang, a panic or
// figures that have overflowed.
func TestBeyond(t *testing.T) {
	c := Config{Arrivals: Poisson(10), Requests: 5000, Window: All, Series: 10}
	tail := dist.LogNormal(10, 100)
	fans := Node(Server("s"))
	for range 30 {
		fans = Fan(0, false, fans, fans)
	}
	a, b := NewMutex("a"), NewMutex("b")
	for name, x := range map[string]struct {
		network Node
		load    Load
		says    string
	}{
		"tail, foreseen":    {Queue(Delay(tail, Server("s"))), nil, "37 years"},
		"tail, not":         {Shared(1, tail, Server("s")), nil, "37 years"},
		"parts of parts":    {fans, nil, "under way"},
		"nobody comes":      {Server("s"), Ramp(Rate{0, 0}), "no request arrives"},
		"silence for years": {Server("s"), Bursts(Burst{1e11, 1}, Burst{0, 1}), "too many events"},
		"a circle": {Random(a.Lock(Delay(dist.Fixed(1), b.Lock(Server("s")))), b.Lock(Delay(dist.Fixed(1), a.Lock(Server("s"))))), nil,
			"wait for each other"},
	} {
		c := c
		c.Limit = 50_000_000
		if x.load != nil {
			c.Arrivals = x.load
		}
		if _, err := Run(c, x.network); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want %q", name, err, x.says)
		}
	}
}

// A run that nobody waits for any more ends soon, in the middle of a replication.
func TestInterruptedInside(t *testing.T) {
	for name, n := range map[string]Node{"foreseen": Queue(Delay(dist.Exponential(5), Server("s"))), "events": Shared(1, dist.Exponential(5), Server("s"))} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := Experiment{Cases: []Case{{Name: name, Config: Config{Arrivals: Poisson(10), Requests: math.MaxInt32}, Network: n}}}.Run(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One busy node of a pool is seen, and nodes of several tiers are told apart.
func TestNodeStats(t *testing.T) {
	pool := Pool(4, func(i int) Node { return Queue(Delay(dist.Exponential(float64(1+i*i)), Server("s"))) })
	r, err := Run(Config{Arrivals: Poisson(3), Requests: 20_000, Window: All}, Queue(RoundRobin(pool...), Workers(50)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]NodeStats{}
	for _, n := range r.Nodes {
		got[n.Name] = n
	}
	tier := got["queue of s"]
	if tier.Nodes != 4 || math.Abs(tier.Busiest-10./12) > .02 || math.Abs(tier.Utilisation-(1+2+5+10)/12./4) > .01 {
		t.Errorf("the pool: %+v", tier)
	}
	if front := got["queue of queue of s"]; front.Nodes != 1 || front.Workers != 50 {
		t.Errorf("the nodes are %v", fmt.Sprint(r.Nodes))
	}
	r, err = Run(Config{Arrivals: Poisson(3)}, Named("front", Queue(Server("s"))))
	if err != nil || r.Nodes[0].Name != "front" {
		t.Errorf("%v, %v", r.Nodes, err)
	}
}
