package load

import (
	"context"
	"errors"
	"os"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/dist"
)

// schedule hands out requests that are due. One worker at a time waits for the next one;
// the others wait for their turn to do so.
type schedule struct {
	mu    sync.Mutex
	times func() (ns int64, ok bool) // since begin
	pick  func() int                 // a target
	pace  *pacer
	begin time.Time
	stop  int64 // ns since begin: from then on nothing is handed out, due or not
	given int64
	over  bool
	left  int64 // ns since begin that the first request had that was not handed out; -1: none
	cut   int64 // the same of one that was not due yet when the run was interrupted; 0: none
}

// take waits until a request is due and returns when that was, and its target. free is
// when the worker asked, in ns since begin.
func (s *schedule) take(free int64) (at int64, target int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, 0, false
	}
	at, ok = s.times()
	if !ok {
		s.over = true
		return 0, 0, false
	}
	if at > free || at > int64(time.Since(s.begin)) {
		if s.pace.until(s.begin.Add(time.Duration(at))) != nil {
			s.over, s.cut = true, at
			return 0, 0, false
		}
	} else if free > s.stop {
		s.over, s.left = true, at
		return 0, 0, false
	}
	s.given++
	return at, s.pick(), true
}

// unsent is how many requests were due in [from, to) and never left.
func (s *schedule) unsent(from, to int64) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut > 0 {
		return 0 // all that was due before was handed out
	}
	at, ok := s.left, s.left >= 0
	if !s.over { // nobody has asked for more
		at, ok = s.times()
	}
	for ; ok && at < to; at, ok = s.times() {
		if at >= from {
			n++
		}
	}
	return n
}

// arrivals returns the times of the open loop in ns, until the end.
func (o Options) arrivals(luck *dist.Stream, end int64) func() (int64, bool) {
	i := 0
	switch {
	case o.Times != nil:
		return func() (int64, bool) {
			if i >= len(o.Times) || int64(o.Times[i]) >= end {
				return 0, false
			}
			i++
			return int64(o.Times[i-1]), true
		}
	case o.Arrivals == Constant:
		return func() (int64, bool) {
			at := int64(float64(i) / o.Rate * 1e9)
			i++
			return at, at < end
		}
	}
	t := 0.0
	return func() (int64, bool) {
		t += luck.Exp() / o.Rate * 1e9
		return int64(t), t < float64(end)
	}
}

// picks returns the numbers of the targets.
func (o Options) picks(luck *dist.Stream) func() int {
	n := len(o.Targets)
	if n == 1 {
		return func() int { return 0 }
	}
	if o.InOrder {
		i := -1
		return func() int {
			if i++; i == n {
				i = 0
			}
			return i
		}
	}
	sums, sum := make([]float64, n), 0.0
	for i, t := range o.Targets {
		w := t.Weight
		if w == 0 {
			w = 1
		}
		sum += w
		sums[i] = sum
	}
	return func() int {
		x := luck.Float64() * sum
		return min(sort.Search(n, func(i int) bool { return sums[i] > x }), n-1)
	}
}

// pacer waits until a point in time. The runtime's own timers round up to whole
// milliseconds where nothing else happens; the kernel's timer behind a descriptor is as
// exact as the machine, and waits in the poller as a socket does.
type pacer struct {
	f    *os.File
	raw  unixConn
	stop func() bool
	ctx  context.Context
	// lead is how much earlier it asks to be woken, and spins for the rest: a thread that sleeps is up
	// again a tenth of a millisecond late.
	lead time.Duration
}

type unixConn interface {
	Control(func(fd uintptr)) error
}

// spins bounds the share of a processor that a pacer spends on being on time.
const (
	spins = .02
	early = 100 * time.Microsecond
)

// newPacer makes one that waits so often a second.
func newPacer(ctx context.Context, rate float64) (*pacer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	p := &pacer{f: os.NewFile(uintptr(fd), "timer"), ctx: ctx}
	if rate > 0 {
		p.lead = min(early, time.Duration(spins*float64(time.Second)/rate))
	}
	if p.raw, err = p.f.SyscallConn(); err != nil {
		p.f.Close()
		return nil, err
	}
	p.stop = context.AfterFunc(ctx, func() { p.f.SetReadDeadline(time.Unix(1, 0)) })
	return p, nil
}

func (p *pacer) close() {
	p.stop()
	p.f.Close()
}

// perSecond is how often a schedule has to be waited for.
func (o Options) perSecond() float64 {
	if n := len(o.Times); n > 0 && o.Times[n-1] > 0 {
		return float64(n) / o.Times[n-1].Seconds()
	}
	return o.Rate
}

// near is a wait too short to be worth two system calls.
const near = 3 * time.Microsecond

// until returns when t has come, or with an error when the context ends.
func (p *pacer) until(t time.Time) error {
	if d := time.Until(t) - p.lead; d > near {
		if err := p.sleep(d); err != nil {
			return err
		}
	}
	for time.Until(t) > 0 {
	}
	return nil // even if the context has ended in these last moments: the request is due
}

func (p *pacer) sleep(d time.Duration) error {
	var set error
	if err := p.raw.Control(func(fd uintptr) {
		set = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	}); err != nil {
		return err
	}
	if set != nil {
		return set
	}
	var b [8]byte
	if _, err := p.f.Read(b[:]); err != nil {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return context.Canceled
		}
		return err
	}
	return nil
}

func (o Options) stream(name string) *dist.Stream { return dist.NewStream(o.Seed, name) }
