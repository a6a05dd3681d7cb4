package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Read reads from the body of the response. It returns io.EOF only at the end that the
// server announced, or where it announced none, at the end of the connection. A
// body that breaks off is io.ErrUnexpectedEOF.
func (c *Conn) Read(p []byte) (int, error) {
	if c.fault != nil {
		return 0, c.fault
	}
	if len(p) == 0 {
		return 0, nil
	}
	for {
		switch c.state {
		case idle:
			return 0, io.EOF
		case waiting:
			return 0, errors.New("wire: the body was asked for before the head")
		case between:
			if err := c.nextChunk(); err != nil {
				return 0, c.fail(err)
			}
			continue
		}
		want := len(p)
		if c.state != toEOF {
			want = int(min(int64(want), c.left))
		}
		n, err := c.take(p[:want])
		if c.state != toEOF {
			c.left -= int64(n)
			if c.left == 0 {
				if c.state == sized {
					c.end()
				} else {
					c.state = between
				}
			}
		}
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && c.state == toEOF:
			c.end()
			return 0, io.EOF
		case errors.Is(err, io.EOF):
			return 0, c.fail(io.ErrUnexpectedEOF)
		default:
			return 0, c.fail(err)
		}
	}
}

// take moves bytes to p: those that have been read, else straight from the network where
// p is large, else through the buffer.
func (c *Conn) take(p []byte) (int, error) {
	if c.r == c.w {
		c.r, c.w = 0, 0
		if len(p) >= len(c.buf) {
			n, err := c.nc.Read(p)
			c.in += int64(n)
			return n, err
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buf[c.r:c.w])
	c.r += n
	return n, nil
}

// fill reads once into the empty buffer.
func (c *Conn) fill() error {
	n, err := c.nc.Read(c.buf)
	c.r, c.w = 0, n
	c.in += int64(n)
	if n > 0 {
		return nil
	}
	return err
}

// Discard reads the rest of the body and returns its length.
func (c *Conn) Discard() (int64, error) { return c.discard(math.MaxInt64) }

// discard gives up once more than most bytes have been read.
func (c *Conn) discard(most int64) (int64, error) {
	total := int64(0)
	for {
		if c.fault != nil {
			return total, c.fault
		}
		if total > most {
			return total, nil
		}
		// The common case: all of the body came with its head.
		if c.state == sized || c.state == chunk {
			n := min(int64(c.w-c.r), c.left)
			c.r += int(n)
			c.left -= n
			total += n
			if c.left == 0 {
				if c.state == sized {
					c.end()
					return total, nil
				}
				c.state = between
				continue
			}
		} else if c.state == toEOF {
			total += int64(c.w - c.r)
			c.r, c.w = 0, 0
		}
		switch c.state {
		case idle:
			return total, nil
		case waiting:
			return total, errors.New("wire: the body was asked for before the head")
		case between:
			if err := c.nextChunk(); err != nil {
				return total, c.fail(err)
			}
			continue
		}
		err := c.fill()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && c.state == toEOF:
			c.end()
		case errors.Is(err, io.EOF):
			return total, c.fail(io.ErrUnexpectedEOF)
		default:
			return total, c.fail(err)
		}
	}
}

// Bounds on what surrounds chunks: enough for any honest server.
const (
	maxChunkLine = 4 << 10 // with its CR
	maxTrailer   = MaxHead
)

// nextChunk reads what stands between two chunks, and the trailer after the last (RFC 9112, 7.1).
func (c *Conn) nextChunk() error {
	if c.left == 0 { // after a chunk; -1 before the first
		line, err := c.line(1)
		if err != nil && err != errLine {
			return err
		}
		if len(line) != 0 || err != nil {
			return errors.New("a chunk is longer than it said")
		}
	}
	line, err := c.line(maxChunkLine)
	if err != nil {
		return err
	}
	size, err := chunkSize(line)
	if err != nil {
		return err
	}
	if size > 0 {
		c.state, c.left = chunk, size
		return nil
	}
	for total := 0; ; {
		line, err := c.line(maxTrailer)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			c.end()
			return nil
		}
		if total += len(line); total > maxTrailer {
			return errLine
		}
		if _, _, err := field(line); err != nil {
			return err
		}
	}
}

var errLine = errors.New("what surrounds the chunks is too long")

// line reads a line without its end; it is good until the next read. Where there are
// chunks, a bare LF ends none: that is how one response is passed off as two.
func (c *Conn) line(most int) ([]byte, error) {
	seen := c.r
	for {
		for i := seen; i < c.w; i++ {
			if c.buf[i] == '\n' {
				line := c.buf[c.r:i]
				c.r = i + 1
				n := len(line)
				if n > most {
					return nil, errLine
				}
				if n == 0 || line[n-1] != '\r' {
					return nil, fmt.Errorf("%.40q, between chunks, does not end in CR LF", line)
				}
				return line[:n-1], nil
			}
		}
		seen = c.w
		if c.w-c.r > most {
			return nil, errLine
		}
		if c.w == len(c.buf) {
			if c.r > 0 {
				copy(c.buf, c.buf[c.r:c.w])
				seen -= c.r
				c.r, c.w = 0, c.w-c.r
			} else {
				c.buf = append(c.buf, make([]byte, len(c.buf))...)
			}
		}
		n, err := c.nc.Read(c.buf[c.w:])
		c.w += n
		c.in += int64(n)
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// chunkSize reads the size at the beginning of a line; extensions after it do not count.
func chunkSize(line []byte) (int64, error) {
	n := int64(0)
	i := 0
	for ; i < len(line); i++ {
		d := int64(-1)
		switch b := line[i]; {
		case '0' <= b && b <= '9':
			d = int64(b - '0')
		case 'a' <= b && b <= 'f':
			d = int64(b-'a') + 10
		case 'A' <= b && b <= 'F':
			d = int64(b-'A') + 10
		}
		if d < 0 {
			break
		}
		if n > math.MaxInt64>>4 || i == 16 {
			return 0, fmt.Errorf("chunk size %.40q is too large", line)
		}
		n = n<<4 | d
	}
	rest := trim(line[i:])
	if i == 0 || len(rest) > 0 && rest[0] != ';' || control(rest) {
		return 0, fmt.Errorf("%.40q is no size of a chunk", line)
	}
	return n, nil
}
