package load

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/limits"
)

// event is what happened to a request; times are in ns since the beginning of the run.
type event struct {
	at     int64 // it was due
	free   int64 // a connection was free to take it
	began  int64 // the generator turned to it
	sent   int64 // it left, which is later if it needed a connection first; over one of its own, the same
	first  int64 // byte of the answer; 0: none came
	done   int64
	bytes  int64 // received
	status int16
	fault  Fault
	target int32
}

// pieces is into how many parts a run is divided for its course, blocks into how many for
// its intervals; blocks divides pieces.
const (
	pieces = 120
	blocks = 20
)

// maxTargets is how many targets are told apart in the report.
const maxTargets = 50

// piece is what was due in a part of the time.
type piece struct {
	latency histogram.Histogram
	ok      int64
	failed  int64
	came    int64 // good answers that came in it, whenever they were due
}

// tally adds up what the workers saw.
type tally struct {
	warm, end int64

	mu       sync.Mutex
	pieces   [pieces]piece
	queue    histogram.Histogram // from due to departure
	own      histogram.Histogram // of that, what the generator is to blame for
	waited   int64               // requests that waited for a free connection
	wait     histogram.Histogram // from departure to first byte
	body     histogram.Histogram // from first byte to last
	statuses map[int]int64
	faults   [faults]int64
	examples [faults]error
	bytes    int64
	targets  []targetTally
	lastDone int64

	busy atomic.Int64

	// For progress: since the last look.
	recent     histogram.Histogram
	recentAt   time.Time
	sent, lost int64
}

type targetTally struct {
	latency histogram.Histogram
	failed  int64
}

func newTally(o Options, warm, end int64) *tally {
	t := &tally{warm: warm, end: end, statuses: map[int]int64{}, recentAt: time.Now()}
	if n := len(o.Targets); n > 1 && n <= maxTargets {
		t.targets = make([]targetTally, n)
	}
	return t
}

// late is from when on a departure is the generator's fault, rather than the noise of clocks.
const late = int64(time.Millisecond)

func (t *tally) add(events []event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range events {
		e := &events[i]
		t.sent++
		latency := e.done - e.at
		failed := e.fault != None || e.status >= 400
		if failed {
			t.lost++
		} else {
			t.recent.Add(latency)
		}
		if !failed && e.done >= t.warm && e.done < t.end {
			t.pieces[(e.done-t.warm)*pieces/(t.end-t.warm)].came++
		}
		if e.at < t.warm {
			continue
		}
		if e.at >= t.end {
			continue
		}
		p := &t.pieces[(e.at-t.warm)*pieces/(t.end-t.warm)]
		t.bytes += e.bytes
		t.lastDone = max(t.lastDone, e.done)
		t.queue.Add(e.sent - e.at)
		t.own.Add(e.began - max(e.at, e.free))
		if e.free > e.at {
			t.waited++
		}
		if e.status != 0 && e.fault == None {
			t.statuses[int(e.status)]++
		}
		if e.fault != None {
			t.faults[e.fault]++
		}
		if e.first != 0 {
			t.wait.Add(e.first - e.sent)
			t.body.Add(e.done - e.first)
		}
		if failed {
			p.failed++
		} else {
			p.ok++
			p.latency.Add(latency)
		}
		if t.targets != nil {
			if failed {
				t.targets[e.target].failed++
			} else {
				t.targets[e.target].latency.Add(latency)
			}
		}
	}
}

// unsent counts requests that were due and never left, at the end of the run.
func (t *tally) unsent(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[Unsent] += n
	t.pieces[pieces-1].failed += n
}

// example keeps the first error of a kind, for the report.
func (t *tally) example(f Fault, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.examples[f] == nil {
		t.examples[f] = err
	}
}

func (t *tally) progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	p := Progress{
		Sent: t.sent, Failed: t.lost, Busy: int(t.busy.Load()),
		Rate: float64(t.recent.N()) / now.Sub(t.recentAt).Seconds(),
		P99:  time.Duration(t.recent.Quantile(.99)),
	}
	if now.Sub(t.recentAt) > 2*time.Second {
		t.recent.Reset()
		t.recentAt = now
	}
	return p
}

// Result is what a run showed. Only requests that were due after the warm-up count.
type Result struct {
	Duration time.Duration // of the time that counts
	Closed   bool
	HTTP2    bool
	// Latency is from when a request was due until its last byte, of those that succeeded: an
	// answer came, whole, with a status below 400.
	Latency           histogram.Histogram
	Succeeded, Failed int64
	Lasted            time.Duration // until the last answer
	Came              int64         // good answers in the time that counts, whenever they were due
	Begun             time.Time
	// Queue is from when a request was due until it left, Wait from there to the first byte
	// of the answer, Body from there to the last, of all requests that got so far.
	Queue, Wait, Body histogram.Histogram
	// Lookup, Connect and Handshake are of the connections that were made while requests were sent.
	Lookup, Connect, Handshake histogram.Histogram
	Opened                     int64
	Connections, Lanes         int
	Statuses                   map[int]int64
	Faults                     map[Fault]int64
	Examples                   map[Fault]error
	Bytes                      int64 // received, with heads unless over HTTP/2
	Targets                    []TargetResult
	Pieces                     []Piece // in order of time
	// Waited counts the requests for which no connection was free when they were due, Late
	// those that left more than a millisecond late though one was.
	Waited, Late int64
	Lateness     histogram.Histogram // the generator's own, of all requests
	Generator    Generator
	Interrupted  bool

	blocks []piece
}

// TargetResult is what one of several targets showed.
type TargetResult struct {
	Name    string
	Latency histogram.Histogram
	Failed  int64
}

// Piece is what became of the requests that were due in a part of the run.
type Piece struct {
	Begin, End time.Duration
	OK, Failed int64
	Came       int64                // good answers, by when they came
	Latency    *histogram.Histogram // of those that succeeded
}

func (t *tally) result(s *session, self *self) *Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &Result{
		Duration: time.Duration(t.end - t.warm), Begun: s.begin.Add(time.Duration(t.warm)), Closed: s.o.Closed, HTTP2: s.http2,
		Queue: t.queue, Wait: t.wait, Body: t.body, Statuses: t.statuses,
		Faults: map[Fault]int64{}, Examples: map[Fault]error{}, Bytes: t.bytes,
		Waited: t.waited, Late: t.own.Above(late), Lateness: t.own,
		Connections: s.connections(), Lanes: len(s.lanes), Generator: self.result(),
	}
	s.mu.Lock()
	r.Lookup, r.Connect, r.Handshake, r.Opened = s.phases.name, s.phases.connect, s.phases.tls, s.phases.opened
	s.phases = phases{}
	s.mu.Unlock()
	r.Lasted = time.Duration(max(t.lastDone-t.warm, 0))
	for f, n := range t.faults {
		if n > 0 {
			r.Faults[Fault(f)] = n
			r.Examples[Fault(f)] = t.examples[f]
		}
	}
	// An interrupted run is as long as it got.
	last := pieces
	if got := int64(time.Since(s.begin)); got < t.end && s.ctxDone() {
		r.Duration = time.Duration(max(got-t.warm, 0))
		last = min(int(int64(r.Duration)*pieces/(t.end-t.warm))+1, pieces)
	}
	width := float64(t.end-t.warm) / pieces
	r.blocks = make([]piece, blocks)
	for i := range t.pieces[:last] {
		p := &t.pieces[i]
		r.Pieces = append(r.Pieces, Piece{
			Begin: time.Duration(float64(i) * width), End: time.Duration(float64(i+1) * width),
			OK: p.ok, Failed: p.failed, Came: p.came, Latency: &p.latency,
		})
		r.Succeeded += p.ok
		r.Failed += p.failed
		r.Latency.Merge(&p.latency)
		b := &r.blocks[i*blocks/last]
		b.ok += p.ok
		b.failed += p.failed
		b.came += p.came
		r.Came += p.came
		b.latency.Merge(&p.latency)
	}
	for i := range t.targets {
		r.Targets = append(r.Targets, TargetResult{s.o.Targets[i].name(), t.targets[i].latency, t.targets[i].failed})
	}
	return r
}

func (s *session) ctxDone() bool { return s.ctx.Err() != nil }

// Quantile is the latency within which the share q of all requests succeeded; those that
// failed are taken as slower than any. It is +Inf where fewer succeeded, in ns.
func (r *Result) Quantile(q float64) float64 { return quantile(&r.Latency, r.Failed, q) }

func quantile(h *histogram.Histogram, failed int64, q float64) float64 {
	all := h.N() + failed
	if all == 0 {
		return math.NaN()
	}
	rank := math.Ceil(q * float64(all))
	if rank > float64(h.N()) {
		return math.Inf(1)
	}
	return h.Quantile(rank / float64(h.N()))
}

// Rate is how many good answers came in a second.
func (r *Result) Rate() float64 { return float64(r.Came) / r.Duration.Seconds() }

// Offered is how many requests a second were due.
func (r *Result) Offered() float64 {
	return float64(r.Succeeded+r.Failed) / r.Duration.Seconds()
}

// why explains the faults that this machine is to blame for.
func (r *Result) why() string { return limits.Explain(r.Examples[Exhausted]) }
