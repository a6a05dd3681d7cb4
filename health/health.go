// Package health tells a supervisor such as Kubernetes whether a process should be restarted,
// by what it does for its users: a pod that served fewer requests than it should have since
// the last probe, while others did serve, is unhealthy.
//
//	pod := health.New(health.Options{Others: health.Peers(nil, health.Headless("iss-peers", "8080", "/served"))})
//	http.Handle("/", pod.Count(site))           // counts what was answered well; allocates nothing
//	http.HandleFunc("GET /livez", pod.Live)     // the liveness probe
//	http.HandleFunc("GET /readyz", pod.Ready)   // the readiness probe
//	http.HandleFunc("GET /served", pod.Tell)    // what the other pods ask
//	pod.SetReady(true)
//
// A liveness probe that asks "are you there" is answered by whoever can still answer probes. What
// cannot be faked is work. But no work is not a fault: at night nobody may ask, and then no pod must
// die. So the question is put to the traffic itself. Of all that the pods served together, each
// should have had its share; how many requests there are does not matter, only whom they reached.
// If the total is N and requests find the pods by chance, what one pod gets of them is binomial,
// and the chance of so few is known exactly (Chance). A pod is unhealthy when that chance is below
// Options.Alarm even for a pod that is entitled to only a tenth (Options.Share) of a fair share.
//
// Until enough has been served to tell (Enough), nothing is said and the window grows. So no traffic,
// little traffic, a lone pod, and pods that cannot be asked all mean: alive. Three more rules keep
// a bad measure from doing harm: pods that are young or not ready are not compared; where more
// than half of the pods are short of requests, it is the traffic that is uneven; and of several, one is
// restarted at a time. docs/health.md has the figures and what can go wrong.
package health

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Options of a Pod. The zero value compares with nobody and finds every pod alive.
type Options struct {
	// Others tells what each pod has served; it may include this one. See Peers. It is asked at most once in Every.
	Others func(context.Context) ([]Tally, error)

	// Check, if set, is a request of the pod's own, made the way users make theirs; an error is
	// a reason to restart. It finds what is broken while there is no traffic. It must depend on
	// nothing that all pods share, or all of them are restarted for it.
	Check func(context.Context) error

	// CheckServed is how many requests Check adds to those served; they are no evidence and are taken off.
	CheckServed uint64

	Share   float64       // of a fair share, what a pod must serve; above 0, below 1; 0 means .1
	Alarm   float64       // chance of a false alarm at each comparison; above 0, below 1; 0 means 1e-6
	Clump   uint64        // requests that choose a pod together, such as those of a connection; 0 means 1
	Every   time.Duration // between comparisons: probes in between get the last answer; 0 means 5 s
	Grace   time.Duration // a pod is compared once it has been ready for so long; 0 means a minute
	Longest time.Duration // a window with too few requests to tell ends after it; 0 means an hour
	Timeout time.Duration // for Others and Check together: less than the probe's own; 0 means 500 ms

	Now func() time.Time // a clock for tests; nil means time.Now
}

// Pod counts what a process serves and judges it. All methods may be called from any goroutine.
type Pod struct {
	served atomic.Uint64
	_      [56]byte // the count has a cache line of its own
	ready  atomic.Int64
	start  time.Time

	o        Options
	instance string
	judging  chan struct{} // held by the one that compares
	told     atomic.Pointer[Verdict]

	// Only with judging.
	last    Verdict // of the comparison
	began   time.Time
	then    map[string]uint64
	asked   time.Time
	checked uint64
}

// New makes a pod, which is not ready yet: see SetReady. It panics when a share or an alarm is no
// probability, because a program with that is wrong.
func New(o Options) *Pod {
	if o.Share == 0 {
		o.Share = .1
	}
	if o.Alarm == 0 {
		o.Alarm = 1e-6
	}
	if !(0 < o.Share && o.Share < 1 && 0 < o.Alarm && o.Alarm < 1) {
		panic(fmt.Sprintf("health: Share %g and Alarm %g; want them above 0 and below 1", o.Share, o.Alarm))
	}
	if o.Clump == 0 {
		o.Clump = 1
	}
	for _, d := range []struct {
		p       *time.Duration
		unasked time.Duration
	}{{&o.Every, 5 * time.Second}, {&o.Grace, time.Minute}, {&o.Longest, time.Hour}, {&o.Timeout, 500 * time.Millisecond}} {
		if *d.p <= 0 {
			*d.p = d.unasked
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Pod{o: o, start: o.Now(), instance: rand.Text(), judging: make(chan struct{}, 1)}
	p.ready.Store(never)
	p.last = Verdict{Alive: true, Reason: "nothing was compared yet"}
	first := p.last
	p.told.Store(&first)
	return p
}

const never = -1

// Served counts one request that was answered well. It costs one atomic addition.
func (p *Pod) Served() { p.served.Add(1) }

// SetReady says whether the pod may get requests. A pod that is not ready gets none, and is not blamed for it.
func (p *Pod) SetReady(ready bool) {
	if !ready {
		p.ready.Store(never)
		return
	}
	p.ready.CompareAndSwap(never, int64(p.o.Now().Sub(p.start)))
}

// Tally is what a pod tells the others.
type Tally struct {
	Instance string  `json:"instance"`      // of this process: a restart makes another
	Served   uint64  `json:"served"`        // since its start
	Ready    float64 `json:"ready_seconds"` // since when; negative while it is not
}

// Tally of this pod.
func (p *Pod) Tally() Tally {
	t := Tally{Instance: p.instance, Served: p.served.Load(), Ready: -1}
	if since := p.ready.Load(); since != never {
		t.Ready = max((p.o.Now().Sub(p.start) - time.Duration(since)).Seconds(), 0)
	}
	return t
}

// Verdict is what a probe is told.
type Verdict struct {
	Alive  bool      `json:"alive"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at,omitzero"`    // when it was found
	Since  time.Time `json:"since,omitzero"` // the window compared
	Served uint64    `json:"served"`         // by this pod in the window
	Total  uint64    `json:"total"`          // by all pods that were compared
	Pods   int       `json:"pods"`           // how many those were
	Short  int       `json:"short"`          // how many of them got fewer than they should
	Chance float64   `json:"chance"`         // of so few by chance
}

// Judge compares, if it is time to, and gives the verdict that stands.
func (p *Pod) Judge(ctx context.Context) Verdict {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	select {
	case p.judging <- struct{}{}:
		defer func() { <-p.judging }()
	case <-ctx.Done():
		return *p.told.Load()
	}
	now := p.o.Now()
	if !p.asked.IsZero() && now.Sub(p.asked) < p.o.Every {
		return *p.told.Load()
	}
	p.asked = now
	// Pods that do not answer must leave time for Check.
	half, done := context.WithTimeout(ctx, p.o.Timeout/2)
	p.last = p.compare(half, now)
	done()
	v := p.last
	if p.o.Check != nil {
		// What Check adds to the count is taken off whether it succeeds or not: a request that
		// failed may have been counted, and one too few is less harmful than one too many.
		err := p.o.Check(ctx)
		p.checked += p.o.CheckServed
		if err != nil && !errors.Is(err, context.Canceled) {
			v.Alive, v.Reason = false, "its own request fails: "+err.Error()
		}
	}
	p.told.Store(&v)
	return v
}
