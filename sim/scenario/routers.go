package scenario

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/sim"
)

// routers are the nodes that choose a backend. All take tries and view.
var routers = map[string]builtin{
	"view": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var stale number
		if err := u("stale?", &stale); err != nil {
			return nil, err
		}
		if stale < 0 {
			return nil, fmt.Errorf("stale by %g ms", float64(stale))
		}
		return board{&sim.View{Stale: float64(stale)}, "view"}, nil
	},
	"random": router(func(*options) (sim.Routing, error) { return sim.ByChance(), nil }),
	"round_robin": router(func(*options) (sim.Routing, error) {
		return sim.Routing{Name: "round robin", Deaf: true, Choose: func(n int, _ balance.Rand) balance.Policy { return balance.RoundRobin(n) }}, nil
	}),
	"weighted": router(func(o *options) (sim.Routing, error) {
		return sim.Routing{Name: "weighted", Deaf: true, Choose: func(int, balance.Rand) balance.Policy { return balance.Weighted(o.weights) }}, o.checkWeights()
	}, "weights"),
	"one_each": router(func(*options) (sim.Routing, error) {
		return sim.Routing{Name: "one each", Choose: func(n int, _ balance.Rand) balance.Policy { return balance.OneEach(n) }}, nil
	}),
	"least_connections": router(func(o *options) (sim.Routing, error) {
		ties := balance.RandomTies
		switch o.ties {
		case "random":
		case "lowest":
			ties = balance.LowestTies
		default:
			return sim.Routing{}, fmt.Errorf("ties: %q is not random or lowest", o.ties)
		}
		hold, err := duration("hold", o.hold)
		return sim.Routing{Name: "least connections", Choose: func(n int, r balance.Rand) balance.Policy {
			return balance.LeastConnections(n, ties, hold, r)
		}}, err
	}, "ties?", "hold?"),
	"least_of": router(func(o *options) (sim.Routing, error) {
		if o.d < 1 {
			return sim.Routing{}, fmt.Errorf("the least of %d", o.d)
		}
		return sim.Routing{Name: fmt.Sprintf("least of %d", o.d), Choose: func(n int, r balance.Rand) balance.Policy { return balance.LeastOf(o.d, n, r) }}, nil
	}, "d"),
	"peak_ewma": router(func(o *options) (sim.Routing, error) {
		if o.d < 1 {
			return sim.Routing{}, fmt.Errorf("the least of %d", o.d)
		}
		decay, err := duration("decay", o.decay)
		return sim.Routing{Name: "peak EWMA", Choose: func(n int, r balance.Rand) balance.Policy { return balance.PeakEWMA(o.d, n, decay, r) }}, err
	}, "d?", "decay?"),
	"consistent_hash": router(func(o *options) (sim.Routing, error) {
		if o.points < 1 || o.points > 10_000 || o.bound != 0 && !(o.bound > 1) {
			return sim.Routing{}, fmt.Errorf("%d points and a bound of %g: want at least 1, and more than 1 or 0 for none", o.points, float64(o.bound))
		}
		return sim.Routing{Name: "consistent hash", Choose: func(n int, _ balance.Rand) balance.Policy {
			return balance.ConsistentHash(n, o.points, float64(o.bound))
		}}, nil
	}, "points?", "bound?"),
	"maglev": router(func(*options) (sim.Routing, error) {
		return sim.Routing{Name: "maglev", Choose: func(n int, _ balance.Rand) balance.Policy { return balance.Maglev(n, 0) }}, nil
	}),
	"sticky": router(func(*options) (sim.Routing, error) {
		return sim.Routing{Name: "sticky", Choose: func(n int, r balance.Rand) balance.Policy { return balance.Sticky(balance.Random(n, r)) }}, nil
	}),
}

// options are the arguments of all routers.
type options struct {
	backends poolArg
	ties     string
	d        int
	points   int
	hold     number
	decay    number
	bound    number
	weights  []float64
}

func (o *options) checkWeights() error {
	if len(o.weights) != len(o.backends) {
		return fmt.Errorf("%d weights for %d backends", len(o.weights), len(o.backends))
	}
	sum := 0.0
	for i, w := range o.weights {
		if !(w >= 0) || w > 1e12 {
			return fmt.Errorf("weight %d is %g", i, w)
		}
		sum += w
	}
	if sum == 0 {
		return fmt.Errorf("all weights are 0")
	}
	return nil
}

func duration(what string, ms number) (time.Duration, error) {
	if !(ms >= 0 && ms <= 1e12) {
		return 0, fmt.Errorf("%s: %g ms", what, float64(ms))
	}
	return time.Duration(float64(ms) * 1e6), nil
}

// router makes the word for a policy; own are the names of its arguments.
func router(routing func(*options) (sim.Routing, error), own ...string) builtin {
	return func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		o := &options{ties: "random", d: 2, points: 100, decay: 10_000}
		var weights starlark.Iterable
		var view starlark.Value
		tries := 1
		places := map[string]any{"ties?": &o.ties, "d": &o.d, "d?": &o.d, "points?": &o.points, "hold?": &o.hold, "decay?": &o.decay, "bound?": &o.bound, "weights": &weights}
		var pairs []any
		for _, name := range own {
			if name == "d" { // before the pool: least_of(2, pool)
				pairs = append(pairs, name, places[name])
			}
		}
		pairs = append(pairs, "backends", &o.backends)
		for _, name := range own {
			if name != "d" {
				pairs = append(pairs, name, places[name])
			}
		}
		if err := u(append(pairs, "tries?", &tries, "view?", &view)...); err != nil {
			return nil, err
		}
		if weights != nil {
			it := weights.Iterate()
			defer it.Done()
			var v starlark.Value
			for it.Next(&v) {
				var x number
				if err := x.Unpack(v); err != nil {
					return nil, fmt.Errorf("weight %d: %w", len(o.weights), err)
				}
				o.weights = append(o.weights, float64(x))
			}
		}
		r, err := routing(o)
		if err != nil {
			return nil, err
		}
		if tries < 1 || tries > 1_000_000 {
			return nil, fmt.Errorf("%d tries", tries)
		}
		r.Tries = tries
		if view != nil && view != starlark.None {
			b, ok := view.(board)
			if !ok {
				return nil, fmt.Errorf("view: got %s, want a view()", view.Type())
			}
			r.View = b.v
		}
		return asValue(r.To(o.backends...))
	}
}
