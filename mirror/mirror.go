// Package mirror pulls every record of a service to disk: a REST service lists records and
// serves each; every record becomes one file under a path made of its fields. There are
// millions, the run takes hours, and has to survive everything.
//
//	c, err := mirror.Read("mirror.yaml", os.LookupEnv)
//	result, err := mirror.Run(ctx, mirror.Options{Config: c, Dir: "records"})
//
// One goroutine reads the list and decides, in the order of the list, which file each
// record gets; workers fetch and write ([store]); what is done goes to a journal ([journal])
// in batches. The journal never says more than what is on disk, so that it may be
// torn at any moment: the next run reads the list from where all before is done, and what lies
// between is found on disk.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/mirror/journal"
	"github.com/headway-lab/headway/mirror/name"
	"github.com/headway-lab/headway/mirror/store"
	"github.com/headway-lab/headway/wire"
)

// Options say what a run does.
type Options struct {
	Config *Config
	Dir    string // that the records go to
	Auto   bool   // find the number of workers
	// Progress is called every second, Warn with a line about what somebody should know, Say
	// with what goes on; nil is allowed.
	Progress  func(Progress)
	Warn, Say func(string)
	// Every is how often Progress is called; 0 is each second.
	Every time.Duration
}

// flushEvery is how often the journal is written.
const flushEvery = 200 * time.Millisecond

// crowd is how many files a directory may get before a warning.
const crowd = 5000

// run is one run of a mirror.
type run struct {
	Options
	c     *Config
	f     *fetcher
	tree  *store.Tree
	jr    *journal.Journal
	ctx   context.Context
	stop  context.CancelCauseFunc
	ended atomic.Bool // ctx is done; cheaper to ask

	base  *wire.Request // for records; each differs in its path
	root  string        // of the URLs of records
	pace  *gate
	style name.Style
	items chan item

	workers atomic.Int32 // how many there should be
	wg      sync.WaitGroup
	spawned int

	lockFile int

	// What the goroutine that reads the list knows.
	ids, paths seen
	undone     map[uint64]bool // met by this pass in an earlier run, and failed there
	place      *place          // where the pass goes on; nil is the beginning of the list
	positioned bool            // the journal has a position
	earlier    *place          // the same, where it did go on there
	halfway    bool            // earlier runs have put records of this pass on disk
	fits       bool            // the config fits a record of this run
	stuck      bool            // the run has begun at a page that cannot be read
	fresh      bool            // there was no run before
	// failedBefore says that old is not empty.
	failedBefore bool

	writing sync.Mutex // of the journal and the marks

	mu       sync.Mutex
	old      map[uint64]bool // what failed in earlier runs, and whether it is settled in this one
	marks    *marks
	met      []uint64     // marks that are not written yet
	notes    []string     // warnings of the run
	had      int64        // records that the journal has
	oldRow   int          // of earlier failures that failed again without an answer
	denied   int          // records to which the answer was 401 or 403
	pages    []*pageState // that are not done, in order
	done     []journal.Done
	tags     []tag
	failures failures
	n        Counts
	times    histogram.Histogram
	slowest  []Slow
	crowded  map[uint64]int
	row      int // of failures without a success between
	begin    time.Time
	total    int64    // that the list says it has now, -1 if it does not
	first    int64    // that it said when the pass began
	seen     evidence // of the list, at its end
	etags    map[uint64]string
	commit   *committer
	said     map[string]bool
}

type tag struct {
	id  uint64
	tag string
}

// pageState is a page of the list some of whose records are under way.
type pageState struct {
	left  atomic.Int32
	place place // how far the list is done with this page
	end   bool  // it is the last
	// retry is a page of what failed before; nothing comes of its position. It is complete where the list was
	// read to its end before.
	retry, complete bool
}

// item is a record on its way.
type item struct {
	page   *pageState
	record any
	id     uint64
	where  uint64
	path   string
	url    string
	body   []byte // where the list holds it
	inline bool
	known  bool   // the journal has it already
	key    uint64 // what it is known by among the failures
	old    bool   // it failed in an earlier run
	left   bool   // it did, and the list does not show it any more
	size   int64  // that the list tells, -1 if it does not
}

// A fatalError ends the run: nothing can be done for any record.
type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// Run mirrors. The result is never nil if anything was begun. The error is nil if every
// record that the list has is on disk; where some failed it is ErrSome.
func Run(ctx context.Context, o Options) (*Result, error) {
	r, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	return r.all()
}

// ErrSome says that some records failed; they are named in the file of failures.
var ErrSome = errors.New("some records failed")

func start(ctx context.Context, o Options) (_ *run, err error) {
	c := o.Config
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	r := &run{Options: o, c: c, begin: time.Now(), undone: map[uint64]bool{}, old: map[uint64]bool{}, crowded: map[uint64]int{}, total: -1, first: -1, said: map[string]bool{}, style: c.read.style, lockFile: -1}
	r.ctx, r.stop = context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			r.close()
			var e *fatalError
			if !errors.As(err, &e) {
				err = explained(err)
			}
		}
	}()
	dirs := r.files()
	if r.tree, err = store.Open(o.Dir, dirs); err != nil {
		return nil, err
	}
	if err := r.lock(); err != nil {
		return nil, err
	}
	if err := r.tree.Prepare(); err != nil {
		return nil, err
	}
	if r.tree.Folds {
		r.style = name.Portable
	}
	if err := r.openJournal(); err != nil {
		return nil, err
	}
	if r.marks, err = openMarks(r.tree.Own()); err != nil {
		return nil, err
	}
	if err := r.failures.open(r.tree.Own(), c, func(f failure) uint64 {
		it, _, _ := r.make(f.Record, nil)
		return f.key(it)
	}, func(key uint64) { r.old[key] = false }); err != nil {
		return nil, err
	}
	r.failedBefore = len(r.old) > 0
	r.f = newFetcher(r.ctx, c, r.idle())
	if c.read.url != nil {
		r.root = c.read.url.Literal()
		u, err := wire.ParseURL(r.root)
		if err != nil {
			return nil, err
		}
		// The part that all records' URLs share: scheme and host.
		at := strings.Index(r.root, "://") + 3
		at += strings.IndexAny(r.root[at:], "/?")
		r.root = r.root[:at]
		if r.base, err = wire.NewRequest("", u.String(), c.read.header, nil); err != nil {
			return nil, err
		}
		r.pace = r.f.gate(r.base.URL)
	}
	r.items = make(chan item, 512)
	if c.Durable {
		r.commit = newCommitter(r)
	}
	return r, nil
}

// idle is how many connections are kept: with --auto as many as there may be workers.
func (r *run) idle() int {
	if r.Auto && r.c.HTTP.Idle < 0 {
		return autoMost
	}
	return r.c.idle()
}

// files makes room for files and connections, and returns how many directories may be open.
func (r *run) files() (dirs int) {
	h := &r.c.HTTP
	workers := h.Workers
	if r.Auto {
		workers = autoMost
	}
	dirs = 1024
	const other = 32 // what the runtime, the journal and standard streams take
	want := uint64(2*workers + dirs + other)
	if r.c.Durable {
		want += durableBatch
	}
	got, err := limits.RaiseFiles(want)
	if err != nil && got == 0 || got >= want {
		return dirs
	}
	room := int(got)
	dirs = min(dirs, max(room/4, 4))
	if fit := max((room-other-dirs)/2, 1); fit < h.Workers {
		r.Warn(fmt.Sprintf("%d workers instead of %d: %s", fit, h.Workers, limits.Explain(unix.EMFILE)))
		copy := *r.c
		copy.HTTP.Workers = fit
		if copy.HTTP.Idle > fit {
			copy.HTTP.Idle = fit
		}
		r.c = &copy
	}
	return dirs
}

// lock keeps other runs out of the directory. The kernel opens it when the process ends, however it does.
func (r *run) lock() error {
	fd, err := unix.Openat(r.tree.Own(), "lock", unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return &os.PathError{Op: "open", Path: path.Join(r.Dir, store.Own, "lock"), Err: err}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		if err == unix.EWOULDBLOCK {
			return fmt.Errorf("another headway mirror is at work in %s", r.Dir)
		}
		return err
	}
	r.lockFile = fd
	return nil
}

func (r *run) openJournal() error {
	count := int64(0)
	if r.c.Check == "etag" {
		r.etags = map[uint64]string{}
	}
	r.ids.file, r.paths.file = newSlotFile(r.tree.Own()), newSlotFile(r.tree.Own())
	id := r.c.identity()
	j, state, err := journal.Open(r.tree.Own(), "journal", id, journal.Reader{
		Done: func(d journal.Done) {
			count++
			if there, _, _ := r.ids.get(d.ID); !there {
				r.had++
			}
			r.ids.put(d.ID, uint8(d.Path), true)
			if !r.c.read.determined {
				r.paths.put(d.Path, 0, true)
			}
		},
		Tag: func(id uint64, t string) {
			if r.etags != nil {
				r.etags[id] = t
			}
		},
		End: func() { count = 0 },
	})
	if err != nil {
		return fmt.Errorf("%s: %w; if nothing in it is wanted, remove it, and what is on disk will be found there", path.Join(r.Dir, store.Own, "journal"), err)
	}
	r.jr = j
	if what := difference(state.Config, id, "record", "id", "path", "names"); what != "" {
		return &ConfigError{File: r.c.file, Err: fmt.Errorf("%s is the mirror of another config (%s): take another directory, or remove %s",
			r.Dir, what, path.Join(r.Dir, store.Own))}
	}
	// What the journal knows was not met by this run.
	r.ids.pass()
	if err := cmp.Or(r.ids.err, r.paths.err); err != nil {
		return err
	}
	r.positioned = state.Position != ""
	r.place, err = readPlace(state.Position)
	switch what := difference(state.Config, id); {
	case err != nil:
		r.note("the position in the journal cannot be read (%v): the list is read from its beginning, and what is on disk is found there", err)
	case what != "":
		if r.place != nil {
			r.note("the list is another than in the run before (%s): it is read from its beginning, and what is on disk is found there", what)
		}
		r.place = nil
		r.jr.Config(id)
	case state.Upgraded && r.had > 0 && r.c.Record.ID == "" && strings.Contains(r.c.Record.URL, "${") && !r.c.read.determined:
		return fmt.Errorf("%s was written by an earlier version of headway, which knew records by the values of the environment in record.url: remove it, and what is on disk will be found there", path.Join(r.Dir, store.Own, "journal"))
	case state.Upgraded && state.Halfway:
		r.note("the journal was written by an earlier version of headway: the list is read from its beginning, and what is on disk is found there")
	}
	r.halfway = r.place != nil || count > 0
	r.fresh = r.had == 0 && state.Passes == 0
	if state.Torn > 0 && state.Position != "" {
		r.Warn(fmt.Sprintf("the last %d bytes of the journal were torn off when an earlier run ended; what they said is found on disk", state.Torn))
	}
	return nil
}

// difference names the first field in which two identities differ, of those that are named, or of all.
func difference(a, b string, fields ...string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(x) != len(y) {
		return "its fields differ"
	}
	for i := range x {
		field, _, _ := strings.Cut(x[i], " ")
		if x[i] != y[i] && (len(fields) == 0 || slices.Contains(fields, field)) {
			return fmt.Sprintf("its %q, this one's %q", x[i], strings.TrimPrefix(y[i], field+" "))
		}
	}
	return ""
}

// all does the work.
func (r *run) all() (*Result, error) {
	defer r.close()
	unhook := context.AfterFunc(r.ctx, func() { r.ended.Store(true) })
	defer unhook()

	var background sync.WaitGroup
	quiet := make(chan struct{})
	background.Go(func() { r.flusher(quiet) })
	background.Go(func() { r.reporter(quiet) })
	if r.Auto {
		background.Go(func() { r.climb(quiet) })
	}
	r.setWorkers(r.startWorkers())
	listed := r.list()
	close(r.items)
	r.wg.Wait() // what the list has shown is fetched, even if it has failed since
	if r.commit != nil {
		r.commit.close()
	}
	close(quiet)
	background.Wait()
	cause := context.Cause(r.ctx)
	if cause == nil {
		cause = listed
	}
	err := r.flush(true)
	if gaveUp := (*gaveUpError)(nil); r.n.Complete && errors.As(cause, &gaveUp) {
		cause = nil // those were the last
	}
	pending := int64(0)
	if err == nil {
		pending, err = r.failures.settle(r.c, r.pending)
	}
	if err == nil && r.n.Complete {
		err = r.marks.cut(0) // the next pass meets all anew
	}
	if err != nil && cause == nil {
		cause = err
	}
	result := r.result(pending)
	if r.Progress != nil {
		r.Progress(result.Progress)
	}
	switch {
	case cause != nil:
		err = explained(r.c.redacted(cause))
	case result.More != "":
		err = errors.New(result.More)
		if result.failed() > 0 {
			err = fmt.Errorf("%w; and %s", err, result.someFailed())
		}
	case result.failed() > 0:
		err = fmt.Errorf("%w: %s", ErrSome, result.someFailed())
	}
	result.Err = err
	return result, err
}

// pending says of what failed before that this run does not know what became of it.
func (r *run) pending(f failure) bool {
	it, _, _ := r.make(f.Record, nil)
	key := f.key(it)
	if settled := r.old[key]; settled {
		return false
	}
	r.old[key] = true // each once
	if _, _, now := r.ids.get(key); r.n.Complete && !now {
		r.n.Unlisted++
	}
	// What the list has shown in this run has a name of its own by now, if it failed. What was under way at the end has not.
	return true
}

// explained adds what ran out, and what to set.
func explained(err error) error {
	if err == nil {
		return nil
	}
	if s := limits.Explain(err); s != "" {
		return fmt.Errorf("%w: %s", err, s)
	}
	return err
}

func (c *Config) redacted(err error) error {
	if err == nil {
		return nil
	}
	if s := c.redact(err.Error()); s != err.Error() {
		return &redactedError{s, err}
	}
	return err
}

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

func (r *run) startWorkers() int {
	if r.Auto {
		return min(4, r.c.HTTP.Workers)
	}
	return r.c.HTTP.Workers
}

// setWorkers begins workers, or lets some end after the record they are at.
func (r *run) setWorkers(n int) {
	r.workers.Store(int32(n))
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.spawned < n {
		w := &worker{r: r, number: r.spawned}
		r.spawned++
		r.wg.Go(w.work)
	}
}

// close lets go of everything.
func (r *run) close() {
	r.stop(nil)
	if r.f != nil {
		r.f.close()
	}
	if r.jr != nil {
		r.jr.Close()
	}
	r.failures.close()
	r.marks.close()
	r.ids.free()
	r.paths.free()
	if r.lockFile >= 0 {
		unix.Close(r.lockFile)
	}
	if r.tree != nil {
		r.tree.Close()
	}
}
