package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

const (
	samplePeriod = 5 * time.Millisecond  // as causal samples
	settle       = 15 * time.Millisecond // after a process goes on, or another state begins
)

// speedups are tried in turn, in percent.
var speedups = []int{25, 50, 75, 100}

// processes are a program in both its forms, of which one runs at a time while the other stands still.
type processes struct {
	program      program
	ids          map[string]int
	block        *control.Block
	plain, under *process
	forgiven     int64
	turns        int // in which it was sampled
	samples      uint64
}

func (s *profiled) begin(ctx context.Context, p program) (_ duel, err error) {
	d := &processes{program: p, ids: s.ids}
	defer func() {
		if err != nil {
			d.end()
		}
	}()
	if d.block, err = control.New(s.dir); err != nil {
		return nil, err
	}
	if d.plain, err = start(ctx, s.binary(p.pkg, false), p.args, ""); err != nil {
		return nil, err
	}
	if d.under, err = start(ctx, s.binary(p.pkg, true), p.args, control.Env+"="+d.block.Path); err != nil {
		return nil, err
	}
	if d.block.Pid() == 0 {
		return nil, errors.New("it ran without the hooks")
	}
	return d, nil
}

func (d *processes) end() {
	for _, p := range []*process{d.plain, d.under} {
		if p != nil {
			p.end()
		}
	}
	if d.block != nil {
		d.block.Close()
	}
}

func (d *processes) run(s state, for_ time.Duration, turn int) (operations, seconds float64, err error) {
	p := d.under
	switch s {
	case stock:
		p = d.plain
	case sampled:
		d.block.SetSample(samplePeriod.Nanoseconds())
		defer d.block.SetSample(0)
	case baselines, experiments:
		d.block.SetOn(true)
		defer d.block.SetOn(false)
		d.experiment(turn, s == experiments)
		defer d.weigh(-1, 0)
	}
	if err := p.goOn(); err != nil {
		return 0, 0, err
	}
	time.Sleep(settle)
	d.block.Samples()
	n, begin, err := p.operations()
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(for_)
	got, lost := d.block.Samples()
	m, end, err := p.operations()
	if err != nil {
		return 0, 0, err
	}
	if s == sampled {
		d.turns++
		if d.samples += lost + uint64(len(got)); d.turns == 10 && d.samples == 0 {
			return 0, 0, errors.New("it was not sampled")
		}
	}
	if s == experiments || s == baselines {
		// A segment that ran on while all stands still would raise a debt.
		d.weigh(-1, 0)
		time.Sleep(settle)
	}
	return float64(m - n), end.Sub(begin).Seconds(), p.pause()
}

// experiment begins a window as causal does: a baseline and a change alternate, if there shall be any, and over the
// turns all sites and speed-ups have theirs.
func (d *processes) experiment(turn int, changes bool) {
	try, sites := turn/2, len(d.program.sites)
	weight := int32(1) // a baseline reads the clock as its experiments do
	if turn%2 == 1 && changes {
		weight = int32(math.Round(float64(speedups[try/sites%len(speedups)]) / 100 * control.One))
	}
	d.weigh(try%sites, weight)
	d.block.SetForgive(d.forgiven)
	d.forgiven = d.block.Debt(control.Now())
}

// weigh gives one site a weight, and the others none.
func (d *processes) weigh(site int, weight int32) {
	for i, name := range d.program.sites {
		w := int32(0)
		if i == site {
			w = weight
		}
		d.block.SetWeight(d.ids[name], w)
	}
}

// process is a program that counts its operations where main.operations points to.
type process struct {
	cmd    *exec.Cmd
	memory *os.File
	stderr bytes.Buffer
	at     int64 // of the pointer, and then of the counter
	done   chan error
}

// start starts a program and lets it stand still as soon as it counts.
func start(ctx context.Context, binary string, args []string, env string) (*process, error) {
	at, err := symbol(binary, "main.operations")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, binary, args...), at: at, done: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if env != "" {
		p.cmd.Env = append(os.Environ(), env)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	if p.memory, err = os.Open(fmt.Sprintf("/proc/%d/mem", p.cmd.Process.Pid)); err != nil {
		p.end()
		return nil, err
	}
	// First what the pointer points to, then the first operation. A process that has just begun has no memory to be
	// read yet.
	for deadline, found := time.Now().Add(10*time.Second), false; ; time.Sleep(time.Millisecond) {
		n, err := p.word()
		switch {
		case ctx.Err() != nil || time.Now().After(deadline) || p.ended():
			err = p.fault(errors.Join(errors.New("it counts nothing"), err, ctx.Err()))
			p.end()
			return nil, err
		case err != nil || n == 0:
		case found:
			return p, p.pause()
		default:
			p.at, found = n, true
		}
	}
}

// ended says whether the program is over.
func (p *process) ended() bool {
	select {
	case err := <-p.done:
		p.done <- err
		return true
	default:
		return false
	}
}

// symbol is the address of a variable.
func symbol(binary, name string) (int64, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return 0, fmt.Errorf("%s can be anywhere in memory: build with GOFLAGS=-buildmode=exe", binary)
	}
	all, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.Name == name {
			return int64(s.Value), nil
		}
	}
	return 0, fmt.Errorf("%s has no variable %s", binary, name)
}

func (p *process) word() (int64, error) {
	var b [8]byte
	if _, err := p.memory.ReadAt(b[:], p.at); err != nil {
		return 0, err
	}
	return int64(binary.NativeEndian.Uint64(b[:])), nil
}

func (p *process) operations() (int64, time.Time, error) {
	n, err := p.word()
	if err != nil {
		err = p.fault(err)
	}
	return n, time.Now(), err
}

// fault adds what the program has said.
func (p *process) fault(err error) error {
	select {
	case ended := <-p.done:
		p.done <- ended
		return fmt.Errorf("%w: it ended: %v: %s", err, ended, strings.TrimSpace(p.stderr.String()))
	case <-time.After(100 * time.Millisecond):
		return err
	}
}

func (p *process) pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) goOn() error  { return p.cmd.Process.Signal(syscall.SIGCONT) }

func (p *process) end() {
	p.cmd.Process.Kill()
	p.done <- <-p.done
	if p.memory != nil {
		p.memory.Close()
	}
}
