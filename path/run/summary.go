package run

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/report"
)

// Text says in a line for each direction what the link did, after what it was asked for.
func (r *Result) Text(w io.Writer, o Options) {
	of := "of "
	if o.Says == AsItIs {
		of = ""
	}
	fmt.Fprintf(w, "headway: a path %s%s\n", of, o.Says)
	for _, d := range []struct {
		name string
		s    link.Stats
		c    link.Conditions
	}{{"up", r.Up, o.Up}, {"down", r.Down, o.Down}} {
		fmt.Fprintf(w, "headway: %s: %s, %s", d.name, packets(d.s.Packets), size(d.s.Bytes))
		if d.c.Loss > 0 && d.s.Subject > 0 {
			low, high := effect.Wilson(d.s.Lost, d.s.Subject, 1.96)
			fmt.Fprintf(w, "; %d of %d lost, %.3g %% (%.3g to %.3g)", d.s.Lost, d.s.Subject, 100*share(d.s.Lost, d.s.Subject), 100*low, 100*high)
		}
		if d.c.Rate > 0 || d.c.Police > 0 || d.c.Trace != nil {
			fmt.Fprintf(w, "; %d dropped, the queue had up to %s", d.s.Dropped, size(int64(d.s.Longest)))
		}
		if d.s.Refused > 0 {
			fmt.Fprintf(w, "; %d REFUSED by the device, which nobody asked for", d.s.Refused)
		}
		if d.s.Late.N() > 0 {
			fmt.Fprintf(w, "; late by %s, p99 %s", ms(d.s.Late.Quantile(.5)), ms(d.s.Late.Quantile(.99)))
		}
		fmt.Fprintln(w)
	}
	if why := r.unreliable(o); why != "" {
		fmt.Fprintln(w, "headway: warning: "+why)
	}
}

// unreliable warns of a link that was not the one that was asked for.
func (r *Result) unreliable(o Options) string {
	var late histogram.Histogram
	late.Merge(&r.Up.Late)
	late.Merge(&r.Down.Late)
	why := link.TooLate(&late, o.Up.Delay+o.Down.Delay)
	if len(why) == 0 {
		return ""
	}
	reason := "; the machine was busy"
	if !o.Awake {
		reason += ", or its idle processors wake late, which --awake keeps them from"
	}
	return "unreliable: " + strings.Join(why, ", ") + reason
}

func packets(n int64) string {
	if n == 1 {
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", n)
}

func ms(ns float64) string {
	if ns >= 1e7 {
		return fmt.Sprintf("%.0f ms", ns/1e6)
	}
	return fmt.Sprintf("%.2g ms", ns/1e6)
}

func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.3g KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

func share(k, n int64) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(k) / float64(n)
}

// Report is what the link did, in the form of every answer.
func (r *Result) Report(o Options) *report.Report {
	p := &report.Report{
		Schema: report.Schema, Verb: "path run", Started: time.Now().Add(-r.Took),
		Question: "what did the link do to the packets of " + o.Command[0] + "?",
		Answer:   fmt.Sprintf("the command ended with status %d after %v", r.Code, r.Took.Round(time.Millisecond)),
		Environment: report.Here(o.Seed, map[string]string{"devices": r.Devices.String(), "conditions": o.Says,
			"idle processors": map[bool]string{true: "kept awake", false: "may sleep"}[o.Awake]}),
		Metrics: []report.Metric{
			{Name: "packets", Better: "higher"}, {Name: "bytes", Unit: "B", Better: "higher"},
			{Name: "loss", Unit: "%", Better: "lower"}, {Name: "dropped", Better: "lower"}, {Name: "refused", Better: "lower"},
			{Name: "queue", Unit: "B", Better: "lower"}, {Name: "late.p50", Unit: "ms", Better: "lower"}, {Name: "late.p99", Unit: "ms", Better: "lower"},
		},
		Listed: true,
	}
	for _, d := range []struct {
		name string
		s    link.Stats
		c    link.Conditions
	}{{"up", r.Up, o.Up}, {"down", r.Down, o.Down}} {
		n := int(d.s.Packets)
		exact := func(x float64) report.Value { return report.Value{Value: x, N: n} }
		low, high := effect.Wilson(d.s.Lost, d.s.Subject, 1.96)
		c := report.Case{Name: d.name, Values: map[string]report.Value{
			"packets": exact(float64(d.s.Packets)), "bytes": exact(float64(d.s.Bytes)),
			"loss":    {Value: 100 * share(d.s.Lost, d.s.Subject), Low: 100 * low, High: 100 * high, N: int(d.s.Subject)},
			"dropped": exact(float64(d.s.Dropped)), "refused": exact(float64(d.s.Refused)), "queue": exact(float64(d.s.Longest)),
		}, Params: map[string]float64{
			"delay.ms": d.c.Delay.Seconds() * 1e3, "jitter.ms": d.c.Jitter.Seconds() * 1e3, "loss.percent": 100 * d.c.Loss, "rate.bits": d.c.Rate, "queue.bytes": float64(d.c.Queue),
		}}
		if d.s.Late.N() > 0 {
			c.Values["late.p50"] = exact(d.s.Late.Quantile(.5) / 1e6)
			c.Values["late.p99"] = exact(d.s.Late.Quantile(.99) / 1e6)
		}
		p.Cases = append(p.Cases, c)
	}
	if why := r.unreliable(o); why != "" {
		p.Warnings = append(p.Warnings, why)
	}
	return p
}
