package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/trial"
)

var metrics = []report.Metric{
	{Name: "total", Unit: "s", Better: "lower"},
	{Name: "first byte", Unit: "s", Better: "lower"},
	{Name: "connect", Unit: "s", Better: "lower"},
	{Name: "sent again", Unit: "%", Better: "lower", Minor: true},
}

// report makes of the transfers what is shown.
func (x *run) report() *report.Report {
	o := x.o
	r := &report.Report{
		Schema: report.Schema, Verb: "path lab", Metrics: metrics, Listed: true,
		Question: fmt.Sprintf("How long do %s take over a path of %v, by its loss and the server's congestion control?", bytes(o.Size), o.RTT),
	}
	variants := make([]trial.Variant, len(x.cells))
	samples := make([][]trial.Sample, len(x.cells))
	for i, c := range x.cells {
		variants[i] = trial.Variant{Name: c.cc, Group: group(c.loss), Params: map[string]float64{"loss": c.loss}}
		samples[i] = make([]trial.Sample, o.N)
		for k, t := range x.found[i] {
			if t != nil {
				samples[i][k] = t.sample()
			}
		}
	}
	r.Cases = trial.Cases(trial.Plan{Metrics: metrics, Seed: o.Seed}, variants, samples)
	emulator := report.Table{Title: "What the emulator did", Columns: emulatorColumns}
	var wrong []string
	for i, c := range x.cells {
		e := x.emulated(i)
		row := report.Row{Name: c.String(), Values: e.figures(o)}
		if faults := e.faults(o, c); len(faults) > 0 {
			row.Name += unreliable
			r.Cases[i].Name += unreliable
			wrong = append(wrong, c.String()+": "+strings.Join(faults, ", "))
		}
		emulator.Rows = append(emulator.Rows, row)
	}
	r.Tables = append(r.Tables, emulator)
	r.Plots = append(x.overLoss(r), x.courses()...)
	if n := len(wrong); n > 0 {
		const told = 4
		words := strings.Join(wrong[:min(n, told)], "; ")
		if n > told {
			words += fmt.Sprintf("; and %d more, as the emulator's table shows", n-told)
		}
		r.Warnings = append(r.Warnings, "unreliable are those whose path was not the one that was asked for: "+words)
	}
	r.Warnings = append(r.Warnings, x.late()...)
	if x.done < o.N*len(x.cells) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("ended early: %d of %d transfers were made", x.done, o.N*len(x.cells)))
	}
	if o.Bursts > 0 {
		r.Warnings = append(r.Warnings, "losses come in bursts by time: how many packets they meet depends on when those are sent, so the achieved loss is shown and not judged")
	}
	r.Answer = x.answer(r)
	return r
}

// unreliable marks the name of a cell whose path was not the one that was asked for.
const unreliable = " (unreliable)"

func group(loss float64) string { return percent(loss) + " loss" }

func (t *transfer) sample() trial.Sample {
	s := trial.Sample{"total": t.total.Seconds()}
	if t.connect > 0 {
		s["connect"] = t.connect.Seconds()
	}
	if t.first > 0 {
		s["first byte"] = t.first.Seconds()
	}
	if t.segments > 0 {
		s["sent again"] = 100 * float64(t.again) / float64(t.segments)
	}
	return s
}

// late warns of transfers whose time was over.
func (x *run) late() []string {
	var all []string
	for i, c := range x.cells {
		n, of := 0, 0
		for _, t := range x.found[i] {
			if t != nil {
				of++
				if t.late {
					n++
				}
			}
		}
		if n > 0 {
			all = append(all, fmt.Sprintf("%v: %d of %d transfers were not complete in %v and count with that time; --timeout gives them more", c, n, of, x.o.Timeout))
		}
	}
	return all
}

// emulation is what the links did in one cell.
type emulation struct {
	rtt      float64 // seconds, median of what connecting took
	n        int
	loss     loss
	dropped  int64
	lateness histogram.Histogram
	held     float64 // share of the time, median
}

func (x *run) emulated(cell int) *emulation {
	e := &emulation{}
	var connects, held []float64
	for _, t := range x.found[cell] {
		if t == nil {
			continue
		}
		e.n++
		if t.connect > 0 {
			connects = append(connects, t.connect.Seconds())
		}
		held = append(held, t.held)
		for i, l := range t.loss {
			if i == 0 && x.o.LossOn == "data" || i == 1 && x.o.LossOn == "ack" {
				continue // nothing is lost there
			}
			e.loss.lost += l.lost
			e.loss.of += l.of
		}
		e.dropped += t.dropped
		e.lateness.Merge(&t.lateness)
	}
	e.rtt, e.held = median(connects), median(held)
	return e
}

var emulatorColumns = []report.Column{
	{Name: "transfers"}, {Name: "round trip asked", Unit: "ms"}, {Name: "achieved", Unit: "ms"},
	{Name: "packets that could be lost"}, {Name: "lost", Unit: "%"}, {Name: "not before", Unit: "%"}, {Name: "not after", Unit: "%"},
	{Name: "dropped by the queue"}, {Name: "late, median", Unit: "ms"}, {Name: "late, p99", Unit: "ms"}, {Name: "held back by the client", Unit: "%"},
}

func (e *emulation) figures(o *Options) report.Figures {
	low, high := effect.Wilson(e.loss.lost, e.loss.of, 1.96)
	f := report.Figures{
		float64(e.n), 1e3 * o.RTT.Seconds(), 1e3 * e.rtt,
		float64(e.loss.of), 100 * float64(e.loss.lost) / float64(e.loss.of), 100 * low, 100 * high, float64(e.dropped),
		math.NaN(), math.NaN(), 100 * e.held,
	}
	if e.lateness.N() > 0 {
		f[8], f[9] = e.lateness.Quantile(.5)/1e6, e.lateness.Quantile(.99)/1e6
	}
	return f
}

// What the round trip may be wrong by, in seconds or as a share.
const (
	rttBy    = .003
	rttShare = .02
)

// faults says in what the path differed from the one that was asked for.
func (e *emulation) faults(o *Options, c cell) []string {
	var all []string
	asked := o.RTT.Seconds() + o.Jitter.Seconds()/2
	if d := math.Abs(e.rtt - asked); d > max(rttBy, rttShare*asked) && (c.loss < .25 || o.LossOn == "data") {
		all = append(all, fmt.Sprintf("the round trip was %.1f ms, not %.1f", 1e3*e.rtt, 1e3*asked))
	}
	all = append(all, link.TooLate(&e.lateness, o.RTT)...)
	if o.Bursts == 0 && e.loss.of > 0 {
		// 1 of 1,000 cells falls outside by chance.
		if low, high := effect.Wilson(e.loss.lost, e.loss.of, 3.29); c.loss < low || c.loss > high {
			all = append(all, fmt.Sprintf("%d of %d packets were lost, %.2f %%", e.loss.lost, e.loss.of, 100*float64(e.loss.lost)/float64(e.loss.of)))
		}
	}
	return all
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func bytes(n int64) string {
	switch {
	case n >= 1e9 && n%1e8 == 0:
		return fmt.Sprintf("%g GB", float64(n)/1e9)
	case n >= 1e6 && n%1e5 == 0:
		return fmt.Sprintf("%g MB", float64(n)/1e6)
	case n >= 1e3 && n%1e2 == 0:
		return fmt.Sprintf("%g KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
