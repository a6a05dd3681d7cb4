package causal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headway-lab/headway/causal/control"
)

// alive is how long a program has to run for a profile over several of its runs.
const alive = 2 * time.Second

// again starts the program anew if it has come to its proper end: a program
// that does its work and stops is profiled over as many runs as it takes.
// Otherwise it returns err.
func (r *runner) again(ctx context.Context, err error) error {
	var ended *errEnded
	if !errors.As(err, &ended) || ended.err != nil || time.Since(r.proc.begun) < alive {
		return err
	}
	if !r.deadline.IsZero() && time.Now().After(r.deadline) {
		return err
	}
	r.runs++
	r.event("start", "the program has ended and is started again")
	return r.anew(ctx)
}

// resume is again for a program whose accounts are kept.
func (r *runner) resume(ctx context.Context, err error) error {
	for err != nil {
		if err = r.again(ctx, err); err != nil {
			return err
		}
		err = r.proc.keep(ctx, true) // it may end meanwhile, too
	}
	return nil
}

// anew ends the program and starts it again.
func (r *runner) anew(ctx context.Context) (err error) {
	bin := r.proc.cmd.Path
	r.proc.stop()
	r.proc = nil
	if r.proc, err = start(r.o, r.dir, bin); err != nil {
		return err
	}
	r.lastDebt = 0
	return r.firstVisit(ctx)
}

// turns says when the program is to be started anew if experiments shall be spread over several of its processes.
type turns struct {
	runs  int           // as asked
	share time.Duration // the longest that one lasts
	least int           // batches after which one may end, 0: only share counts
	begun time.Time     // of this one
	end   time.Time     // of all
	batch int           // before it
	now   int           // the first is 1
}

// over says whether this process has had its turn: its share of the time, or, until there have been as many as asked, its
// share of the experiments that an interval needs. Where it takes more experiments there are more processes than asked: if the
// last went on alone, most of what is known would be known of it. One that could not have half a share is not worth a start.
func (u *turns) over(batches int, now time.Time) bool {
	if u.runs < 2 || u.end.Sub(now) < u.share/2 {
		return false
	}
	return now.Sub(u.begun) >= u.share || u.least > 0 && u.now < u.runs && batches-u.batch >= u.least
}

// all says whether there have been as many processes as asked.
func (u *turns) all() bool { return u.now >= u.runs }

func (u *turns) next(batches int, now time.Time) { u.begun, u.batch, u.now = now, batches, u.now+1 }

// turns are those of the experiments that begin now.
func (r *runner) turns() turns {
	runs := max(1, r.o.Runs)
	u := turns{runs: runs, share: time.Until(r.deadline) / time.Duration(runs), end: r.deadline}
	if len(r.o.Sites) > 0 {
		u.least = (enough + runs - 1) / runs * len(r.sites)
	}
	u.next(0, time.Now())
	return u
}

// turn starts the program anew and lets it come to its pace.
func (r *runner) turn(ctx context.Context, number int) error {
	r.event("start", fmt.Sprintf("the program is started anew (--runs, number %d)", number))
	if err := r.anew(ctx); err != nil {
		return err
	}
	if err := r.warm(ctx); err != nil {
		return err
	}
	if err := r.proc.keep(ctx, true); err != nil {
		return err
	}
	return r.proc.sleep(ctx, 300*time.Millisecond)
}

// firstVisit waits until every metric has been visited.
func (r *runner) firstVisit(ctx context.Context) error {
	begin := time.Now()
	for {
		if err := r.proc.sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if r.renumber() && r.silent() == "" {
			return nil
		}
		if d := time.Since(begin); d > 20*time.Second {
			return r.noProgress(d)
		}
	}
}

// renumber finds the markers of package progress, which number themselves in
// every run anew, and reports whether all have been seen.
func (r *runner) renumber() bool {
	at := map[string]int{}
	for i, n := range r.proc.block.Names() {
		at[n] = control.NamedBase + i
	}
	for _, m := range r.metrics {
		if m.begin < control.NamedBase {
			continue
		}
		name := m.name
		if m.latency {
			name = name[len("latency "):]
			end, ok := at[name+"\x00"]
			if !ok {
				return false
			}
			m.end = end
		}
		begin, ok := at[name]
		if !ok {
			return false
		}
		m.begin = begin
	}
	return true
}
