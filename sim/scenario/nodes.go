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

type (
	lock  = value[*sim.Mutex]
	board = value[*sim.View]
)

// basics make lists and distributions.
var basics = map[string]builtin{
	"pool": pool, "empirical": empirical, "per_size": perSize, "request_class": requestClass,
}

// nodes are the parts of a network but for its routers.
var nodes = map[string]builtin{
	"server": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		name := "server"
		if err := u("name?", &name); err != nil {
			return nil, err
		}
		return asValue(sim.Server(name))
	},
	"named": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var name string
		var n nodeArg
		if err := u("name", &name, "node", &n); err != nil {
			return nil, err
		}
		return asValue(sim.Named(name, n.Node))
	},
	"cable": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var length number
		var next nodeArg
		if err := u("length", &length, "next", &next); err != nil {
			return nil, err
		}
		return asValue(sim.Cable(float64(length), next.Node))
	},
	"delay": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var time lawArg
		var next nodeArg
		if err := u("time", &time, "next", &next); err != nil {
			return nil, err
		}
		return asValue(sim.Delay(time.Dist, next.Node))
	},
	"queue": queue,
	"series": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var list poolArg
		if err := u("nodes", &list); err != nil {
			return nil, err
		}
		return asValue(sim.Series(list...))
	},
	"mutex": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		name := "mutex"
		if err := u("name?", &name); err != nil {
			return nil, err
		}
		return lock{sim.NewMutex(name), "mutex"}, nil
	},
	"locked": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var m starlark.Value
		var next nodeArg
		if err := u("mutex", &m, "next", &next); err != nil {
			return nil, err
		}
		l, ok := m.(lock)
		if !ok {
			return nil, fmt.Errorf("got %s, want a mutex()", m.Type())
		}
		return asValue(l.v.Lock(next.Node))
	},
	"shared": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var cores int
		var work, every, pause lawArg
		var next nodeArg
		if err := u("cores", &cores, "work", &work, "next", &next, "pause_every?", &every, "pause?", &pause); err != nil {
			return nil, err
		}
		if (every.Dist == nil) != (pause.Dist == nil) {
			return nil, errors.New("want both of pause_every and pause, or none")
		}
		if every.Dist != nil {
			return asValue(sim.Collected(cores, work.Dist, sim.Pauses{Every: every.Dist, Length: pause.Dist}, next.Node))
		}
		return asValue(sim.Shared(cores, work.Dist, next.Node))
	},
	"faulty": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var up, down, slow lawArg
		var next nodeArg
		if err := u("up", &up, "down", &down, "next", &next, "slow?", &slow); err != nil {
			return nil, err
		}
		if slow.Dist != nil {
			return asValue(sim.Slow(up.Dist, down.Dist, slow.Dist, next.Node))
		}
		return asValue(sim.Faulty(up.Dist, down.Dist, next.Node))
	},
	"retry": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var o sim.Retrying
		var next nodeArg
		if err := u("tries", &o.Most, "next", &next, "backoff?", (*number)(&o.Backoff), "cap?", (*number)(&o.Cap),
			"jitter?", &o.Jitter, "budget?", (*number)(&o.Budget), "burst?", (*number)(&o.Burst)); err != nil {
			return nil, err
		}
		if o.Most < 1 {
			return nil, fmt.Errorf("%d tries", o.Most)
		}
		return asValue(sim.Retry(o, next.Node))
	},
	"timeout": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var limit number
		var recall bool
		var next nodeArg
		if err := u("limit", &limit, "next", &next, "recall?", &recall); err != nil {
			return nil, err
		}
		return asValue(sim.Timeout(float64(limit), recall, next.Node))
	},
	"hedge": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var after number
		var recall bool
		var next nodeArg
		most := 1
		if err := u("after", &after, "next", &next, "most?", &most, "recall?", &recall); err != nil {
			return nil, err
		}
		return asValue(sim.Hedge(float64(after), most, recall, next.Node))
	},
	"tied": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var d int
		var lag number
		var backends poolArg
		if err := u("d", &d, "backends", &backends, "lag?", &lag); err != nil {
			return nil, err
		}
		return asValue(sim.Tied(d, float64(lag), backends...))
	},
	"fan_out": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var need int
		var recall bool
		var backends poolArg
		if err := u("backends", &backends, "need?", &need, "recall?", &recall); err != nil {
			return nil, err
		}
		return asValue(sim.Fan(need, recall, backends...))
	},
	"batch": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var most int
		var wait number
		var next nodeArg
		if err := u("most", &most, "wait", &wait, "next", &next); err != nil {
			return nil, err
		}
		return asValue(sim.Batch(most, float64(wait), next.Node))
	},
	"breaker": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var o sim.Breaking
		var next nodeArg
		if err := u("next", &next, "failures?", &o.Failures, "rest?", (*number)(&o.Rest), "probes?", &o.Probes); err != nil {
			return nil, err
		}
		return asValue(sim.Breaker(o, next.Node))
	},
	"limit": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var rate number
		burst, wait := number(1), false
		var next nodeArg
		if err := u("rate", &rate, "next", &next, "burst?", &burst, "wait?", &wait); err != nil {
			return nil, err
		}
		return asValue(sim.Limit(float64(rate), float64(burst), wait, next.Node))
	},
	"cache": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var o sim.Caching
		var next nodeArg
		if err := u("next", &next, "ratio?", (*number)(&o.Ratio), "size?", &o.Size, "keep?", (*number)(&o.Keep), "time?", (*number)(&o.Time)); err != nil {
			return nil, err
		}
		return asValue(sim.Cache(o, next.Node))
	},
	"autoscale": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var o sim.Scaling
		var backends poolArg
		if err := u("backends", &backends, "target", (*number)(&o.Target), "least?", &o.Least, "begin?", &o.Begin, "interval?", (*number)(&o.Interval),
			"startup?", (*number)(&o.Startup), "hold?", (*number)(&o.Hold), "tolerance?", (*number)(&o.Tolerance)); err != nil {
			return nil, err
		}
		return asValue(sim.Autoscale(o, backends...))
	},
	"by_class": func(_ *starlark.Thread, u unpack) (starlark.Value, error) {
		var ways *starlark.Dict
		if err := u("ways", &ways); err != nil {
			return nil, err
		}
		all := map[string]sim.Node{}
		for _, item := range ways.Items() {
			name, ok := starlark.AsString(item[0])
			if !ok {
				return nil, fmt.Errorf("got %s for a class, want its name", item[0].Type())
			}
			var n nodeArg
			if err := n.Unpack(item[1]); err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
			all[name] = n.Node
		}
		return asValue(sim.ByClass(all))
	},
}

var orders = map[string]sim.Order{"fifo": sim.FIFO, "lifo": sim.LIFO, "priority": sim.Priority, "shortest": sim.Shortest}

func queue(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var next nodeArg
	workers, backlog, order := 1, -1, "fifo"
	if err := u("next", &next, "workers?", &workers, "backlog?", &backlog, "order?", &order); err != nil {
		return nil, err
	}
	if workers > 1_000_000 {
		return nil, fmt.Errorf("%d workers", workers)
	}
	o, ok := orders[order]
	if !ok {
		return nil, fmt.Errorf("order: %q is not fifo, lifo, priority or shortest", order)
	}
	options := []sim.QueueOption{sim.Workers(workers), sim.Ordered(o)}
	if backlog != -1 {
		if backlog < 0 {
			return nil, fmt.Errorf("a backlog of %d", backlog)
		}
		options = append(options, sim.Backlog(backlog))
	}
	return asValue(sim.Queue(next.Node, options...))
}

// pool calls each for every one of n nodes, with its number if it takes one.
func pool(th *starlark.Thread, u unpack) (starlark.Value, error) {
	var n int
	var each starlark.Callable
	if err := u("n", &n, "each", &each); err != nil {
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
		if err := new(nodeArg).Unpack(v); err != nil {
			return nil, err
		}
		list[i] = v
	}
	return starlark.NewList(list), nil
}

// perSize makes a time of the size of a request.
func perSize(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var d lawArg
	if err := u("time", &d); err != nil {
		return nil, err
	}
	return law{sim.PerSize(d.Dist), "distribution"}, nil
}

// empirical reads a file: of values, one a line; a column of a CSV file; or an HDR histogram log.
func empirical(_ *starlark.Thread, u unpack) (starlark.Value, error) {
	var path, column string
	scale := number(1)
	if err := u("file", &path, "column?", &column, "scale?", &scale); err != nil {
		return nil, err
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hdr := strings.HasSuffix(path, ".hlog") || strings.HasSuffix(path, ".hdr")
	var d dist.Dist
	switch {
	case hdr:
		d, err = dist.ReadHDR(path, r, float64(scale))
	case column != "":
		d, err = dist.ReadCSV(path, r, column)
	default:
		d, err = dist.ReadValues(path, r)
	}
	if err != nil {
		return nil, err
	}
	if !hdr {
		d = dist.Scale(d, float64(scale))
	}
	return law{d, "distribution"}, dist.Check(d)
}
