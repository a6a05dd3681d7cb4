package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/causal"
)

// done is how many operations were done in how many seconds.
type done struct{ n, seconds float64 }

func (d *done) add(n int64, t time.Duration) { d.n, d.seconds = d.n+float64(n), d.seconds+t.Seconds() }

// profile conducts a profile as headway profile does, of sites that it chooses itself and with its usual speed-ups. Before each
// window the program stands still for a turn of the ordinary build, as long as the window before.
func (s *profiled) profile(ctx context.Context, p program, d time.Duration, seed uint64) (map[state]done, error) {
	var (
		stocks, bases, all done
		plain              *process
		under              = &counter{}
		last               = turn // how long the last window took: who comes on has a colder cache than one that has run for longer
	)
	defer func() {
		if plain != nil {
			plain.end()
		}
		if under.memory != nil {
			under.memory.Close()
		}
	}()
	_, err := causal.Run(ctx, causal.Options{
		Dir:        p.dir,
		Package:    p.pkg,
		Args:       p.args,
		BuildFlags: s.linked,
		Throughput: []string{strings.Replace(p.sites[0], " ", ".", 1)},
		Duration:   d,
		Seed:       seed,
		Around: func(pid, speedup int, run func() error) error {
			if under.memory == nil {
				if err := under.attach(pid); err != nil {
					return err
				}
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				return err
			}
			if plain == nil { // not earlier: while the profile is built, its requests would time out
				var err error
				if plain, err = start(ctx, s.binary(p.pkg, false), p, ""); err != nil {
					return err
				}
			}
			n, took, err := plain.turn(last)
			if err != nil {
				return err
			}
			stocks.add(n, took)
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				return err
			}
			time.Sleep(settle)
			before, begin, err := under.operations()
			if err != nil {
				return err
			}
			if err := run(); err != nil {
				return err
			}
			after, end, err := under.operations()
			if err != nil {
				return err
			}
			all.add(after-before, end.Sub(begin))
			last = min(max(end.Sub(begin), turn), 4*turn)
			if speedup == 0 {
				bases.add(after-before, end.Sub(begin))
			}
			return nil
		},
	})
	// That they are too few for an answer is no matter here: it is their cost that is asked for.
	if err != nil && (ctx.Err() != nil || bases.seconds < 0.3 || all.seconds < 0.6) {
		return nil, err
	}
	return map[state]done{beside: stocks, baselines: bases, experiments: all}, nil
}

// turn lets a process go on for a while and says what it did.
func (p *process) turn(d time.Duration) (int64, time.Duration, error) {
	if err := p.goOn(); err != nil {
		return 0, 0, err
	}
	time.Sleep(settle)
	before, begin, err := p.operations()
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(d)
	after, end, err := p.operations()
	if err != nil {
		return 0, 0, err
	}
	return after - before, end.Sub(begin), p.pause()
}

// attach finds the counter of a process that somebody else has started, and that counts already.
func (c *counter) attach(pid int) (err error) {
	if c.at, err = symbol(fmt.Sprintf("/proc/%d/exe", pid), "main.operations"); err != nil {
		return err
	}
	if c.memory, err = memoryOf(pid); err != nil {
		return err
	}
	c.at, err = c.word()
	return err
}

func (c *counter) operations() (int64, time.Time, error) {
	n, err := c.word()
	return n, time.Now(), err
}
