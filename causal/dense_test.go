package causal

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
	"golang.org/x/sys/unix"
)

// What accounts take in a site is no part of it: however often there is an effect or another mark in it, it is worth what it takes while no
// accounts are kept. Two processes have turns, for one that keeps accounts now and then owes for the time between.
func TestDense(t *testing.T) {
	begin := built(t, "testdata/dense", &instrument.Config{Packages: map[string][]instrument.Mark{"example.org/dense": {
		{Kind: instrument.Entry, ID: 0, Func: "done"},
		{Kind: instrument.Site, ID: 1, Func: "site"},
		{Kind: instrument.Site, ID: 2, Func: "inner"},
	}}})
	for _, does := range []string{"compute", "lock", "rlock", "marks", "channel", "clock", "call"} {
		t.Run(does, func(t *testing.T) {
			// How long an effect takes differs by the minute, and each process measures it anew: what is always wrong is so three times.
			for try := 1; ; try++ {
				slower, worth := dense(t, begin, does)
				t.Logf("with accounts it takes %.2f of what it does without, and its site is said to be %.2f", slower, worth)
				if most := 1.25 + 0.55*(slower-1); worth <= most && worth >= 0.3 {
					return
				} else if try == 3 {
					t.Fatalf("a site is said to take %.2f of what it does, which is %.2f with accounts", worth, slower)
				}
			}
		})
	}
}

// dense is how much slower accounts make a program, and what its site is said to be of what it takes without them. It leaves both processes stopped.
func dense(t *testing.T, begin func(...string) (*process, *screen), does string) (slower, worth float64) {
	off, _ := begin(does)
	on, _ := begin(does)
	on.block.SetWeight(1, control.One/2)
	on.block.SetWeight(2, control.Inherit)
	if err := on.keep(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	for _, p := range []*process{off, on} {
		if err := syscall.Kill(p.block.Pid(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	var said, takes []float64
	for range 40 {
		plain, _ := turnOf(off)
		with, site := turnOf(on)
		said, takes = append(said, site/plain), append(takes, with/plain)
	}
	return middle(takes), middle(said)
}

// turnOf lets a process go on for a moment: how long an operation of it takes, and how long its site is said to be, both in its processors' time. A
// site is said to go on while its process has no processor, which here it is nearly always in: that is no matter of accounts, but of what else the
// machine does.
func turnOf(p *process) (takes, site float64) {
	syscall.Kill(p.block.Pid(), syscall.SIGCONT)
	defer syscall.Kill(p.block.Pid(), syscall.SIGSTOP)
	time.Sleep(5 * time.Millisecond)
	for n, debt, begin, used := p.block.Count(0).N, p.block.Debt(control.Now()), control.Now(), usedBy(p); ; {
		time.Sleep(15 * time.Millisecond)
		end, ran := control.Now(), float64(usedBy(p)-used)
		if ops := float64(p.block.Count(0).N - n); ops > 0 { // it may have had no processor
			away := max(0, float64(end-begin)-ran)
			return ran / ops, (2*float64(p.block.Debt(end)-debt) - away) / ops
		}
	}
}

// usedBy is the time in ns that a process has had of processors.
func usedBy(p *process) int64 {
	const scheduled = 2 // CPUCLOCK_SCHED, in a process's clock (clock_getcpuclockid(3))
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^p.block.Pid()<<3|scheduled), &ts); err != nil {
		panic(err) // the process is there until the test ends
	}
	return ts.Nano()
}

func middle(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
