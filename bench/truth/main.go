// Command truth measures how true headway's causal profiles are. It runs programs whose
// answer is known, from arithmetic and from really shortening the function in question,
// and compares what the profiler predicts.
//
//	go run ./bench/truth                          the kinds of program that every causal profiler should get right (two hours, three with Coz)
//	go run ./bench/truth -all                     all programs (twice as long)
//	go run ./bench/truth -quick -program pipeline
//	go run ./bench/truth -predict=false           closed forms against real edits only
//	go run ./bench/truth -turns 20 -program token no profiles: an experiment beside the shortened program, by turns
//	go run ./bench/truth -cells                   list what would run
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/limits"
)

func (p Program) flag() string {
	if p.Run != "" {
		return p.Run
	}
	return p.Name
}

// pkg is the program's package relative to the module's root.
func (p Program) pkg() string {
	if p.Package != "" {
		return "./bench/truth/" + p.Package
	}
	return "./bench/truth/programs"
}

func (p Program) args(step time.Duration, iters float64) []string {
	return []string{"-program", p.flag(), "-step", p.length(step).String(), "-iters-per-us", strconv.FormatFloat(iters, 'f', 2, 64)}
}

// env sets the number of processors from outside, so that no program has to.
func (p Program) env(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "GOMAXPROCS=") })
	procs := p.Procs
	if procs == 0 {
		procs = 2
	}
	return append(env, fmt.Sprintf("GOMAXPROCS=%d", procs))
}

// Cell is one program at one step with one site.
type Cell struct {
	program Program
	site    Site
	step    time.Duration
}

func (c Cell) String() string { return fmt.Sprintf("%s %v %s", c.program.Name, c.step, c.site.Name) }

type options struct {
	program  *regexp.Regexp
	site     string
	steps    []time.Duration
	speedups []int
	duration time.Duration
	editFor  time.Duration
	rounds   int
	sure     float64
	settle   float64
	profiles int
	visits   int
	set      map[string]bool // the flags that were given: others do not replace what a cell needs
	all      bool
	runs     int
	patience time.Duration
	predict  bool
	coz      string
	jsonFile string
	resumes  bool
	flags    []string // those that say what is measured, as they were given
	cells    bool
	verbose  bool
	awake    bool
	placebo  bool
	turns    int
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("truth", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	program := fs.String("program", "", "regular expression: which programs, of all")
	fs.BoolVar(&o.all, "all", false, "all programs, not only the kinds that every causal profiler should get right")
	fs.StringVar(&o.site, "site", "", "A or B: only that site")
	steps := fs.String("step", "50us,1ms,10ms", "time scales of a step")
	speedups := fs.String("speedups", "25,50,75", "percents")
	quick := fs.Bool("quick", false, "one step (1ms), one speed-up (50), short runs that are not repeated, unless set otherwise")
	fs.DurationVar(&o.duration, "duration", 0, "of one profile; twice that where arrivals are random (without the flag 10s to 8m, as program and step need)")
	fs.DurationVar(&o.editFor, "edit-for", 0, "of one run of a real edit, or one of -turns (without the flag 400ms to 2s, as program and step need; 1.5s for -turns)")
	fs.IntVar(&o.rounds, "rounds", 0, "how often each real edit runs; 0 leaves real edits out (without the flag 3 to 6 times, more where it is the edits that leave a cell open, and not at all where one would take longer than a profile)")
	fs.Float64Var(&o.sure, "sure", 0, "repeat each real edit up to eight times as often, and each profile up to twelve times, until it is known to so many points (0: no more than asked); those of documented limits are not repeated")
	fs.IntVar(&o.profiles, "profiles", 0, "how often each cell is profiled at least (without the flag once, and twice below a millisecond); with more than one the summary says by how much they differ")
	fs.IntVar(&o.visits, "visits", 0, "in how many goes each cell is measured, the later ones when all cells have had theirs: -rounds and -profiles are spread over them (without the flag two below a millisecond, but of documented limits, else one)")
	fs.IntVar(&o.runs, "runs", 1, "over how many processes of the program one profile is spread (headway profile --runs)")
	fs.DurationVar(&o.patience, "patience", 10*time.Second, "how long each go at a cell's real edits may be repeated while others use the machine; there is one before each profile, one at the end, and one where more edits are needed after a profile")
	fs.BoolVar(&o.predict, "predict", true, "profile (false: only closed forms and real edits)")
	fs.StringVar(&o.coz, "coz", "auto", "the Coz column: auto (if it is installed), on, off")
	fs.StringVar(&o.jsonFile, "json", "", "write the results here, after every cell")
	fs.BoolVar(&o.resumes, "resume", false, "go on with the -json file of an earlier run with the same flags: only the cells that it has no whole rows of are measured")
	fs.BoolVar(&o.cells, "cells", false, "list the cells with their closed forms and run nothing")
	fs.BoolVar(&o.awake, "awake", true, "keep idle processors from sleeping, so that no wake-up takes longer than a step")
	fs.BoolVar(&o.placebo, "placebo", false, "delay everything evenly instead of what is not the site: the truth is 0, and what is predicted is the error of the method (headway profile --placebo)")
	fs.Float64Var(&o.settle, "settle", goalWorst, "make more real edits, and up to twenty-four profiles (two of the longest), where it is not settled yet whether a prediction is more than so many points off (0: no more than asked); not of documented limits")
	fs.IntVar(&o.turns, "turns", 0, "instead of profiles: so many windows of -edit-for each of the program as it is, in an experiment, and really shortened, by turns (0: profiles); not of programs that are about latency")
	fs.BoolVar(&o.verbose, "v", false, "show how each profile proceeds")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(stderr)
			fs.Usage()
		}
		return o, err
	}
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) {
		set[f.Name] = true
		if !slices.Contains([]string{"json", "resume", "v"}, f.Name) {
			o.flags = append(o.flags, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	o.set = set
	if *quick {
		if !set["step"] {
			*steps = "1ms"
		}
		if !set["speedups"] {
			*speedups = "50"
		}
		if !set["duration"] {
			o.duration, set["duration"] = 8*time.Second, true // what comes before the experiments takes four
		}
		if !set["edit-for"] {
			o.editFor, set["edit-for"] = 400*time.Millisecond, true
		}
		if !set["rounds"] {
			o.rounds, set["rounds"] = 3, true
		}
		if !set["profiles"] {
			o.profiles, set["profiles"] = 1, true
		}
		if !set["visits"] {
			o.visits, set["visits"] = 1, true
		}
		if !set["settle"] {
			o.settle = 0
		}
	}
	if o.placebo {
		o.rounds, set["rounds"], o.coz = 0, true, "off" // there is nothing to shorten
		if !set["visits"] {
			o.visits, set["visits"] = 1, true
		}
		if !set["settle"] {
			o.settle = 0
		}
		if !set["speedups"] {
			*speedups = "25,50"
		}
	}
	if !set["edit-for"] && o.turns > 0 {
		o.editFor = 1500 * time.Millisecond
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	var err error
	if o.program, err = regexp.Compile(*program); err != nil {
		return o, fmt.Errorf("-program: %w", err)
	}
	if o.site != "" && o.site != "A" && o.site != "B" {
		return o, fmt.Errorf("-site %q is neither A nor B", o.site)
	}
	for f := range strings.SplitSeq(*steps, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(f))
		if err != nil || d <= 0 {
			return o, fmt.Errorf("-step: %q is not a positive duration", f)
		}
		o.steps = append(o.steps, d)
	}
	for f := range strings.SplitSeq(*speedups, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || n < 1 || n > 100 {
			return o, fmt.Errorf("-speedups: %q is not a percent from 1 to 100", f)
		}
		o.speedups = append(o.speedups, n)
	}
	if !slices.Contains([]string{"auto", "on", "off"}, o.coz) {
		return o, fmt.Errorf("-coz %q is not auto, on or off", o.coz)
	}
	switch {
	case set["duration"] && o.duration <= 0:
		return o, fmt.Errorf("-duration %v must be positive", o.duration)
	case set["edit-for"] && o.editFor <= 0:
		return o, fmt.Errorf("-edit-for %v must be positive", o.editFor)
	case o.patience < 0:
		return o, fmt.Errorf("-patience %v must not be negative", o.patience)
	case o.runs < 1 || o.runs > 100:
		return o, fmt.Errorf("-runs %d must be 1 to 100", o.runs)
	case set["profiles"] && o.profiles < 1:
		return o, fmt.Errorf("-profiles %d must be at least 1", o.profiles)
	case set["visits"] && (o.visits < 1 || o.visits > 10):
		return o, fmt.Errorf("-visits %d must be 1 to 10", o.visits)
	case o.turns < 0 || o.turns > 0 && o.turns < 4:
		return o, fmt.Errorf("-turns %d: 0, or at least 4 for an interval", o.turns)
	case o.turns > 0 && o.placebo:
		return o, errors.New("-turns shortens the program, and with -placebo there is nothing to shorten: leave out one of them")
	case o.turns > 0 && o.jsonFile != "":
		return o, errors.New("-json holds profiles, and -turns makes none: leave out one of them")
	case o.resumes && o.jsonFile == "":
		return o, errors.New("-resume needs -json: the file to go on with")
	case !(o.sure >= 0):
		return o, fmt.Errorf("-sure %v must not be negative", o.sure)
	case !(o.settle >= 0):
		return o, fmt.Errorf("-settle %v must not be negative", o.settle)
	case o.rounds < 0 || o.rounds == 1:
		return o, fmt.Errorf("-rounds %d: 0, or at least 2 for an interval", o.rounds)
	}
	if len(o.plan()) == 0 {
		return o, fmt.Errorf("no program matches -program %s at -step %s", *program, *steps)
	}
	return o, nil
}

// plan lists the cells.
func (o options) plan() []Cell {
	var cells []Cell
	for _, p := range Programs {
		if !o.program.MatchString(p.Name) || o.turns > 0 && p.Latency { // turns are too short for a latency
			continue
		}
		if p.More && !o.all && o.program.String() == "" {
			continue
		}
		for _, step := range o.steps {
			// A step that is not in the table is allowed to who asks for it, unless the program needs long ones.
			if !slices.Contains(p.Steps, step) && (!o.set["step"] || step < slices.Min(p.Steps)) {
				continue
			}
			for _, s := range p.Sites {
				if o.site == "" || o.site == s.Edit {
					cells = append(cells, Cell{p, s, step})
					if o.placebo {
						break // it is the same for each
					}
				}
			}
		}
	}
	return cells
}

func main() {
	// The go command, building a program for a profile, calls this one in front of its tools.
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		os.Exit(instrument.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == awake.Arg {
		os.Exit(awake.Main(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, nil))
}

// run is the whole command; predictor nil is headway's own profiler.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, predictor Predictor) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "truth: %v\n", err)
		return 2
	}
	cells := o.plan()
	if o.cells {
		listCells(stdout, cells, o)
		return 0
	}
	fail := func(err error) int {
		fmt.Fprintf(stderr, "truth: %v\n", err)
		return 1
	}
	planned := slices.Clone(cells)
	var earlier Results
	if o.resumes {
		if earlier, cells, err = o.resume(cells); err != nil {
			fmt.Fprintf(stderr, "truth: %v\n", err)
			return 2
		}
	}
	module, err := moduleRoot()
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "truth-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	withoutCgo(&planned)
	if skipped := withoutCgo(&cells); skipped != "" {
		fmt.Fprintln(stderr, "truth:", skipped)
	}
	kept := "no"
	if o.awake {
		keeper, err := awake.Start()
		if err != nil {
			return fail(err)
		}
		defer keeper.Stop()
		kept = keeper.How()
	}
	if err := build(ctx, module, dir, append(slices.Clone(planned), Cell{})); err != nil {
		return fail(err)
	}
	iters, err := calibrate(ctx, dir)
	if err != nil {
		return fail(err)
	}
	if o.turns > 0 {
		switch err := allTurns(ctx, cells, o, module, dir, iters, stdout); {
		case ctx.Err() != nil:
			fmt.Fprintln(stderr, "truth: interrupted; these are the windows that were done")
			return 130
		case err != nil:
			return fail(err)
		}
		return 0
	}
	var cozzer *coz
	cozNote := "off"
	if o.coz != "off" {
		if cozzer, err = newCoz(ctx, module, dir); err != nil {
			if o.coz == "on" {
				return fail(err)
			}
			cozNote = "not available"
			fmt.Fprintf(stderr, "truth: the Coz column stays empty: %v\n", err)
		}
	}
	if predictor == nil && o.predict {
		p := profiler{module: module, runs: o.runs}
		if o.verbose {
			p.log = stderr
		}
		predictor = p
	}
	if !o.predict {
		predictor = nil
	}

	results := here()
	results.ItersPerUs, results.Awake, results.Flags, results.Earlier, results.Rows = iters, kept, o.flags, earlier.Earlier, earlier.Rows
	editor := Editor{Dir: dir, Iters: iters, Patience: o.patience}
	if i, err := limits.Interrupted(time.Second); err == nil {
		results.Interrupted = &i
	}
	if o.placebo {
		fmt.Fprintln(stdout, "A placebo: everything is delayed evenly by d% of the time, so the truth is 0.")
	}
	header(stdout, results)
	if len(results.Rows) > 0 {
		printEarlier(stdout, results)
	}
	fmt.Fprintf(stderr, "truth: %d cells, at least %v\n", len(cells), o.least(cells, predictor != nil).Round(time.Minute))
	save := func() error {
		if o.jsonFile == "" {
			return nil
		}
		return results.save(o.jsonFile)
	}
	for _, c := range cells {
		rows := measure(ctx, c, nil, o, editor, predictor, cozzer, cozNote)
		if ctx.Err() != nil { // of the cell that was interrupted, what is known
			rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Predicted == nil && r.Edit == nil })
			for i := range rows {
				rows[i].Unfinished = true
			}
		}
		printRows(stdout, rows)
		results.Rows = append(results.Rows, rows...)
		if err := save(); err != nil {
			return fail(err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	for visit := 2; ctx.Err() == nil; visit++ {
		again := results.due(planned, visit, o)
		if len(again) == 0 {
			break
		}
		fmt.Fprintf(stdout, "\nonce more, as what these do changes within minutes; a row is of all its %d visits:\n", visit)
		least := time.Duration(0)
		for _, c := range again {
			least += o.once(c, predictor != nil)
		}
		fmt.Fprintf(stderr, "truth: visit %d of %d cells, at least %v\n", visit, len(again), least.Round(time.Minute))
		for _, c := range again {
			before := results.of(c)
			rows := measure(ctx, c, before, o, editor, predictor, nil, "")
			if ctx.Err() != nil { // what there was before it stands
				break
			}
			printRows(stdout, rows)
			copy(before, rows)
			if err := save(); err != nil {
				return fail(err)
			}
		}
	}
	results.summarize()
	printSummary(stdout, results.Summary)
	if err := save(); err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "truth: interrupted; this is what was measured")
		return 130
	}
	return 0
}

// moduleRoot is the directory of headway's go.mod.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	path, dir, _ := strings.Cut(string(bytes.TrimSpace(out)), " ")
	if err != nil || path != "github.com/headway-lab/headway" {
		return "", errors.New("run this inside headway's own source tree")
	}
	return dir, nil
}

// withoutCgo drops the cells that need a C compiler where there is none.
func withoutCgo(cells *[]Cell) string {
	if !slices.ContainsFunc(*cells, func(c Cell) bool { return c.program.Cgo }) {
		return ""
	}
	out, _ := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	f := strings.Fields(string(out))
	if len(f) >= 2 && f[0] == "1" {
		if _, err := exec.LookPath(f[1]); err == nil {
			return ""
		}
	}
	*cells = slices.DeleteFunc(*cells, func(c Cell) bool { return c.program.Cgo })
	return "the cgo program is left out: cgo is off or there is no C compiler"
}

// load is the machine's one-minute load, if it tells.
func load() float64 {
	b, err := os.ReadFile(filepath.Join("/proc", "loadavg"))
	if err != nil {
		return 0
	}
	f, _, _ := strings.Cut(string(b), " ")
	x, _ := strconv.ParseFloat(f, 64)
	return x
}
