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

// The files that name what failed: in this run, and in the one before, whose records are
// tried first.
const (
	failedName = "failed.ndjson"
	retryName  = "retry.ndjson"
)

// mostNamed is how many records a summary names.
const mostNamed = 10

// failure is a line of the file.
type failure struct {
	Path   string `json:"path,omitempty"`
	Kind   string `json:"kind"`
	Error  string `json:"error"`
	Record any    `json:"record"`
}

// failures keeps the names of what failed.
type failures struct {
	own        int // directory
	f          *os.File
	pending    []failure
	named      []failure // the first few
	retriedAll bool
}

// open takes what earlier runs named as failed for the ones to try first.
func (s *failures) open(own int) error {
	s.own = own
	var st unix.Stat_t
	old := unix.Fstatat(own, failedName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	if !old {
		return nil
	}
	if unix.Fstatat(own, retryName, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return unix.Renameat(own, failedName, own, retryName)
	}
	// A run was killed while it tried them: both count. Names said twice are tried once.
	from, err := s.file(failedName, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := s.file(retryName, os.O_RDWR)
	if err != nil {
		return err
	}
	defer to.Close()
	end, err := to.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var last [1]byte
	if end > 0 {
		if _, err := to.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			to.Write([]byte("\n")) // what was torn off ends here
		}
	}
	if _, err := io.Copy(to, from); err != nil {
		return fmt.Errorf("%s: %w", retryName, err)
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return unix.Unlinkat(own, failedName, 0)
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

func (s *failures) write(all []failure, durable bool) error {
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
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, f := range all {
		if err := e.Encode(f); err != nil {
			f.Record = fmt.Sprint(f.Record) // what jq made of it is no JSON
			e.Encode(f)
		}
	}
	if _, err := s.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", failedName, err)
	}
	if durable { // before the journal says that the list is done up to there
		return s.f.Sync()
	}
	return nil
}

// settle is called when everything that failed before was tried again.
func (s *failures) settle() {
	if s.retriedAll {
		unix.Unlinkat(s.own, retryName, 0)
	}
}

func (s *failures) close() {
	if s.f != nil {
		s.f.Close()
	}
}

// retryReader reads the records that failed before.
type retryReader struct {
	f     *os.File
	lines *bufio.Reader
	buf   []byte
}

func (s *failures) before() (*retryReader, error) {
	f, err := s.file(retryName, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &retryReader{f: f, lines: bufio.NewReaderSize(f, 1<<16)}, nil
}

// next returns up to a thousand records. Lines that are torn do not count: what they
// named is not behind the journal's position.
func (l *retryReader) next() (records []any, end bool, err error) {
	for len(records) < batch {
		line, err := readLine(l.lines, l.buf[:0])
		l.buf = line
		var f failure
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if d.Decode(&f) == nil && f.Record != nil {
			records = append(records, f.Record)
		}
		if err == io.EOF {
			return records, true, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", retryName, err)
		}
	}
	return records, false, nil
}

func (l *retryReader) close() { l.f.Close() }
