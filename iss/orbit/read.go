package orbit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Format is a way to write element sets.
type Format uint8

const (
	TLE  Format = iota // two lines a set, or three with the name
	JSON               // OMM as JSON: an array of objects, or one object
	XML                // OMM as CCSDS 502.0 gives it in XML
	KVN                // OMM as CCSDS 502.0 gives it in lines of KEY = VALUE
	CSV                // OMM as a table: a header, then a line a set
)

func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return "unknown format"
}

var formats = [...]struct {
	name string
	read func(io.Reader, *collector) error
}{
	TLE:  {"TLE", readTLE},
	JSON: {"JSON", readJSON},
	XML:  {"XML", readXML},
	KVN:  {"KVN", readKVN},
	CSV:  {"CSV", readCSV},
}

// Read reads all element sets. A set that is not right does not spoil the others:
// those that are come back together with an error that says what is wrong with the
// rest (each a [ParseError], joined, the first ten). Without a single right set there
// is always an error. The caller bounds the size of what is read.
func Read(r io.Reader, f Format) ([]Elements, error) {
	if int(f) >= len(formats) {
		return nil, fmt.Errorf("orbit: there is no format %d", f)
	}
	var c collector
	if err := formats[f].read(r, &c); err != nil {
		c.fail(err)
	}
	if len(c.sets) == 0 && c.failed == 0 {
		c.fail(fmt.Errorf("orbit: no element set in what should be %v", f))
	}
	return c.sets, c.err()
}

// ParseError says where a text is not what its format wants.
type ParseError struct {
	Line, Column int // from 1; Column in bytes, 0 where it is the whole line
	Text         string
}

func (e *ParseError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("orbit: line %d: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("orbit: line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// collector holds what was read so far.
type collector struct {
	sets   []Elements
	errs   []error
	failed int
}

func (c *collector) fail(err error) {
	if c.failed++; c.failed <= 10 {
		c.errs = append(c.errs, err)
	}
}

// add takes a set that parsed, if the theory can start from it.
func (c *collector) add(e Elements, line int) {
	if err := e.check(); err != nil {
		c.fail(&ParseError{line, 0, strings.TrimPrefix(err.Error(), "orbit: ")})
		return
	}
	c.sets = append(c.sets, e)
}

func (c *collector) err() error {
	if n := c.failed - len(c.errs); n > 0 {
		return errors.Join(append(c.errs, fmt.Errorf("orbit: and %d more", n))...)
	}
	return errors.Join(c.errs...)
}

// lines calls f for every line, without its end.
func lines(r io.Reader, f func(n int, line string)) error {
	s := bufio.NewScanner(r)
	n := 0
	for s.Scan() {
		n++
		f(n, strings.TrimRight(s.Text(), " \t\r"))
	}
	if s.Err() == bufio.ErrTooLong {
		return &ParseError{n + 1, 0, "longer than 64 KB"}
	}
	return s.Err()
}
