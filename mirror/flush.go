package mirror

import "time"

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

// flush writes what was done since the last time: first the failures and what the pass has met, then the
// records, then how far the list is done.
func (r *run) flush(last bool) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	done, tags, met := r.done, r.tags, r.met
	r.done, r.tags, r.met = nil, nil, nil
	var passed *pageState
	for len(r.pages) > 0 && r.pages[0].left.Load() == 0 {
		p := r.pages[0]
		r.pages = r.pages[1:]
		if !p.retry {
			passed = p
			r.n.Complete = p.end
		}
	}
	failed := r.failures.take()
	r.mu.Unlock()
	if err := r.failures.write(failed, r.c); err != nil {
		return err
	}
	if err := r.marks.write(met); err != nil {
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
		r.jr.Position(passed.place.String())
	}
	if last && r.stuck {
		// The next run would begin where this one did, and fail there as well.
		r.jr.Position("")
	}
	if last && r.c.Durable {
		if err := r.jr.Sync(); err != nil {
			return err
		}
		return r.tree.Sync()
	}
	return r.jr.Flush()
}
