package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

const (
	samplePeriod = 10 * time.Millisecond // as causal samples
	settle       = 15 * time.Millisecond // after a process goes on, or another state begins
)

// processes are a program in all states in which it stands by itself, a process each, of which one runs at a time while the others stand
// still. Were two states of one process, its turns would often follow each other, and find its data in the caches: never so the
// ordinary build's, which would seem slower by that.
type processes struct {
	of      map[state]*process
	block   map[state]*control.Block // none of an ordinary build
	turns   int                      // in which it was sampled
	samples uint64
}

func (s *profiled) begin(ctx context.Context, p program, order []int) (_ duel, err error) {
	d := &processes{map[state]*process{}, map[state]*control.Block{}, 0, 0}
	defer func() {
		if err != nil {
			d.end()
		}
	}()
	for _, i := range order {
		is, env := duels[i], ""
		hooks := is != stock && !s.same
		if hooks {
			if d.block[is], err = control.New(s.dir); err != nil {
				return nil, err
			}
			env = control.Env + "=" + d.block[is].Path
		}
		if d.of[is], err = start(ctx, s.binary(p.pkg, hooks), p, env); err != nil {
			return nil, err
		}
		if hooks && d.block[is].Pid() == 0 {
			return nil, errors.New("it ran without the hooks")
		}
	}
	return d, nil
}

func (d *processes) end() {
	for _, p := range d.of {
		if p != nil {
			p.end()
		}
	}
	for _, b := range d.block {
		if b != nil {
			b.Close()
		}
	}
}

func (d *processes) run(s state, for_ time.Duration) (done, error) {
	block := d.block[s]
	samples := s == sampled && block != nil
	if samples {
		block.SetSample(samplePeriod.Nanoseconds())
		defer block.SetSample(0)
		block.Samples()
	}
	did, took, err := d.of[s].turn(for_)
	if err != nil {
		return done{}, err
	}
	if samples {
		got, lost := block.Samples()
		d.turns++
		if d.samples += lost + uint64(len(got)); d.turns == 5 && d.samples == 0 {
			return done{}, errors.New("it was not sampled")
		}
	}
	return done{float64(did), took.Seconds()}, nil
}

// counter reads how many operations a process has done, where its main.operations points to.
type counter struct {
	memory *os.File
	at     int64 // of the pointer, and then of the counter
}

// process is a program that this one has started.
type process struct {
	counter
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan error
}

// start starts a program and lets it stand still as soon as it counts.
func start(ctx context.Context, binary string, what program, env string) (*process, error) {
	at, err := symbol(binary, "main.operations")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, binary, what.args...), counter: counter{at: at}, done: make(chan error, 1)}
	p.cmd.Dir = what.dir
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if env != "" {
		p.cmd.Env = append(os.Environ(), env)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	if p.memory, err = memoryOf(p.cmd.Process.Pid); err != nil {
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

func memoryOf(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/mem", pid)) }

func (c *counter) word() (int64, error) {
	var b [8]byte
	if _, err := c.memory.ReadAt(b[:], c.at); err != nil {
		return 0, err
	}
	return int64(binary.NativeEndian.Uint64(b[:])), nil
}

func (p *process) operations() (int64, time.Time, error) {
	n, t, err := p.counter.operations()
	if err != nil {
		err = p.fault(err)
	}
	return n, t, err
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
