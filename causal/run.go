package causal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/report"
)

// samplePeriod is the CPU time between two samples of a thread. A sample costs
// tens of microseconds where timers are emulated (virtual machines): shorter
// periods slow the program by more than they tell.
const samplePeriod = 5 * time.Millisecond

// markCost is about what a mark costs a call, in seconds: two clock readings
// and the bookkeeping.
const markCost = 100e-9

// runner conducts one profile.
type runner struct {
	o       *Options
	started time.Time
	dir     string
	g       *goTool
	pr      *program
	build   *builder
	marks   *carriers
	metrics []*metric
	proc    *process
	symbols *symbolizer

	window, gap time.Duration
	lastDebt    int64
	deadline    time.Time

	stacks   []stackOf
	lost     uint64
	rates    map[int]float64 // calls a second, by mark
	sampled  time.Duration   // how long the stacks were collected
	clock    control.Clock
	sites    []*site
	trial    *trial
	warnings []string
}

func (r *runner) event(phase, text string) {
	if r.o.Events != nil {
		total := time.Duration(0)
		if !r.deadline.IsZero() {
			total = r.deadline.Sub(r.started)
		}
		r.o.Events(Event{Phase: phase, Text: text, Elapsed: time.Since(r.started), Total: total})
	}
}

func (r *runner) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	r.warnings = append(r.warnings, w)
	if r.o.Events != nil {
		r.o.Events(Event{Phase: "warning", Text: w, Elapsed: time.Since(r.started), Warning: true})
	}
}

func defaults(o Options) Options {
	if o.By == "" {
		o.By = ByFunc
	}
	if o.Top == 0 {
		o.Top = 10
	}
	if len(o.Speedups) == 0 {
		o.Speedups = []int{25, 50, 75, 100}
	}
	if o.Duration == 0 {
		o.Duration = time.Minute
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	return o
}

func check(o *Options) error {
	switch o.By {
	case ByFunc, ByLine, ByCallSite:
	default:
		return &UsageError{fmt.Errorf("--by: %q is not func, line or callsite", o.By)}
	}
	for _, s := range o.Speedups {
		if s < 1 || s > 100 {
			return &UsageError{fmt.Errorf("--speedups: %d is not between 1 and 100", s)}
		}
	}
	if o.Duration < time.Second {
		return &UsageError{fmt.Errorf("--duration: %v is too short, give at least 1s", o.Duration)}
	}
	if o.Package == "" {
		return &UsageError{errors.New("no package given")}
	}
	return checkFlags(o.BuildFlags)
}

// prepare finds the package, its sources and its progress points.
func (r *runner) prepare(ctx context.Context) (*marks, error) {
	var err error
	if r.g, err = newGoTool(ctx, r.o); err != nil {
		return nil, err
	}
	target := r.o.Package
	if containsVersion(target) {
		r.event("list", "fetching "+target)
		if target, err = r.g.atVersion(ctx, r.dir, target); err != nil {
			return nil, err
		}
	}
	pkgs, err := r.g.list(ctx, r.o, target)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, &UsageError{fmt.Errorf("package %s: nothing to build", target)}
	}
	r.pr = newProgram(pkgs)
	if !r.o.Test && r.pr.main.Name != "main" {
		return nil, &UsageError{fmt.Errorf("package %s is not a program (package %s); for its tests and benchmarks use --test", target, r.pr.main.Name)}
	}
	self := r.o.Self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
	}
	r.build = &builder{g: r.g, o: r.o, self: self, dir: r.dir, target: target}
	k := &marks{}
	if r.metrics, err = r.pr.points(r.o, k); err != nil {
		return nil, err
	}
	return k, nil
}

func containsVersion(target string) bool {
	for i := len(target) - 1; i > 0; i-- {
		if target[i] == '@' {
			return true
		}
	}
	return false
}

func (k *marks) clone() *marks {
	n := &marks{points: k.points}
	for path, ms := range k.conf.Packages {
		for _, m := range ms {
			n.add(path, m)
		}
	}
	return n
}

// Run conducts a profile. When ctx is cancelled, or the program ends, it returns what was
// measured so far (a report, possibly with no cases) together with the error.
// Wrong names and flags give a *UsageError.
func Run(ctx context.Context, o Options) (*report.Report, error) {
	o = defaults(o)
	if err := check(&o); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "headway-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary directory (set TMPDIR): %w", err)
	}
	defer os.RemoveAll(dir)
	r := &runner{o: &o, started: time.Now(), dir: dir, marks: newCarriers()}
	defer func() {
		if r.proc != nil {
			r.proc.stop()
		}
	}()
	err = r.profile(ctx)
	if r.pr == nil {
		return nil, err
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		return nil, err
	}
	return r.report(), err
}

func (r *runner) profile(ctx context.Context) error {
	base, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	direct := len(r.o.Sites) > 0
	for _, name := range r.o.Sites {
		direct = r.direct(name) && direct
	}
	if !direct {
		// A first run finds the candidates.
		r.marks = newCarriers()
		if err := r.launch(ctx, base, true); err != nil {
			return err
		}
		d := min(max(r.o.Duration/8, time.Second), 8*time.Second)
		r.event("sample", fmt.Sprintf("looking where time goes for %v", d.Round(time.Second/10)))
		if err := r.sample(ctx, d); err != nil {
			return err
		}
		if err := r.pick(); err != nil {
			return err
		}
		r.marks.choose(r.pr, r.o, r.sites, r.stacks)
		r.proc.stop()
		r.proc = nil
	}
	for round := 0; ; round++ {
		k := base.clone()
		r.marks.marks(k)
		if err := r.launch(ctx, k, round == 0 && direct); err != nil {
			return err
		}
		tiny, err := r.tooShort(ctx)
		if err != nil {
			return err
		}
		if len(tiny) == 0 || round == 2 {
			break
		}
		// Marks that are entered very often cost more than they tell: use their callers.
		first := r.stacks
		r.marks = r.marks.without(tiny)
		if direct && len(first) == 0 {
			if err := r.sample(ctx, 2*time.Second); err != nil {
				return err
			}
			first = r.stacks
		}
		r.proc.stop()
		r.proc = nil
		direct = false
		r.marks.choose(r.pr, r.o, r.sites, first)
	}
	r.stacks, r.lost = nil, 0
	d := min(max(r.o.Duration/15, time.Second), 4*time.Second)
	r.event("sample", fmt.Sprintf("sampling for %v", d.Round(time.Second/10)))
	if err := r.sample(ctx, d); err != nil {
		return err
	}
	r.shares()
	return r.experiments(ctx)
}

// direct marks a site that was given by name without looking for it first.
func (r *runner) direct(name string) bool {
	if r.o.By != ByFunc {
		return false
	}
	pl, err := r.pr.function(name)
	if err != nil || below(pl.pkg.path()) || !pl.fn.Markable() {
		return false
	}
	fn := pl.pkg.symbol() + "." + pl.fn.Name
	r.sites = append(r.sites, &site{name: name, key: siteKey{fn: fn}, file: pl.file, line: pl.fn.Line})
	return r.marks.addFunc(r.pr, frame{fn: fn, file: pl.file, start: pl.fn.Line, line: pl.fn.Line})
}

// pick chooses the sites to try.
func (r *runner) pick() error {
	all := candidates(r.o, r.stacks)
	r.sites = nil
	if len(r.o.Sites) > 0 {
		for _, want := range r.o.Sites {
			var hit *site
			var near []string
			for _, s := range all {
				near = append(near, s.name)
				if s.name == want || r.o.By == ByFunc && s.key.fn == want {
					hit = s
				}
			}
			if hit == nil && r.o.By == ByFunc {
				// It exists but was not seen: its effect is what it is.
				if pl, err := r.pr.function(want); err == nil {
					hit = &site{name: want, key: siteKey{fn: pl.pkg.symbol() + "." + pl.fn.Name}, file: pl.file, line: pl.fn.Line}
				} else if len(near) == 0 {
					return err
				}
			}
			if hit == nil {
				return &UsageError{fmt.Errorf("--site: %s was not seen in %d samples%s", want, len(r.stacks), suggest(want, near))}
			}
			r.sites = append(r.sites, hit)
		}
		return nil
	}
	for _, s := range all {
		// Some more than asked for: those too widely spread will be dropped.
		if len(r.sites) == r.o.Top+r.o.Top/2 {
			break
		}
		if s.share < 0.005 {
			break
		}
		probe := newCarriers()
		for k := range r.marks.tiny {
			probe.tiny[k] = true
		}
		probe.choose(r.pr, r.o, []*site{s}, r.stacks)
		probe.weigh(r.o, s, r.stacks)
		if s.carried < 0.5 {
			continue // the scheduler and the collector: nothing of the program's to speed up
		}
		r.sites = append(r.sites, s)
	}
	if len(r.sites) == 0 {
		if len(r.stacks) == 0 {
			return errors.New("no samples: the program used no CPU time while it was watched")
		}
		return errors.New("no site left to try: none of the program's own functions takes 0.5% of the samples, or --include and --exclude leave none")
	}
	return nil
}

// launch builds and starts the program and waits until its progress is steady.
func (r *runner) launch(ctx context.Context, k *marks, first bool) error {
	if first {
		r.event("build", "building "+r.build.target+" (the first build compiles the standard library anew)")
	} else {
		r.event("build", fmt.Sprintf("building again with %d marks", len(r.marks.list)))
	}
	begin := time.Now()
	bin, err := r.build.build(ctx, &k.conf)
	if err != nil {
		return err
	}
	if !r.deadline.IsZero() {
		r.deadline = r.deadline.Add(time.Since(begin)) // builds are not the program's time
	}
	r.symbols = &symbolizer{bin: bin, dir: r.dir}
	if r.proc, err = start(r.o, r.dir, bin); err != nil {
		return err
	}
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.o.Duration)
	}
	r.event("start", "the program runs")
	// The markers of package progress number themselves in every run anew.
	kept := r.metrics[:0:0]
	for _, m := range r.metrics {
		if m.begin < control.NamedBase {
			kept = append(kept, m)
		}
	}
	r.metrics = kept
	return r.warm(ctx)
}

// warm waits until progress is steady.
func (r *runner) warm(ctx context.Context) error {
	r.event("warm up", "waiting for steady progress")
	const step = 250 * time.Millisecond
	begin := time.Now()
	patience := min(max(r.o.Duration/6, 2*time.Second), 10*time.Second)
	lost := min(max(r.o.Duration/2, 5*time.Second), 20*time.Second)
	var rates []float64
	last := r.visits()
	for {
		if err := r.proc.sleep(ctx, step); err != nil {
			return err
		}
		if r.proc.block.Pid() == 0 && time.Since(begin) > 3*time.Second {
			return errors.New("the program did not start under headway's runtime (is it a wrapper that runs another program? name that one)")
		}
		r.named()
		now := r.visits()
		rates = append(rates, now-last)
		last = now
		if now == 0 {
			if time.Since(begin) > lost {
				return r.noProgress(time.Since(begin))
			}
			rates = rates[:0]
			continue
		}
		if n := len(rates); n >= 6 {
			a := rates[n-1] + rates[n-2]
			b := rates[n-3] + rates[n-4]
			c := rates[n-5] + rates[n-6]
			if steady(a, b) && steady(b, c) {
				return nil
			}
		}
		if time.Since(begin) > patience && len(rates) > 0 {
			if r.silent() == "" {
				return nil
			}
			if time.Since(begin) > lost {
				return r.noProgress(time.Since(begin))
			}
		}
	}
}

func steady(a, b float64) bool { return a > 0 && b > 0 && a < 1.05*b && b < 1.05*a }

func (r *runner) noProgress(d time.Duration) error {
	name := r.silent()
	if name == "" {
		name = "any progress point"
	}
	return fmt.Errorf("no progress seen: %s was not reached in %v; does the program do its work without being asked (a server needs clients)? Otherwise name another point with --throughput or --latency", name, d.Round(time.Second))
}

// silent names a metric that has not been visited.
func (r *runner) silent() string {
	for _, m := range r.metrics {
		if r.proc.block.Count(m.begin).N == 0 || m.latency && r.proc.block.Count(m.end).N == 0 {
			return m.name
		}
	}
	if len(r.metrics) == 0 {
		return "any marker of package progress"
	}
	return ""
}

// visits adds up the visits of all metrics.
func (r *runner) visits() float64 {
	var n uint64
	for _, m := range r.metrics {
		if m.latency {
			n += r.proc.block.Count(m.end).N
		} else {
			n += r.proc.block.Count(m.begin).N
		}
	}
	return float64(n)
}

// named adds the markers of package progress that the program has visited.
func (r *runner) named() {
	names := r.proc.block.Names()
	have := map[string]bool{}
	for _, m := range r.metrics {
		have[m.name] = true
	}
	ends := map[string]int{}
	for i, n := range names {
		if len(n) > 0 && n[len(n)-1] == 0 {
			ends[n[:len(n)-1]] = i
		}
	}
	for i, n := range names {
		if n == "" || n[len(n)-1] == 0 {
			continue
		}
		if e, ok := ends[n]; ok {
			if !have["latency "+n] {
				r.metrics = append(r.metrics, &metric{name: "latency " + n, latency: true, begin: control.NamedBase + i, end: control.NamedBase + e})
			}
		} else if !have[n] {
			r.metrics = append(r.metrics, &metric{name: n, begin: control.NamedBase + i})
		}
	}
}

// sample collects stacks for d.
func (r *runner) sample(ctx context.Context, d time.Duration) error {
	b := r.proc.block
	if os.Getenv("HEADWAY_CLOCK") == "timer" {
		b.ForceClock(control.ClockTimer)
	}
	b.SetSample(samplePeriod.Nanoseconds())
	end := time.Now().Add(d)
	var raw []control.Sample
	var err error
	for time.Now().Before(end) && err == nil {
		err = r.proc.sleep(ctx, 20*time.Millisecond)
		got, lost := b.Samples()
		raw = append(raw, got...)
		r.lost += lost
	}
	b.SetSample(0)
	r.sampled = d
	r.clock = b.Clock()
	base := b.TextBase()
	if len(raw) > 0 && err == nil {
		var st []stackOf
		if st, err = r.symbols.resolve(ctx, base, raw); err == nil {
			r.pr.findFiles(st)
			r.stacks = append(r.stacks, st...)
		}
	}
	return err
}

// tooShort finds marks that are entered so often that they cost more than 2% of a processor.
func (r *runner) tooShort(ctx context.Context) ([]*carrier, error) {
	if len(r.marks.list) == 0 {
		return nil, nil
	}
	d := 300 * time.Millisecond
	before := map[int]uint64{}
	for _, k := range r.marks.list {
		before[k.id] = r.proc.block.Calls(k.id)
	}
	t := time.Now()
	if err := r.proc.sleep(ctx, d); err != nil {
		return nil, err
	}
	sec := time.Since(t).Seconds()
	r.rates = map[int]float64{}
	explicit := map[string]bool{}
	for _, s := range r.sites {
		if len(r.o.Sites) > 0 {
			explicit[s.key.fn] = true
		}
	}
	var tiny []*carrier
	for _, k := range r.marks.list {
		rate := float64(r.proc.block.Calls(k.id)-before[k.id]) / sec
		r.rates[k.id] = rate
		limit := 0.02
		if explicit[k.fn] {
			limit = 0.10
		}
		if rate*markCost > limit {
			tiny = append(tiny, k)
		}
	}
	return tiny, nil
}

// spread drops sites whose marks cost more than half of the time that the site
// takes: inlined into everything, they cannot be told from the measurement.
func (r *runner) spread(total float64) {
	if len(r.o.Sites) > 0 || r.sampled <= 0 {
		return
	}
	var keep []*site
	var names []string
	for _, s := range r.sites {
		calls := 0.0
		for id := range s.weights {
			calls += r.rates[id]
		}
		if calls*markCost > 0.5*s.share*total/float64(r.sampled) {
			names = append(names, s.name)
			continue
		}
		keep = append(keep, s)
	}
	if len(keep) == 0 {
		return
	}
	r.sites = keep[:min(len(keep), r.o.Top)]
	if len(names) > 0 {
		r.warn("too small and too widely spread to try: %s", strings.Join(names, ", "))
	}
}

// shares computes the sites' weights and their part of a classic profile.
func (r *runner) shares() {
	var total float64
	for i := range r.stacks {
		total += float64(r.stacks[i].weight)
	}
	for _, s := range r.sites {
		var in, under float64
		for i := range r.stacks {
			st := &r.stacks[i]
			if s.key.has(r.o, st) {
				in += float64(st.weight)
			}
			if k := r.marks.funcs[s.key.fn]; k != nil && r.marks.contains(k, st) {
				under += float64(st.weight)
			}
		}
		if total > 0 {
			s.share = in / total
			if len(r.o.Sites) > 0 && r.o.By == ByFunc && in < 0.05*under {
				// It was asked for by name and only calls others.
				s.whole = true
				s.share = under / total
			}
		}
		r.marks.weigh(r.o, s, r.stacks)
		if len(s.weights) == 0 {
			if k := r.marks.funcs[s.key.fn]; k != nil {
				s.weights[k.id] = 1
				s.carried = 1
			}
		}
	}
	r.spread(total)
	if r.lost > 0 {
		r.warn("%d samples were lost", r.lost)
	}
	switch r.clock {
	case control.ClockTimer:
		r.warn("perf_event is not available to the program, so a CPU timer samples it: at most the kernel's tick rate, each sample weighed by the CPU time it stands for (kernel.perf_event_paranoid at 2 or less would allow the better clock)")
	case control.ClockNone:
		r.warn("the program cannot be sampled: neither perf_event nor a CPU timer is available")
	}
}
