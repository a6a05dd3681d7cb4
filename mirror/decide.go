package mirror

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
)

// list hands the records to the workers: first the list's, then those that failed before and that
// the list has not shown. New records do not wait for old failures.
func (r *run) list() error {
	err := r.pass()
	if r.ctx.Err() != nil {
		return err
	}
	if err != nil && !answered(err) {
		return err // what failed before would fail again
	}
	// What failed before and stands in a part of the list that was not read is tried even so.
	if e := r.again(err == nil); err == nil {
		err = e
	}
	return err
}

// pass reads the list from where it is done.
func (r *run) pass() error {
	var l *lister
	var fresh []any
	var err error
	defer func() {
		if l != nil {
			l.close()
		}
	}()
	resumed := false
	at := place{Total: -1}
	if r.place != nil {
		if l, fresh, err = r.resume(r.ctx); err != nil {
			return err
		}
		resumed = l != nil
	}
	if resumed {
		at = *r.place
		r.mu.Lock()
		r.earlier = r.place
		r.n.Resumed = true
		r.mu.Unlock()
		at.Page += int64(len(fresh))
		if err := r.turn(l, &at, fresh); err != nil {
			return err
		}
	} else if l, err = r.beginPass(); err != nil {
		return err
	}
	for further := false; !l.end; further = true {
		prev := l.at
		records, err := l.next(r.ctx)
		if err != nil {
			if resumed && !further && answered(err) {
				r.stuck = true
				err = fmt.Errorf("%w; this run began there, so the next one reads the list from its beginning", err)
			}
			return err
		}
		if !further && !resumed {
			if err := r.fitting(records); err != nil {
				return err
			}
		}
		at.Prev, at.Page = r.c.hide(prev), int64(len(records))
		if err := r.turn(l, &at, records); err != nil {
			return err
		}
	}
	return nil
}

// turn is what happens with a page that the lister has read.
func (r *run) turn(l *lister, at *place, records []any) error {
	at.Listed += int64(len(records))
	at.Next, at.Total = r.c.hide(l.at), l.first
	r.mu.Lock()
	r.total, r.first = l.total, l.first
	r.n.Pages++
	r.n.Listed = at.Listed
	r.mu.Unlock()
	if l.end {
		r.evidence(l)
	}
	return r.page(records, &pageState{place: *at, end: l.end})
}

// fitting ends the first run of a mirror where the config fits no record of the first page:
// it would fit none of the others.
func (r *run) fitting(records []any) error {
	if len(records) == 0 || r.had > 0 {
		return nil
	}
	if _, list := records[0].([]any); len(records) == 1 && !list {
		return nil // one record may be at fault itself
	}
	var first error
	for _, record := range records {
		_, _, err := r.make(record, nil)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if len(records) == 1 {
		return fmt.Errorf("the config does not fit the first page: %w", first)
	}
	return fmt.Errorf("the config fits none of the %d records of the first page: %w; --dry-run shows what becomes of them", len(records), first)
}

// again takes what failed in earlier runs and was not met in this one. Where the list was read to its end and
// has not shown a record, that has left it: when it cannot be had any more, it is forgotten.
func (r *run) again(complete bool) error {
	l, err := r.failures.before()
	if err != nil || l == nil {
		return err
	}
	defer l.close()
	for {
		old, end, err := l.next(r.c)
		if err != nil {
			return err
		}
		records := make([]any, 0, len(old))
		for _, f := range old {
			records = append(records, f)
		}
		if err := r.page(records, &pageState{retry: true, complete: complete}); err != nil {
			return err
		}
		if r.hopeless() {
			return nil
		}
		if end {
			return nil
		}
	}
}

// page decides about each record of a page and hands on what has to be fetched.
func (r *run) page(records []any, p *pageState) error {
	p.left.Store(1) // until all are handed on
	r.mu.Lock()
	r.pages = append(r.pages, p)
	r.mu.Unlock()
	met := make([]uint64, 0, len(records))
	var room [512]byte
	for _, record := range records {
		var it item
		var ok bool
		if f, old := record.(failure); old {
			it, ok = r.decideAgain(f, p, room[:0])
		} else {
			it, ok = r.decide(record, p, room[:0])
		}
		met = append(met, it.id)
		if !ok {
			continue
		}
		p.left.Add(1)
		select {
		case r.items <- it:
		default:
			select {
			case r.items <- it:
			case <-r.ctx.Done():
				return context.Cause(r.ctx)
			}
		}
	}
	if !p.retry {
		r.mu.Lock()
		r.met = append(r.met, met...)
		r.mu.Unlock()
	}
	if err := cmp.Or(r.ids.err, r.paths.err); err != nil {
		return &fatalError{err}
	}
	p.left.Add(-1)
	return nil
}

// make says what the config makes of a record. Where it makes nothing of it, the record is known by all that
// it holds.
func (r *run) make(record any, room []byte) (it item, kind string, err error) {
	c := &r.c.read
	it = item{record: record, size: -1}
	fail := func(kind string, err error) (item, string, error) {
		it.id = signature(record)
		if _, list := record.([]any); list {
			err = fmt.Errorf("%w, for it is a list: did you mean %s?", err, r.c.iterated())
		}
		return it, kind, err
	}
	b, err := c.path.Path(room, record, r.style)
	if err != nil {
		return fail("path", err)
	}
	it.path = string(b)
	it.where = hash('p', b)
	if c.url != nil {
		if b, err = c.url.Expand(b[:0], record); err != nil {
			return fail("url", err)
		}
		it.url = string(b)
	} else {
		v, err := c.body.one(r.ctx, record)
		if err != nil {
			return fail("body", err)
		}
		if it.body, err = content(v); err != nil {
			return fail("body", err)
		}
		it.inline = true
	}
	if c.id != c.url || c.url == nil {
		if c.id == c.path { // records without a name of their own differ by what they hold
			b = append(append(append(b[:0], it.path...), 0), it.body...)
		} else if b, err = c.id.Text(b[:0], record); err != nil {
			return fail("id", err)
		}
	}
	it.id = hash('i', b)
	if c.size != nil {
		v, err := c.size.one(r.ctx, record)
		if err != nil {
			return fail("size", err)
		}
		if n, ok := number(v); ok && n >= 0 {
			it.size = n
		}
	}
	return it, "", nil
}

// iterated is the expression for the records, with the brackets that were forgotten.
func (c *Config) iterated() string { return "list.records: " + c.List.Records + "[]" }

// decide says where a record of the list goes and whether it is one to fetch. The first record of the list that
// wants a path has it, in every run alike.
func (r *run) decide(record any, p *pageState, room []byte) (item, bool) {
	it, kind, err := r.make(record, room)
	it.page, it.key = p, it.id
	if _, _, now := r.ids.get(it.id); now {
		r.duplicate()
		return it, false
	}
	return it, r.admit(&it, kind, err)
}

// decideAgain does that for a record that failed in an earlier run.
func (r *run) decideAgain(f failure, p *pageState, room []byte) (item, bool) {
	it, kind, err := r.make(f.Record, room)
	it.page, it.key = p, f.key(it)
	_, _, now := r.ids.get(it.key)
	if now && !r.undone[it.key] {
		// The pass has met it. What became of it is noted where that is known; until then its old name stands, for a
		// run that ends before.
		return it, false
	}
	it.left = p.complete && !now
	return it, r.admit(&it, kind, err)
}

func (r *run) duplicate() {
	r.mu.Lock()
	r.n.Duplicates++
	r.mu.Unlock()
}

// admit notes that the pass has met a record, and says whether it is one to fetch.
func (r *run) admit(it *item, kind string, err error) bool {
	c := &r.c.read
	there, tag, _ := r.ids.get(it.id)
	there = there && !r.undone[it.id]
	if r.failedBefore {
		r.mu.Lock()
		_, it.old = r.old[it.key]
		r.mu.Unlock()
	}
	if err != nil {
		r.ids.put(it.id, tag, true)
		r.failed(it, kind, err, false)
		return false
	}
	r.fits = true
	moved := there && tag != uint8(it.where)&0x7f
	if moved && r.halfway {
		// This pass may have put it where it is, in the run that was interrupted.
		r.ids.put(it.id, tag, true)
		r.mu.Lock()
		r.n.There++
		r.settled(it)
		r.mu.Unlock()
		return false
	}
	if !c.determined && (!there || moved) {
		if taken, _, _ := r.paths.get(it.where); taken {
			it.id = signature(it.record)
			if _, _, now := r.ids.get(it.id); now && it.key != it.id {
				if !it.page.retry {
					r.duplicate()
				}
				return false
			}
			if !it.page.retry {
				it.key = it.id
				r.mu.Lock()
				_, it.old = r.old[it.key]
				r.mu.Unlock()
			}
			r.ids.put(it.id, 0, true)
			r.failed(it, "conflict", fmt.Errorf("another record has the path %s", it.path), false)
			return false
		}
		r.paths.put(it.where, 0, true)
	}
	it.known = there && !moved
	r.ids.put(it.id, uint8(it.where), true)
	return true
}

// signature is the mark of a record that nothing else tells from others.
func signature(record any) uint64 {
	text, _ := json.Marshal(record)
	return hash('f', text)
}
