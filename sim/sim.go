// Package sim asks what would happen if requests went another way: a network of
// servers, queues and balancers in virtual time.
//
// A network is a composition of nodes. Each takes a request, does its part, and
// passes it on; the answer comes back the same way:
//
//	dyno := sim.Cable(2, sim.Queue(sim.Delay(dist.Fixed(20), sim.Delay(dist.Exponential(100), sim.Server("rails")))))
//
// is a server at the end of a cable of 2 ms, which works for 20 ms and then for an
// exponential time of mean 100 ms, for one request at a time. Times are in
// milliseconds throughout.
//
//	r, err := sim.Run(sim.Config{Arrivals: sim.Poisson(1), Requests: 100_000, Seed: 1},
//		sim.Random(sim.Pool(250, func(int) sim.Node { return dyno() })...))
//
// A run depends on the network, the load and the seed, and on nothing else: not on the
// machine, not on the clock. Luck belongs to the requests: under the same seed a
// request brings the same work whatever way it is sent, so that two networks
// differ by what was changed in them alone.
package sim

import (
	"errors"
	"fmt"
	"math"

	"github.com/headway-lab/headway/dist"
)

// Node is a part of a network, as it is written down; Run makes it live. One
// Node may be reached on several ways: then they share it.
type Node interface {
	make(b *builder) *live
}

// Config is what happens to a network.
type Config struct {
	Arrivals Load    // when requests come
	Requests int     // how many; 0 is 100,000
	Seed     uint64  // of all luck
	Round    float64 // round all times to multiples of this, in ms; 0: as they are
	// Window says which requests count; nil is Middle.
	Window func(requests int) (first, last int)
	Limit  int64 // events of one run, against networks that never come to rest; 0 is 1e10

	blind bool // tests: every step is an event
}

// Middle is the window of the published studies: by order of arrival, without the
// first and the last quarter.
func Middle(requests int) (first, last int) { return requests / 4, requests - requests/4 }

// All requests count.
func All(requests int) (first, last int) { return 0, requests }

// Run sends the load through the network until every request is answered.
func Run(c Config, root Node) (*Result, error) {
	if c.Requests == 0 {
		c.Requests = 100_000
	}
	if c.Limit == 0 {
		c.Limit = 1e10
	}
	if c.Window == nil {
		c.Window = Middle
	}
	switch {
	case c.Arrivals == nil:
		return nil, errors.New("there are no arrivals")
	case c.Requests < 0:
		return nil, fmt.Errorf("%d requests", c.Requests)
	case !(c.Round >= 0) || c.Round > 1e6:
		return nil, fmt.Errorf("times cannot be rounded to %g ms", c.Round)
	case root == nil:
		return nil, errors.New("there is no network")
	}
	if err := c.Arrivals.check(); err != nil {
		return nil, err
	}
	b := newBuilder(c.Seed)
	b.blind = c.blind
	l := b.node(root, 1)
	if b.err != nil {
		return nil, b.err
	}
	b.foresee(l)
	e := &engine{root: link{l.node, l.known}, round: int64(math.Round(c.Round * ms)), limit: c.Limit}
	e.seed = b.seed
	first, last := c.Window(c.Requests)
	e.measure = newMeasure(int64(first), int64(last))
	if err := e.run(c.Arrivals, c.Requests, dist.NewStream(c.Seed, "load")); err != nil {
		return nil, err
	}
	return e.measure.result(b, e.now), nil
}
