package mirror

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/headway-lab/headway/mirror/store"
)

// How many files are made durable together, at most, and how long the first of them waits.
const (
	durableBatch = 1024
	durableWait  = 250 * time.Millisecond
)

// errHeld says that a file waits for others, to be made durable with them.
var errHeld = errors.New("waiting to be made durable")

// committer gives files their names in batches: it syncs the data of all, gives the
// names, syncs again, and only then says that the records are done. After a power cut a
// file is whole or absent, and the journal claims none that is absent.
type committer struct {
	r    *run
	most int

	mu      sync.Mutex
	room    *sync.Cond
	waiting []held
	closed  bool
	wake    chan struct{}
	done    sync.WaitGroup
}

// held is a file without a name.
type held struct {
	it      item
	f       store.File
	dir     string
	base    string
	replace bool
	size    int64
	since   time.Time
	tag     string
}

func newCommitter(r *run) *committer {
	c := &committer{r: r, most: durableBatch, wake: make(chan struct{}, 1)}
	c.room = sync.NewCond(&c.mu)
	c.done.Go(c.work)
	return c
}

// add takes a file over; it waits while there are too many.
func (c *committer) add(it *item, f store.File, d *store.Dir, base string, replace bool, size int64, tag string) error {
	dir := ""
	if i := strings.LastIndexByte(it.path, '/'); i >= 0 {
		dir = it.path[:i]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) >= c.most && !c.closed {
		c.room.Wait()
	}
	if c.closed {
		f.Abandon()
		return errClosed
	}
	c.waiting = append(c.waiting, held{it: *it, f: f, dir: dir, base: base, replace: replace, size: size, since: time.Now(), tag: tag})
	if len(c.waiting) == 1 || len(c.waiting) >= c.most {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return errHeld
}

var errClosed = errors.New("the run has ended")

func (c *committer) work() {
	for range c.wake {
		c.mu.Lock()
		full := len(c.waiting) >= c.most || c.closed
		c.mu.Unlock()
		if !full {
			select {
			case <-time.After(durableWait):
			case <-c.wake:
			}
		}
		c.mu.Lock()
		all := c.waiting
		c.waiting = nil
		closed := c.closed
		c.room.Broadcast()
		c.mu.Unlock()
		c.batch(all)
		if closed {
			return
		}
	}
}

// batch makes files durable.
func (c *committer) batch(all []held) {
	if len(all) == 0 {
		return
	}
	if err := c.r.tree.Sync(); err != nil {
		for i := range all {
			all[i].f.Abandon()
		}
		c.r.stop(&fatalError{err})
		return
	}
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = c.name(&all[i])
	}
	if err := c.r.tree.Sync(); err != nil {
		c.r.stop(&fatalError{err})
		return
	}
	for i := range all {
		h, err := &all[i], errs[i]
		var fatal *fatalError
		switch {
		case err == nil:
			c.r.stored(&h.it, h.size, time.Since(h.since), h.tag)
		case errors.Is(err, store.ErrExists):
			c.r.there(&h.it, true)
		case errors.As(err, &fatal):
			c.r.stop(err)
		default:
			k, _ := kind(err)
			c.r.failed(&h.it, k, err, true)
		}
	}
}

func (c *committer) name(h *held) error {
	d, err := c.r.tree.Dir(h.dir)
	if err != nil {
		h.f.Abandon()
		return disk(err)
	}
	defer c.r.tree.Release(d)
	if h.replace {
		err = h.f.Replace(d, h.base)
	} else {
		err = h.f.Name(d, h.base)
	}
	if err != nil && !errors.Is(err, store.ErrExists) {
		err = disk(fmt.Errorf("naming %s: %w", h.it.path, err))
	}
	return err
}

// close commits what waits. No worker may be at work any more.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.room.Broadcast()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.done.Wait()
}
