package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// tcp does the common exchange over TCP with one write and one read: a read that is
// tried before there can be an answer, as net.Conn has it, costs a system call for nothing.
type tcp struct {
	raw  syscall.RawConn
	step func(fd uintptr) (done bool) // bound once, so that no exchange allocates

	out   []byte
	wrote int // bytes, -1 before it was tried
	read  int
	err   error // of either
}

// few is how long a request may be that is written without waiting: less than any send buffer.
const few = 8 << 10

// Exchange is Send and Receive in one, which over TCP saves time.
func (c *Conn) Exchange(r *Request) (*Response, error) {
	t := &c.tcp
	if t.raw == nil || len(r.bytes) > few || r.bytes == nil || c.fault != nil || c.state != idle || c.r != c.w {
		if err := c.Send(r); err != nil {
			return nil, err
		}
		return c.Receive()
	}
	c.r, c.w, c.first = 0, 0, time.Time{}
	t.out, t.wrote, t.read, t.err = r.bytes, -1, 0, nil
	err := t.raw.Read(t.step)
	t.out = nil
	c.sent += int64(max(t.wrote, 0))
	c.method, c.state, c.shut = r.Method, waiting, c.shut || r.last
	switch {
	case t.wrote < 0: // closed, or the deadline had passed before
		return nil, c.fail(err)
	case t.wrote < len(r.bytes):
		// The buffer is full, or the connection broken: the ordinary way knows what to do.
		n, err := c.nc.Write(r.bytes[t.wrote:])
		c.sent += int64(n)
		if err != nil {
			c.shut = true
			if t.wrote+n == 0 {
				return nil, c.fail(err)
			}
		}
		return c.Receive()
	case t.read > 0:
		c.w, c.first = t.read, time.Now()
		c.in += int64(t.read)
		return c.Receive()
	case err != nil:
		return nil, c.fail(err)
	case t.err == nil:
		return nil, c.fail(fmt.Errorf("%w: %w", ErrNoResponse, io.EOF))
	}
	err = &net.OpError{Op: "read", Net: "tcp", Addr: c.nc.RemoteAddr(), Err: os.NewSyscallError("read", t.err)}
	if isReset(err) {
		err = fmt.Errorf("%w: %w", ErrNoResponse, err)
	}
	return nil, c.fail(err)
}

// readTCP makes the step of an exchange. RawConn calls it, and again when there may be
// something to read, until it returns true. The write comes inside, because RawConn forgets
// on entry that there was something to read.
func (c *Conn) readTCP() {
	nc, ok := c.nc.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := nc.SyscallConn()
	if err != nil {
		return
	}
	t := &c.tcp
	t.raw = raw
	t.step = func(fd uintptr) bool {
		if t.wrote < 0 {
			n, err := again(syscall.SYS_WRITE, fd, t.out)
			t.wrote = max(n, 0)
			return err != nil || n < len(t.out)
		}
		n, err := again(syscall.SYS_READ, fd, c.buf)
		if errors.Is(err, syscall.EAGAIN) {
			return false
		}
		t.read, t.err = max(n, 0), err
		return true
	}
}

// again does a system call that never waits, and repeats it when a signal interrupted it. The runtime
// need not know of it, which saves telling it twice.
func again(call uintptr, fd uintptr, b []byte) (int, error) {
	for {
		n, _, err := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch err {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, err
		}
	}
}
