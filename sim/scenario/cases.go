package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/sim"
)

func (f *file) add(c sim.Case) error {
	if len(f.x.Cases) >= maxCases {
		return fmt.Errorf("more than %d cases", maxCases)
	}
	for _, o := range f.x.Cases {
		if o.Name == c.Name {
			return fmt.Errorf("there are two cases %q", c.Name)
		}
	}
	if c.Baseline && f.baseline {
		return fmt.Errorf("%q is the second baseline", c.Name)
	}
	f.baseline = f.baseline || c.Baseline
	if f.config.Arrivals == nil {
		return errors.New("say first when requests arrive: simulate(arrivals = poisson(1.5))")
	}
	c.Config = f.config
	f.x.Cases = append(f.x.Cases, c)
	return nil
}

// addCase takes any other argument for a parameter that the case stands for.
func (f *file) addCase(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var c sim.Case
	var network nodeArg
	var own []starlark.Tuple
	for _, p := range kw {
		k, _ := starlark.AsString(p[0])
		if k == "name" || k == "network" || k == "baseline" || k == "line" {
			own = append(own, p)
			continue
		}
		var x number
		if err := x.Unpack(p[1]); err != nil {
			return nil, fmt.Errorf("case: parameter %s: %w", k, err)
		}
		if c.Params == nil {
			c.Params = map[string]float64{}
		}
		c.Params[k] = float64(x)
	}
	if err := starlark.UnpackArgs(fn.Name(), args, own, "name", &c.Name, "network", &network, "baseline?", &c.Baseline, "line?", &c.Line); err != nil {
		return nil, err
	}
	c.Network = network.Node
	if err := f.add(c); err != nil {
		return nil, fmt.Errorf("case: %w", err)
	}
	return starlark.None, nil
}

// sweep adds a case for every value of a parameter.
func (f *file) sweep(th *starlark.Thread, u unpack) (starlark.Value, error) {
	var title, line string
	var values starlark.Iterable
	var fn starlark.Callable
	if err := u("name", &title, "values", &values, "network", &fn, "line?", &line); err != nil {
		return nil, err
	}
	it := values.Iterate()
	defer it.Done()
	var v starlark.Value
	for it.Next(&v) {
		var x number
		if err := x.Unpack(v); err != nil {
			return nil, err
		}
		got, err := starlark.Call(th, fn, starlark.Tuple{v}, nil)
		if err != nil {
			return nil, err
		}
		var n nodeArg
		if err := n.Unpack(got); err != nil {
			return nil, fmt.Errorf("for %s = %v: %w", title, v, err)
		}
		name := fmt.Sprintf("%v %s", v, title)
		if line != "" {
			name += ", " + line
		}
		if err := f.add(sim.Case{Name: name, Network: n.Node, Params: map[string]float64{title: float64(x)}, Line: line}); err != nil {
			return nil, err
		}
	}
	return starlark.None, nil
}

// windows are the ways to choose which requests count.
var windows = map[string]func(*sim.Config){
	"middle": func(c *sim.Config) { c.Window, c.Detect = sim.Middle, false },
	"all":    func(c *sim.Config) { c.Window, c.Detect = sim.All, false },
	"mser5":  func(c *sim.Config) { c.Window, c.Detect = nil, true },
}

func (f *file) simulate(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var arrivals load
	var kinds starlark.Iterable
	requests, window, question := f.config.Requests, "middle", f.x.Question
	round := number(f.config.Round)
	precision := number(f.x.Precision)
	least, most := f.x.Least, f.x.Most
	var from starlark.Value
	if err := u("arrivals", &from, "requests?", &requests, "window?", &window, "round?", &round,
		"question?", &question, "replications?", &least, "most?", &most, "precision?", &precision, "classes?", &kinds); err != nil {
		return nil, err
	}
	arrivals, ok := from.(load)
	if !ok {
		return nil, fmt.Errorf("arrivals: got %s, want something like poisson(1.5)", from.Type())
	}
	choose, ok := windows[window]
	if !ok {
		return nil, fmt.Errorf("window: %q is not one of %s", window, strings.Join(slices.Sorted(maps.Keys(windows)), ", "))
	}
	if requests < 8 || requests > 10_000_000_000 {
		return nil, fmt.Errorf("requests: %d: want 8 or more", requests)
	}
	if round < 0 || precision < 0 {
		return nil, errors.New("round and precision must not be negative")
	}
	if least != 0 && least < 4 || most != 0 && most < max(least, 4) {
		return nil, fmt.Errorf("%d to %d replications: want at least 4", least, most)
	}
	f.config = sim.Config{Arrivals: arrivals.v, Requests: requests, Round: float64(round)}
	choose(&f.config)
	if kinds != nil {
		it := kinds.Iterate()
		defer it.Done()
		var v starlark.Value
		for it.Next(&v) {
			c, ok := v.(kind)
			if !ok {
				return nil, fmt.Errorf("classes: got %s, want request_class(\"name\", ...)", v.Type())
			}
			f.config.Classes = append(f.config.Classes, c.v)
		}
	}
	f.x.Question, f.x.Least, f.x.Most, f.x.Precision = question, least, most, float64(precision)
	return starlark.None, nil
}

type kind = value[sim.Class]

func requestClass(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var c sim.Class
	share, priority := number(1), number(0)
	var size, keys lawArg
	if err := u("name", &c.Name, "share?", &share, "size?", &size, "keys?", &keys, "priority?", &priority); err != nil {
		return nil, err
	}
	if share < 0 {
		return nil, fmt.Errorf("a share of %g", float64(share))
	}
	for _, d := range []dist.Dist{size.Dist, keys.Dist} {
		if d != nil {
			if err := dist.Check(d); err != nil {
				return nil, err
			}
		}
	}
	c.Share, c.Priority, c.Size, c.Keys = float64(share), float64(priority), size.Dist, keys.Dist
	return kind{c, "class of requests"}, nil
}
