package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/bench/truth/harness"
	"github.com/headway-lab/headway/limits"
)

// Interval is an effect in percent of the time per operation (or mean latency).
type Interval struct {
	Percent float64 `json:"percent"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	N       int     `json:"n"`
	// Shared is the standard deviation, in points, of the error that further profiles would have, too: the method's. The
	// bounds have it in.
	Shared float64 `json:"shared,omitempty"`
}

func (i Interval) String() string {
	return fmt.Sprintf("%+.1f [%+.1f, %+.1f]", i.Percent, i.Low, i.High)
}

func (i Interval) contains(x float64) bool { return i.Low <= x && x <= i.High }

// half is how many points the interval reaches to its farther side.
func (i Interval) half() float64 { return max(i.High-i.Percent, i.Percent-i.Low) }

// Editor measures the effect of really shortening a site.
type Editor struct {
	Dir    string        // where the built programs are
	RunFor time.Duration // of one run
	Rounds int
	// Where an interval is wider than Sure points either way there are more rounds, up to Most.
	Sure  float64
	Most  int
	Iters float64 // loop iterations a microsecond, the same for every run
	// Patience is how long one go at the runs of a cell may be repeated because someone else
	// used the processors meanwhile. After that disturbed runs count too.
	Patience time.Duration
}

// disturbed is how many percent of the machine others may use during a run.
const disturbed = 6.

// runs is the runs of one cell.
type runs struct {
	Editor
	p      Program
	s      Site
	step   time.Duration
	round  int
	logs   map[int][]float64 // of edited over as it is, by percent, of each whole round
	last   error             // why a round is not whole
	until  time.Time         // end of the patience
	others []float64         // percent of the machine that others used, of each run that counts
	sleeps map[int][]float64

	earlier map[int][]Interval // what the visits before this one found, by percent
	seed    int                // rounds have the seeds after this
}

// outcome is what one run showed.
type outcome struct {
	time   float64 // ns per operation, or the mean latency
	others float64 // percent of the machine that others used meanwhile
	sleeps float64 // how often a thread went to sleep, per operation; its child process's are among them
}

// Edits is what really shortening a site did.
type Edits struct {
	Effects map[int]Interval // by percent
	Others  float64          // percent of the machine that others used
	Sleeps  map[int]float64  // per operation, by percent; 0 is the program as it is
}

// build compiles the programs that the cells need, once.
func build(ctx context.Context, module, dir string, cells []Cell) error {
	for _, pkg := range packagesOf(cells) {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, filepath.Base(pkg)), pkg)
		cmd.Dir = module
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

func packagesOf(cells []Cell) []string {
	var pkgs []string
	seen := map[string]bool{}
	for _, c := range cells {
		if pkg := c.program.pkg(); !seen[pkg] {
			seen[pkg] = true
			pkgs = append(pkgs, pkg)
		}
	}
	return pkgs
}

// calibrate asks the program for the size of a microsecond; the fastest answer counts.
func calibrate(ctx context.Context, dir string) (float64, error) {
	best := 0.
	for range 3 {
		out, err := exec.CommandContext(ctx, filepath.Join(dir, "programs"), "-calibrate").Output()
		if err != nil {
			return 0, fmt.Errorf("calibration: %w", err)
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return 0, fmt.Errorf("calibration: %w", err)
		}
		best = max(best, n)
	}
	return best, nil
}

// start prepares to run the program as it is and with the site shortened by each of the speed-ups.
func (e Editor) start(p Program, s Site, step time.Duration, speedups []int) *runs {
	r := &runs{Editor: e, p: p, s: s, step: step, logs: map[int][]float64{}, sleeps: map[int][]float64{}}
	for _, d := range speedups {
		r.logs[d] = nil
	}
	return r
}

// rounds runs in turn until there were least rounds in all, and on until the answer is sure or there were most, and compares
// within each round.
func (r *runs) rounds(ctx context.Context, least, most int) {
	r.while(ctx, func() bool { return r.round < least || r.round < most && !r.sure() })
}

// while is one go at rounds, with one patience, for as long as there are to be more.
func (r *runs) while(ctx context.Context, more func() bool) {
	r.until = time.Now().Add(r.Patience)
	for ctx.Err() == nil && more() {
		base, err := r.calm(ctx, 0, r.seed+r.round)
		for _, d := range slices.Sorted(maps.Keys(r.logs)) {
			var t float64
			if err == nil {
				t, err = r.calm(ctx, d, r.seed+r.round)
			}
			if err != nil {
				r.last = err // a starved machine may fail a run; the rest of its round is lost
				break
			}
			r.logs[d] = append(r.logs[d], math.Log(t/base))
		}
		r.round++
	}
}

// visits is what shortening by d percent did in each visit, this one last.
func (r *runs) visits(d int) []Interval {
	all := slices.Clone(r.earlier[d])
	if len(r.logs[d]) >= 2 {
		all = append(all, interval(r.logs[d]))
	}
	return all
}

// effect is what shortening by d percent did, of all visits, which may differ by more than their rounds do; false as long as too little is known.
func (r *runs) effect(d int) (Interval, bool) {
	switch all := r.visits(d); len(all) {
	case 0:
		return Interval{}, false
	case 1:
		return all[0], true
	default:
		return pool(all), true
	}
}

// within is how many points the effect is uncertain of, either way, but for how the visits differ, which no more rounds of this one narrow.
func (r *runs) within(d int) float64 {
	weight := 0.
	for _, v := range r.visits(d) {
		weight += math.Pow(v.half(), -2)
	}
	return 1 / math.Sqrt(weight)
}

// edits is what the rounds showed.
func (r *runs) edits() (Edits, error) {
	out := Edits{map[int]Interval{}, mean(r.others), map[int]float64{}}
	for d := range r.logs {
		e, ok := r.effect(d)
		if !ok {
			return Edits{}, r.last
		}
		out.Effects[d] = e
	}
	for d, n := range r.sleeps {
		out.Sleeps[d] = mean(n)
	}
	return out, nil
}

// sure says whether all effects are known as well as asked.
func (r *runs) sure() bool {
	for d := range r.logs {
		if r.within(d) > r.Sure {
			return false
		}
	}
	return true
}

// open says whether it is not settled yet if what was predicted of a speed-up is more than so many points off: what is uncertain of
// it and of the real edit, but for the error of the method, reaches across.
func (r *runs) open(speedup int, predicted Interval, points float64) bool {
	truth, ok := r.effect(speedup)
	return ok && unsettled(predicted, truth.Percent, r.within(speedup), points)
}

// wider says whether the real edit is known less well than the prediction.
func (r *runs) wider(speedup int, predicted Interval) bool {
	return len(r.visits(speedup)) > 0 && r.within(speedup) > predicted.points()
}

// unsettled says so of a truth that is known to half so many points either way.
func unsettled(predicted Interval, truth, half, points float64) bool {
	off := math.Abs(predicted.Percent-truth) - points
	return math.Abs(off) < math.Hypot(predicted.points(), half)
}

// calm gives the time per operation, or the mean latency, of a run that had the machine to
// itself, or when patience is at an end the least disturbed of those it tried.
func (r *runs) calm(ctx context.Context, edit, round int) (float64, error) {
	best := outcome{others: math.Inf(1)}
	for {
		o, err := r.run(ctx, edit, round)
		if err == nil && o.others < best.others {
			best = o
		}
		if err == nil && o.others <= disturbed || !time.Now().Before(r.until) || ctx.Err() != nil {
			if math.IsInf(best.others, 1) {
				return 0, err
			}
			r.others = append(r.others, best.others)
			r.sleeps[edit] = append(r.sleeps[edit], best.sleeps)
			return best.time, nil
		}
		r.waitForCalm(ctx)
	}
}

// waitForCalm waits until nobody else uses the machine, or patience is at an end.
func (r *runs) waitForCalm(ctx context.Context) {
	const look = 200 * time.Millisecond
	for ctx.Err() == nil && time.Now().Before(r.until) {
		busy, _ := limits.Processors()
		began := time.Now()
		time.Sleep(look)
		now, _ := limits.Processors()
		if 100*float64(now-busy)/float64(time.Since(began))/float64(runtime.NumCPU()) <= disturbed {
			return
		}
	}
}

// run is one run, disturbed or not.
func (r *runs) run(ctx context.Context, edit, round int) (o outcome, err error) {
	e, p, s, step := r.Editor, r.p, r.s, r.step
	ctx, cancel := context.WithTimeout(ctx, e.RunFor+20*time.Second)
	defer cancel()
	args := append(p.args(step, e.Iters), "-edit-"+s.Edit, strconv.Itoa(edit), "-seed", strconv.Itoa(round+1),
		"-run-for", e.RunFor.String(), "-report")
	cmd := exec.CommandContext(ctx, filepath.Join(e.Dir, filepath.Base(p.pkg())), args...)
	cmd.Env = p.env(os.Environ())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	before, _ := limits.Processors()
	began := time.Now()
	out, err := cmd.Output()
	after, _ := limits.Processors()
	busy, took := after-before, time.Since(began)
	if err != nil {
		return outcome{}, fmt.Errorf("%s with %s shortened by %d%%: %w %s", p.Name, s.Name, edit, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var rep harness.Report
	if err := json.Unmarshal(out, &rep); err != nil {
		return outcome{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	own := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() + time.Duration(rep.ChildSeconds*1e9)
	o.others = max(0, 100*float64(busy-own)/float64(took)/float64(runtime.NumCPU()))
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.sleeps = float64(u.Nvcsw) / float64(took) * rep.NsPerOp
	}
	o.time = rep.NsPerOp
	if p.Latency {
		o.time = rep.LatencyNs
	}
	if o.time <= 0 {
		return outcome{}, fmt.Errorf("%s: nothing was measured", p.Name)
	}
	return o, nil
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// interval is the mean of the logarithms of ratios with its 95% t-interval, as percent.
func interval(logs []float64) Interval {
	n := float64(len(logs))
	var mean, ss float64
	for _, l := range logs {
		mean += l / n
	}
	for _, l := range logs {
		ss += (l - mean) * (l - mean)
	}
	half := math.Inf(1)
	if n > 1 {
		half = student95(len(logs)-1) * math.Sqrt(ss/(n-1)/n)
	}
	percent := func(x float64) float64 { return 100 * (math.Exp(min(x, 50)) - 1) }
	return Interval{percent(mean), percent(mean - half), percent(mean + half), len(logs), 0}
}

// student95 is the two-sided 95% point of Student's t.
func student95(df int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131}
	if df <= len(table) {
		return table[df-1]
	}
	// Cornish and Fisher's expansion about the normal distribution's 1.96.
	z, v := 1.959964, float64(df)
	return z + (z*z*z+z)/(4*v) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*v*v)
}
