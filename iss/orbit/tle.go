package orbit

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// ParseTLE reads one element set: two lines, or three with the name first.
func ParseTLE(text string) (Elements, error) {
	sets, err := Read(strings.NewReader(text), TLE)
	if err != nil {
		return Elements{}, err
	}
	if len(sets) > 1 {
		return Elements{}, fmt.Errorf("orbit: %d element sets where one should be", len(sets))
	}
	return sets[0], nil
}

// readTLE takes names as they come, alone on the line before the two, with or without
// Space-Track's "0 " before them; empty lines and lines that start with # are skipped.
func readTLE(r io.Reader, c *collector) error {
	var name, first string
	var nameAt, firstAt int
	lost := func() { // what was waiting for its line 2 has none
		switch {
		case firstAt > 0:
			c.fail(&ParseError{firstAt, 0, "line 1 of an element set without its line 2"})
		case nameAt > 0:
			c.fail(&ParseError{nameAt, 0, fmt.Sprintf("neither line 1 of an element set nor a name before one: %.30q", name)})
		}
		name, first, nameAt, firstAt = "", "", 0, 0
	}
	err := lines(r, func(n int, line string) {
		switch {
		case line == "" || line[0] == '#':
		case firstAt > 0 && strings.HasPrefix(line, "2 "):
			e, err := parseTLE(first, line, firstAt, n)
			if err != nil {
				c.fail(err)
			} else {
				e.Name = strings.TrimSpace(strings.TrimPrefix(name, "0 "))
				c.add(e, firstAt)
			}
			name, first, nameAt, firstAt = "", "", 0, 0
		case strings.HasPrefix(line, "1 ") && len(line) > 60:
			if firstAt > 0 {
				lost()
			}
			first, firstAt = line, n
		case strings.HasPrefix(line, "2 ") && len(line) > 60:
			lost()
			c.fail(&ParseError{n, 0, "line 2 of an element set without its line 1"})
		default:
			lost()
			name, nameAt = line, n
		}
	})
	lost()
	return err
}

// card is a line of fixed columns; the first thing that is wrong with it stays in err.
type card struct {
	text string
	line int
	err  *ParseError
}

func (c *card) fail(column int, format string, args ...any) {
	if c.err == nil {
		c.err = &ParseError{c.line, column, fmt.Sprintf(format, args...)}
	}
}

// is wants one of some characters in a column and says which is there.
func (c *card) is(column int, want string) byte {
	if c.err != nil {
		return 0
	}
	b := c.text[column-1]
	if strings.IndexByte(want, b) < 0 {
		c.fail(column, "%q where one of %q should be", b, want)
	}
	return b
}

// digits reads a whole number; leading columns may be blank (all of them, if empty).
func (c *card) digits(from, to int, empty bool) int {
	if c.err != nil {
		return 0
	}
	n, any := 0, false
	for i := from; i <= to; i++ {
		switch b := c.text[i-1]; {
		case b >= '0' && b <= '9':
			n, any = 10*n+int(b-'0'), true
		case b == ' ' && !any && (empty || i < to):
		default:
			c.fail(i, "%q where a digit should be", b)
			return 0
		}
	}
	return n
}

// decimal reads a number with its point in the column given. The quotient of two
// whole numbers below 2^53 is the nearest float64.
func (c *card) decimal(from, point, to int) float64 {
	whole := c.digits(from, point-1, true)
	c.is(point, ".")
	part := 0
	scale := 1
	for i := point + 1; i <= to; i++ {
		part = 10*part + c.digit(i)
		scale *= 10
	}
	return float64(whole*scale+part) / float64(scale)
}

func (c *card) digit(column int) int { return c.digits(column, column, false) }

// exponent reads a number with an assumed point: "-11606-4" is -.11606e-4.
func (c *card) exponent(from int) float64 {
	sign := c.is(from, " +-")
	n := c.digits(from+1, from+5, true)
	down := c.is(from+6, " +-") != '+'
	e := c.digits(from+7, from+7, true)
	x := float64(n)
	switch {
	case down:
		x /= power10(5 + e)
	case e <= 5:
		x /= power10(5 - e)
	default:
		x *= power10(e - 5)
	}
	if sign == '-' {
		x = -x
	}
	return x
}

func power10(n int) float64 {
	x := 1.0
	for range n {
		x *= 10
	}
	return x
}

// number reads a catalogue number, with Alpha-5's letter for the first two digits.
func (c *card) number() int {
	if c.err != nil {
		return 0
	}
	if i := strings.IndexByte(alpha5, c.text[2]); i >= 0 {
		return (10+i)*10000 + c.digits(4, 4, false)*1000 + c.digits(5, 5, false)*100 + c.digits(6, 6, false)*10 + c.digits(7, 7, false)
	}
	return c.digits(3, 7, false)
}

const alpha5 = "ABCDEFGHJKLMNPQRSTUVWXYZ" // A is 10, Z is 33; no I, no O

// newCard checks what both lines share: length, printable ASCII, checksum.
func newCard(text string, line int) *card {
	c := &card{text: text, line: line}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			c.fail(i+1, "a byte %#x that is not ASCII", text[i])
			return c
		}
	}
	if len(text) != 69 {
		c.fail(min(len(text)+1, 70), "%d columns where 69 should be", len(text))
		return c
	}
	if sum := checksum(text); text[68] != sum {
		c.fail(69, "checksum %q where the line adds up to %q", text[68], sum)
	}
	return c
}

// checksum adds up the digits of the first 68 columns, a minus as 1, and keeps the last digit.
func checksum(line string) byte {
	n := 0
	for i := range 68 {
		switch b := line[i]; {
		case b >= '0' && b <= '9':
			n += int(b - '0')
		case b == '-':
			n++
		}
	}
	return byte('0' + n%10)
}

func parseTLE(line1, line2 string, at1, at2 int) (Elements, error) {
	var e Elements
	c := newCard(line1, at1)
	c.blank("1", 2, 9, 18, 33, 44, 53, 62, 64)
	e.Number = c.number()
	e.Classification = c.is(8, "UCS ")
	if e.Classification == ' ' {
		e.Classification = 'U'
	}
	if c.err == nil {
		e.Designator = longDesignator(strings.TrimSpace(line1[9:17]))
	}
	year := c.digits(19, 20, false)
	day := c.digits(21, 23, false)
	if c.err == nil && (day < 1 || day > 366) {
		c.fail(21, "day %d of a year", day)
	}
	c.is(24, ".")
	fraction := c.digits(25, 32, false) // of a day, in units of 864 µs
	e.Epoch = yearOf(year).AddDate(0, 0, day-1).Add(time.Duration(fraction) * 864 * time.Microsecond)
	minus := c.is(34, " +-") == '-'
	e.MeanMotionDot = c.decimal(35, 35, 43)
	if minus {
		e.MeanMotionDot = -e.MeanMotionDot
	}
	e.MeanMotionDDot = c.exponent(45)
	e.BStar = c.exponent(54)
	e.EphemerisType = c.digits(63, 63, true)
	e.SetNumber = c.digits(65, 68, true)
	if c.err != nil {
		return Elements{}, c.err
	}

	c = newCard(line2, at2)
	c.blank("2", 2, 8, 17, 26, 34, 43, 52)
	if n := c.number(); c.err == nil && n != e.Number {
		c.fail(3, "object %d where line 1 has %d", n, e.Number)
	}
	e.Inclination = c.decimal(9, 12, 16)
	e.Node = c.decimal(18, 21, 25)
	e.Eccentricity = float64(c.digits(27, 33, false)) / 1e7
	e.ArgPerigee = c.decimal(35, 38, 42)
	e.MeanAnomaly = c.decimal(44, 47, 51)
	e.MeanMotion = c.decimal(53, 55, 63)
	e.RevolutionCount = c.digits(64, 68, true)
	if c.err != nil {
		return Elements{}, c.err
	}
	return e, nil
}

// blank wants the line's own number in column 1 and nothing in the columns given.
func (c *card) blank(number string, columns ...int) {
	c.is(1, number)
	for _, i := range columns {
		c.is(i, " ")
	}
}

// yearOf is the first moment of a year of two digits: 57, Sputnik's, to 99 are 1957 to
// 1999, and 00 to 56 are 2000 to 2056.
func yearOf(two int) time.Time {
	if two < 57 {
		two += 100
	}
	return time.Date(1900+two, 1, 1, 0, 0, 0, 0, time.UTC)
}

// longDesignator writes a TLE's 98067A as the OMM's 1998-067A; what is not of that
// form stays as it is.
func longDesignator(s string) string {
	if len(s) < 6 || !numeric(s[:5]) || numeric(s[5:6]) {
		return s
	}
	two := int(s[0]-'0')*10 + int(s[1]-'0')
	return fmt.Sprintf("%d-%s", yearOf(two).Year(), s[2:])
}

func numeric(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
