package causal

import (
	"context"
	"errors"
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
	bin := r.proc.cmd.Path
	r.proc.stop()
	r.proc = nil
	r.runs++
	r.event("start", "the program has ended and is started again")
	if r.proc, err = start(r.o, r.dir, bin); err != nil {
		return err
	}
	r.lastDebt = 0
	return r.firstVisit(ctx)
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
