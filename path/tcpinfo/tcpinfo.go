// Package tcpinfo reads what the kernel knows of a TCP connection: round trips, windows,
// losses, and where the sender's time went. It is Linux's TCP_INFO, complete, in units that need no
// header file.
//
//	i, err := tcpinfo.Of(conn)                   // once; conn may be a *tls.Conn
//	fmt.Println(i.RTT, i.CongestionWindow, i.TotalRetrans)
//
//	rec, err := tcpinfo.Record(conn, tcpinfo.Sampling{})  // as it goes
//	...
//	course := rec.Stop()                         // before the connection is closed
//
// Every kernel fills in what it knows and no more: what it left out is zero here, and
// [Info.Known] tells a zero from an unknown. What a figure means is told by include/uapi/linux/tcp.h
// and net/ipv4/tcp.c of Linux; the chronographs BusyTime, WindowLimited and BufferLimited are described by
// F. Y. Yan and Y. Cheng, "tcp: sender chronographs instrumentation", 2016.
//
// A congestion control is chosen per socket: [Control] for a net.Dialer or
// net.ListenConfig, [SetCongestion] later on. It decides how its own side sends, so for a download it is the
// server's that matters.
package tcpinfo

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Info is the state of a connection at one moment. Counters count from its beginning. Segments are
// packets with their headers off; all sizes are payload.
type Info struct {
	State      State
	Congestion CongestionState

	Options                              Options
	SendWindowScale, ReceiveWindowScale  int  // the factor is 2 to this
	AppLimited                           bool // DeliveryRate was measured while the program did not write enough
	FastOpenFailed                       bool
	Retransmits, Probes, Backoff         int           // timeouts in a row; unanswered probes; doublings of RTO
	RTO                                  time.Duration // silence after which is sent again
	ATO                                  time.Duration // for how long an acknowledgement may be held back
	MSS, ReceiveMSS                      int           // bytes: of what is sent; of what has come (an estimate)
	AdvertisedMSS, PathMTU               int           // bytes
	SinceDataSent, SinceDataReceived     time.Duration // to whole ms
	SinceAckReceived                     time.Duration
	RTT, RTTVar                          time.Duration // smoothed, and its mean deviation (RFC 6298)
	MinRTT                               time.Duration // the least of the last minutes; 0: none yet
	ReceiveRTT                           time.Duration // the receiver's own estimate, from when data come; 0: none
	CongestionWindow, SlowStartThreshold int           // segments; the threshold is [NoThreshold] until there is one
	Unacked, Sacked, Lost, Retrans       int           // segments in flight now: not acknowledged, of which SACK has told, taken for lost, sent again
	Reordering                           int           // segments by which one may be late and is not taken for lost
	ReorderSeen                          int64         // events
	TotalRetrans                         int64         // segments
	DSACKDups                            int64         // duplicates that the receiver told of: sent again for nothing
	Timeouts, TimeoutRecoveries          int64         // of the retransmission timer; those of them that data ended
	TimeoutTime                          time.Duration // in all of them
	Delivered, DeliveredCE               int64         // segments acknowledged, SACK included; those with congestion marked (ECN)
	ReceivedCE                           int64         // segments that came marked (AccECN)
	OutOfOrder                           int64         // segments that came after a gap
	SegmentsOut, SegmentsIn              int64         // with acknowledgements alone
	DataSegmentsOut, DataSegmentsIn      int64
	BytesSent, BytesRetrans              int64 // the first with the second
	BytesAcked, BytesReceived            int64 // each byte once; SYN and FIN may count as one
	NotSent                              int64 // bytes written by the program and not yet sent
	SendWindow, ReceiveWindow            int64 // bytes: what the other side allows, what this one does
	ReceiveThreshold, ReceiveSpace       int64 // bytes: how far the receive window may grow; what the program takes in a round trip
	PacingRate, MaxPacingRate            float64
	DeliveryRate                         float64 // bit/s, as PacingRate and MaxPacingRate, of which 0 is no bound
	// With data in flight or to be sent, to the kernel's tick (1 to 10 ms); of it, because the receiver's window was
	// full, and because the send buffer was.
	BusyTime, WindowLimited, BufferLimited time.Duration
	Rehashes                               int64 // times that another route was tried after timeouts

	// What the socket holds and may hold, in bytes of the kernel's memory, which is more than the payload (SO_MEMINFO, not
	// TCP_INFO). A program that writes waits from when SendQueued reaches SendBuffer until it is below two thirds.
	SendQueued, SendBuffer       int64
	ReceiveQueued, ReceiveBuffer int64

	Size int // bytes that the kernel filled in of TCP_INFO, for Known
}

// NoThreshold is a SlowStartThreshold before the first loss.
const NoThreshold = 0x7fffffff

// SlowStart says whether the sender still doubles its window.
func (i *Info) SlowStart() bool { return i.CongestionWindow < i.SlowStartThreshold }

// Flight is how many bytes are in flight, the kernel's tcp_packets_in_flight as RFC 6675 has the pipe.
func (i *Info) Flight() int64 {
	return int64(max(i.Unacked-i.Sacked-i.Lost+i.Retrans, 0)) * int64(i.MSS)
}

// Of reads the state of a connection. It may be wrapped, as by TLS.
func Of(c net.Conn) (Info, error) {
	rc, err := raw(c)
	if err != nil {
		return Info{}, err
	}
	return FromRaw(rc)
}

// FromRaw reads the state of a connection.
func FromRaw(rc syscall.RawConn) (Info, error) {
	var i Info
	err := control(rc, func(fd int) (err error) {
		i, err = FromFD(fd)
		return err
	})
	return i, err
}

// FromFD reads the state of a socket by its descriptor.
func FromFD(fd int) (Info, error) {
	var b [512]byte
	n, err := getsockopt(fd, unix.TCP_INFO, b[:])
	if err != nil {
		return Info{}, fmt.Errorf("reading TCP_INFO: %w", err)
	}
	i := parse(b[:n])
	i.memory(fd)
	return i, nil
}

// memory reads what the socket holds; a kernel before 4.12 cannot tell.
func (i *Info) memory(fd int) {
	var m [9]uint32
	n := uint32(unsafe.Sizeof(m))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&n)), 0)
	if e != 0 || n < 6*4 {
		return
	}
	i.ReceiveQueued, i.ReceiveBuffer, i.SendBuffer, i.SendQueued = int64(m[0]), int64(m[1]), int64(m[3]), int64(m[5])
}

// getsockopt returns how much of b was filled.
func getsockopt(fd, option int, b []byte) (int, error) {
	n := uint32(len(b))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, uintptr(option),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(unsafe.Pointer(&n)), 0)
	switch e {
	case 0:
		return int(n), nil
	case unix.ENOPROTOOPT, unix.EOPNOTSUPP:
		return 0, fmt.Errorf("%w: this is no TCP socket, or the kernel has no such option", e)
	}
	return 0, e
}

var errNoSocket = errors.New("the connection has no socket: want one of TCP, or TLS above it")

// raw finds the socket below what wraps it.
func raw(c net.Conn) (syscall.RawConn, error) {
	for range 16 {
		if s, ok := c.(syscall.Conn); ok {
			return s.SyscallConn()
		}
		w, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = w.NetConn()
	}
	return nil, errNoSocket
}

func control(rc syscall.RawConn, f func(fd int) error) error {
	var err error
	if e := rc.Control(func(fd uintptr) { err = f(int(fd)) }); e != nil {
		return e
	}
	return err
}
