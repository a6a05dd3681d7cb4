package load

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/usage"
	"github.com/headway-lab/headway/wire"
)

// session is connections that are kept from one run to the next.
type session struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	dialer wire.Dialer
	lanes  []lane
	begin  time.Time // of the run that is under way
	// HTTP2 says what was agreed on with the first server.
	http2 bool

	mu     sync.Mutex
	phases phases
}

// phases are the parts of making a connection.
type phases struct {
	name, connect, tls histogram.Histogram
	opened             int64
}

func (s *session) now() int64 { return int64(time.Since(s.begin)) }

// opened counts a connection.
func (s *session) opened(p wire.Phases) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phases.opened++
	if p.Name > 0 {
		s.phases.name.Add(int64(p.Name))
	}
	s.phases.connect.Add(int64(p.Connect))
	if p.TLS > 0 {
		s.phases.tls.Add(int64(p.TLS))
	}
}

// dialsAtOnce is how many connections are made at a time before a run: enough to be quick, too
// few to overflow a server's backlog.
const dialsAtOnce = 64

// open makes the connections. It fails if a server cannot be reached at all.
func open(ctx context.Context, o Options) (*session, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	s := &session{o: o, dialer: o.Dialer, begin: time.Now()}
	s.ctx, s.cancel = context.WithCancel(ctx)
	// One request to each server says whether it is there, and which HTTP it speaks.
	servers := map[string]bool{}
	for i, t := range o.Targets {
		if servers[origin(t.Request)] {
			continue
		}
		servers[origin(t.Request)] = true
		nc, http2, _, err := s.dial(t.Request)
		if err != nil {
			s.close()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, unreachable(t, err)
		}
		if http2 && o.NewConnections {
			nc.Close()
			s.close()
			return nil, usage.Errorf("over HTTP/2 a new connection for every request is not to be had: leave out --no-keepalive, or take --protocol h1")
		}
		if err := s.greet(nc, http2); err != nil {
			s.close()
			return nil, fmt.Errorf("%s does not speak HTTP/2: %w", t.Request.Host, err)
		}
		if i > 0 && http2 != s.http2 {
			s.close()
			return nil, fmt.Errorf("%s speaks another HTTP than %s; say which to use for all with --protocol", t.Request.Host, o.Targets[0].Request.Host)
		}
		s.http2 = http2
	}
	s.dialer.Protocol = wire.HTTP1
	if s.http2 {
		s.dialer.Protocol = wire.HTTP2
	}
	s.makeLanes()
	if err := s.makeRoom(len(servers)); err != nil {
		s.close()
		return nil, err
	}
	if !o.NewConnections {
		if err := s.warm(); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// greet closes the connection, over HTTP/2 after the server has answered there.
func (s *session) greet(nc net.Conn, http2 bool) error {
	if !http2 {
		return nc.Close()
	}
	m, err := wire.NewMux(nc)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(s.ctx, s.o.Timeout)
	defer cancel()
	_, err = m.Ping(ctx)
	return err
}

func unreachable(t Target, err error) error {
	if why := limits.Explain(err); why != "" {
		return fmt.Errorf("%s cannot be reached: %w; %s", t.Request.Host, err, why)
	}
	return fmt.Errorf("%s cannot be reached: %w", t.Request.Host, err)
}

// makeRoom sees to it that there may be enough descriptors.
func (s *session) makeRoom(servers int) error {
	n := len(s.lanes)
	if s.http2 {
		n = s.connections()
	}
	const comfortable, least = 64, 12 // beside the connections
	want := uint64(n*servers + comfortable)
	got, err := limits.RaiseFiles(want)
	if err == nil || got >= uint64(n*servers+least) {
		return nil
	}
	return fmt.Errorf("connections: %d of them need %d descriptors, and this process may have %d (%w); ulimit -n %d, or LimitNOFILE in a unit of systemd, allows more", n*servers, want, got, err, want)
}

func (s *session) makeLanes() {
	n := s.o.Connections
	if !s.http2 {
		if n == 0 {
			n = defaultConnections
		}
		for range n {
			s.lanes = append(s.lanes, &single{s: s, conns: map[string]*held{}})
		}
		return
	}
	k := s.o.Streams
	if n == 0 {
		n = defaultMuxes
	}
	if k == 0 {
		k = defaultStreams
	}
	muxes := make([]*shared, n)
	for i := range muxes {
		muxes[i] = &shared{s: s, m: map[string]*wire.Mux{}}
	}
	for range k {
		for _, m := range muxes {
			s.lanes = append(s.lanes, &stream{shared: m, buf: make([]byte, 32<<10)})
		}
	}
}

// connections is how many there are to a server.
func (s *session) connections() int {
	if s.http2 && s.o.Connections == 0 {
		return defaultMuxes
	}
	if s.o.Connections == 0 {
		return defaultConnections
	}
	return s.o.Connections
}

// warm makes all connections to the first server; those to others are made when they are needed.
func (s *session) warm() error {
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	next := make(chan lane)
	for range min(dialsAtOnce, len(s.lanes)) {
		wg.Go(func() {
			for l := range next {
				if err := l.warm(s.o.Targets[0].Request); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	for _, l := range s.lanes {
		if failed.Load() != nil {
			break
		}
		next <- l
	}
	close(next)
	wg.Wait()
	if err := failed.Load(); err != nil {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		return fmt.Errorf("making %d connections: %w", s.connections(), unreachable(s.o.Targets[0], *err))
	}
	return nil
}

func (s *session) close() {
	s.cancel()
	for _, l := range s.lanes {
		l.abort()
	}
}

// grace is for how long after its end an open loop still sends what was due before, if
// connections become free.
const grace = 2 * time.Second

// run sends requests on the session's connections as o says; o may differ from the
// options that the session was opened with in rate, arrivals and times.
func (s *session) run(ctx context.Context, o Options) (*Result, error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	warm := int64(o.Warmup)
	end := warm + int64(o.Duration)
	t := newTally(o, warm, end)
	halt, cancel := context.WithCancel(ctx)
	defer cancel()

	pace, err := newPacer(halt, o.perSecond())
	if err != nil {
		return nil, fmt.Errorf("making a timer: %w", err)
	}
	defer pace.close()
	self := watchSelf()
	s.begin = time.Now()
	plan := &schedule{
		times: o.arrivals(dist.NewStream(o.Seed, "arrivals"), end), pick: o.picks(dist.NewStream(o.Seed, "targets")),
		pace: pace, begin: s.begin, stop: end + int64(min(grace, o.Timeout)), left: -1,
	}
	// When ctx ends, nothing more is sent, and what is under way is waited for as briefly
	// as a person waits who has asked for the end.
	var interrupted atomic.Int64
	hurry := context.AfterFunc(ctx, func() {
		interrupted.Store(s.now())
		time.Sleep(200 * time.Millisecond)
		for _, l := range s.lanes {
			l.abort()
		}
	})
	defer hurry()

	var wg sync.WaitGroup
	for i, l := range s.lanes {
		w := &worker{lane: l, s: s, o: &o, tally: t, plan: plan, end: end, ctx: halt, luck: *dist.NewStream(o.Seed, fmt.Sprint("targets of ", i))}
		wg.Go(w.work)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.show(ctx, halt, o, t, end)
	}()
	wg.Wait()
	halted := end
	if ctx.Err() != nil {
		halted = interrupted.Load()
	}
	cancel()
	<-stopped
	self.stop()
	if !o.Closed {
		t.unsent(plan.unsent(warm, min(end, halted)))
	}
	r := t.result(s, self)
	if ctx.Err() != nil {
		r.Interrupted = true
		return r, context.Cause(ctx)
	}
	return r, nil
}

// worker keeps one lane busy.
type worker struct {
	lane  lane
	s     *session
	o     *Options
	tally *tally
	plan  *schedule
	end   int64
	ctx   context.Context
	luck  dist.Stream

	events  [64]event
	n       int
	flushed int64
}

func (w *worker) work() {
	pick := w.o.picks(&w.luck)
	now := w.s.now()
	for w.ctx.Err() == nil {
		e := &w.events[w.n]
		*e = event{}
		target := 0
		if w.o.Closed {
			if now >= w.end {
				break
			}
			e.at, e.free = now, now
			target = pick()
		} else {
			var ok bool
			e.free = now
			if e.at, target, ok = w.plan.take(now); !ok {
				break
			}
		}
		e.target = int32(target)
		w.tally.busy.Add(1)
		err := w.lane.do(w.o.Targets[target].Request, e)
		w.tally.busy.Add(-1)
		if e.done == 0 {
			e.done = w.s.now()
		}
		now = e.done
		if err != nil {
			e.fault = faultOf(err)
			if w.ctx.Err() != nil {
				e.fault = Pending // cut off, which is not the server's fault, but its silence is
			}
			w.tally.example(e.fault, err)
			w.pause(e.fault)
			now = w.s.now()
		}
		if w.n++; w.n == len(w.events) || now-w.flushed > int64(100*time.Millisecond) {
			w.flush(now)
		}
	}
	w.flush(now)
}

func (w *worker) flush(now int64) {
	w.tally.add(w.events[:w.n])
	w.n, w.flushed = 0, now
}

// pause keeps a closed loop from asking a server that is not there a million times a second.
func (w *worker) pause(f Fault) {
	if w.o.Closed && (f == Connect || f == Name || f == TLS || f == Exhausted) {
		select {
		case <-w.ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// show calls Progress until the run is over.
func (s *session) show(ctx, halt context.Context, o Options, t *tally, end int64) {
	if o.Progress == nil {
		return
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-halt.Done():
			return
		case <-tick.C:
			p := t.progress()
			p.Elapsed, p.Total = min(time.Duration(s.now()), time.Duration(end)), time.Duration(end)
			o.Progress(p)
		}
	}
}
