package scenario

import (
	"fmt"
	"os"
	"strings"

	"go.starlark.net/starlark"

	"github.com/headway-lab/headway/accesslog"
	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/sim"
)

// loads say when requests arrive.
var loads = map[string]builtin{
	"poisson": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var gap number
		if err := u("gap", &gap); err != nil {
			return nil, err
		}
		return asLoad(sim.Poisson(float64(gap)))
	},
	"constant": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var gap number
		if err := u("gap", &gap); err != nil {
			return nil, err
		}
		return asLoad(sim.Constant(float64(gap)))
	},
	"gaps": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var gap lawArg
		if err := u("gap", &gap); err != nil {
			return nil, err
		}
		return asLoad(sim.Gaps(gap.Dist))
	},
	"at_once": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		if err := u(); err != nil {
			return nil, err
		}
		return asLoad(sim.AtOnce())
	},
	"users": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var n int
		var think lawArg
		if err := u("n", &n, "think", &think); err != nil {
			return nil, err
		}
		return asLoad(sim.Users(n, think.Dist))
	},
	"ramp":   course(sim.Ramp),
	"steps":  course(sim.Steps),
	"bursts": bursts,
	"replay": replay,
}

func asLoad(l sim.Load) (starlark.Value, error) {
	if err := sim.CheckLoad(l); err != nil {
		return nil, err
	}
	return load{l, "load"}, nil
}

// pairs reads a list of two numbers each.
func pairs(list starlark.Iterable, what string) ([][2]float64, error) {
	var all [][2]float64
	it := list.Iterate()
	defer it.Done()
	var v starlark.Value
	for it.Next(&v) {
		var two [2]float64
		t, ok := v.(starlark.Indexable)
		if !ok || t.Len() != 2 {
			return nil, fmt.Errorf("%d: got %v, want %s", len(all), v, what)
		}
		for i := range two {
			if err := (*number)(&two[i]).Unpack(t.Index(i)); err != nil {
				return nil, fmt.Errorf("%d: %w", len(all), err)
			}
		}
		all = append(all, two)
	}
	return all, nil
}

func course(make func(...sim.Rate) sim.Load) builtin {
	return func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var list starlark.Iterable
		if err := u("points", &list); err != nil {
			return nil, err
		}
		two, err := pairs(list, "(ms, requests a second)")
		if err != nil {
			return nil, err
		}
		var points []sim.Rate
		for _, p := range two {
			points = append(points, sim.Rate{At: p[0], Rate: p[1]})
		}
		return asLoad(make(points...))
	}
}

func bursts(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var list starlark.Iterable
	if err := u("states", &list); err != nil {
		return nil, err
	}
	two, err := pairs(list, "(gap in ms, mean length in ms)")
	if err != nil {
		return nil, err
	}
	var states []sim.Burst
	for _, p := range two {
		states = append(states, sim.Burst{Gap: p[0], Length: p[1]})
	}
	return asLoad(sim.Bursts(states...))
}

// replay reads times: numbers, one a line or in a column of a CSV file, or an access log.
func replay(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var path, column string
	var log bool
	scale := number(1)
	if err := u("file", &path, "column?", &column, "scale?", &scale, "log?", &log); err != nil {
		return nil, err
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var times []float64
	switch {
	case log || strings.HasSuffix(path, ".log"):
		times, err = accesslog.Times(path, r)
	case column != "":
		times, err = dist.Column(path, r, column)
	default:
		times, err = dist.Values(path, r)
	}
	if err != nil {
		return nil, err
	}
	for i := range times {
		times[i] *= float64(scale)
	}
	return asLoad(sim.Replay(times))
}
