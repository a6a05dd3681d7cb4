package mirror

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The file that names what failed and is not on disk. While a run is at work it names what failed in this
// one, and retryName what failed before; at its end, what the run has not tried again goes back.
const (
	failedName = "failed.ndjson"
	retryName  = "retry.ndjson"
	mergeName  = "retry.new"
)

// mostNamed is how many records a summary names.
const mostNamed = 10

// failure is a line of the file.
type failure struct {
	Path   string `json:"path,omitempty"`
	Kind   string `json:"kind"`
	Error  string `json:"error"`
	Record any    `json:"record"`
	// Hidden says that ${NAME} in the record stands for a value of the environment, and $$ for $.
	Hidden bool `json:"hidden,omitempty"`
}

// key is what a failure is known by, given what the config makes of its record now.
func (f failure) key(it item) uint64 {
	if f.Kind == "conflict" {
		return signature(f.Record)
	}
	return it.id
}

// line writes a failure as it stands in the file, without secrets.
func (f failure) line(c *Config) []byte {
	if len(c.needles) > 0 && !f.Hidden {
		plain, err := json.Marshal(f.Record)
		hidden := each(f.Record, c.hide)
		if text, e := json.Marshal(hidden); err == nil && e == nil && !bytes.Equal(plain, text) {
			f.Record, f.Hidden = hidden, true
		}
	}
	f.Path, f.Error = c.redact(f.Path), c.redact(f.Error)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		b.Reset()
		f.Record = c.redact(fmt.Sprint(f.Record)) // what jq made of it is no JSON
		e.Encode(f)
	}
	return b.Bytes()
}

// failures keeps the names of what failed.
type failures struct {
	own     int // directory
	f       *os.File
	pending []failure
	named   []failure // the first few
}

// open makes what earlier runs named the failures to try again, each once. key is what one is known by;
// keep is told of each.
func (s *failures) open(own int, c *Config, key func(failure) uint64, keep func(uint64)) error {
	s.own = own
	var files []string
	for _, name := range []string{retryName, failedName} { // the later says more of one that is in both
		var st unix.Stat_t
		switch err := unix.Fstatat(own, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
		case nil:
			files = append(files, name)
		case unix.ENOENT:
		default:
			return &os.PathError{Op: "stat", Path: name, Err: err}
		}
	}
	if len(files) == 0 {
		return nil
	}
	last, n := map[uint64]int{}, 0
	all := func(f func(failure)) error {
		n = 0
		for _, name := range files {
			l, err := s.reader(name)
			if err != nil {
				return err
			}
			for end := false; !end && err == nil; {
				var some []failure
				if some, end, err = l.next(c); err == nil {
					for _, x := range some {
						f(x)
						n++
					}
				}
			}
			l.close()
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := all(func(f failure) { last[key(f)] = n }); err != nil {
		return err
	}
	to, err := s.file(mergeName, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	err = all(func(f failure) {
		if k := key(f); last[k] == n {
			w.Write(f.line(c))
			keep(k)
		}
	})
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("%s: %w", mergeName, err)
	}
	if err := unix.Renameat(own, mergeName, own, retryName); err != nil {
		return &os.PathError{Op: "rename", Path: mergeName, Err: err}
	}
	if err := unix.Unlinkat(own, failedName, 0); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "remove", Path: failedName, Err: err}
	}
	return nil
}

func (s *failures) file(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(s.own, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// add is called with the run's mutex held.
func (s *failures) add(f failure) {
	s.pending = append(s.pending, f)
	if len(s.named) < mostNamed {
		s.named = append(s.named, failure{Path: f.Path, Kind: f.Kind, Error: f.Error})
	}
}

// take returns what is not written yet; it is called with the run's mutex held.
func (s *failures) take() []failure {
	p := s.pending
	s.pending = nil
	return p
}

func (s *failures) write(all []failure, c *Config) error {
	if len(all) == 0 {
		return nil
	}
	if s.f == nil {
		f, err := s.file(failedName, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
		if err != nil {
			return err
		}
		s.f = f
	}
	var b bytes.Buffer
	for _, f := range all {
		b.Write(f.line(c))
	}
	if _, err := s.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", failedName, err)
	}
	if c.Durable { // before the journal says that the list is done up to there
		return s.f.Sync()
	}
	return nil
}

// settle is called at the end of a run. What failed before and was not tried again is named as
// failed again. Until that is done, both files count.
func (s *failures) settle(c *Config, pending func(failure) bool) (int64, error) {
	l, err := s.before()
	if err != nil || l == nil {
		return 0, err
	}
	defer l.close()
	n := int64(0)
	for end := false; !end; {
		var some []failure
		if some, end, err = l.next(c); err != nil {
			return n, err
		}
		var left []failure
		for _, f := range some {
			if pending(f) {
				left = append(left, f)
			}
		}
		n += int64(len(left))
		if err := s.write(left, c); err != nil {
			return n, err
		}
	}
	if s.f != nil && n > 0 {
		if err := s.f.Sync(); err != nil {
			return n, err
		}
	}
	return n, unix.Unlinkat(s.own, retryName, 0)
}

func (s *failures) close() {
	if s.f != nil {
		s.f.Close()
	}
}

// retryReader reads failures.
type retryReader struct {
	name  string
	f     *os.File
	lines *bufio.Reader
	buf   []byte
}

func (s *failures) reader(name string) (*retryReader, error) {
	f, err := s.file(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &retryReader{name: name, f: f, lines: bufio.NewReaderSize(f, 1<<16)}, nil
}

// before are the failures of earlier runs; nil if there are none.
func (s *failures) before() (*retryReader, error) {
	l, err := s.reader(retryName)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

// next returns up to a thousand failures. Lines that are torn do not count: what they
// named is not behind the journal's position.
func (l *retryReader) next(c *Config) (all []failure, end bool, err error) {
	for len(all) < batch {
		line, err := readLine(l.lines, l.buf[:0])
		l.buf = line
		var f failure
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if d.Decode(&f) == nil && f.Record != nil {
			if f.Hidden {
				f.Record, f.Hidden = each(f.Record, c.reveal), false
			}
			all = append(all, f)
		}
		if err == io.EOF {
			return all, true, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return all, false, nil
}

func (l *retryReader) close() { l.f.Close() }
