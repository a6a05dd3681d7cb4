package main

import (
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// work is what the two sites do in a step, read off the programs' sources.
var work = map[string][2]float64{
	"seq-2-1": {2. / 3, 1. / 3}, "seq-3-7": {.3, .7}, "cgo": {.5, .5},
	"forkjoin-6.7-6.4": {.67, .64}, "forkjoin-2-1": {.8, .4},
	"forkjoin-6.7-6.4-procs1": {.67, .64}, "forkjoin-2-1-procs1": {.8, .4},
	"serial-parallel": {.5, .5}, "compute-sleep": {.5, 0}, "peer-inside": {.5, 0}, "peer-process": {.5, 0},
	"client-process": {.4, .2}, "client-process-reader": {.4, .2}, "client-process-limit": {.4, .2}, "client-process-packets": {.25, 0}, "client-process-packets-both": {.25, 0}, "peer-process-two": {.3, 0}, "syscalls": {.3, 0}, "syscalls-two": {.3, 0}, "pipeline-unbuffered": {.75, .25}, "pipeline-buffered": {.75, .25},
	"cond": {.7, .3}, "mutex": {.5, .2}, "mutex-both": {.9, .1}, "token": {.5, .2}, "rwmutex": {.5, .5}, "unrelated": {1, 1}, "independent": {.5, 1},
	"never": {1, 1}, "pingpong": {.6, .4}, "gosched": {.6, .4}, "packets-inside": {.6, .4}, "http-inside": {.6, .4}, "http2-process": {.6, .4}, "signal": {.6, .4}, "select-guard": {.6, .4}, "sixteen": {.6, .4}, "tasks": {.6, .4},
	"open-loop": {1, 0}, "open-loop-poisson": {1, 0}, "open-loop-latency": {1, 0}, "open-loop-process-latency": {1, 0}, "open-loop-connections-latency": {1, 0},
	"collector": {.5, .2}, "collector-eight": {.5, .2},
	"trylock": {2.4, 2}, "trylock-long": {8.6, 8}, "ticker": {1.28, .1}, "select-timeout": {.8, .5},
}

func TestClosedFormsAgainstSimulation(t *testing.T) {
	for _, p := range Programs {
		t.Run(p.Name, func(t *testing.T) {
			ab, ok := work[p.base()]
			if !ok || simulated[p.base()] == nil {
				t.Fatal("no simulation")
			}
			until, within := 3000., .5
			if p.Long {
				until, within = 300000, 1.5 // random arrivals
			}
			base := simulate(p, ab[0], ab[1], until)
			for _, s := range p.Sites {
				for _, d := range []float64{25, 50, 75, 90, 100} {
					a, b, left := ab[0], ab[1], 1-d/100
					if s.Edit == "A" {
						a *= left
					} else {
						b *= left
					}
					if s.Time(left) == 0 {
						continue // no time would pass at all
					}
					got := 100 * (simulate(p, a, b, until)/base - 1)
					if want := s.Closed(d); math.Abs(got-want) > within {
						t.Errorf("%s at %v%%: closed form %.2f, simulation %.2f", s.Name, d, want, got)
					}
				}
			}
		})
	}
}

// The values that the literature and plain arithmetic give.
func TestClosedFormsKnownValues(t *testing.T) {
	for _, c := range []struct {
		program, site string
		d, want       float64
	}{
		{"seq-2-1", "A", 50, -33.33}, {"seq-2-1", "B", 75, -25},
		{"seq-3-7", "A", 100, -30}, {"seq-3-7", "B", 25, -17.5},
		{"forkjoin-6.7-6.4", "A", 25, -4.48}, {"forkjoin-6.7-6.4", "A", 100, -4.48}, {"forkjoin-6.7-6.4", "B", 75, 0}, {"forkjoin-6.7-6.4-short", "A", 50, -4.48},
		{"forkjoin-2-1", "A", 25, -25}, {"forkjoin-2-1", "A", 75, -50}, {"forkjoin-2-1", "B", 50, 0},
		{"forkjoin-6.7-6.4-procs1", "A", 50, -25.57}, {"forkjoin-2-1-procs1", "B", 75, -25},
		{"serial-parallel", "A", 100, -50}, {"serial-parallel", "B", 50, -25},
		{"compute-sleep", "A", 50, -25},
		{"pipeline-buffered", "A", 50, -50}, {"pipeline-buffered", "A", 75, -66.67}, {"pipeline-unbuffered", "B", 75, 0},
		{"mutex", "A", 25, -25}, {"mutex", "A", 50, -50}, {"mutex", "A", 75, -67.5}, {"mutex", "A", 100, -80}, {"mutex", "B", 50, 0},
		{"open-loop", "A", 75, 0}, {"open-loop-poisson", "A", 75, 0},
		{"open-loop-latency", "A", 25, -35}, {"open-loop-latency", "A", 50, -61.11}, {"open-loop-latency", "A", 75, -82.14},
		{"trylock", "A", 25, 75}, {"trylock", "A", 50, 50}, {"trylock", "A", 75, 25}, {"trylock", "A", 100, 0},
		{"trylock-long", "A", 25, 75}, {"trylock-long", "A", 75, 25}, {"trylock-long", "B", 50, 0},
		{"ticker", "A", 25, 0}, {"ticker", "A", 50, -50}, {"ticker", "B", 75, 0},
		{"select-timeout", "A", 25, 0}, {"select-timeout", "A", 50, -60}, {"select-timeout", "B", 25, -12.5}, {"select-timeout", "B", 50, -20},
		{"collector", "A", 50, -25}, {"collector", "B", 75, -15}, {"collector-eight", "A", 75, -37.5},
		{"cond", "A", 75, -57.14}, {"never", "A", 75, 0}, {"unrelated", "A", 75, 0},
	} {
		p := find(t, c.program)
		i := slices.IndexFunc(p.Sites, func(s Site) bool { return s.Edit == c.site })
		if got := p.Sites[i].Closed(c.d); math.Abs(got-c.want) > .01 {
			t.Errorf("%s %s at %v%%: %.3f, want %.2f", c.program, c.site, c.d, got, c.want)
		}
	}
}

func find(t *testing.T, name string) Program {
	t.Helper()
	for _, p := range Programs {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no program %s", name)
	return Program{}
}

// Every program of the table can be run, and no runnable one is missing.
func TestTableNamesRealPrograms(t *testing.T) {
	out, err := exec.Command("go", "run", "./programs", "-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	real := strings.Fields(string(out))
	var table []string
	for _, p := range Programs {
		if !p.Cgo {
			table = append(table, p.flag())
		}
	}
	slices.Sort(table)
	if table = slices.Compact(table); !slices.Equal(real, table) {
		t.Errorf("programs\n%v\nbut the table has\n%v", real, table)
	}
}

// base is the program that a short one is the same as.
func (p Program) base() string { return strings.TrimSuffix(p.Name, "-short") }

// What the programs named for whole steps do at each step, per operation, as issues name it.
func TestWholeSteps(t *testing.T) {
	for _, c := range []struct {
		program string
		step    time.Duration
		a, b    time.Duration
	}{
		{"seq-2-1", us50, 100 * time.Microsecond, us50}, {"seq-2-1", ms1, 2 * ms1, ms1},
		{"forkjoin-6.7-6.4", us50, 335 * time.Microsecond, 320 * time.Microsecond}, {"forkjoin-6.7-6.4-procs1", ms1, 6700 * time.Microsecond, 6400 * time.Microsecond},
		{"forkjoin-2-1", ms1, 2 * ms1, ms1}, {"forkjoin-2-1-procs1", us50, 100 * time.Microsecond, us50},
		{"serial-parallel", us50, 500 * time.Microsecond, 500 * time.Microsecond}, {"serial-parallel", ms10, 5 * ms1, 5 * ms1},
		{"compute-sleep", ms1, 5 * ms1, 0}, {"peer-inside", us50, 250 * time.Microsecond, 0},
		{"pipeline-unbuffered", us50, 150 * time.Microsecond, us50}, {"pipeline-buffered", ms1, 3 * ms1, ms1}, {"pipeline-buffered", ms10, 7500 * time.Microsecond, 2500 * time.Microsecond},
		{"pipeline-unbuffered-short", us50, 37500, 12500}, {"mutex", us50, 25 * time.Microsecond, 10 * time.Microsecond},
	} {
		p := find(t, c.program)
		if !slices.Contains(p.Steps, c.step) {
			t.Errorf("%s is not run at %v", c.program, c.step)
		}
		ab, length := work[p.base()], float64(p.length(c.step))
		if a, b := ab[0]*length, ab[1]*length; math.Abs(a-float64(c.a)) > 1 || math.Abs(b-float64(c.b)) > 1 {
			t.Errorf("%s at %v: A %v, B %v; want %v and %v", c.program, c.step, time.Duration(a), time.Duration(b), c.a, c.b)
		}
	}
}

func TestLimitOfStep(t *testing.T) {
	for _, c := range []struct {
		program string
		step    time.Duration
		limited bool
	}{
		{"syscalls-two", 50 * time.Microsecond, true}, {"syscalls-two", ms1, false}, {"syscalls", 50 * time.Microsecond, false},
		{"trylock", 50 * time.Microsecond, true}, {"trylock", ms1, false}, {"trylock-long", 50 * time.Microsecond, false},
		{"forkjoin-6.7-6.4-short", 50 * time.Microsecond, true}, {"forkjoin-6.7-6.4-short", ms1, false}, {"forkjoin-6.7-6.4", 50 * time.Microsecond, false},
		{"peer-process", 50 * time.Microsecond, true}, {"peer-process", ms1, false},
		{"open-loop-process-latency", ms1, true}, {"open-loop-process-latency", ms10, true},
	} {
		if got := find(t, c.program).limit(c.step); (got != "") != c.limited {
			t.Errorf("%s at %v: limit %q", c.program, c.step, got)
		}
	}
}
