// Command overhead measures what profiling costs a program: its ordinary build
// against a build with Headway's hooks and marks that is left alone, one that is
// sampled, and one of which a real profile is made: with the sites that it chooses and its usual speed-ups, as many
// baselines as changes. Changes delay a program, the more the larger the part that is sped up:
// what experiments cost beyond their baselines is these delays.
//
// Each state has a process of its own. They run side by side, but only one at a time: turns of some ten milliseconds, in an order that
// changes at random (a profile's windows and turns of the ordinary build alternate), so that what else the machine
// does meets all alike. Where in memory a process comes to lie makes it some percent faster or slower for as long as it lives, so they are
// begun anew some times in a round. A round is one pair a comparison. The figure is how much longer
// an operation takes, in percent, with an interval. With -aa all are the ordinary build: the figures are then what the bench itself adds.
//
// Where the linker happens to put functions makes a program some percent faster or slower, and two builds that differ
// in anything have different luck (Curtsinger and Berger, Stabilizer, ASPLOS 2013). So each round links both anew, with their functions
// in an order at random: the interval has this luck in.
//
//	go run ./bench/overhead                a bit more than an hour
//	go run ./bench/overhead -profiles 0    idle and sampled only, three quarters of one
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/causal"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/report"
)

// A state is what is done to a program while it is measured.
type state string

const (
	stock       state = "ordinary build"
	beside      state = "ordinary build, beside a profile"
	idle        state = "instrumented, idle"
	sampled     state = "sampled"
	baselines   state = "experiments' baselines"
	experiments state = "experiments"
)

var (
	duels = [...]state{stock, idle, sampled}
	costs = [...]state{idle, sampled, baselines, experiments} // in the order of the table
)

// against is the state that another is compared with: the two had turns in one run.
func (s state) against() state {
	if s == baselines || s == experiments {
		return beside
	}
	return stock
}

// goals are the most that a state may cost, in percent.
var goals = map[state]float64{idle: 1, sampled: 3, experiments: 12}

const confidence = 0.95

// A subject builds and runs programs in each state. It is all that is asked of the profiler.
type subject interface {
	// build makes the programs, each in its ordinary and its instrumented form, with their functions in the order of that number.
	build(ctx context.Context, layout uint32) error
	// begin starts a program in each state, in an order of the duels: who comes first has the first choice of memory.
	begin(ctx context.Context, p program, order []int) (duel, error)
	// profile makes a real profile of a program for a while, by turns with its ordinary build, and says what each did.
	profile(ctx context.Context, p program, d time.Duration, seed uint64) (map[state]done, error)
}

// A duel is a program in all states that are measured by turns.
type duel interface {
	// run lets it run for about so long in a state, and returns what it did and how long that took.
	run(s state, d time.Duration) (done, error)
	end()
}

type program struct {
	name string
	dir  string // where it is built and runs; "" is the current directory
	pkg  string
	args []string
	// sites are functions that have marks, the first also counts as progress: "import/path Func". A real profile
	// chooses others.
	sites []string
}

var all = []program{
	small("channel", "main volley", "main partner"),
	small("mutex", "main outside", "main inside"),
	small("json", "main order", "main decode", "main encode"),
	small("allocation", "main grow"),
	{"http2", "", module + "/examples/http2", []string{"-in-process"}, []string{
		"main (*server).home", "crypto/tls (*Conn).Write", "crypto/tls (*Conn).Read", "net/http (*Transport).RoundTrip",
	}},
	sweet("bleve", "github.com/blevesearch/bleve/v2/analysis TokenFrequency", "github.com/blevesearch/bleve/v2/analysis (*DefaultAnalyzer).Analyze"),
	sweet("esbuild", "github.com/evanw/esbuild/internal/js_parser Parse", "github.com/evanw/esbuild/internal/js_printer Print"),
	sweet("etcd", "go.etcd.io/etcd/server/v3/etcdserver (*EtcdServer).Put", "go.etcd.io/etcd/server/v3/etcdserver (*EtcdServer).applyEntries"),
	sweet("lua", "github.com/yuin/gopher-lua (*LState).getField"),
	sweet("markdown", "gitlab.com/golang-commonmark/markdown ParserInline.Tokenize", "gitlab.com/golang-commonmark/markdown ParserBlock.Tokenize"),
}

const module = "github.com/headway-lab/headway"

// small is one of the programs beside this one: each does one thing only.
func small(name string, sites ...string) program {
	return program{name, "", module + "/bench/overhead/programs", []string{name}, sites}
}

// sweet is one of those that were chosen by others. They have a module of their own: the main one does
// not depend on theirs.
func sweet(name string, sites ...string) program {
	const suite = module + "/bench/overhead/suite"
	return program{name, "bench/overhead/suite", suite + "/" + name, nil, append([]string{suite + "/loop done"}, sites...)}
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "toolexec": // the go command, building a subject
			os.Exit(instrument.Main(os.Args[2:]))
		case awake.Arg:
			os.Exit(awake.Main(os.Args[2:]))
		}
	}
	var (
		o    = options{}
		only = flag.String("programs", "", "comma-separated names of programs; all without")
		file = flag.String("json", "", "write the report as JSON to this file")
	)
	flag.IntVar(&o.rounds, "rounds", usualRounds, "how often each program is run idle and sampled")
	flag.DurationVar(&o.each, "each", 1500*time.Millisecond, "how long each is measured in a round")
	flag.IntVar(&o.starts, "starts", 3, "in how many processes one after the other that is")
	flag.IntVar(&o.profiles, "profiles", usualProfiles, "how many real profiles are made of each program; 0: only idle and sampled")
	flag.DurationVar(&o.profile, "profile", 20*time.Second, "how long each of these takes")
	flag.Uint64Var(&o.seed, "seed", 1, "decides the order of the runs")
	flag.BoolVar(&o.same, "aa", false, "compare the ordinary build with itself, without profiles: what differs is the bench's fault")
	flag.Parse()
	if o.same {
		o.profiles = 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := measure(ctx, o, *only, *file)
	if err != nil && ctx.Err() != nil { // whatever was just running says that it was killed
		fmt.Fprintln(os.Stderr, "overhead: interrupted")
		os.Exit(130)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
	if missed {
		os.Exit(1)
	}
}

// Without flags. A mean of ten programs is known to a third of a point after twenty rounds, which left it open whether .7 is below 1; of
// fewer than four profiles there is no interval.
const usualRounds, usualProfiles = 30, effect.MinN

type options struct {
	rounds, starts, profiles int
	each, profile            time.Duration
	seed                     uint64
	same                     bool
}

func measure(ctx context.Context, o options, only, file string) (missed bool, err error) {
	chosen, err := choose(only)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "headway-overhead-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil { // programs are killed, and leave their files
		return false, err
	}
	var s subject = &profiled{dir: dir, programs: chosen, same: o.same}
	started := time.Now()
	var m *measurement
	// Processors that wake from sleep, now fast, now slowly, would be most of the noise.
	failed := awake.While(func() (err error) {
		if i, err := limits.Interrupted(time.Second); err == nil {
			fmt.Printf("%d processors, %v\n", runtime.NumCPU(), i)
		}
		m, err = runAll(ctx, s, chosen, o, os.Stderr)
		return err
	})
	if m == nil || m.rounds() == 0 {
		return false, failed
	}
	missed = m.print(os.Stdout)
	if o.same {
		fmt.Println("\nAll columns are the ordinary build: what is not 0 is the bench's fault, or chance.")
		missed = false
	}
	if file == "" {
		return missed, failed
	}
	f, err := os.Create(file)
	if err != nil {
		return missed, errors.Join(failed, err)
	}
	defer f.Close()
	r := m.report(started, o.seed)
	if o.same {
		r.Warnings = append(r.Warnings, "all states are the ordinary build (-aa)")
	}
	return missed, errors.Join(failed, r.JSON(f))
}

func choose(only string) ([]program, error) {
	if only == "" {
		return all, nil
	}
	var chosen []program
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, p := range all {
			if p.name == name {
				chosen, found = append(chosen, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no program %q", name)
		}
	}
	return chosen, nil
}

// measurement holds operations a second, by program, state and round.
type measurement struct {
	programs []program
	rate     map[string]map[state][]float64
}

// rounds is in how many rounds all programs were measured in some state.
func (m *measurement) rounds() (n int) {
	for _, s := range costs {
		n = max(n, m.whole(s))
	}
	return n
}

// whole is in how many rounds all programs were measured in a state.
func (m *measurement) whole(s state) int {
	n := math.MaxInt
	for _, p := range m.programs {
		n = min(n, len(m.rate[p.name][s]))
	}
	return n
}

// cut leaves the rounds in which all programs were measured in all states that are compared with one another.
func (m *measurement) cut() {
	n := map[state]int{}
	for _, s := range costs {
		b := s.against()
		if _, ok := n[b]; !ok {
			n[b] = m.whole(b)
		}
		n[b] = min(n[b], m.whole(s))
	}
	for _, rates := range m.rate {
		for _, s := range costs {
			rates[s], rates[s.against()] = rates[s][:n[s.against()]], rates[s.against()][:n[s.against()]]
		}
	}
}

// runAll measures round by round. When it fails or is interrupted the rounds before that are given, too.
func runAll(ctx context.Context, s subject, programs []program, o options, log io.Writer) (_ *measurement, err error) {
	m := &measurement{programs, map[string]map[state][]float64{}}
	defer func() {
		if err == nil {
			return
		}
		m.cut()
	}()
	for _, p := range programs {
		m.rate[p.name] = map[state][]float64{}
	}
	r := rand.New(rand.NewPCG(o.seed, 0))
	for round := range max(o.rounds, o.profiles) {
		fmt.Fprintf(log, "round %d of %d: building\n", round+1, max(o.rounds, o.profiles))
		if err := s.build(ctx, 1+r.Uint32N(1<<30)); err != nil {
			return m, err
		}
		fmt.Fprintf(log, "round %d of %d\n", round+1, max(o.rounds, o.profiles))
		for _, i := range r.Perm(len(programs)) {
			p := programs[i]
			if round < o.rounds {
				if err := m.round(ctx, s, p, o, r); err != nil {
					return m, err
				}
			}
			if round < o.profiles {
				seed := o.seed + uint64(round)
				d, err := s.profile(ctx, p, o.profile, seed)
				if errors.Is(err, causal.ErrTooFew) { // others had the machine; a crash counts
					fmt.Fprintf(log, "%s, profile: %v; once more, with twice the time\n", p.name, err)
					d, err = s.profile(ctx, p, 2*o.profile, seed)
				}
				if err == nil {
					err = m.add(p, d)
				}
				if err != nil {
					return m, fmt.Errorf("%s, profile: %w", p.name, err)
				}
			}
		}
	}
	return m, nil
}

// add notes what a program did in a round.
func (m *measurement) add(p program, did map[state]done) error {
	for s, d := range did {
		if d.n == 0 {
			return fmt.Errorf("%s: it did nothing", s)
		}
		m.rate[p.name][s] = append(m.rate[p.name][s], d.n/d.seconds)
	}
	return nil
}

// turn is how long each state lasts before the next has its turn.
const turn = 50 * time.Millisecond

func (m *measurement) round(ctx context.Context, s subject, p program, o options, r *rand.Rand) error {
	did := map[state]done{}
	starts := max(o.starts, 1)
	for range starts {
		if err := inTurns(ctx, s, p, o.each/time.Duration(starts), r, did); err != nil {
			return fmt.Errorf("%s, %w", p.name, err)
		}
	}
	if err := m.add(p, did); err != nil {
		return fmt.Errorf("%s, %w", p.name, err)
	}
	return nil
}

// inTurns adds to what a program has done in each state what it does in one process each.
func inTurns(ctx context.Context, s subject, p program, each time.Duration, r *rand.Rand, did map[state]done) error {
	d, err := s.begin(ctx, p, r.Perm(len(duels)))
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	defer d.end()
	turns := max(int(each.Round(turn)/turn), 1)
	for k := -2; k < turns; k++ { // two to get warm
		for _, j := range r.Perm(len(duels)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			more, err := d.run(duels[j], turn)
			if err != nil {
				return fmt.Errorf("%s: %w", duels[j], err)
			}
			if k >= 0 {
				sum := did[duels[j]]
				did[duels[j]] = done{sum.n + more.n, sum.seconds + more.seconds}
			}
		}
	}
	return nil
}

// cost is how much longer an operation of a program takes in a state.
func (m *measurement) cost(name string, s state) effect.Effect {
	return effect.Paired(inverse(m.rate[name][s.against()]), inverse(m.rate[name][s]), confidence, 0)
}

// mean is the same over all programs: in each round, the geometric mean.
func (m *measurement) mean(s state) effect.Effect {
	rounds := len(m.rate[m.programs[0].name][s])
	one, ratio := make([]float64, rounds), make([]float64, rounds)
	for round := range rounds {
		sum := 0.0
		for _, p := range m.programs {
			sum += math.Log(m.rate[p.name][s.against()][round] / m.rate[p.name][s][round])
		}
		one[round], ratio[round] = 1, math.Exp(sum/float64(len(m.programs)))
	}
	return effect.Paired(one, ratio, confidence, 0)
}

func inverse(rates []float64) []float64 {
	times := make([]float64, len(rates))
	for i, r := range rates {
		times[i] = 1 / r
	}
	return times
}

// verdict holds the interval against the goal.
func verdict(e effect.Effect, goal float64) string {
	switch {
	case e.High <= goal:
		return "met"
	case e.Low > goal:
		return "missed"
	}
	return "cannot tell"
}

// print writes the table and says whether a goal is missed for certain.
func (m *measurement) print(w io.Writer) (missed bool) {
	name := m.programs[0].name
	fmt.Fprintf(w, "How much longer an operation takes than in the ordinary build, %% [95 %% interval], n=%d rounds, %d profiles\n\n",
		len(m.rate[name][idle]), len(m.rate[name][experiments]))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "program\toperations/s")
	for _, s := range costs {
		fmt.Fprintf(t, "\t%s", s)
	}
	fmt.Fprintln(t)
	row := func(name, rate string, of func(state) effect.Effect) {
		fmt.Fprintf(t, "%s\t%s", name, rate)
		for _, s := range costs {
			e := of(s)
			if math.IsNaN(e.Percent) {
				fmt.Fprint(t, "\tnot measured")
				continue
			}
			if math.IsInf(e.High, 0) {
				fmt.Fprintf(t, "\t%+.1f [too few rounds]", e.Percent)
				continue
			}
			fmt.Fprintf(t, "\t%+.1f [%+.1f, %+.1f]", e.Percent, e.Low, e.High)
		}
		fmt.Fprintln(t)
	}
	for _, p := range m.programs {
		row(p.name, fmt.Sprintf("%.4g", effect.Of(m.rate[p.name][stock], confidence, 0).Value), func(s state) effect.Effect { return m.cost(p.name, s) })
	}
	row("mean", "", m.mean)
	fmt.Fprint(t, "goal for the mean\t")
	for _, s := range costs {
		goal, ok := goals[s]
		if !ok {
			fmt.Fprint(t, "\t")
			continue
		}
		v := verdict(m.mean(s), goal)
		missed = missed || v == "missed"
		fmt.Fprintf(t, "\tat most %g: %s", goal, v)
	}
	fmt.Fprintln(t)
	t.Flush()
	return missed
}

// report is the measurement in the form of every other answer.
func (m *measurement) report(started time.Time, seed uint64) *report.Report {
	r := &report.Report{
		Schema:      report.Schema,
		Verb:        "overhead",
		Question:    "How much longer does an operation take under Headway than in an ordinary build?",
		Command:     append([]string{"overhead"}, os.Args[1:]...),
		Started:     started,
		Environment: report.Environment{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Seed: seed},
		Metrics:     []report.Metric{{Name: "time per operation", Unit: "us", Better: "lower"}},
	}
	const metric = "time per operation"
	for _, p := range m.programs {
		r.Groups = append(r.Groups, report.Group{Name: p.name})
		for _, s := range append([]state{stock, beside}, costs[:]...) {
			us := inverse(m.rate[p.name][s])
			for i := range us {
				us[i] *= 1e6
			}
			e := effect.Of(us, confidence, 0)
			c := report.Case{
				Name: string(s), Group: p.name, Baseline: s == stock,
				Values: map[string]report.Value{metric: {Value: e.Value, Low: e.Low, High: e.High, N: e.N}},
			}
			if s != stock && s != beside {
				e := m.cost(p.name, s)
				c.Effects = map[string]report.Effect{metric: {
					Percent: e.Percent, Low: e.Low, High: e.High, Confidence: e.Confidence, N: e.N, Real: e.Low > 0 || e.High < 0,
				}}
			}
			r.Cases = append(r.Cases, c)
		}
	}
	return r
}
