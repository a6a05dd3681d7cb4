package dns

import (
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batchSize is how many packets one system call takes or sends at most. Under load that
// saves a sixth of the processor time of an answer (bench/dns); alone, a packet
// waits for nothing: what is there is taken.
const batchSize = 32

// batch is what recvmmsg(2) and sendmmsg(2) work on.
type batch struct {
	messages [batchSize]message
	vectors  [batchSize]unix.Iovec
	names    [batchSize]unix.RawSockaddrInet6 // has room for both families
	controls [batchSize][128]byte
	queries  [batchSize][maxQueryOver + 1]byte
	answers  [batchSize][]byte
}

// message is the system's struct mmsghdr.
type message struct {
	head unix.Msghdr
	n    uint32
}

// serveUDP answers until the socket is closed or its deadline is over.
func (s *Server) serveUDP(u *net.UDPConn) error {
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	b := &batch{}
	for i := range b.answers {
		b.answers[i] = make([]byte, 0, 2*maxUDP)
	}
	var n int
	var failed unix.Errno
	receive := func(fd uintptr) bool {
		n, failed = b.call(unix.SYS_RECVMMSG, fd, 0, batchSize)
		return failed != unix.EAGAIN
	}
	from, to, failures := 0, 0, 0
	transmit := func(fd uintptr) bool {
		n, failed = b.call(unix.SYS_SENDMMSG, fd, from, to)
		return failed != unix.EAGAIN
	}
	for {
		b.prepare(s.wild)
		if err := raw.Read(receive); err != nil {
			if s.stopped() {
				return nil
			}
			return err
		}
		if failed != 0 {
			// About one packet, as when an earlier answer met a closed port; or about all.
			if failures++; failures > 1000 || failed == unix.EBADF {
				return failed
			}
			continue
		}
		failures = 0
		to = b.answer(s, u, n)
		for from = 0; from < to; {
			if err := raw.Write(transmit); err != nil {
				break
			}
			if failed != 0 {
				n = 1 // this one cannot be sent: the network has lost it
			}
			from += n
		}
	}
}

// call makes one of the two system calls for some of the messages.
func (b *batch) call(trap, fd uintptr, from, to int) (int, unix.Errno) {
	for {
		n, _, errno := unix.Syscall6(trap, fd, uintptr(unsafe.Pointer(&b.messages[from])), uintptr(to-from), unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(n), 0
	}
}

// prepare makes all messages ready to receive.
func (b *batch) prepare(control bool) {
	for i := range b.messages {
		b.vectors[i].Base = &b.queries[i][0]
		b.vectors[i].SetLen(len(b.queries[i]))
		h := &b.messages[i].head
		h.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		h.Namelen = uint32(unsafe.Sizeof(b.names[i]))
		h.Iov = &b.vectors[i]
		h.SetIovlen(1)
		h.Control, h.Flags = nil, 0
		h.SetControllen(0)
		if control {
			h.Control = &b.controls[i][0]
			h.SetControllen(len(b.controls[i]))
		}
	}
}

// answer puts the answers to the first n messages in front, ready to send, and tells how
// many there are.
func (b *batch) answer(s *Server, u *net.UDPConn, n int) int {
	to := 0
	for i := range n {
		m := &b.messages[i]
		if m.n > maxQueryOver {
			continue
		}
		from, ok := address(&b.names[i])
		if !ok {
			continue
		}
		control := source(b.controls[i][:m.head.Controllen])
		if s.setAside(u, b.queries[i][:m.n], control, from) {
			continue
		}
		a := s.r.Respond(b.answers[to][:0], b.queries[i][:m.n], from.Addr(), false)
		if len(a) == 0 {
			continue
		}
		b.answers[to] = a
		// The message at to is answered already, or is this one: its parts may be used.
		b.names[to] = b.names[i]
		length := m.head.Namelen
		h := &b.messages[to].head
		h.Name = (*byte)(unsafe.Pointer(&b.names[to]))
		h.Namelen = length
		b.vectors[to].Base = &a[0]
		b.vectors[to].SetLen(len(a))
		h.Flags = 0
		h.Control = nil
		h.SetControllen(0)
		if len(control) > 0 {
			n := copy(b.controls[to][:], control)
			h.Control = &b.controls[to][0]
			h.SetControllen(n)
		}
		to++
	}
	return to
}

// address of a client.
func address(name *unix.RawSockaddrInet6) (netip.AddrPort, bool) {
	port := (*[2]byte)(unsafe.Pointer(&name.Port)) // in the order of the network
	n := uint16(port[0])<<8 | uint16(port[1])
	switch name.Family {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr), n), true
	case unix.AF_INET6:
		a := netip.AddrFrom16(name.Addr)
		if name.Scope_id != 0 && a.IsLinkLocalUnicast() {
			a = a.WithZone(strconv.Itoa(int(name.Scope_id)))
		}
		return netip.AddrPortFrom(a, n), true
	}
	return netip.AddrPort{}, false
}
