// Package scenario reads simulations that are written in Starlark, a small dialect of
// Python. The names are those of package sim:
//
//	dyno = lambda: cable(2, queue(delay(20, exponential(100, server("rails")))))
//
//	simulate(arrivals = poisson(1.5), requests = 100000)
//	case("random", random(pool(250, dyno)), baseline = True)
//	case("least connections", least_connections(pool(250, dyno)))
//
// The file builds the networks once; nothing of it runs while they are simulated.
package scenario

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/sim"
)

// Bounds of what a file may ask for, so that a slip ends in a message and not in a
// machine without memory.
const (
	maxSteps  = 50_000_000
	maxMemory = 1 << 30 // bytes
	maxRange  = 10_000_000
	maxPool   = 2_000_000
	maxCases  = 1000
)

// Read runs the program in src, named for messages, and gives the experiment that it describes.
func Read(name string, src []byte) (x sim.Experiment, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: %v", name, p)
		}
	}()
	f := &file{config: sim.Config{Requests: 100_000}}
	f.x.Question = "What if requests went another way?"
	thread := &starlark.Thread{Name: name, Print: func(_ *starlark.Thread, text string) { f.printed = append(f.printed, text) }}
	thread.SetMaxExecutionSteps(maxSteps)
	defer watch(thread)()
	options := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
	if _, err := starlark.ExecFileOptions(options, thread, name, src, f.builtins()); err != nil {
		return x, where(name, err)
	}
	if len(f.x.Cases) == 0 {
		return x, fmt.Errorf("%s: no case: say what to simulate with case(name, network)", name)
	}
	return f.x, nil
}

// where puts the line of the file before what is wrong.
func where(name string, err error) error {
	var list resolve.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return fmt.Errorf("%s: %s", list[0].Pos, list[0].Msg)
	}
	var run *starlark.EvalError
	if errors.As(err, &run) {
		for i := len(run.CallStack) - 1; i >= 0; i-- {
			if p := run.CallStack[i].Pos; p.Filename() == name && p.Line > 0 {
				return fmt.Errorf("%s: %s", p, strings.TrimPrefix(run.Msg, "Starlark computation cancelled: "))
			}
		}
	}
	return err
}

// file is what a scenario has said so far.
type file struct {
	x        sim.Experiment
	config   sim.Config
	printed  []string
	baseline bool
}

// value is one of our things as Starlark sees it.
type value[T any] struct {
	v    T
	kind string
}

func (v value[T]) String() string        { return "<" + v.kind + ">" }
func (v value[T]) Type() string          { return v.kind }
func (v value[T]) Freeze()               {}
func (v value[T]) Truth() starlark.Bool  { return true }
func (v value[T]) Hash() (uint32, error) { return 0, fmt.Errorf("a %s cannot be a key", v.kind) }

type (
	node = value[sim.Node]
	law  = value[dist.Dist]
	load = value[sim.Load]
)

type builtin func(th *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error)

func (f *file) builtins() starlark.StringDict {
	all := map[string]builtin{
		"range": limitedRange, "pool": pool, "simulate": f.simulate, "case": f.addCase, "sweep": f.sweep,
		"server": server, "cable": cable, "delay": delay, "queue": queue,
		"poisson": poisson, "constant": constant, "gaps": gaps, "at_once": atOnce,
		"random": router(sim.Random), "round_robin": router(sim.RoundRobin), "one_each": router(sim.OneEach),
		"least_connections": leastConnections, "least_of": leastOf,
	}
	for name, make := range laws {
		all[name] = lawOf(make)
	}
	d := starlark.StringDict{"empirical": starlark.NewBuiltin("empirical", empirical)}
	for name, b := range all {
		d[name] = starlark.NewBuiltin(name, func(th *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			v, err := b(th, fn.Name(), args, kw)
			if err != nil && !strings.HasPrefix(err.Error(), fn.Name()) {
				err = fmt.Errorf("%s: %w", fn.Name(), err)
			}
			return v, err
		})
	}
	return d
}

// laws are the distributions by their numbers of parameters.
var laws = map[string]struct {
	names []string
	make  func(p []float64) dist.Dist
}{
	"fixed":            {[]string{"value"}, func(p []float64) dist.Dist { return dist.Fixed(p[0]) }},
	"uniform":          {[]string{"low", "high"}, func(p []float64) dist.Dist { return dist.Uniform(p[0], p[1]) }},
	"exponential":      {[]string{"mean"}, func(p []float64) dist.Dist { return dist.Exponential(p[0]) }},
	"erlang":           {[]string{"k", "mean"}, func(p []float64) dist.Dist { return dist.Erlang(whole(p[0]), p[1]) }},
	"gamma":            {[]string{"shape", "mean"}, func(p []float64) dist.Dist { return dist.Gamma(p[0], p[1]) }},
	"lognormal":        {[]string{"median", "sigma"}, func(p []float64) dist.Dist { return dist.LogNormal(p[0], p[1]) }},
	"pareto":           {[]string{"low", "alpha"}, func(p []float64) dist.Dist { return dist.Pareto(p[0], p[1]) }},
	"weibull":          {[]string{"shape", "scale"}, func(p []float64) dist.Dist { return dist.Weibull(p[0], p[1]) }},
	"hyperexponential": {[]string{"p", "mean1", "mean2"}, func(p []float64) dist.Dist { return dist.HyperExponential(p[0], p[1], p[2]) }},
}

// whole is x as a number of stages; 0, which no law accepts, where it is none.
func whole(x float64) int {
	if x != math.Trunc(x) || math.Abs(x) > 1e9 {
		return 0
	}
	return int(x)
}

// lawOf makes a distribution, or with a node behind the parameters a delay before it, as
// in exponential(100, server("rails")).
func lawOf(l struct {
	names []string
	make  func(p []float64) dist.Dist
}) builtin {
	return func(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		p := make([]starlark.Float, len(l.names))
		var next starlark.Value
		var pairs []any
		for i, n := range l.names {
			pairs = append(pairs, n, (*number)(&p[i]))
		}
		if err := starlark.UnpackArgs(name, args, kw, append(pairs, "next?", &next)...); err != nil {
			return nil, err
		}
		x := make([]float64, len(p))
		for i := range p {
			x[i] = float64(p[i])
		}
		d := l.make(x)
		if err := dist.Check(d); err != nil {
			return nil, err
		}
		if next == nil || next == starlark.None {
			return law{d, "distribution"}, nil
		}
		to, err := asNode(next)
		if err != nil {
			return nil, err
		}
		return node{sim.Delay(d, to), "node"}, nil
	}
}

// number unpacks an int or a float.
type number starlark.Float

func (n *number) Unpack(v starlark.Value) error {
	x, ok := starlark.AsFloat(v)
	if !ok {
		return fmt.Errorf("got %s, want a number", v.Type())
	}
	if math.IsNaN(x) {
		return errors.New("got NaN, want a number")
	}
	*n = number(x)
	return nil
}

func asNode(v starlark.Value) (sim.Node, error) {
	n, ok := v.(node)
	if !ok {
		return nil, fmt.Errorf("got %s, want a node such as server(\"name\")", v.Type())
	}
	return n.v, nil
}

// asLaw takes a number for a fixed time.
func asLaw(v starlark.Value) (dist.Dist, error) {
	if d, ok := v.(law); ok {
		return d.v, nil
	}
	var x number
	if err := x.Unpack(v); err != nil {
		return nil, fmt.Errorf("got %s, want a time in ms or a distribution", v.Type())
	}
	d := dist.Fixed(float64(x))
	return d, dist.Check(d)
}

func limitedRange(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	start, stop, step := 0, 0, 1
	if len(args) == 1 {
		if err := starlark.UnpackPositionalArgs(name, args, kw, 1, &stop); err != nil {
			return nil, err
		}
	} else if err := starlark.UnpackPositionalArgs(name, args, kw, 2, &start, &stop, &step); err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, errors.New("a step of 0")
	}
	n := math.Ceil((float64(stop) - float64(start)) / float64(step))
	if n > maxRange {
		return nil, fmt.Errorf("%.0f numbers are more than %d", n, maxRange)
	}
	list := make([]starlark.Value, 0, int(max(n, 0)))
	for i := 0; i < int(n); i++ {
		list = append(list, starlark.MakeInt(start+i*step))
	}
	return starlark.NewList(list), nil
}

// case names of a sweep and parameters of cases are sorted, so that reports are the same every time.
func params(kw []starlark.Tuple) (map[string]float64, error) {
	out := map[string]float64{}
	for _, p := range kw {
		k, _ := starlark.AsString(p[0])
		var x number
		if err := x.Unpack(p[1]); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", k, err)
		}
		out[k] = float64(x)
	}
	return out, nil
}

func (f *file) add(name string, network sim.Node, baseline bool, params map[string]float64) error {
	if len(f.x.Cases) >= maxCases {
		return fmt.Errorf("more than %d cases", maxCases)
	}
	for _, c := range f.x.Cases {
		if c.Name == name {
			return fmt.Errorf("there are two cases %q", name)
		}
	}
	if baseline && f.baseline {
		return fmt.Errorf("%q is the second baseline", name)
	}
	f.baseline = f.baseline || baseline
	if f.config.Arrivals == nil {
		return errors.New("say first when requests arrive: simulate(arrivals = poisson(1.5))")
	}
	f.x.Cases = append(f.x.Cases, sim.Case{Name: name, Params: params, Baseline: baseline, Config: f.config, Network: network})
	return nil
}

func (f *file) addCase(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var title string
	var network starlark.Value
	var baseline bool
	var own, rest []starlark.Tuple
	for _, p := range kw {
		switch k, _ := starlark.AsString(p[0]); k {
		case "name", "network", "baseline":
			own = append(own, p)
		default:
			rest = append(rest, p)
		}
	}
	if err := starlark.UnpackArgs(name, args, own, "name", &title, "network", &network, "baseline?", &baseline); err != nil {
		return nil, err
	}
	n, err := asNode(network)
	if err != nil {
		return nil, err
	}
	p, err := params(rest)
	if err != nil {
		return nil, err
	}
	return starlark.None, f.add(title, n, baseline, p)
}

// sweep adds a case for every value of a parameter.
func (f *file) sweep(th *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var title string
	var values starlark.Iterable
	var fn starlark.Callable
	if err := starlark.UnpackArgs(name, args, kw, "name", &title, "values", &values, "network", &fn); err != nil {
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
		n, err := asNode(got)
		if err != nil {
			return nil, fmt.Errorf("for %s = %v: %w", title, v, err)
		}
		if err := f.add(fmt.Sprintf("%v %s", v, title), n, false, map[string]float64{title: float64(x)}); err != nil {
			return nil, err
		}
	}
	return starlark.None, nil
}

// windows are the names of the ways to choose which requests count.
var windows = map[string]func(int) (int, int){"middle": sim.Middle, "all": sim.All}

func (f *file) simulate(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var arrivals starlark.Value
	requests, window, question := f.config.Requests, "middle", f.x.Question
	round := number(f.config.Round)
	precision := number(f.x.Precision)
	least, most := f.x.Least, f.x.Most
	if err := starlark.UnpackArgs(name, args, kw, "arrivals", &arrivals, "requests?", &requests, "window?", &window, "round?", &round,
		"question?", &question, "replications?", &least, "most?", &most, "precision?", &precision); err != nil {
		return nil, err
	}
	l, ok := arrivals.(load)
	if !ok {
		return nil, fmt.Errorf("arrivals: got %s, want something like poisson(1.5)", arrivals.Type())
	}
	w, ok := windows[window]
	if !ok {
		names := []string{}
		for n := range windows {
			names = append(names, n)
		}
		sort.Strings(names)
		return nil, fmt.Errorf("window: %q is not one of %s", window, strings.Join(names, ", "))
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
	f.config = sim.Config{Arrivals: l.v, Requests: requests, Window: w, Round: float64(round)}
	f.x.Question, f.x.Least, f.x.Most, f.x.Precision = question, least, most, float64(precision)
	return starlark.None, nil
}

func leastConnections(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var backends starlark.Iterable
	ties := "random"
	if err := starlark.UnpackArgs(name, args, kw, "backends", &backends, "ties?", &ties); err != nil {
		return nil, err
	}
	t := balance.RandomTies
	switch ties {
	case "random":
	case "lowest":
		t = balance.LowestTies
	default:
		return nil, fmt.Errorf("ties: %q is not random or lowest", ties)
	}
	all, err := nodes(backends)
	if err != nil {
		return nil, err
	}
	return node{sim.LeastConnections(t, all...), "node"}, nil
}
