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
	"maps"
	"math"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

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

// unpack takes the arguments of a call by name, as [starlark.UnpackArgs] does.
type unpack func(pairs ...any) error

type builtin func(th *starlark.Thread, u unpack) (starlark.Value, error)

func (f *file) builtins() starlark.StringDict {
	all := map[string]builtin{"simulate": f.simulate, "sweep": f.sweep}
	for _, some := range []map[string]builtin{basics, nodes, routers, loads} {
		maps.Copy(all, some)
	}
	for name, l := range laws {
		all[name] = l.builtin
	}
	d := starlark.StringDict{"range": starlark.NewBuiltin("range", limitedRange)}
	d["case"] = starlark.NewBuiltin("case", f.addCase)
	for name, b := range all {
		d[name] = starlark.NewBuiltin(name, func(th *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			v, err := b(th, func(pairs ...any) error { return starlark.UnpackArgs(fn.Name(), args, kw, pairs...) })
			if err != nil && !strings.HasPrefix(err.Error(), fn.Name()) {
				err = fmt.Errorf("%s: %w", fn.Name(), err)
			}
			return v, err
		})
	}
	return d
}

// shape is a distribution by its parameters.
type shape struct {
	names []string
	make  func(p []float64) dist.Dist
}

var laws = map[string]shape{
	"fixed":            {[]string{"value"}, func(p []float64) dist.Dist { return dist.Fixed(p[0]) }},
	"uniform":          {[]string{"low", "high"}, func(p []float64) dist.Dist { return dist.Uniform(p[0], p[1]) }},
	"exponential":      {[]string{"mean"}, func(p []float64) dist.Dist { return dist.Exponential(p[0]) }},
	"erlang":           {[]string{"k", "mean"}, func(p []float64) dist.Dist { return dist.Erlang(whole(p[0]), p[1]) }},
	"gamma":            {[]string{"shape", "mean"}, func(p []float64) dist.Dist { return dist.Gamma(p[0], p[1]) }},
	"lognormal":        {[]string{"median", "sigma"}, func(p []float64) dist.Dist { return dist.LogNormal(p[0], p[1]) }},
	"pareto":           {[]string{"low", "alpha"}, func(p []float64) dist.Dist { return dist.Pareto(p[0], p[1]) }},
	"weibull":          {[]string{"shape", "scale"}, func(p []float64) dist.Dist { return dist.Weibull(p[0], p[1]) }},
	"hyperexponential": {[]string{"p", "mean1", "mean2"}, func(p []float64) dist.Dist { return dist.HyperExponential(p[0], p[1], p[2]) }},
	"zipf":             {[]string{"n", "s"}, func(p []float64) dist.Dist { return dist.Zipf(whole(p[0]), p[1]) }},
}

// whole is x as a number of stages; 0, which no law accepts, where it is none.
func whole(x float64) int {
	if x != math.Trunc(x) || math.Abs(x) > 1e9 {
		return 0
	}
	return int(x)
}

// builtin makes a distribution, or with a node behind the parameters a delay before it, as
// in exponential(100, server("rails")).
func (l shape) builtin(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	p := make([]float64, len(l.names))
	var next nodeArg
	var pairs []any
	for i, n := range l.names {
		pairs = append(pairs, n, (*number)(&p[i]))
	}
	if err := u(append(pairs, "next??", &next)...); err != nil {
		return nil, err
	}
	d := l.make(p)
	if err := dist.Check(d); err != nil {
		return nil, err
	}
	if next.Node == nil {
		return law{d, "distribution"}, nil
	}
	return asValue(sim.Delay(d, next.Node))
}

// number unpacks an int or a float.
type number float64

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

// nodeArg unpacks a node, lawArg a distribution or a number for a fixed one, and poolArg
// a list of nodes.
type (
	nodeArg struct{ sim.Node }
	lawArg  struct{ dist.Dist }
	poolArg []sim.Node
)

func (a *nodeArg) Unpack(v starlark.Value) error {
	n, ok := v.(node)
	if !ok {
		return fmt.Errorf("got %s, want a node such as server(\"name\")", v.Type())
	}
	a.Node = n.v
	return nil
}

func (a *lawArg) Unpack(v starlark.Value) error {
	if d, ok := v.(law); ok {
		a.Dist = d.v
		return nil
	}
	var x number
	if err := x.Unpack(v); err != nil {
		return fmt.Errorf("got %s, want a time in ms or a distribution", v.Type())
	}
	a.Dist = dist.Fixed(float64(x))
	return dist.Check(a.Dist)
}

func (a *poolArg) Unpack(v starlark.Value) error {
	list, ok := v.(starlark.Iterable)
	if !ok {
		return fmt.Errorf("got %s, want a list of nodes, such as pool(250, ...)", v.Type())
	}
	it := list.Iterate()
	defer it.Done()
	for it.Next(&v) {
		var n nodeArg
		if err := n.Unpack(v); err != nil {
			return fmt.Errorf("backend %d: %w", len(*a), err)
		}
		*a = append(*a, n.Node)
	}
	if len(*a) == 0 {
		return errors.New("an empty pool")
	}
	return nil
}

// asValue gives a node to the file, if it can be made.
func asValue(n sim.Node) (starlark.Value, error) {
	if err := sim.Check(n); err != nil {
		return nil, err
	}
	return node{n, "node"}, nil
}

func limitedRange(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	name := fn.Name()
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
