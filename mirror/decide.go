package mirror

import (
	"context"
	"encoding/json"
	"fmt"
)

// list hands the records to the workers: first those that failed before, then the list's.
func (r *run) list() error {
	if err := r.again(); err != nil {
		return err
	}
	l := newLister(r.f, r.c, r.n.Position)
	defer l.close()
	listed := r.before
	for !l.end {
		records, err := l.next(r.ctx)
		if err != nil {
			return err
		}
		listed += int64(len(records))
		r.mu.Lock()
		r.total = l.total
		r.n.Pages++
		r.n.Listed = listed
		r.mu.Unlock()
		if err := r.page(records, &pageState{next: l.at, end: l.end, listed: listed}); err != nil {
			return err
		}
	}
	return nil
}

// again takes what failed in the run before.
func (r *run) again() error {
	l, err := r.failures.before()
	if err != nil || l == nil {
		return err
	}
	defer l.close()
	for {
		records, end, err := l.next()
		if err != nil {
			return err
		}
		if err := r.page(records, &pageState{retry: true, end: end}); err != nil {
			return err
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
	var room [512]byte
	for _, record := range records {
		it, ok := r.decide(record, p, room[:0])
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
	p.left.Add(-1)
	return nil
}

// decide says where a record goes and whether it is one to fetch. The first record of the list that wants a
// path has it, in every run alike.
func (r *run) decide(record any, p *pageState, room []byte) (item, bool) {
	c := &r.c.read
	it := item{page: p, record: record, size: -1}
	fail := func(kind string, err error) (item, bool) {
		// What failed before comes twice: to be tried again, and in the list.
		text, _ := json.Marshal(record)
		h := hash('f', text)
		if _, _, now := r.ids.get(h); !now {
			r.ids.put(h, 0, true)
			r.failed(&it, kind, err, false)
		}
		return it, false
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
	there, tag, now := r.ids.get(it.id)
	moved := there && tag != uint8(it.where)&0x7f
	if there && now || moved && r.n.Resumed {
		r.mu.Lock()
		if !r.retried[it.id] {
			r.n.Duplicates++
		}
		r.mu.Unlock()
		if !now {
			r.ids.put(it.id, tag, true)
		}
		return it, false
	}
	if !c.determined && (!there || moved) {
		if taken, _, _ := r.paths.get(it.where); taken {
			return fail("conflict", fmt.Errorf("another record has the path %s", it.path))
		}
		r.paths.put(it.where, 0, true)
	}
	it.known = there && !moved
	r.ids.put(it.id, uint8(it.where), true)
	if p.retry {
		r.mu.Lock()
		r.retried[it.id] = true
		r.mu.Unlock()
	}
	return it, true
}
