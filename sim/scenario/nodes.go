package scenario

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.starlark.net/starlark"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/sim"
)

func server(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	title := "server"
	if err := starlark.UnpackArgs(name, args, kw, "name?", &title); err != nil {
		return nil, err
	}
	return node{sim.Server(title), "node"}, nil
}

func cable(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var length number
	var next starlark.Value
	if err := starlark.UnpackArgs(name, args, kw, "length", &length, "next", &next); err != nil {
		return nil, err
	}
	to, err := asNode(next)
	if err != nil {
		return nil, err
	}
	if err := dist.Check(dist.Fixed(float64(length))); err != nil {
		return nil, err
	}
	return node{sim.Cable(float64(length), to), "node"}, nil
}

func delay(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var length, next starlark.Value
	if err := starlark.UnpackArgs(name, args, kw, "time", &length, "next", &next); err != nil {
		return nil, err
	}
	d, err := asLaw(length)
	if err != nil {
		return nil, err
	}
	to, err := asNode(next)
	if err != nil {
		return nil, err
	}
	return node{sim.Delay(d, to), "node"}, nil
}

func queue(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var next starlark.Value
	workers, backlog := 1, -1
	if err := starlark.UnpackArgs(name, args, kw, "next", &next, "workers?", &workers, "backlog?", &backlog); err != nil {
		return nil, err
	}
	to, err := asNode(next)
	if err != nil {
		return nil, err
	}
	if workers < 1 || workers > 1_000_000 {
		return nil, fmt.Errorf("%d workers", workers)
	}
	if backlog < -1 {
		return nil, fmt.Errorf("a backlog of %d", backlog)
	}
	o := []sim.QueueOption{sim.Workers(workers)}
	if backlog >= 0 {
		o = append(o, sim.Backlog(backlog))
	}
	return node{sim.Queue(to, o...), "node"}, nil
}

// pool calls each for every one of n nodes, with its number if it takes one.
func pool(th *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var n int
	var each starlark.Callable
	if err := starlark.UnpackArgs(name, args, kw, "n", &n, "each", &each); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("a pool of %d is empty", n)
	}
	if n > maxPool {
		return nil, fmt.Errorf("%d nodes are more than %d", n, maxPool)
	}
	numbered := false
	if fn, ok := each.(*starlark.Function); ok {
		numbered = fn.NumParams() > 0
	}
	list := make([]starlark.Value, n)
	for i := range list {
		var a starlark.Tuple
		if numbered {
			a = starlark.Tuple{starlark.MakeInt(i)}
		}
		v, err := starlark.Call(th, each, a, nil)
		if err != nil {
			return nil, err
		}
		if _, err := asNode(v); err != nil {
			return nil, err
		}
		list[i] = v
	}
	return starlark.NewList(list), nil
}

func nodes(backends starlark.Iterable) ([]sim.Node, error) {
	var all []sim.Node
	it := backends.Iterate()
	defer it.Done()
	var v starlark.Value
	for it.Next(&v) {
		n, err := asNode(v)
		if err != nil {
			return nil, fmt.Errorf("backend %d: %w", len(all), err)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, errors.New("an empty pool")
	}
	return all, nil
}

func router(make func(...sim.Node) sim.Node) builtin {
	return func(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		var backends starlark.Iterable
		if err := starlark.UnpackArgs(name, args, kw, "backends", &backends); err != nil {
			return nil, err
		}
		all, err := nodes(backends)
		if err != nil {
			return nil, err
		}
		return node{make(all...), "node"}, nil
	}
}

func leastOf(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var d int
	var backends starlark.Iterable
	if err := starlark.UnpackArgs(name, args, kw, "d", &d, "backends", &backends); err != nil {
		return nil, err
	}
	all, err := nodes(backends)
	if err != nil {
		return nil, err
	}
	if d < 1 {
		return nil, fmt.Errorf("the least of %d", d)
	}
	return node{sim.LeastOf(d, all...), "node"}, nil
}

func poisson(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var gap number
	if err := starlark.UnpackArgs(name, args, kw, "gap", &gap); err != nil {
		return nil, err
	}
	return loadOf(dist.Exponential(float64(gap)))
}

func constant(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var gap number
	if err := starlark.UnpackArgs(name, args, kw, "gap", &gap); err != nil {
		return nil, err
	}
	return loadOf(dist.Fixed(float64(gap)))
}

func gaps(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackArgs(name, args, kw, "gap", &v); err != nil {
		return nil, err
	}
	d, err := asLaw(v)
	if err != nil {
		return nil, err
	}
	return loadOf(d)
}

func loadOf(d dist.Dist) (starlark.Value, error) {
	if err := dist.Check(d); err != nil {
		return nil, err
	}
	return load{sim.Gaps(d), "load"}, nil
}

func atOnce(_ *starlark.Thread, name string, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackArgs(name, args, kw); err != nil {
		return nil, err
	}
	return load{sim.AtOnce(), "load"}, nil
}

// empirical reads a file: of values, one a line; a column of a CSV file; or an HDR histogram log.
func empirical(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var path, column string
	scale := number(1)
	if err := starlark.UnpackArgs(fn.Name(), args, kw, "file", &path, "column?", &column, "scale?", &scale); err != nil {
		return nil, err
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("empirical: %w", err)
	}
	defer r.Close()
	var d dist.Dist
	switch {
	case strings.HasSuffix(path, ".hlog"), strings.HasSuffix(path, ".hdr"):
		d, err = dist.ReadHDR(path, r, float64(scale))
	case column != "":
		d, err = dist.ReadCSV(path, r, column)
	default:
		d, err = dist.ReadValues(path, r)
	}
	if err != nil {
		return nil, fmt.Errorf("empirical: %w", err)
	}
	if !strings.HasSuffix(path, ".hlog") && !strings.HasSuffix(path, ".hdr") {
		d = dist.Scale(d, float64(scale))
	}
	return law{d, "distribution"}, dist.Check(d)
}
