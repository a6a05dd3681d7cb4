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
	"context"
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
	Classes  []Class // what kinds of them; nil: all alike
	Requests int     // how many; 0 is 100,000, or all that a replay has
	Seed     uint64  // of all luck
	Round    float64 // round all times to multiples of this, in ms; 0: as they are
	// Window says which requests count; nil is Middle.
	Window func(requests int) (first, last int)
	// Detect finds by MSER-5 how many of the first requests do not count because the
	// network is still filling, instead of Window. It runs twice.
	Detect bool
	Series int   // pieces of a time series of the whole run; 0: none
	Limit  int64 // events of one run, against networks that never come to rest; 0 is 1e10

	ctx   context.Context
	blind bool // tests: every step is an event
}

// Middle is the window of the published studies: by order of arrival, without the
// first and the last quarter.
func Middle(requests int) (first, last int) { return requests / 4, requests - requests/4 }

// All requests count.
func All(requests int) (first, last int) { return 0, requests }

// Run sends the load through the network until every request is answered.
func Run(c Config, root Node) (*Result, error) {
	if c.Detect {
		return detect(c, root)
	}
	return run(c, root, nil)
}

func run(c Config, root Node, batches *batches) (*Result, error) {
	e, b, err := prepare(&c, root, c.blind)
	if err != nil {
		return nil, err
	}
	first, last := c.Window(c.Requests)
	e.measure = newMeasure(int64(first), int64(last), c.Classes)
	e.measure.batches = batches
	if c.Series > 0 {
		e.measure.series = newSeries(c.Series)
	}
	if err := e.run(c.Arrivals, b.mix, int64(c.Requests), dist.NewStream(c.Seed, "load")); err != nil {
		return nil, err
	}
	if e.open > 0 {
		return nil, fmt.Errorf("%d requests are never answered: they wait for each other", e.open)
	}
	if e.measure.total == 0 {
		return nil, errors.New("no request arrives")
	}
	return e.measure.result(b), nil
}

// prepare makes a network live, and fills in what the configuration leaves open.
func prepare(c *Config, root Node, blind bool) (*engine, *builder, error) {
	if l, ok := c.Arrivals.(interface{ count() int }); ok && (c.Requests == 0 || c.Requests > l.count()) {
		c.Requests = l.count()
	}
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
		return nil, nil, errors.New("there are no arrivals")
	case c.Requests < 0:
		return nil, nil, fmt.Errorf("%d requests", c.Requests)
	case !(c.Round >= 0) || c.Round > 1e6:
		return nil, nil, fmt.Errorf("times cannot be rounded to %g ms", c.Round)
	case c.Series < 0 || c.Series > 1_000_000:
		return nil, nil, fmt.Errorf("a time series of %d pieces", c.Series)
	case root == nil:
		return nil, nil, errors.New("there is no network")
	}
	if err := c.Arrivals.check(); err != nil {
		return nil, nil, err
	}
	mix, err := newMixture(c.Classes)
	if err != nil {
		return nil, nil, err
	}
	b := newBuilder(c.Seed)
	b.blind, b.mix = blind, mix
	b.clock = clock{int64(math.Round(c.Round * ms))}
	l := b.node(root, 1)
	if b.err != nil {
		return nil, nil, b.err
	}
	b.foresee(l)
	b.made, b.open = nil, nil // large, and done with
	e := &engine{root: link{l.node, l.known}, clock: b.clock, limit: c.Limit, seed: b.seed, ctx: c.ctx}
	e.measure = newMeasure(0, 0, nil)
	return e, b, nil
}
