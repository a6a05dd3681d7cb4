package load

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/report"
)

// Report is the answer of one run.
func (r *Result) Report(o Options, started time.Time) *report.Report {
	rep := newReport(o, started)
	rep.Question = fmt.Sprintf("How does %s answer?", what(o))
	switch {
	case r.Closed:
	case o.Times != nil:
		rep.Question = fmt.Sprintf("How does %s answer the requests of the log, %s a second?", what(o), number(r.Offered()))
	default:
		rep.Question = fmt.Sprintf("How does %s answer %s requests a second?", what(o), number(o.Rate))
	}
	values := r.intervals(o.Seed, figures)
	for _, f := range figures {
		if f.Name == succeeded && r.Failed == 0 {
			delete(values, f.Name)
			continue
		}
		rep.Metrics = append(rep.Metrics, f.Metric)
	}
	maps.DeleteFunc(values, func(_ string, v report.Value) bool { return math.IsNaN(v.Value) })
	rep.Cases = []report.Case{{Name: what(o), Params: params(o, r), Values: values}}
	rep.Answer = r.answer(o)
	rep.Warnings = append(rep.Warnings, r.warnings(o)...)
	if r.Succeeded > 0 {
		rep.Plots = append(rep.Plots, report.Distribution([]string{"latency"}, []*histogram.Histogram{&r.Latency}))
	}
	rep.Plots = append(rep.Plots, r.course()...)
	rep.Tables = append(rep.Tables, r.phaseTable())
	if t := r.targetTable(); len(t.Rows) > 0 {
		rep.Tables = append(rep.Tables, t)
	}
	rep.Tables = append(rep.Tables, r.outcomes(), r.generatorTable())
	rep.Environment.More = r.environment(o)
	return rep
}

func newReport(o Options, started time.Time) *report.Report {
	return &report.Report{
		Schema: report.Schema, Verb: "load", Started: started, Listed: true,
		Command:     append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...),
		Environment: report.Here(o.Seed, nil),
		Warnings:    []string{},
	}
}

// what is loaded, in a few words.
func what(o Options) string {
	if len(o.Targets) == 1 {
		return o.Targets[0].Request.URL.Redacted()
	}
	hosts := map[string]bool{}
	for _, t := range o.Targets {
		hosts[t.Request.URL.Scheme+"://"+t.Request.URL.Host] = true
	}
	if len(hosts) == 1 {
		for h := range hosts {
			return fmt.Sprintf("%s, %d requests", h, len(o.Targets))
		}
	}
	return fmt.Sprintf("%d servers, %d requests", len(hosts), len(o.Targets))
}

func params(o Options, r *Result) map[string]float64 {
	p := map[string]float64{"connections": float64(r.Connections), "duration": r.Duration.Seconds()}
	if r.HTTP2 {
		p["streams"] = float64(r.Lanes / r.Connections)
	}
	if !o.Closed && o.Times == nil {
		p["rate"] = o.Rate
	}
	return p
}

func (r *Result) environment(o Options) map[string]string {
	m := map[string]string{"HTTP": "1.1", "arrivals": "poisson", "connections": fmt.Sprint(r.Connections)}
	if r.HTTP2 {
		m["HTTP"] = "2"
		m["streams"] = fmt.Sprint(r.Lanes / r.Connections)
	}
	switch {
	case o.Closed:
		m["arrivals"] = "closed loop"
	case o.Times != nil:
		m["arrivals"] = "replayed"
	case o.Arrivals == Constant:
		m["arrivals"] = "constant"
	}
	m["counted"] = fmt.Sprintf("%d requests in %v after %v of warm-up", r.Succeeded+r.Failed, r.Duration.Round(time.Millisecond), o.Warmup)
	return m
}

func (r *Result) answer(o Options) string {
	all := r.Succeeded + r.Failed
	switch {
	case all == 0:
		return "No request was due in the time that counts."
	case r.Succeeded == 0:
		return fmt.Sprintf("No request of %d succeeds: %s.", all, r.mainFault())
	}
	var parts []string
	if r.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%s %% of the requests fail: %s", share(r.Failed, all), r.mainFault()))
	}
	switch {
	case r.Closed:
		parts = append(parts, fmt.Sprintf("%s requests a second succeed in a closed loop of %d", number(r.Rate()), r.Lanes))
	case r.behind():
		parts = append(parts, fmt.Sprintf("of %s requests a second that were due, %s are answered: the server falls behind", number(r.Offered()), number(r.Rate())))
	}
	who := "half of the requests take"
	if r.Failed > 0 {
		who = "half of those that succeed take"
	}
	parts = append(parts, fmt.Sprintf("%s up to %s, 99 %% up to %s", who, duration(r.Latency.Quantile(.5)), duration(r.Latency.Quantile(.99))))
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// behind says whether good answers came more slowly than requests were due, failures apart.
func (r *Result) behind() bool {
	refused := r.Failed - r.Faults[Unsent] - r.Faults[Pending]
	due := r.Succeeded + r.Failed - refused
	return !r.Closed && float64(due-r.Came) > .05*float64(due) && due-r.Came > 20
}

// number writes a rate as a person would: no exponent, no digits that nobody knows.
func number(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return fmt.Sprintf("%.4g", x)
}

// share is k of n in percent.
func share(k, n int64) string {
	x := 100 * float64(k) / float64(max(n, 1))
	if x >= 10 {
		return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
	}
	return fmt.Sprintf("%.2g", x)
}

// mainFault names what went wrong most often.
func (r *Result) mainFault() string {
	best, most := "", int64(0)
	for _, f := range slices.Sorted(maps.Keys(r.Faults)) {
		if n := r.Faults[f]; n > most {
			best, most = f.String(), n
			if err := r.Examples[f]; err != nil && f != Timeout {
				best += fmt.Sprintf(" (%v)", err)
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(r.Statuses)) {
		if n := r.Statuses[s]; s >= 400 && n > most {
			best, most = fmt.Sprintf("status %d", s), n
		}
	}
	return best
}

// duration writes ns as a person would.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g us", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}

// Bounds beyond which a run says something about the generator.
const (
	busyGenerator = .85 // of the processors it may use
	busyMachine   = .95
	lateShare     = .01 // of the requests
	several       = 10  // requests, for a share to mean anything
	muchDelay     = 2 * time.Millisecond
)

// Limited says why the generator, not the server, may have decided the figures; "" if nothing says so.
func (r *Result) Limited() string {
	all := float64(max(r.Succeeded+r.Failed, 1))
	g := r.Generator
	switch {
	case r.Faults[Exhausted] > 0:
		return fmt.Sprintf("%d requests failed because this machine ran out of something: %s", r.Faults[Exhausted], r.why())
	case g.Busy > busyGenerator:
		return fmt.Sprintf("the generator was busy for %.0f %% of the processor time that it may use: its limit, not the server's; use more machines, fewer requests a second, or HTTP without TLS", 100*g.Busy)
	case !r.Closed && r.Late >= several && float64(r.Late) > lateShare*all:
		return fmt.Sprintf("%s %% of the requests left more than 1 ms late though a connection was free (99 %% within %s): the generator did not get a processor in time, and its delay is part of the latencies", share(r.Late, r.Succeeded+r.Failed), duration(r.Lateness.Quantile(.99)))
	case g.Delay > muchDelay && g.Delay.Seconds()*1e3 > .1*r.Latency.Quantile(.99)/1e6:
		return fmt.Sprintf("the generator's own work waited for a processor, up to %v in 99 %% of all cases, which is in the latencies", g.Delay.Round(100*time.Microsecond))
	}
	return ""
}

func (r *Result) warnings(o Options) []string {
	var all []string
	if r.Interrupted {
		all = append(all, "interrupted: the figures are of the time until then")
	}
	if why := r.Limited(); why != "" {
		all = append(all, why)
	}
	n := float64(max(r.Succeeded+r.Failed, 1))
	if g := r.Generator; g.Machine > busyMachine && g.Busy <= busyGenerator && local(o) {
		all = append(all, fmt.Sprintf("the machine was busy for %.0f %% of its processor time: server and generator, which runs here too, take it from each other", 100*g.Machine))
	}
	if r.Waited >= several && float64(r.Waited) > lateShare*n && !r.Closed {
		// Little: connections in use are rate times the time that each is used.
		held := (r.Wait.Mean() + r.Body.Mean()) / 1e9
		text := fmt.Sprintf("%s %% of the requests waited for a free connection (99 %% of all left within %s): that is part of their latency, as users would have it", share(r.Waited, r.Succeeded+r.Failed), duration(r.Queue.Quantile(.99)))
		switch need := r.Offered() * held; {
		case r.Limited() != "" || r.Generator.Machine > busyMachine:
			// Whether server or generator stood still cannot be told.
		case need < .8*float64(r.Lanes):
			text += fmt.Sprintf("; on average %.3g of %d were in use, so answers must have stopped for a time", need, r.Lanes)
		default:
			text += fmt.Sprintf("; the server did not keep up, or more than %d connections are needed", r.Lanes)
		}
		all = append(all, text)
	}
	if r.Failed > 0 && r.Succeeded > 0 {
		all = append(all, fmt.Sprintf("latencies are of the %d requests that succeeded; %d failed", r.Succeeded, r.Failed))
	}
	if r.Succeeded > 0 && r.Succeeded < 1000 {
		all = append(all, fmt.Sprintf("%d good answers are few for a p99: fewer than ten lie beyond it", r.Succeeded))
	}
	if o.NewConnections {
		if low, high, err := limits.Ports(); err == nil {
			if rate := limits.ConnectionRate(low, high); r.Offered() > rate {
				tw, _ := limits.TimeWait()
				all = append(all, fmt.Sprintf("%.0f new connections a second to one address are more than the %.0f that ports %d-%d allow for longer than a minute (%d wait in TIME_WAIT now): keep connections, or widen net.ipv4.ip_local_port_range", r.Offered(), rate, low, high, tw))
			}
		}
	}
	return all
}

// local says whether a target is on this machine.
func local(o Options) bool {
	for _, t := range o.Targets {
		switch h := t.Request.URL.Hostname(); {
		case h == "localhost", strings.HasPrefix(h, "127."), h == "::1":
			return true
		}
	}
	return false
}
