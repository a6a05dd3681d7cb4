package orbit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cell is a value of an OMM as written, and where it stands.
type cell struct {
	text         string
	line, column int
}

// message is one OMM: values by keyword. The first thing that is wrong stays in err.
type message struct {
	cells map[string]cell
	line  int // where it begins
	err   error
}

func newMessage(line int) *message { return &message{cells: map[string]cell{}, line: line} }

func (m *message) set(key, text string, line, column int) {
	if old, twice := m.cells[key]; twice && m.err == nil {
		m.err = &ParseError{line, column, fmt.Sprintf("%s, which stands in line %d already", key, old.line)}
	}
	m.cells[key] = cell{strings.TrimSpace(text), line, column}
}

func (m *message) fail(key, format string, args ...any) {
	if m.err == nil {
		c := m.cells[key]
		if c.line == 0 {
			c.line = m.line
		}
		m.err = &ParseError{c.line, c.column, key + ": " + fmt.Sprintf(format, args...)}
	}
}

// need wants a value to be there.
func (m *message) need(key string) string {
	s := m.cells[key].text
	if s == "" {
		m.fail(key, "missing")
	}
	return s
}

// number reads a decimal number as it is written in JSON or Fortran; absent is 0.
func (m *message) number(key string) float64 {
	s := m.cells[key].text
	if s == "" {
		return 0
	}
	if strings.Trim(s, "+-.0123456789eE") != "" {
		m.fail(key, "%.30q is not a number", s)
		return 0
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		m.fail(key, "%.30q is not a number", s)
	}
	return x
}

func (m *message) needNumber(key string) float64 {
	m.need(key)
	return m.number(key)
}

// count reads a whole number from 0 to the limit.
func (m *message) count(key string, limit int) int {
	s := m.cells[key].text
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n > uint64(limit) {
		m.fail(key, "%.30q is not a whole number from 0 to %d", s, limit)
		return 0
	}
	return int(n)
}

// only accepts one of some values, or none.
func (m *message) only(key string, want ...string) {
	s := m.cells[key].text
	for _, w := range want {
		if s == "" || strings.EqualFold(s, w) {
			return
		}
	}
	m.fail(key, "%.30q; want %s", s, strings.Join(want, " or "))
}

// done turns the message into elements. Keywords that say nothing about SGP4
// (ORIGINATOR, COMMENT, USER_DEFINED_...) do not matter.
func (m *message) done(c *collector) {
	m.only("CENTER_NAME", "EARTH")
	m.only("REF_FRAME", "TEME")
	m.only("TIME_SYSTEM", "UTC")
	m.only("MEAN_ELEMENT_THEORY", "SGP4", "SGP/SGP4", "SDP4")
	e := Elements{
		Name:            m.cells["OBJECT_NAME"].text,
		Designator:      m.cells["OBJECT_ID"].text,
		Classification:  'U',
		MeanMotion:      m.needNumber("MEAN_MOTION"),
		Eccentricity:    m.needNumber("ECCENTRICITY"),
		Inclination:     m.needNumber("INCLINATION"),
		Node:            m.needNumber("RA_OF_ASC_NODE"),
		ArgPerigee:      m.needNumber("ARG_OF_PERICENTER"),
		MeanAnomaly:     m.needNumber("MEAN_ANOMALY"),
		BStar:           m.needNumber("BSTAR"),
		MeanMotionDot:   m.number("MEAN_MOTION_DOT"),
		MeanMotionDDot:  m.number("MEAN_MOTION_DDOT"),
		EphemerisType:   m.count("EPHEMERIS_TYPE", 9),
		SetNumber:       m.count("ELEMENT_SET_NO", 1e9),
		RevolutionCount: m.count("REV_AT_EPOCH", 1e9),
	}
	m.need("NORAD_CAT_ID")
	e.Number = m.count("NORAD_CAT_ID", 999_999_999)
	if s := m.cells["CLASSIFICATION_TYPE"].text; s != "" {
		m.only("CLASSIFICATION_TYPE", "U", "C", "S")
		e.Classification = s[0] &^ ('a' - 'A')
	}
	e.Epoch = m.epoch()
	if m.err != nil {
		c.fail(m.err)
		return
	}
	c.add(e, m.line)
}

// epoch reads a date by month or by day of the year, in UTC.
func (m *message) epoch() time.Time {
	s := strings.TrimSuffix(m.need("EPOCH"), "Z")
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-002T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	m.fail("EPOCH", "%.30q; want a date such as 2026-03-01T12:30:00.123456", s)
	return time.Time{}
}

// offsets finds line and column of a byte; offsets must not fall between calls.
type offsets struct {
	data         []byte
	at           int
	line, column int
}

func (p *offsets) of(offset int64) (line, column int) {
	if p.line == 0 {
		p.line, p.column = 1, 1
	}
	for ; p.at < len(p.data) && int64(p.at) < offset; p.at++ {
		p.column++
		if p.data[p.at] == '\n' {
			p.line, p.column = p.line+1, 1
		}
	}
	return p.line, p.column
}
