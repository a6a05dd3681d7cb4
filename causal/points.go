package causal

import (
	"fmt"
	"strings"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/usage"
)

// metric is one column: a throughput point or a latency pair.
type metric struct {
	name    string
	latency bool
	begin   int // point; also the throughput point
	end     int
}

func (m *metric) report() report.Metric {
	return report.Metric{Name: m.name, Unit: "ns", Better: "lower"}
}

// marks collects what the build has to add.
type marks struct {
	conf   instrument.Config
	points int
}

func (k *marks) add(path string, m instrument.Mark) {
	if k.conf.Packages == nil {
		k.conf.Packages = map[string][]instrument.Mark{}
	}
	k.conf.Packages[path] = append(k.conf.Packages[path], m)
}

func (k *marks) point() (int, error) {
	if k.points == control.NamedBase {
		return 0, usage.Errorf("too many progress points: %d fit", control.NamedBase)
	}
	k.points++
	return k.points - 1, nil
}

// points resolves the progress points that were asked for.
func (pr *program) points(o *Options, k *marks) ([]*metric, error) {
	var out []*metric
	for _, name := range o.Throughput {
		id, err := k.point()
		if err != nil {
			return nil, err
		}
		if err := pr.mark(k, name, id, instrument.Entry); err != nil {
			return nil, fmt.Errorf("--throughput: %w", err)
		}
		out = append(out, &metric{name: name, begin: id})
	}
	for _, name := range o.Latency {
		begin, err := k.point()
		if err != nil {
			return nil, err
		}
		end, err := k.point()
		if err != nil {
			return nil, err
		}
		m := &metric{name: "latency " + name, latency: true, begin: begin, end: end}
		from, to, pair := strings.Cut(name, "..")
		switch {
		case name == "http":
			err = pr.http(k, begin, end)
		case pair:
			if err = pr.mark(k, from, begin, instrument.Entry); err == nil {
				err = pr.mark(k, to, end, instrument.Exit)
			}
		case isLine(name):
			err = usage.Errorf("%s is a line: a latency needs a FUNC or BEGIN..END", name)
		default:
			if err = pr.mark(k, name, begin, instrument.Entry); err == nil {
				err = pr.mark(k, name, end, instrument.Exit)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--latency: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (pr *program) mark(k *marks, name string, id int, kind instrument.Kind) error {
	if isLine(name) {
		p, file, line, err := pr.line(name)
		if err != nil {
			return err
		}
		if pr.low(p.path()) {
			return usage.Errorf("%s: package %s is part of the runtime and cannot hold a progress point", name, p.path())
		}
		k.add(p.path(), instrument.Mark{Kind: instrument.Line, ID: uint32(id), File: file, Line: line})
		return nil
	}
	pl, err := pr.function(name)
	if err != nil {
		return err
	}
	if pr.low(pl.pkg.path()) {
		return usage.Errorf("%s: package %s is part of the runtime and cannot hold a progress point", name, pl.pkg.path())
	}
	k.add(pl.pkg.path(), instrument.Mark{Kind: kind, ID: uint32(id), Func: pl.fn.Name})
	return nil
}

// http marks the requests of net/http servers: from before the handler starts
// to after the last byte is written.
func (pr *program) http(k *marks, begin, end int) error {
	found := false
	for _, p := range pr.pkgs {
		sched, run := "", ""
		switch p.path() {
		case "net/http":
			found = true
			text := func(id int, old, new string) {
				k.add(p.path(), instrument.Mark{Kind: instrument.Replace, ID: uint32(id), File: "server.go", Old: old, New: new})
			}
			text(begin, "\t\tinFlightResponse = w\n", "\t\theadwayPoint(%d); inFlightResponse = w\n")
			text(end, "\t\tif inFlightResponse != nil {\n\t\t\tinFlightResponse.cancelCtx()\n", "\t\tif inFlightResponse != nil {\n\t\t\theadwayPoint(%d); inFlightResponse.cancelCtx()\n")
			text(end, "\t\tif c.hijacked() {\n\t\t\tc.r.releaseConn()\n", "\t\tif c.hijacked() {\n\t\t\theadwayPoint(%d); c.r.releaseConn()\n")
			text(end, "\t\tw.finishRequest()\n\t\tc.rwc", "\t\tw.finishRequest(); headwayPoint(%d)\n\t\tc.rwc")
			sched, run = "(*http2serverConn).scheduleHandler", "(*http2serverConn).runHandler"
		case "net/http/internal/http2", "golang.org/x/net/http2":
			sched, run = "(*serverConn).scheduleHandler", "(*serverConn).runHandler"
		default:
			continue
		}
		if _, ok := pr.functions(p)[sched]; ok {
			k.add(p.path(), instrument.Mark{Kind: instrument.Entry, ID: uint32(begin), Func: sched})
			k.add(p.path(), instrument.Mark{Kind: instrument.Exit, ID: uint32(end), Func: run})
		}
	}
	if !found {
		return usage.Errorf("http: the program does not import net/http")
	}
	return nil
}
