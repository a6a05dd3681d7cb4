package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/mirror/store"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/trial"
	"github.com/headway-lab/headway/wire"
)

// Knob is a setting and the values to try, the first of which is the baseline.
type Knob struct {
	Name   string
	Values []string
}

// knobs are what can be tried, and how a value is set.
var knobs = map[string]func(*setting, string) error{
	"workers": func(s *setting, v string) error { return whole(v, 1, 10_000, &s.c.HTTP.Workers) },
	"idle":    func(s *setting, v string) error { return whole(v, 0, 10_000, &s.c.HTTP.Idle) },
	"request": func(s *setting, v string) error { return period(v, &s.c.HTTP.Request) },
	"dial":    func(s *setting, v string) error { return period(v, &s.c.HTTP.Dial) },
	"rate": func(s *setting, v string) error {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x >= 0 && x < 1e9) {
			return errors.New("want requests a second")
		}
		s.c.HTTP.Rate = x
		return nil
	},
	"protocol": func(s *setting, v string) error {
		p, ok := protocols[v]
		if !ok {
			return errors.New("want auto, h1 or h2")
		}
		s.c.HTTP.Protocol, s.c.read.protocol = v, p
		return nil
	},
	"transport": func(s *setting, v string) error {
		if v != "shared" && v != "per-call" {
			return errors.New("want shared or per-call")
		}
		s.perCall = v == "per-call"
		return nil
	},
}

func whole(v string, least, most int, to *int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return fmt.Errorf("want %d to %d", least, most)
	}
	*to = n
	return nil
}

func period(v string, to *time.Duration) error {
	d, err := time.ParseDuration(v)
	if v == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 {
		return errors.New("want a time such as 10s, or 0 for no bound")
	}
	*to = d
	return nil
}

// setting is a variant.
type setting struct {
	c       Config
	perCall bool
}

// ParseKnob reads "workers=4,8,16".
func ParseKnob(s string) (Knob, error) {
	name, values, ok := strings.Cut(s, "=")
	k := Knob{Name: name, Values: strings.Split(values, ",")}
	set, known := knobs[name]
	if !known {
		names := []string{"workers", "idle", "request", "dial", "rate", "protocol", "transport"}
		if near := nearest(name, names); near != "" {
			return k, fmt.Errorf("%q: no such knob; did you mean %s?", s, near)
		}
		return k, fmt.Errorf("%q: want one of %s", s, strings.Join(names, ", "))
	}
	if !ok || len(k.Values) < 2 {
		return k, fmt.Errorf("%q: want two values or more, such as workers=4,8,16; the first is the baseline", s)
	}
	seen := map[string]bool{}
	for _, v := range k.Values {
		if seen[v] {
			return k, fmt.Errorf("%q: %s is there twice", s, v)
		}
		seen[v] = true
		if err := set(&setting{}, v); err != nil {
			return k, fmt.Errorf("%q: %s: %w", s, v, err)
		}
	}
	return k, nil
}

// Try says how settings are compared.
type Try struct {
	Config *Config
	Knobs  []Knob
	// Dir is where files are written that get no name, so that the disk has its part; what has to be made for
	// them is removed again. "" is a directory for temporary files.
	Dir      string
	Rounds   int
	Time     time.Duration // of one trial
	Seed     uint64
	Progress func(text string, done, total int, elapsed time.Duration)
}

// Check says what is wrong with the settings of a trial.
func (t Try) Check() error {
	switch {
	case t.Rounds < effect.MinN || t.Rounds > 1000:
		return fmt.Errorf("--rounds %d: want %d to 1000, for an interval", t.Rounds, effect.MinN)
	case t.Time < 50*time.Millisecond || t.Time > time.Hour:
		return fmt.Errorf("--trial %v: want 50ms to 1h", t.Time)
	}
	said := map[string]bool{}
	for _, k := range t.Knobs {
		if said[k.Name] {
			return fmt.Errorf("--try %s is there twice: name all its values at once", k.Name)
		}
		said[k.Name] = true
	}
	return nil
}

// sampleSize is how many records the trials use, again and again.
const sampleSize = 5000

// Run measures the settings on the real service in short trials, in turns, and reports the
// effect of each. The records of the first pages are fetched again and again; what is
// written is removed.
func (t Try) Run(ctx context.Context) (*report.Report, error) {
	begin := time.Now()
	if t.Config.read.url == nil {
		return nil, errors.New("the list holds the records whole: there is nothing to try")
	}
	records, err := t.sample(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.raise(); err != nil {
		return nil, err
	}
	if err := t.one(ctx, records); err != nil {
		return nil, err
	}
	clean, err := t.place()
	if err != nil {
		return nil, explained(err)
	}
	defer clean()
	seen := &losses{kinds: map[string]int64{}}
	var variants []trial.Variant
	for _, k := range t.Knobs {
		for _, v := range k.Values {
			s := &setting{c: *t.Config}
			if err := knobs[k.Name](s, v); err != nil {
				return nil, err
			}
			x := trial.Variant{Name: k.Name + " " + v, Group: k.Name, Measure: func(ctx context.Context) (trial.Sample, error) {
				return t.measure(ctx, s, records, seen)
			}}
			if n, err := strconv.ParseFloat(v, 64); err == nil {
				x.Params = map[string]float64{k.Name: n}
			}
			variants = append(variants, x)
		}
	}
	plan := trial.Plan{
		Metrics: []report.Metric{metricRate, metricMedian, metricP99, metricFailed, metricConns, metricWaiting},
		Rounds:  t.Rounds, Seed: t.Seed,
	}
	if t.Progress != nil {
		plan.Progress = func(done, total int, v trial.Variant, s trial.Sample, _ time.Duration) {
			t.Progress(fmt.Sprintf("%s: %s records a minute", v.Name, grouped(int64(s[metricRate.Name]))), done, total, time.Since(begin))
		}
	}
	cases, runErr := trial.Run(ctx, plan, variants)
	if cases == nil {
		return nil, explained(t.Config.redacted(runErr))
	}
	r := &report.Report{
		Schema: report.Schema, Verb: "mirror", Started: begin, Listed: true,
		Question: fmt.Sprintf("What would other settings bring for %s? %d trials of %v each, in turns.", t.Config.redact(t.Config.source()), t.Rounds*len(variants), t.Time),
		Environment: report.Here(t.Seed, map[string]string{
			"workers": strconv.Itoa(t.Config.HTTP.Workers), "idle connections": strconv.Itoa(t.Config.idle()), "records": strconv.Itoa(len(records))}),
		Metrics: plan.Metrics, Cases: cases, Warnings: []string{},
	}
	for i := range r.Cases {
		for name, v := range r.Cases[i].Values {
			if v.Low < 0 { // as the interval of a mean may; nothing here can be
				v.Low = 0
				r.Cases[i].Values[name] = v
			}
		}
	}
	if w := seen.warning(); w != "" {
		r.Warnings = append(r.Warnings, w)
	}
	for _, k := range t.Knobs {
		r.Groups = append(r.Groups, report.Group{Name: k.Name})
	}
	r.Answer = t.answer(cases)
	if low, high, err := limits.Ports(); err == nil {
		n, _ := limits.TimeWait()
		r.Environment.More["ports"] = fmt.Sprintf("%d to %d, which allow %.0f new connections a second", low, high, limits.ConnectionRate(low, high))
		r.Environment.More["sockets in TIME_WAIT after the trials"] = strconv.Itoa(n)
	}
	return r, explained(t.Config.redacted(runErr))
}

// answer names the setting with the greatest gain.
func (t Try) answer(cases []report.Case) string {
	best, gain := "", 0.0
	for _, c := range cases {
		if e, ok := c.Effects[metricRate.Name]; ok && e.Real && e.Percent > gain {
			best, gain = fmt.Sprintf("%s brings %.0f %% more records a minute than %s", c.Name, e.Percent, baselineOf(cases, c.Group)), e.Percent
		}
	}
	if best == "" {
		return "No setting that was tried is seen to bring more records a minute than the first of its kind"
	}
	return strings.ToUpper(best[:1]) + best[1:]
}

func baselineOf(cases []report.Case, group string) string {
	for _, c := range cases {
		if c.Group == group && c.Baseline {
			return c.Name
		}
	}
	return "the baseline"
}

// raise makes room for the descriptors of the greatest setting.
func (t Try) raise() error {
	most := t.Config.HTTP.Workers
	for _, k := range t.Knobs {
		if k.Name == "workers" {
			for _, v := range k.Values {
				n, _ := strconv.Atoi(v)
				most = max(most, n)
			}
		}
	}
	_, err := limits.RaiseFiles(uint64(2*most + 64))
	if soft, _, e := limits.Files(); e == nil && soft >= uint64(2*most+64) {
		return nil
	}
	return explained(err)
}

// sample reads the first records of the list.
func (t Try) sample(ctx context.Context) ([]item, error) {
	f := newFetcher(ctx, t.Config, 1)
	defer f.close()
	l := newLister(f, t.Config, "")
	defer l.close()
	var all []item
	for len(all) < sampleSize && !l.end {
		records, err := l.next(ctx)
		if err != nil {
			return nil, explained(t.Config.redacted(err))
		}
		for _, record := range records {
			u, err := t.Config.read.url.Expand(nil, record)
			if err != nil || len(all) == sampleSize {
				continue
			}
			all = append(all, item{url: string(u), size: -1})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the list has no records to try with")
	}
	return all, nil
}

// losses counts what went wrong in trials.
type losses struct {
	mu         sync.Mutex
	done, lost int64
	kinds      map[string]int64
}

func (f *losses) add(done int64, kinds map[string]int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done += done
	for k, n := range kinds {
		f.kinds[k] += n
		f.lost += n
	}
}

func (f *losses) warning() string {
	most := ""
	for _, k := range slices.Sorted(maps.Keys(f.kinds)) {
		if most == "" || f.kinds[k] > f.kinds[most] {
			most = k
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf("%s of %s failed in the trials, most of them for: %s", grouped(f.lost), counted(f.done+f.lost), most)
}

// one fetches a record before all trials: where none can be had, there is nothing to compare.
func (t Try) one(ctx context.Context, records []item) error {
	f := newFetcher(ctx, t.Config, 1)
	defer f.close()
	var last error
	for i := range min(len(records), 5) {
		q, err := wire.NewRequest("", records[i].url, t.Config.read.header, nil)
		if err != nil {
			return err
		}
		last = f.retry(ctx, func() error {
			x, err := f.do(ctx, q, f.gate(q.URL), f.t)
			if err != nil {
				return err
			}
			return x.Close()
		})
		if last == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return explained(t.Config.redacted(fmt.Errorf("no record could be had, so there is nothing to compare; the last failed with: %w", last)))
}

// place makes the directory for the trials; clean removes what was made.
func (t *Try) place() (clean func(), err error) {
	if t.Dir == "" {
		if t.Dir, err = os.MkdirTemp("", "headway-try-"); err != nil {
			return nil, err
		}
		return func() { os.RemoveAll(t.Dir) }, nil
	}
	own := filepath.Join(t.Dir, store.Own)
	var made []string
	for _, d := range []string{filepath.Join(own, "unfinished"), own, t.Dir} {
		if _, err := os.Lstat(d); errors.Is(err, os.ErrNotExist) {
			made = append(made, d)
		}
	}
	return func() {
		for _, d := range made {
			os.Remove(d) // unless somebody has put something there
		}
	}, nil
}

// measure fetches for a while.
func (t Try) measure(ctx context.Context, s *setting, records []item, seen *losses) (trial.Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &s.c
	r := &run{Options: Options{Config: c, Dir: t.Dir}, c: c, ctx: ctx, stop: cancel}
	var err error
	if r.tree, err = store.Open(t.Dir, 8); err != nil {
		return nil, explained(err)
	}
	defer r.tree.Close()
	if err := r.tree.Probe(); err != nil {
		return nil, explained(err)
	}
	r.f = newFetcher(ctx, c, c.idle())
	defer r.f.close()
	var made atomic.Int64
	if s.perCall {
		r.f.perCall = func() *wire.Transport {
			made.Add(1)
			return wire.NewTransport(ctx, transportConfig(c, 0))
		}
	}
	root := c.read.url.Literal()
	u, err := wire.ParseURL(root)
	if err != nil {
		return nil, err
	}
	at := strings.Index(root, "://") + 3
	at += strings.IndexAny(root[at:], "/?")
	r.root = root[:at]
	if r.base, err = wire.NewRequest("", u.String(), c.read.header, nil); err != nil {
		return nil, err
	}
	r.pace = r.f.gate(r.base.URL)
	before, _ := limits.TimeWait()
	begin := time.Now()
	end := begin.Add(t.Time)
	var next, done, failed atomic.Int64
	var mu sync.Mutex
	var times histogram.Histogram
	var wg sync.WaitGroup
	took := t.Time // and longer, if a record that came in the end took longer
	for range c.HTTP.Workers {
		wg.Go(func() {
			w := &worker{r: r, buf: make([]byte, bufferSize)}
			defer w.leave()
			var mine histogram.Histogram
			lost := map[string]int64{}
			last := time.Duration(0)
			for {
				now := time.Now()
				if !now.Before(end) || ctx.Err() != nil {
					break
				}
				it := records[int(next.Add(1)-1)%len(records)]
				err := w.tryOne(&it)
				mine.Add(int64(time.Since(now)))
				switch {
				case err == nil:
					done.Add(1)
					last = max(last, time.Since(begin))
				case ctx.Err() == nil || context.Cause(ctx) == errOver:
					failed.Add(1)
					what, _ := kind(err)
					if context.Cause(ctx) == errOver {
						what = "they were not done when the trial was over"
					}
					lost[what]++
				}
			}
			seen.add(0, lost)
			mu.Lock()
			times.Merge(&mine)
			took = max(took, last)
			mu.Unlock()
		})
	}
	// What hangs when the time is over counts as failed.
	timer := time.AfterFunc(t.Time+t.Time/2, func() { cancel(errOver) })
	wg.Wait()
	timer.Stop()
	if err := context.Cause(ctx); err != nil && err != errOver {
		return nil, err
	}
	after, _ := limits.TimeWait()
	n := done.Load()
	seen.add(n, nil)
	dialed := r.f.t.Counts().Dialed + made.Load()
	x := trial.Sample{
		metricRate.Name:    float64(n) / took.Minutes(),
		metricFailed.Name:  100 * float64(failed.Load()) / float64(max(n+failed.Load(), 1)),
		metricWaiting.Name: float64(max(after-before, 0)),
	}
	if n > 0 {
		x[metricConns.Name] = 1000 * float64(dialed) / float64(n)
		x[metricMedian.Name], x[metricP99.Name] = times.Quantile(.5)/1e6, times.Quantile(.99)/1e6
	}
	return x, nil
}

var errOver = errors.New("the trial is over")

// tryOne fetches a record into a file that gets no name.
func (w *worker) tryOne(it *item) error {
	r := w.r
	q, err := w.request(it, "")
	if err != nil {
		return err
	}
	t, done := r.transport()
	defer done()
	x, err := r.f.do(r.ctx, q, r.pace, t)
	if err != nil {
		return err
	}
	defer x.Close()
	f, err := r.tree.Scratch()
	if err != nil {
		return err
	}
	defer f.Abandon()
	for {
		b, whole, err := w.read(x)
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil || whole {
			return err
		}
	}
}
