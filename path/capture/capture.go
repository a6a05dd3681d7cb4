// Package capture records the packets of one end of an emulated link as pcapng, with the kernel's own
// times in nanoseconds.
package capture

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/pcap"
)

// Capture writes the packets of one end to a file until it is closed.
type Capture struct {
	fd   int
	file *os.File
	w    *pcap.Writer
	wg   sync.WaitGroup
	end  [2]int // a pipe
	err  error
}

// Start begins a capture of what the namespace sends and gets, into a new file; at is what its end is
// called there. What was sent before is not in it.
func Start(ns *link.Namespace, file, at string) (_ *Capture, err error) {
	c := &Capture{fd: -1, end: [2]int{-1, -1}}
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	const everything = 0x0300 // ETH_P_ALL in the order of the network
	if err = ns.Do(func() (err error) {
		c.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, everything)
		return err
	}); err != nil {
		return nil, fmt.Errorf("a packet socket: %w", err)
	}
	// A failure leaves what the kernel gives by itself.
	if unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) != nil {
		unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 16<<20)
	}
	if err = unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return nil, fmt.Errorf("times of packets: %w", err)
	}
	if err = unix.Pipe2(c.end[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if c.file, err = os.Create(file); err != nil {
		return nil, err
	}
	if c.w, err = pcap.NewWriter(c.file, pcap.WriterOptions{Interfaces: []string{at}, Program: "headway"}); err != nil {
		return nil, err
	}
	c.wg.Go(func() { c.err = c.run() })
	return c, nil
}

func (c *Capture) run() error {
	b, more := make([]byte, 1<<16), make([]byte, 256)
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}, {Fd: int32(c.end[0]), Events: unix.POLLIN}}
	for {
		n, k, _, from, err := unix.Recvmsg(c.fd, b, more, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			if fds[1].Revents != 0 {
				return c.w.Flush()
			}
			if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("capturing: %w", err)
		}
		d := pcap.Inbound
		if a, ok := from.(*unix.SockaddrLinklayer); ok && a.Pkttype == unix.PACKET_OUTGOING {
			d = pcap.Outbound
		}
		if err := c.w.Packet(stamp(more[:k]), 0, d, b[:n]); err != nil {
			return err
		}
	}
}

// stamp is when the kernel saw a packet.
func stamp(control []byte) time.Time {
	all, err := unix.ParseSocketControlMessage(control)
	if err == nil {
		for _, m := range all {
			if t := (unix.Timespec{}); m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(t)) {
				return time.Unix((*unix.Timespec)(unsafe.Pointer(unsafe.SliceData(m.Data))).Unix())
			}
		}
	}
	return time.Now()
}

// Close ends the capture when what has come is written.
func (c *Capture) Close() error {
	unix.Write(c.end[1], []byte{1})
	c.wg.Wait()
	return errors.Join(c.err, c.release())
}

func (c *Capture) release() error {
	for _, fd := range []int{c.fd, c.end[0], c.end[1]} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	if c.file != nil {
		return c.file.Close()
	}
	return nil
}
