package mirror

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A pass is one way through the list, from its beginning to its end, in one run or in several.
// What makes several runs one pass is place, in the journal, and a file with the mark of every
// record that the list has shown, in the order of the list, up to place and further. So a run that
// resumes knows what the pass has met: it can tell a list that has changed meanwhile from one
// that has not, and duplicates from what is new.
//
// A position in a list that has changed says nothing: records before it may have become ones
// behind it, and the other way round. So a run that resumes reads the last page once more, and where
// it does not find there what was there, it reads the list from its beginning; what is on disk is found there.

// place is how far a pass is.
type place struct {
	Next   string `json:"next"`   // position of the page that comes next, with secrets hidden
	Prev   string `json:"prev"`   // of the page before that
	Page   int64  `json:"page"`   // how many records that one had
	Listed int64  `json:"listed"` // records of the list before Next
	Total  int64  `json:"total"`  // that the list said it had when the pass began, -1 if it did not
}

func (p place) String() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(b)
}

const passName = "pass"

// marks is the file of a pass: 8 bytes a record.
type marks struct {
	f   *os.File
	end int64 // bytes
}

func openMarks(own int) (*marks, error) {
	fd, err := unix.Openat(own, passName, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: passName, Err: err}
	}
	return &marks{f: os.NewFile(uintptr(fd), passName)}, nil
}

// read calls f with the marks from one record to another, in their order.
func (m *marks) read(from, to int64, f func(uint64)) error {
	buf := make([]byte, 64<<10)
	for at := 8 * from; at < 8*to; {
		n := min(int64(len(buf)), 8*to-at)
		if _, err := m.f.ReadAt(buf[:n], at); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		for b := buf[:n]; len(b) > 0; b = b[8:] {
			f(binary.LittleEndian.Uint64(b))
		}
		at += n
	}
	return nil
}

// cut forgets what stands behind so many records.
func (m *marks) cut(records int64) error {
	m.end = 8 * records
	return m.f.Truncate(m.end)
}

func (m *marks) write(all []uint64) error {
	if len(all) == 0 {
		return nil
	}
	b := make([]byte, 0, 8*len(all))
	for _, h := range all {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	if _, err := m.f.WriteAt(b, m.end); err != nil {
		return fmt.Errorf("%s: %w", passName, err)
	}
	m.end += int64(len(b))
	return nil
}

func (m *marks) close() {
	if m != nil && m.f != nil {
		m.f.Close()
	}
}

// answered says that the server has answered, and that the same request would bring the same
// again: it is not its network, its load or the credentials.
func answered(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		switch status.Status {
		case 401, 403, 407, 408, 425, 429, 502, 503, 504:
			return false
		}
		return true
	}
	var answer *answerError
	var refused *refusal
	return errors.As(err, &answer) || errors.As(err, &refused)
}

// An answerError is a page that came, and is of no use.
type answerError struct{ error }

func (e *answerError) Unwrap() error { return e.error }

// resume takes up the pass that an earlier run has begun. It returns the lister, at the page that comes
// next, and the records of the last page that were not there before.
func (r *run) resume(ctx context.Context) (*lister, []any, error) {
	p := r.place
	from := func(why string) (*lister, []any, error) {
		r.note("%s; so it is read from its beginning, and what is on disk is found there", why)
		r.place = nil
		return nil, nil, nil
	}
	last := map[uint64]bool{}
	if err := r.marks.read(p.Listed-p.Page, p.Listed, func(h uint64) { last[h] = true }); err != nil {
		return from("what the list has shown before is not known any more, for its file was torn or removed")
	}
	l := newLister(r.f, r.c, r.c.reveal(p.Prev))
	records, err := l.next(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil || !answered(err):
		return l, nil, err
	default:
		l.close()
		return from(fmt.Sprintf("where the run before ended, the list cannot be read any more (%s)", r.c.redact(err.Error())))
	}
	var fresh []any
	left := len(last)
	for _, record := range records {
		it, _, _ := r.make(record, nil)
		if known, old := last[it.id]; !old {
			fresh = append(fresh, record)
		} else if known {
			last[it.id] = false
			left--
		}
	}
	if left > 0 {
		l.close()
		return from("the list has changed since the run before: its last page has other records now")
	}
	err = r.marks.read(0, p.Listed, func(h uint64) {
		there, tag, now := r.ids.get(h)
		switch {
		case now:
			r.n.Duplicates++
		case !there:
			r.undone[h] = true
			fallthrough
		default:
			r.ids.put(h, tag, true)
		}
	})
	if err == nil {
		err = r.marks.cut(p.Listed)
	}
	l.first = p.Total
	return l, fresh, err
}

// beginPass begins the list at its beginning. The journal forgets the position before the marks go that it needs.
func (r *run) beginPass() (*lister, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.positioned {
		r.jr.Position("")
		if err := r.jr.Flush(); err != nil {
			return nil, &fatalError{err}
		}
	}
	if err := r.marks.cut(0); err != nil {
		return nil, &fatalError{err}
	}
	return newLister(r.f, r.c, ""), nil
}

// note says something to whoever looks on, and in the report.
func (r *run) note(format string, args ...any) {
	s := r.c.redact(fmt.Sprintf(format, args...))
	r.mu.Lock()
	r.notes = append(r.notes, s)
	r.mu.Unlock()
	r.Warn(s)
}

// readPlace reads what the journal says.
func readPlace(s string) (*place, error) {
	if s == "" {
		return nil, nil
	}
	var p place
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, err
	}
	if p.Page < 0 || p.Listed < p.Page {
		return nil, errors.New("its figures make no sense")
	}
	return &p, nil
}
