package mirror

import (
	"strconv"
	"time"
)

// flusher writes the journal now and then.
func (r *run) flusher(quiet chan struct{}) {
	t := time.NewTicker(flushEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if err := r.flush(false); err != nil {
				r.stop(&fatalError{err})
				return
			}
		case <-quiet:
			return
		}
	}
}

// flush writes what was done since the last time: first the failures, then the records, then
// how far the list is done.
func (r *run) flush(last bool) error {
	r.mu.Lock()
	done, tags := r.done, r.tags
	r.done, r.tags = nil, nil
	var passed *pageState
	for len(r.pages) > 0 && r.pages[0].left.Load() == 0 {
		p := r.pages[0]
		r.pages = r.pages[1:]
		if !p.retry {
			passed = p
			r.n.Position, r.n.Behind = p.next, p.listed
			r.n.Complete = p.end
		} else if p.end {
			r.failures.retriedAll = true
		}
	}
	failed := r.failures.take()
	r.mu.Unlock()
	if err := r.failures.write(failed, r.c.Durable); err != nil {
		return err
	}
	r.jr.Done(done)
	for _, t := range tags {
		r.jr.Tag(t.id, t.tag)
	}
	switch {
	case passed == nil:
	case passed.end:
		r.jr.End()
	default:
		r.jr.Position(strconv.FormatInt(passed.listed, 10) + " " + passed.next)
	}
	if last && r.c.Durable {
		if err := r.jr.Sync(); err != nil {
			return err
		}
		return r.tree.Sync()
	}
	return r.jr.Flush()
}
