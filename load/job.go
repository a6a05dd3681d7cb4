package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/trial"
	"github.com/headway-lab/headway/usage"
	"github.com/headway-lab/headway/wire"
)

// Job is an experiment: one run, variants by turns, or a search for a rate.
type Job struct {
	Options Options
	// Rounds is how often each variant is measured; the duration is of all of them together.
	Rounds int
	// Objective, if not empty, asks for the highest rate that keeps it.
	Objective Objective
	// MaxRate bounds the search; 0 is no bound.
	MaxRate float64

	// Notes are warnings that the report shall have, too.
	Notes []string

	Progress func(phase string, p Progress)

	variants []variant
	question string
}

// variant is a way to do it that is compared with others.
type variant struct {
	name   string
	params map[string]float64
	o      Options
}

// VersusTargets compares with the same load on other targets.
func (j *Job) VersusTargets(targets []Target) error {
	o := j.Options
	o.Targets = targets
	if o.Times != nil || o.InOrder {
		return errors.New("a file of requests goes to one server")
	}
	a, b := what(j.Options), what(o)
	if a == b {
		b += " again"
	}
	j.variants = []variant{{a, nil, j.Options}, {b, nil, o}}
	j.question = fmt.Sprintf("Does %s answer faster than %s?", b, a)
	return nil
}

// VersusConnections compares numbers of connections.
func (j *Job) VersusConnections(numbers []string) error {
	j.question = fmt.Sprintf("How many connections to %s are best?", what(j.Options))
	return j.versus(numbers, "connections", func(o *Options, v float64) error {
		if v != float64(int(v)) || v < 1 {
			return errors.New("want whole numbers above 0")
		}
		o.Connections = int(v)
		return nil
	})
}

// VersusRates compares rates of requests.
func (j *Job) VersusRates(rates []string) error {
	if j.Options.Closed || j.Options.Times != nil {
		return errors.New("rates are those of a schedule: leave out --closed and --replay")
	}
	j.question = fmt.Sprintf("What does a higher rate do to %s?", what(j.Options))
	return j.versus(rates, "rate", func(o *Options, v float64) error {
		o.Rate = v
		return nil
	})
}

func (j *Job) versus(words []string, name string, set func(*Options, float64) error) error {
	if len(words) < 2 {
		return errors.New("want two or more, of which the first is the baseline")
	}
	seen := map[float64]bool{}
	for _, w := range words {
		v, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil {
			return fmt.Errorf("%q is no number", w)
		}
		if seen[v] {
			return fmt.Errorf("%g is there twice", v)
		}
		seen[v] = true
		o := j.Options
		if err := set(&o, v); err != nil {
			return err
		}
		if err := o.Check(); err != nil {
			return err
		}
		j.variants = append(j.variants, variant{fmt.Sprintf("%s %g", name, v), map[string]float64{name: v}, o})
	}
	return nil
}

// VersusProtocols compares protocols, named h1 and h2.
func (j *Job) VersusProtocols(names []string) error {
	if len(names) < 2 {
		return errors.New("want two or more, of which the first is the baseline")
	}
	j.question = fmt.Sprintf("Which HTTP is best for %s?", what(j.Options))
	for i, w := range names {
		if slices.Contains(names[:i], w) {
			return fmt.Errorf("%s is there twice", w)
		}
		o := j.Options
		name := ""
		switch w {
		case "h1":
			o.Dialer.Protocol, name = wire.HTTP1, "HTTP/1.1"
		case "h2":
			o.Dialer.Protocol, name = wire.HTTP2, "HTTP/2"
		default:
			return fmt.Errorf("%q is no protocol: want h1 or h2", w)
		}
		j.variants = append(j.variants, variant{name, nil, o})
	}
	return nil
}

// Run does the experiment. It returns the report, and what writes the latencies as an HDR
// histogram log. Interrupted, it returns what was measured until then, if anything, and the cause.
func (j *Job) Run(ctx context.Context) (*report.Report, func(io.Writer) error, error) {
	r, hdr, err := j.run(ctx)
	if r != nil {
		r.Warnings = append(r.Warnings, j.Notes...)
	}
	return r, hdr, err
}

func (j *Job) run(ctx context.Context) (*report.Report, func(io.Writer) error, error) {
	if err := j.Options.Check(); err != nil {
		return nil, nil, &usage.Error{Err: err}
	}
	switch {
	case len(j.Objective.Terms) > 0:
		if j.Options.Duration < 10*time.Second {
			return nil, nil, usage.Errorf("--duration %v is too short to search a rate: want 10s or more", j.Options.Duration)
		}
		return j.search(ctx)
	case len(j.variants) > 0:
		return j.compare(ctx)
	}
	started := time.Now()
	o := j.Options
	o.Progress = func(p Progress) {
		phase := "load"
		if p.Elapsed < o.Warmup {
			phase = "warm up"
		}
		j.progress(phase, p)
	}
	r, err := Run(ctx, o)
	if r == nil {
		return nil, nil, err
	}
	if r.Succeeded+r.Failed == 0 {
		if err == nil {
			err = fmt.Errorf("no request was due in the %v that count: want a higher rate or more time", o.Duration)
		}
		return nil, nil, err
	}
	return r.Report(o, started), func(w io.Writer) error { return r.WriteHDR(w) }, err
}

func (j *Job) progress(phase string, p Progress) {
	if j.Progress != nil {
		j.Progress(phase, p)
	}
}

// compare measures variants by turns.
func (j *Job) compare(ctx context.Context) (*report.Report, func(io.Writer) error, error) {
	if j.Rounds < effect.MinN {
		return nil, nil, usage.Errorf("--rounds %d: want at least %d, for an interval", j.Rounds, effect.MinN)
	}
	started := time.Now()
	begin := time.Now()
	// A turn's own warm-up is short: connections are kept from turn to turn.
	turn := j.Options.Duration / time.Duration(j.Rounds)
	settle := min(turn/5, time.Second)
	if turn < 50*time.Millisecond {
		return nil, nil, usage.Errorf("--duration %v in %d rounds leaves %v for each: want 50 ms or more", j.Options.Duration, j.Rounds, turn)
	}
	total := time.Duration(len(j.variants)) * (j.Options.Duration + time.Duration(j.Rounds)*settle)
	pooled := make([]*Result, len(j.variants))
	var all []trial.Variant
	for i, v := range j.variants {
		o := v.o
		s, err := open(ctx, o)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", v.name, err)
		}
		defer s.close()
		o.Duration, o.Warmup = turn, settle
		turns := uint64(0)
		all = append(all, trial.Variant{Name: v.name, Params: v.params, Measure: func(ctx context.Context) (trial.Sample, error) {
			o := o
			// All variants of a round see the same arrivals.
			o.Seed += turns * 7919
			turns++
			o.Progress = func(p Progress) {
				p.Elapsed, p.Total = time.Since(begin), max(total, time.Since(begin))
				j.progress("compare", p)
			}
			r, err := s.run(ctx, o)
			if err != nil {
				return nil, err
			}
			pooled[i] = pooled[i].merged(r)
			return r.sample(), nil
		}})
	}
	plan := trial.Plan{Rounds: j.Rounds, Seed: j.Options.Seed}
	for _, f := range figures {
		plan.Metrics = append(plan.Metrics, f.Metric)
	}
	cases, err := trial.Run(ctx, plan, all)
	if cases == nil {
		return nil, nil, err
	}
	rep := newReport(j.Options, started)
	rep.Question = j.question
	rep.Cases = cases
	rep.Metrics = plan.Metrics
	j.told(rep, pooled)
	few := j.few(pooled, j.Rounds)
	rep.Answer = j.verdict(rep, few > 0)
	if few > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("a turn has %d good answers, too few for a p95 or p99, which are nearly its slowest: more --duration, or a higher rate", few))
	}
	for i, r := range pooled {
		if r.Succeeded == 0 {
			rep.Answer = fmt.Sprintf("%s: no request of %d succeeds: %s.", j.variants[i].name, r.Failed, r.mainFault())
		}
	}
	var names []string
	var of []*histogram.Histogram
	for i, v := range j.variants {
		names, of = append(names, v.name), append(of, &pooled[i].Latency)
		if why := pooled[i].Limited(); why != "" {
			rep.Warnings = append(rep.Warnings, v.name+": "+why)
		}
		t := pooled[i].outcomes()
		if pooled[i].Failed > 0 {
			t.Title += ", " + v.name
			rep.Tables = append(rep.Tables, t)
		}
	}
	rep.Plots = []report.Plot{report.Distribution(names, of)}
	rep.Environment.More = pooled[0].environment(j.variants[0].o)
	rep.Environment.More["counted"] = fmt.Sprintf("%d turns of %v each", cases[0].Values[answers].N, turn)
	if len(j.variants[0].params) > 0 {
		delete(rep.Environment.More, "connections")
	}
	return rep, func(w io.Writer) error { return pooled[0].WriteHDR(w) }, err
}

// told leaves out what says nothing: that all requests succeed everywhere, and the rate of answers
// where it is that of the schedule.
func (j *Job) told(rep *report.Report, pooled []*Result) {
	failed := int64(0)
	for _, r := range pooled {
		failed += r.Failed
	}
	if failed > 0 {
		return
	}
	rep.Metrics = slices.DeleteFunc(slices.Clone(rep.Metrics), func(m report.Metric) bool { return m.Name == succeeded })
	for _, c := range rep.Cases {
		delete(c.Values, succeeded)
		delete(c.Effects, succeeded)
	}
}

// verdict says in words what the comparison found: by answers a second in a closed loop,
// else by the p99 latency, and where that shows nothing, by the median.
func (j *Job) verdict(rep *report.Report, few bool) string {
	if !j.Options.Closed && few {
		text, _ := compared(rep, middling, "median latency", true)
		return text
	}
	if j.Options.Closed {
		text, _ := compared(rep, answers, "answers a second", false)
		return text
	}
	text, found := compared(rep, decisive, "p99 latency", true)
	if !found {
		if other, found := compared(rep, middling, "median latency", true); found {
			return "No effect seen on the p99 latency. " + other
		}
	}
	return text
}

// signed writes a change in percent.
func signed(x float64) string {
	if math.Abs(x) >= 100 {
		return fmt.Sprintf("%+.0f", x)
	}
	return fmt.Sprintf("%+.3g", x)
}

// few is how many good answers the turns of a variant have where they are too few for a p99, else 0.
func (j *Job) few(pooled []*Result, turns int) int64 {
	const enough = 200
	least := int64(enough)
	for _, r := range pooled {
		least = min(least, r.Succeeded/int64(max(turns, 1)))
	}
	if least < enough {
		return max(least, 1)
	}
	return 0
}

// compared says which case is best by a metric, and whether any differs from the baseline.
func compared(rep *report.Report, metric, name string, lower bool) (text string, found bool) {
	base := rep.Cases[0]
	var better, worse *report.Case
	none := 0
	for i := range rep.Cases[1:] {
		c := &rep.Cases[i+1]
		e := c.Effects[metric]
		further := func(than *report.Case) bool {
			return than == nil || math.Abs(e.Percent) > math.Abs(than.Effects[metric].Percent)
		}
		switch {
		case !e.Real:
			none++
		case (e.Percent < 0) == lower:
			if further(better) {
				better = c
			}
		case further(worse):
			worse = c
		}
	}
	tell := func(c *report.Case) string {
		e := c.Effects[metric]
		return fmt.Sprintf("%s: %s %% (%s to %s)", c.Name, signed(e.Percent), signed(e.Low), signed(e.High))
	}
	switch {
	case better != nil:
		return fmt.Sprintf("Better than %s in %s: %s.", base.Name, name, tell(better)), true
	case worse != nil:
		return fmt.Sprintf("Nothing tried is better than %s in %s. Worst is %s.", base.Name, name, tell(worse)), true
	}
	return fmt.Sprintf("No effect seen on the %s, compared with %s.", name, base.Name), false
}

// merged adds up turns of the same variant.
func (r *Result) merged(o *Result) *Result {
	if r == nil {
		return o
	}
	r.Duration += o.Duration
	r.Lasted += o.Lasted
	r.Came += o.Came
	r.Pieces, r.blocks = nil, nil // of turns, which have no common course
	for _, h := range []struct{ to, from *histogram.Histogram }{
		{&r.Latency, &o.Latency}, {&r.Queue, &o.Queue}, {&r.Wait, &o.Wait}, {&r.Body, &o.Body}, {&r.Lookup, &o.Lookup},
		{&r.Connect, &o.Connect}, {&r.Handshake, &o.Handshake}, {&r.Lateness, &o.Lateness},
	} {
		h.to.Merge(h.from)
	}
	r.Succeeded += o.Succeeded
	r.Failed += o.Failed
	r.Waited += o.Waited
	r.Late += o.Late
	r.Bytes += o.Bytes
	for k, n := range o.Statuses {
		r.Statuses[k] += n
	}
	for k, n := range o.Faults {
		r.Faults[k] += n
	}
	maps.Copy(r.Examples, o.Examples)
	// The worst turn decides what is said of the generator.
	if o.Generator.Busy > r.Generator.Busy {
		r.Generator.Busy = o.Generator.Busy
	}
	r.Generator.CPU += o.Generator.CPU
	r.Generator.Wall += o.Generator.Wall
	r.Generator.Delay = max(r.Generator.Delay, o.Generator.Delay)
	return r
}
