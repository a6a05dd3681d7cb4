// Package causal answers "what if this code were faster?" for an unmodified Go program.
//
// Run builds the program with a rewritten runtime, runs it, and conducts
// experiments: while a chosen site runs, everything else falls behind, so the
// site is virtually faster, and the program's progress tells what that is worth.
package causal

import (
	"io"
	"regexp"
	"time"

	"github.com/headway-lab/headway/stage"
)

// Granularity says what a site is.
type Granularity string

// The three kinds of site.
const (
	ByFunc     Granularity = "func"
	ByLine     Granularity = "line"
	ByCallSite Granularity = "callsite"
)

// Options says what to build, what counts as progress and which sites to try.
type Options struct {
	Dir        string   // where the program runs; "" is the current directory. Tests run in that of their package, as with go test
	BuildDir   string   // where the go command runs; "" is Dir
	Go         string   // the user's go command; "" finds go in PATH
	Self       string   // a program that calls instrument.Main when its first argument is toolexec; "" is this one
	Package    string   // directory, import path or path@version
	Test       bool     // build the package's test binary instead of its main package
	Args       []string // arguments of the program
	Env        []string // environment of the program; nil is the current one
	BuildFlags []string // flags for go build
	// Load is a command for the shell that sends the program its load. It runs in Dir while the program does, and is started again when it ends.
	Load string

	Throughput []string // FUNC or FILE:LINE
	Latency    []string // FUNC, BEGIN..END or http

	By         Granularity
	Cumulative bool
	Include    *regexp.Regexp
	Exclude    *regexp.Regexp
	Sites      []string      // experiment on exactly these
	Top        int           // how many candidate sites; 0 is 10
	Speedups   []int         // percent; nil is 25, 50, 75, 100
	Duration   time.Duration // of the whole after the build; 0 is 60 s
	Window     time.Duration // of one experiment; 0 chooses by the rate of progress
	Runs       int           // over how many processes of the program, at least, the experiments are spread; 0 is 1
	Seed       uint64
	Confidence float64 // 0 is 0.95
	// Open is whether clients outside the process send by a schedule of their own (an open workload) and do not wait for an
	// answer before they ask again (a closed one). Each of their connections has to carry one request at a time.
	Open bool
	// Placebo has everything delayed evenly by the part of the time that a speed-up says, instead of what is not in a site. That
	// should change nothing, so what the report says is how wrong profiles of this program are. Sites only say what is marked.
	Placebo bool

	programDir string // where the program runs, if not in Dir

	Stdout, Stderr io.Writer // the program's own output
	// Events is told the progress of the profile, from one goroutine; nil is allowed. The phases are "list", "build",
	// "start", "warm up", "sample", "experiment" and "done".
	Events func(stage.Event)
	// Around, if not nil, is called for each window of the experiments with the program's process id and the speed-up in
	// percent (0: a baseline), and calls run once, which conducts it. Before and after run nothing is sped up: Around may
	// let the program stand still and another run in its place. Thus one sees what the experiments cost.
	Around func(pid, speedup int, run func() error) error
}
