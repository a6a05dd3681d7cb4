package dns

import (
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reusePort lets each processor have a socket of its own on the one address.
var reusePort = func(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}); e != nil {
		return e
	}
	return err
}

// wantDestination makes the system say which of its addresses a packet came to. A client
// that asked one address takes no answer from another.
func wantDestination(u *net.UDPConn) error {
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var err4, err6 error
	if err := raw.Control(func(fd uintptr) {
		err4 = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		err6 = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	}); err != nil {
		return err
	}
	if err4 != nil && err6 != nil {
		return err4
	}
	return nil
}

// source makes of the message that says where a packet came to the one that says where
// the answer is to leave from: the same, on any interface.
func source(oob []byte) []byte {
	const header = unix.SizeofCmsghdr
	if len(oob) < header {
		return nil
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
	switch {
	case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(oob) >= header+unix.SizeofInet4Pktinfo:
		clear(oob[header : header+4]) // ifindex
		return oob[:unix.CmsgSpace(unix.SizeofInet4Pktinfo)]
	case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(oob) >= header+unix.SizeofInet6Pktinfo:
		if a := oob[header : header+16]; a[0] != 0xfe || a[1]&0xc0 != 0x80 { // link-local needs its link
			clear(oob[header+16 : header+20])
		}
		return oob[:unix.CmsgSpace(unix.SizeofInet6Pktinfo)]
	}
	return nil
}
