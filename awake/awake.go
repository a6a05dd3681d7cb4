// Package awake keeps idle processors from sleeping.
//
// A processor that has slept needs tens of microseconds to wake, and on a
// virtual machine more; how long depends on how long it has slept. A program
// whose work is shorter than that is timed by its wake-ups: making a part of it
// faster can make it slower. Package awake takes that out of a measurement, as
// the kernel parameter idle=poll would, without touching the machine for longer.
// Where it may, it has the kernel's own idle loop poll. Elsewhere a process of the
// idle scheduling class runs in circles on every processor, and any other work
// displaces it at once; but a processor with such a process is not always taken for
// an idle one, so that now and then two threads share a processor beside it.
package awake

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Arg is the first argument with which Start runs this program again. A main
// function whose program calls Start looks for it and calls Main.
const Arg = "stay-awake"

// mark is set in the environment of what Start runs, so that a program that forgot to call
// Main does not run itself for ever.
const mark = "HEADWAY_AWAKE"

// Keeper is what keeps the processors awake: a request to the kernel, or processes.
type Keeper struct {
	latency *os.File
	cmds    []*exec.Cmd
}

// Start keeps the processors awake that this process may use, until Stop or until this process ends.
func Start() (*Keeper, error) {
	if os.Getenv(mark) != "" {
		return nil, errors.New("this program does not call awake.Main")
	}
	if f, err := holdLatency(latencyFile, statesGlob); err == nil {
		return &Keeper{latency: f}, nil
	}
	return run()
}

// run starts a process for each processor.
func run() (*Keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("asking for the processors: %w", err)
	}
	k := &Keeper{}
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		left--
		cmd := exec.Command(self, Arg, strconv.Itoa(cpu), strconv.Itoa(os.Getpid()))
		cmd.Stderr = os.Stderr
		// A session of its own: where the kernel groups processes by session (autogroup), the idle class gives way
		// only within a group, and the group of ours would take its share from those of others.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", mark+"=1")
		if err := cmd.Start(); err != nil {
			k.Stop()
			return nil, fmt.Errorf("keeping processor %d awake: %w", cpu, err)
		}
		k.cmds = append(k.cmds, cmd)
	}
	return k, nil
}

// How says in words by what the processors are kept awake: figures of one way do not compare with those of the other
// where a step takes microseconds.
func (k *Keeper) How() string {
	if k.latency != nil {
		return "by the kernel's idle loop"
	}
	return "by processes of the idle class"
}

// Stop lets them sleep again.
func (k *Keeper) Stop() {
	if k.latency != nil {
		k.latency.Close()
		k.latency = nil
	}
	for _, c := range k.cmds {
		c.Process.Kill()
	}
	for _, c := range k.cmds {
		c.Wait()
	}
	k.cmds = nil
}

// Main keeps processor args[0] awake until process args[1] has ended. It
// returns an exit status.
func Main(args []string) int {
	if err := stay(args); err != nil {
		fmt.Fprintln(os.Stderr, "headway:", err)
		return 1
	}
	return 0
}

func stay(args []string) error {
	if len(args) != 2 {
		return errors.New(Arg + " is for headway's own use: want a processor and a process")
	}
	cpu, err := strconv.Atoi(args[0])
	if err != nil || cpu < 0 {
		return fmt.Errorf("%s: %q is no processor", Arg, args[0])
	}
	parent, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%s: %q is no process", Arg, args[1])
	}
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("moving to processor %d: %w", cpu, err)
	}
	now, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("asking for the scheduling class: %w", err)
	}
	if now.Policy != unix.SCHED_IDLE {
		// The weakest class there is: it runs only where nothing else would. The nice
		// value lets statistics tell its time from other work.
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 19); err != nil {
			return fmt.Errorf("stepping back: %w", err)
		}
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: 19}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			return fmt.Errorf("choosing the idle scheduling class: %w", err)
		}
		// That was this thread. The runtime's others, which wake a hundred times a second, inherit it in a new beginning.
		return fmt.Errorf("beginning again: %w", unix.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	// The group's own weight, the least there is. Without such groups there is no such file.
	os.WriteFile("/proc/self/autogroup", []byte("19"), 0)
	for os.Getppid() == parent {
		for begin := time.Now(); time.Since(begin) < 10*time.Millisecond; {
			pause(1000)
		}
	}
	return nil
}

// While keeps the processors awake while f runs, and returns what f does. Where they cannot be kept awake, f does not run.
func While(f func() error) error {
	k, err := Start()
	if err != nil {
		return err
	}
	defer k.Stop()
	return f()
}
