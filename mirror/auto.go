package mirror

import (
	"fmt"
	"time"
)

// autoMost is how many workers --auto tries at most.
const autoMost = 256

// A step of the climb takes at least this long, and this many records.
const (
	autoStep    = 2 * time.Second
	autoRecords = 200
	autoPatient = 20 * time.Second // a step takes no longer, whatever the number of records
	autoGain    = 0.05             // of the rate, for which a step is kept
)

// climb finds the number of workers: it doubles it while that brings more records and no
// more errors, goes back one step where it does not, then tries half a step up, and stays. A
// worker uses one connection at a time, so there are as many idle connections as workers:
// with fewer they are made anew, and more are never used.
func (r *run) climb(quiet chan struct{}) {
	step, what := int(r.workers.Load()), "begins with"
	best, bestRate := step, 0.0
	refined := false
	for {
		rate, bad, ok := r.measure(quiet)
		if !ok {
			return
		}
		n := int(r.workers.Load())
		r.Say(fmt.Sprintf("--auto %s %d workers and %d idle connections: %s records a minute, %.1f %% failed or tried again", what, n, n, grouped(int64(60*rate)), 100*bad))
		gained := bestRate == 0 || rate > bestRate*(1+autoGain) && bad < 0.02
		if gained {
			best, bestRate = n, rate
		}
		next := 0
		switch {
		case gained && !refined && n < autoMost:
			next = min(2*n, autoMost)
		case !gained && !refined && best+best/2 > best:
			next, refined = best+best/2, true
		}
		if next == 0 {
			r.setWorkers(best)
			r.Say(fmt.Sprintf("--auto stays with %d workers and %d idle connections: more brought less than %.0f %% more records, or errors", best, best, 100*autoGain))
			return
		}
		what = "tries"
		r.setWorkers(next)
	}
}

// measure returns records a second over a step, and the share of those that were not had at once.
func (r *run) measure(quiet chan struct{}) (rate, bad float64, ok bool) {
	wait := func(d time.Duration) bool {
		select {
		case <-quiet:
			return false
		case <-r.ctx.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
	if !wait(autoStep / 4) { // until the new workers have connections
		return 0, 0, false
	}
	begin := time.Now()
	a := r.progress()
	for {
		if !wait(autoStep / 4) {
			return 0, 0, false
		}
		b := r.progress()
		took := time.Since(begin)
		done := b.Stored - a.Stored
		if took < autoStep || done < autoRecords && took < autoPatient {
			continue
		}
		wrong := b.Failed - a.Failed + b.Retries - a.Retries
		return float64(done) / took.Seconds(), float64(wrong) / float64(max(done+wrong, 1)), true
	}
}
