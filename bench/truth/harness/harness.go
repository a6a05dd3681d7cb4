// Package harness is what the truth programs share and what is not under test:
// flags, the size of a step in loop iterations, the calibration of that size, and
// the count of progress that a run reports.
//
// The functions under test (main.siteA, main.siteB, main.progress) stay in the
// programs themselves, so that a profiler finds them there by those names.
package harness

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Config is one run of one program.
type Config struct {
	Program    string
	Step       time.Duration // the time scale of one step
	EditA      float64       // percent of site A's loop that is really removed
	EditB      float64
	ItersPerUs float64       // loop iterations that take one microsecond
	RunFor     time.Duration // 0 is for ever
	Warmup     time.Duration // not measured
	Report     bool
	Seed       uint64 // of random arrivals
	Dial       string // set in a child process: where its parent listens
	Wait       time.Duration

	list, calibrate bool
}

// Report is what a run prints as JSON at its end.
type Report struct {
	Program   string  `json:"program"`
	Ops       int64   `json:"ops"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
	NsPerOp   float64 `json:"ns_per_op"`
	Requests  int64   `json:"requests,omitempty"`
	LatencyNs float64 `json:"latency_ns,omitempty"`
	// ChildSeconds is the processor time of the program's child process.
	ChildSeconds float64 `json:"child_seconds,omitempty"`
}

// Program is a truth program: Run loops for ever.
type Program struct {
	Procs int // GOMAXPROCS; 0 is 2
	Run   func(Config)
}

// Main reads the flags and runs the program they name. spin is the busy loop of the
// sites, used for calibration. child runs in a process that a program started anew
// from its own binary; it may be nil.
func Main(programs map[string]Program, spin func(n int), child func(Config)) {
	c, err := parse(os.Args[1:], programs, os.Stderr)
	switch {
	case err == flag.ErrHelp:
		os.Exit(0)
	case err != nil:
		fmt.Fprintf(os.Stderr, "programs: %v\n", err)
		os.Exit(2)
	case c.list:
		for _, name := range Names(programs) {
			fmt.Println(name)
		}
		return
	case c.calibrate:
		fmt.Printf("%.2f\n", Calibrate(spin, 400))
		return
	case c.Dial != "":
		child(c)
		return
	}
	p := programs[c.Program]
	procs := p.Procs
	if procs == 0 {
		procs = 2
	}
	if runtime.GOMAXPROCS(0) != procs { // stops the world, so only where the environment did not set it
		runtime.GOMAXPROCS(procs)
	}
	if c.ItersPerUs == 0 {
		c.ItersPerUs = Calibrate(spin, 400)
	}
	if c.RunFor > 0 {
		if c.Report {
			measuring = true
			warmUntil = now() + int64(c.Warmup)
		}
		go func() {
			sleep(c.RunFor)
			finish(c)
		}()
	}
	p.Run(c)
}

// sleep waits in the kernel. With a timer of Go's pending, a processor that finds no work waits in the network poller instead of
// standing by, which is another program than the one that is profiled, which runs for ever: where B follows a timeout of 5 ms,
// that came a millisecond later.
func sleep(d time.Duration) {
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		t := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&t, nil)
	}
}

func parse(args []string, programs map[string]Program, stderr io.Writer) (Config, error) {
	var c Config
	fs := flag.NewFlagSet("programs", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.Program, "program", "", "the program to run (see -list)")
	fs.DurationVar(&c.Step, "step", time.Millisecond, "time scale of one step")
	fs.Float64Var(&c.EditA, "edit-A", 0, "percent of site A's loop to remove")
	fs.Float64Var(&c.EditB, "edit-B", 0, "percent of site B's loop to remove")
	fs.Float64Var(&c.ItersPerUs, "iters-per-us", 0, "loop iterations a microsecond; 0 calibrates")
	fs.DurationVar(&c.RunFor, "run-for", 0, "how long to run; 0 is for ever")
	fs.DurationVar(&c.Warmup, "warm-up", 0, "how much of that is not measured (default a fifth)")
	fs.BoolVar(&c.Report, "report", false, "print the measured progress as JSON at the end")
	fs.Uint64Var(&c.Seed, "seed", 1, "seed of random arrivals")
	fs.StringVar(&c.Dial, "dial", "", "internal: run as a child process and connect here")
	fs.DurationVar(&c.Wait, "wait", 0, "internal: what a child process waits")
	fs.BoolVar(&c.list, "list", false, "list the programs")
	fs.BoolVar(&c.calibrate, "calibrate", false, "print the loop iterations a microsecond")
	if err := fs.Parse(args); err != nil {
		if err == flag.ErrHelp {
			fs.SetOutput(stderr)
			fs.Usage()
		}
		return c, err
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if c.list || c.calibrate {
		return c, nil
	}
	if _, ok := programs[c.Program]; !ok {
		return c, fmt.Errorf("-program %q is not one of: %s", c.Program, strings.Join(Names(programs), " "))
	}
	if c.Step <= 0 {
		return c, fmt.Errorf("-step %v must be positive", c.Step)
	}
	for _, e := range []float64{c.EditA, c.EditB} {
		if e < 0 || e > 100 {
			return c, fmt.Errorf("an edit of %v%% is not between 0 and 100", e)
		}
	}
	if c.Warmup == 0 {
		c.Warmup = c.RunFor / 5
	}
	if c.Report && c.RunFor == 0 {
		return c, fmt.Errorf("-report needs -run-for")
	}
	return c, nil
}

// Names lists the programs in order.
func Names(programs map[string]Program) []string {
	var names []string
	for name := range programs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A is the loop count of site A for share of a step, after the edit.
func (c Config) A(share float64) int { return c.loops(share, c.EditA) }

// B is the loop count of site B for share of a step, after the edit.
func (c Config) B(share float64) int { return c.loops(share, c.EditB) }

// Other is the loop count of work that no edit touches.
func (c Config) Other(share float64) int { return c.loops(share, 0) }

func (c Config) loops(share, edit float64) int {
	us := float64(c.Step) / float64(time.Microsecond)
	return int(math.Round(share * us * c.ItersPerUs * (1 - edit/100)))
}

// Time is share of a step as a duration.
func (c Config) Time(share float64) time.Duration { return time.Duration(share * float64(c.Step)) }

// Calibrate says how many iterations of spin take a microsecond. It believes the
// fastest of many short trials: a neighbour on the machine can only make one slower.
func Calibrate(spin func(n int), trials int) float64 {
	const n = 20000
	for range 50 {
		spin(n) // lets the clock rate settle
	}
	best := time.Duration(math.MaxInt64)
	for range trials {
		t := time.Now()
		spin(n)
		best = min(best, time.Since(t))
	}
	return float64(n) / (float64(best) / float64(time.Microsecond))
}

var (
	start     = time.Now()
	measuring bool
	warmUntil int64

	ops                atomic.Int64
	firstAt, firstOp   atomic.Int64 // the first progress after the warm-up
	lastAt             atomic.Int64
	requests, latency  atomic.Int64
	finished, starting atomic.Bool
)

func now() int64 { return int64(time.Since(start)) }

// Progress counts one operation. A measurement lasts from the first operation after
// the warm-up to the last one, so that no part of an operation counts.
func Progress() {
	n := ops.Add(1)
	count(counters.progress)
	if !measuring {
		return
	}
	t := now()
	if firstAt.Load() == 0 {
		if t < warmUntil || !starting.CompareAndSwap(false, true) {
			return
		}
		firstOp.Store(n)
		firstAt.Store(t)
	}
	lastAt.Store(t)
}

// Begin and End mark a request for a profiler that needs to be told.
func Begin() {
	if counters.begin != nil {
		count(counters.begin())
	}
}

// End is the other end.
func End() {
	if counters.end != nil {
		count(counters.end())
	}
}

// counters belong to another profiler that shares the process; nil without one.
// Those of requests are asked for by the first request.
var counters struct {
	progress   *uint64
	begin, end func() *uint64
}

func count(c *uint64) {
	if c != nil {
		atomic.AddUint64(c, 1)
	}
}

// Finishing says whether the run is over and only its report is missing.
func Finishing() bool { return finished.Load() }

// AtEnd ends a program's child process and says what processor time it used; nil without one.
var AtEnd func() time.Duration

// exit ends the process. It is a variable for profilers that save at exit.
var exit = os.Exit

// Latency counts one request that took d.
func Latency(d time.Duration) {
	if measuring && now() >= warmUntil {
		requests.Add(1)
		latency.Add(int64(d))
	}
}

func finish(c Config) {
	if finished.Swap(true) || !c.Report {
		exit(0)
	}
	r := Report{Program: c.Program, Ops: ops.Load() - firstOp.Load(), Requests: requests.Load()}
	r.Seconds = float64(lastAt.Load()-firstAt.Load()) / 1e9
	if firstAt.Load() == 0 || r.Ops <= 0 || r.Seconds <= 0 {
		fmt.Fprintln(os.Stderr, "programs: no progress was measured: -run-for is too short for this step")
		exit(1)
	}
	r.PerSecond = float64(r.Ops) / r.Seconds
	r.NsPerOp = 1e9 / r.PerSecond
	if r.Requests > 0 {
		r.LatencyNs = float64(latency.Load()) / float64(r.Requests)
	}
	if AtEnd != nil {
		r.ChildSeconds = AtEnd().Seconds()
	}
	out, _ := json.Marshal(r)
	fmt.Println(string(out))
	exit(0)
}

// SpinUntil waits for t to the microsecond: it sleeps while t is far and then watches
// the clock. For child processes, whose CPU time is nobody's business.
func SpinUntil(t time.Time) {
	if d := time.Until(t); d > 3*time.Millisecond {
		time.Sleep(d - 2*time.Millisecond)
	}
	for time.Now().Before(t) {
	}
}

// ChildEnv is the environment for a child process: without the variables that tell a
// profiled process where its profiler listens, and with one processor.
func ChildEnv(env []string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "HEADWAY_") || strings.HasPrefix(kv, "GOMAXPROCS=")
	})
	sort.Strings(kept)
	return append(kept, "GOMAXPROCS=1")
}
