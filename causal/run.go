package causal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/stage"
	"github.com/headway-lab/headway/usage"
)

// samplePeriod is the mean time between two looks at what the threads run. A look costs tens of
// microseconds, more where timers are emulated (virtual machines): shorter periods slow the program by
// more than they tell.
const samplePeriod = 10 * time.Millisecond

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
	inserted    time.Duration // in the phase before this one
	runs        int           // how often the program was started again
	reached     bool          // every metric, in this run of the program or one before
	deadline    time.Time

	stacks   []stackOf
	lost     uint64
	calls    frequency
	sites    []*site
	dropped  []string // names of sites that marks would disturb by more than they tell
	trial    *trial
	accounts *effect.Effect // what keeping them costs, nil: not known
	warnings []string
}

func (r *runner) event(phase, text string) {
	if r.o.Events != nil {
		total := time.Duration(0)
		if !r.deadline.IsZero() {
			total = r.deadline.Sub(r.started)
		}
		r.o.Events(stage.Event{Phase: phase, Text: text, Elapsed: time.Since(r.started), Total: total})
	}
}

func (r *runner) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	r.warnings = append(r.warnings, w)
	if r.o.Events != nil {
		r.o.Events(stage.Event{Phase: "warning", Text: w, Elapsed: time.Since(r.started), Warning: true})
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
		if o.Placebo {
			o.Speedups = []int{25, 50}
		}
	}
	if o.Placebo && len(o.Sites) == 0 {
		o.Top = 1
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
		return usage.Errorf("--by: %q is not func, line or callsite", o.By)
	}
	for _, s := range o.Speedups {
		if s < 1 || s > 100 {
			return usage.Errorf("--speedups: %d is not between 1 and 100", s)
		}
		if o.Placebo && s > MostPlacebo {
			return usage.Errorf("--speedups: with --placebo, %d %% would leave the program no time; %d at most", s, MostPlacebo)
		}
	}
	if o.Duration < time.Second {
		return usage.Errorf("--duration: %v is too short, give at least 1s", o.Duration)
	}
	if o.Runs < 0 || o.Runs > 100 {
		return usage.Errorf("--runs: %d is not between 1 and 100", o.Runs)
	}
	if o.Placebo && len(o.Sites) > 1 {
		return usage.Errorf("--site: a placebo delays everything alike, so it has use for one at most")
	}
	if o.Package == "" {
		return usage.Errorf("no package given")
	}
	return checkFlags(o.BuildFlags)
}

// prepare finds the package, its sources and its progress points.
func (r *runner) prepare(ctx context.Context) (*marks, error) {
	target, pkgs, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, usage.Errorf("package %s: nothing to build", target)
	}
	r.pr = newProgram(pkgs)
	if !r.o.Test && r.pr.main.Name != "main" {
		return nil, usage.Errorf("package %s is not a program (package %s); for its tests and benchmarks use --test", target, r.pr.main.Name)
	}
	self := r.o.Self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
	}
	if r.o.Test {
		r.o.programDir = r.pr.main.Dir // where go test runs it
	}
	r.build = &builder{g: r.g, o: r.o, self: self, dir: r.dir, target: target}
	k := &marks{}
	if r.metrics, err = r.pr.points(r.o, k); err != nil {
		return nil, r.compiled(ctx, err)
	}
	return k, nil
}

// compiled is an error about a name, or what the compiler says if that may be in a file that does not parse.
func (r *runner) compiled(ctx context.Context, err error) error {
	if r.pr.broken == "" {
		return err
	}
	r.event("build", "building "+r.called()+", for "+r.pr.broken+" does not parse")
	if _, failed := r.build.build(ctx, new(instrument.Config)); failed != nil {
		return failed
	}
	return err
}

// find returns what the go command calls the package, and what it is made of.
func (r *runner) find(ctx context.Context) (target string, pkgs []*pkg, err error) {
	o := *r.o
	fetched := containsVersion(o.Package)
	if fetched {
		o.BuildDir = filepath.Join(r.dir, "module")
		if err := os.MkdirAll(o.BuildDir, 0o700); err != nil {
			return "", nil, err
		}
	}
	if r.g, err = newGoTool(ctx, &o); err != nil {
		return "", nil, err
	}
	target = o.Package
	if fetched {
		r.event("list", "fetching "+target)
		if target, err = r.g.atVersion(ctx, target); err != nil {
			return "", nil, err
		}
	}
	pkgs, err = r.g.list(ctx, &o, target)
	return target, pkgs, err
}

// called is the program's name in the report: what the user wrote, unless that says nothing anywhere else.
func (r *runner) called() string {
	typed := r.o.Package
	if r.pr == nil || strings.Trim(typed, "./") != "" && !filepath.IsAbs(typed) {
		return typed
	}
	if path := strings.TrimSuffix(r.pr.main.path(), ".test"); path != "command-line-arguments" {
		return path
	}
	return typed
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
// Wrong names and flags give a *usage.Error.
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
	err = r.tooShort(r.profile(ctx))
	if r.pr == nil {
		return nil, err
	}
	var wrong *usage.Error
	if errors.As(err, &wrong) {
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
	if direct {
		if err := r.mark(ctx, base, r.marks, true); err != nil {
			return err
		}
		if direct = r.affords(r.marks, 1); !direct {
			if err := r.sample(ctx, 2*time.Second); err != nil {
				return err
			}
		}
	} else {
		// A first run finds the candidates.
		if err := r.mark(ctx, base, newCarriers(), true); err != nil {
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
	}
	if !direct {
		if err := r.carry(ctx, base, r.stacks); err != nil {
			return err
		}
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
	if err != nil || r.pr.low(pl.pkg.path()) || !pl.fn.Markable() {
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
				if s.name == want || r.o.By == ByFunc && s.key.fn == want || shortName(s.name) == want && hit == nil {
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
				return usage.Errorf("--site: %s was not seen in %d samples%s", want, len(r.stacks), suggest(want, near))
			}
			r.sites = append(r.sites, hit)
		}
		return nil
	}
	// Some more than asked for: those too widely spread will be dropped.
	most := r.o.Top + r.o.Top/2
	look := most
	if r.o.Cumulative {
		look *= 8 // a function and what it does nothing but call are one site
	}
	for _, s := range all {
		if len(r.sites) == look || s.share < leastShare {
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
	if r.o.Cumulative {
		r.sites = distinct(r.o, r.sites, r.stacks)
		r.sites = r.sites[:min(len(r.sites), most)]
	}
	if len(r.sites) == 0 {
		if len(r.stacks) == 0 {
			return errors.New("no samples: the program used no CPU time while it was watched")
		}
		return fmt.Errorf("no site left to try: none of the program's own functions takes %.1f%% of the samples, or --include and --exclude leave none", 100*leastShare)
	}
	return nil
}

// launch builds and starts the program and waits until its progress is steady.
func (r *runner) launch(ctx context.Context, k *marks, first bool) error {
	if first {
		r.event("build", "building "+r.called()+" (the first build compiles the standard library anew)")
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
