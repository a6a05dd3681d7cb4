package mirror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/mirror/journal"
	"github.com/headway-lab/headway/mirror/store"
	"github.com/headway-lab/headway/wire"
)

// worker fetches records one after the other.
type worker struct {
	r      *run
	number int
	buf    []byte       // of a body
	req    wire.Request // made again and again
	dir    *store.Dir   // of the last record
	at     string       // its path
}

// A body up to this size is read whole before a file is made of it.
const bufferSize = 64 << 10

func (w *worker) work() {
	w.buf = make([]byte, bufferSize)
	defer w.leave()
	for it := range w.r.items {
		if w.r.ended.Load() {
			return
		}
		w.pull(&it)
		if int32(w.number) >= w.r.workers.Load() {
			w.r.mu.Lock()
			w.r.spawned--
			w.r.mu.Unlock()
			return
		}
	}
}

func (w *worker) leave() {
	if w.dir != nil {
		w.r.tree.Release(w.dir)
		w.dir = nil
	}
}

// enter opens the directory of a path, and returns the name in it.
func (w *worker) enter(path string) (string, error) {
	dir, base := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, base = path[:i], path[i+1:]
	}
	if w.dir != nil && w.at == dir {
		return base, nil
	}
	w.leave()
	d, err := w.r.tree.Dir(dir)
	if err != nil {
		return "", disk(err)
	}
	w.dir, w.at = d, strings.Clone(dir)
	return base, nil
}

// disk makes an error of the file system one that ends the run, unless it is of one path only.
func disk(err error) error {
	if err == nil {
		return nil
	}
	var n syscall.Errno
	if errors.As(err, &n) {
		switch n {
		case syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EFBIG, syscall.ESTALE, syscall.ENODEV, syscall.ENXIO:
			return &fatalError{err}
		}
	}
	return &refusal{"disk", err.Error()}
}

// pull brings one record to disk, or names it as failed.
func (w *worker) pull(it *item) {
	r := w.r
	if it.page.retry && r.hopeless() {
		it.page.left.Add(-1)
		return
	}
	base, err := w.enter(it.path)
	var tag, old string
	exists := false
	if err == nil && (!w.dir.Fresh || r.c.Check != "presence") {
		var info store.Info
		info, exists, err = r.tree.Lookup(w.dir, base)
		switch {
		case err != nil:
			err = &refusal{"disk", err.Error()}
		case !exists:
		case r.c.Check == "presence" || r.c.Check == "size" && it.size == info.Size || r.c.Check == "size" && it.inline && int64(len(it.body)) == info.Size:
			r.there(it, false)
			return
		case r.c.Check == "size" && it.size < 0 && !it.inline:
			var same bool
			if same, err = w.sameSize(it, info.Size); same {
				r.there(it, true)
				return
			}
		case r.c.Check == "etag":
			r.mu.Lock()
			old = r.etags[it.id]
			r.mu.Unlock()
		}
	}
	begin := time.Now()
	n := int64(0)
	if err == nil && it.inline {
		n, err = w.put(it, base, exists, nil, "")
	} else if err == nil {
		err = r.f.retry(r.ctx, func() error {
			var err error
			n, tag, err = w.fetch(it, base, exists, old)
			return err
		})
	}
	switch {
	case err == nil:
		r.stored(it, n, time.Since(begin), tag)
	case err == errHeld: // the committer has it
	case err == errSame, errors.Is(err, store.ErrExists):
		r.there(it, true)
	case r.ctx.Err() != nil: // it is not done, and its page stays open
	default:
		var fatal *fatalError
		if errors.As(err, &fatal) {
			r.stop(err)
			return
		}
		k, _ := kind(err)
		r.failed(it, k, err, true)
	}
}

// request makes the request for a record.
func (w *worker) request(it *item, etag string) (*wire.Request, error) {
	r := w.r
	if rest, ok := strings.CutPrefix(it.url, r.root); ok && etag == "" {
		if rest[0] == '?' {
			rest = "/" + rest
		}
		if err := r.base.At(rest, &w.req); err == nil {
			return &w.req, nil
		}
	}
	h := r.c.read.header
	if etag != "" {
		h = h.Clone()
		h.Set("If-None-Match", etag)
	}
	q, err := wire.NewRequest("", it.url, h, nil)
	if err != nil {
		return nil, &refusal{"url", err.Error()}
	}
	return q, nil
}

func (r *run) transport() (*wire.Transport, func()) {
	if r.f.perCall == nil {
		return r.f.t, func() {}
	}
	t := r.f.perCall()
	return t, func() { t.Close() }
}

// fetch asks once, and puts what comes into the file.
func (w *worker) fetch(it *item, base string, replace bool, etag string) (int64, string, error) {
	r := w.r
	q, err := w.request(it, etag)
	if err != nil {
		return 0, "", err
	}
	t, done := r.transport()
	defer done()
	x, err := r.f.do(r.ctx, q, r.pace, t)
	if err != nil {
		return 0, "", err
	}
	defer x.Close()
	if want := r.c.Record.Type; want != "" {
		if got, _, _ := strings.Cut(x.Header("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(got), want) {
			return 0, "", &refusal{"type", fmt.Sprintf("it is %.80q, not %s (record.type)", got, want)}
		}
	}
	tag := ""
	if r.c.Check == "etag" {
		tag = strings.Clone(x.Header("ETag"))
	}
	n, err := w.put(it, base, replace, x, tag)
	return n, tag, err
}

// put writes a body to a file and gives the file its name. x is nil where the list holds the body.
func (w *worker) put(it *item, base string, replace bool, x *wire.Exchange, tag string) (total int64, err error) {
	r := w.r
	body, whole := it.body, true
	if x != nil {
		if body, whole, err = w.read(x); err != nil {
			return 0, err
		}
	}
	var f store.File
	if replace {
		f, err = r.tree.CreateToReplace()
	} else {
		f, err = r.tree.Create(w.dir)
	}
	if err != nil {
		return 0, disk(fmt.Errorf("making a file: %w", err))
	}
	length := int64(-1)
	if x != nil {
		length = x.Length
	}
	for {
		n, err := f.Write(body)
		total += int64(n)
		if err != nil {
			f.Abandon()
			return total, disk(fmt.Errorf("writing %s: %w", it.path, err))
		}
		if whole {
			break
		}
		if body, whole, err = w.read(x); err != nil {
			f.Abandon()
			return total, err
		}
	}
	if length >= 0 && length != total {
		f.Abandon()
		return total, fmt.Errorf("%d bytes came, of %d that were announced: %w", total, length, io.ErrUnexpectedEOF)
	}
	if r.commit != nil {
		return total, r.commit.add(it, f, w.dir, base, replace, total, tag)
	}
	if replace {
		err = f.Replace(w.dir, base)
	} else {
		err = f.Name(w.dir, base)
	}
	if err != nil && !errors.Is(err, store.ErrExists) {
		err = disk(fmt.Errorf("naming %s: %w", it.path, err))
	}
	return total, err
}

// read fills the buffer; whole says that the body has ended.
func (w *worker) read(x *wire.Exchange) (b []byte, whole bool, err error) {
	n := 0
	for n < len(w.buf) {
		m, err := x.Read(w.buf[n:])
		n += m
		if err == io.EOF {
			return w.buf[:n], true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return w.buf, false, nil
}

// sameSize asks the server how long a record is.
func (w *worker) sameSize(it *item, size int64) (bool, error) {
	q, err := wire.NewRequest(http.MethodHead, it.url, w.r.c.read.header, nil)
	if err != nil {
		return false, &refusal{"url", err.Error()}
	}
	same := false
	err = w.r.f.retry(w.r.ctx, func() error {
		x, err := w.r.f.do(w.r.ctx, q, w.r.pace, w.r.f.t)
		if err != nil {
			return err
		}
		defer x.Close()
		n, ok := number(x.Header("Content-Length"))
		same = ok && n == size
		return nil
	})
	return same, err
}

// content is what a record holds as a file: a text as it is, everything else as JSON.
func content(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	if v == nil {
		return nil, errors.New("the list does not hold it")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// stored notes that a record is on disk.
func (r *run) stored(it *item, bytes int64, took time.Duration, etag string) {
	r.mu.Lock()
	r.n.Stored++
	r.oldRow = 0
	r.n.Bytes += bytes
	if it.size >= 0 && it.size != bytes {
		// The list and the record disagree; the record is right.
		r.n.Sizes++
	}
	r.row = 0
	r.times.Add(int64(took))
	if len(r.slowest) < mostNamed || took > r.slowest[len(r.slowest)-1].Took {
		r.slow(it.path, took)
	}
	if etag != "" {
		r.tags = append(r.tags, tag{it.id, etag})
	}
	r.keep(it)
	dir := r.crowd(it.path)
	r.mu.Unlock()
	if dir != "" {
		r.Warn(dir)
	}
}

// there notes that a record was on disk before; alive says that the server has answered for it.
func (r *run) there(it *item, alive bool) {
	r.mu.Lock()
	r.n.There++
	if alive {
		r.row = 0
	}
	r.keep(it)
	r.mu.Unlock()
}

// keep is called with mu held.
func (r *run) keep(it *item) {
	if !it.known {
		r.done = append(r.done, journal.Done{ID: it.id, Path: it.where})
		r.had++
	}
	r.settled(it)
	it.page.left.Add(-1)
}

// settled notes that it is known what became of a record that failed before. It is called with mu held.
func (r *run) settled(it *item) {
	if it.old {
		r.old[it.key] = true
	}
}

// crowd counts the files of directories, and says once which has too many. It is called with mu held.
func (r *run) crowd(path string) string {
	i := max(strings.LastIndexByte(path, '/'), 0)
	h := hash('d', []byte(path[:i]))
	r.crowded[h]++
	if r.crowded[h] != crowd+1 || r.said["crowd"] {
		return ""
	}
	r.said["crowd"] = true
	where := path[:i]
	if where == "" {
		where = "the directory itself"
	}
	return fmt.Sprintf("%s holds more than %d files, which are slow to list: put a field that varies, or a hash of one, into the path, such as %s",
		where, crowd, sharded(r.c.Path))
}

// sharded is a template with one directory more.
func sharded(template string) string {
	dir, base := "", template
	if i := strings.LastIndexByte(template, '/'); i >= 0 && !strings.Contains(template[i:], "}") {
		return "{id#2}/" + template
	} else if i >= 0 {
		dir, base = template[:i+1], template[i+1:]
	}
	field := "id"
	if i := strings.IndexByte(base, '{'); i >= 0 && i+1 < len(base) && base[i+1] != '=' {
		if n := strings.IndexAny(base[i+1:], "}:|#"); n > 0 {
			field = base[i+1 : i+1+n]
		}
	}
	return dir + "{" + field + "#2}/" + base
}

// denials is how many records have to be denied, and none had, before it is the credentials.
const denials = 10

// failed names a record as failed. Those that were fetched in vain one after the other end the run. What
// failed in an earlier run says nothing about the server: it may fail for ever.
func (r *run) failed(it *item, kind string, err error, fetched bool) {
	text := r.c.redact(err.Error())
	absent := kind == "status 404" || kind == "status 410"
	var status *StatusError
	r.mu.Lock()
	if fetched {
		it.page.left.Add(-1)
	}
	r.settled(it)
	if it.left && (absent || !fetched) {
		// The list does not show it any more, and it cannot be had: it is no record of the service.
		r.n.Gone++
		r.mu.Unlock()
		return
	}
	r.failures.add(failure{Path: it.path, Error: text, Kind: kind, Record: it.record})
	r.n.Failed++
	r.n.kind(kind)
	if it.left {
		r.n.Unlisted++
	}
	alone := r.n.Stored == 0 && r.n.There == 0 // nothing was had yet
	switch {
	case it.old || it.page.retry:
		if errors.As(err, &status) || !fetched {
			r.oldRow = 0
		} else {
			r.oldRow++
		}
	case !fetched && !r.fits, fetched && !absent && (kind != "undelimited" || alone):
		r.row++
	}
	if fetched && !it.old && errors.As(err, &status) && (status.Status == 401 || status.Status == 403) {
		r.denied++
	}
	row, denied := r.row, r.denied
	r.mu.Unlock()
	switch {
	case ranOut(err):
		r.stop(&fatalError{err})
	case it.old || it.page.retry:
	case alone && denied >= denials && status != nil && status.Status == 401:
		r.stop(fmt.Errorf("%w for the first %d records: the server does not take the credentials; see headers, user and password in the config", err, denied))
	case alone && denied >= denials:
		r.stop(fmt.Errorf("%w for the first %d records: the server does not let these credentials have them; see headers, user and password in the config", err, denied))
	case row >= r.c.Retry.GiveUp && !fetched:
		r.stop(fmt.Errorf("the config fits none of the first %d records, the last for this: %s", row, text))
	case row >= r.c.Retry.GiveUp:
		r.stop(&gaveUpError{fmt.Errorf("%d records in a row failed, the last with: %s; the server may be gone, so this run ends (retry.give_up), and the next goes on from here", row, text)})
	}
}

// A gaveUpError ends a run before others fail as those before did.
type gaveUpError struct{ error }

// hopeless says that nothing comes back for what failed before: the rest keeps its name until the next run.
func (r *run) hopeless() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.oldRow >= r.c.Retry.GiveUp
}
