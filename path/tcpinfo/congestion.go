package tcpinfo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Available returns the congestion controls that the kernel has loaded; others may be
// modules that it loads when root asks for them.
func Available() ([]string, error) { return names("tcp_available_congestion_control") }

// Allowed returns those that a process without privilege may choose.
func Allowed() ([]string, error) { return names("tcp_allowed_congestion_control") }

func names(setting string) ([]string, error) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/" + setting)
	if err != nil {
		return nil, fmt.Errorf("which congestion controls there are: %w", err)
	}
	return strings.Fields(string(b)), nil
}

// Control chooses the congestion control of a socket before it is connected or listens: it is the
// field of that name of net.Dialer and net.ListenConfig. With "" it changes nothing.
func Control(congestion string) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		if congestion == "" {
			return nil
		}
		return control(c, func(fd int) error { return set(fd, congestion) })
	}
}

// Dial connects with a congestion control for what this side sends.
func Dial(ctx context.Context, network, address, congestion string) (net.Conn, error) {
	d := net.Dialer{Control: Control(congestion)}
	return d.DialContext(ctx, network, address)
}

// Listen listens with a congestion control for what this side sends on the connections that it accepts.
func Listen(ctx context.Context, network, address, congestion string) (net.Listener, error) {
	l := net.ListenConfig{Control: Control(congestion)}
	return l.Listen(ctx, network, address)
}

// SetCongestion changes the congestion control of a connection.
func SetCongestion(c net.Conn, congestion string) error {
	rc, err := raw(c)
	if err != nil {
		return err
	}
	return control(rc, func(fd int) error { return set(fd, congestion) })
}

func set(fd int, congestion string) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestion)
	switch {
	case errors.Is(err, unix.ENOENT):
		have, _ := Available()
		return fmt.Errorf("this kernel has no congestion control %q; it has %s", congestion, strings.Join(have, ", "))
	case errors.Is(err, unix.EPERM):
		allowed, _ := Allowed()
		return fmt.Errorf("congestion control %q takes root, or its name in net.ipv4.tcp_allowed_congestion_control, which has %s", congestion, strings.Join(allowed, ", "))
	case err != nil:
		return fmt.Errorf("congestion control %q: %w", congestion, err)
	}
	return nil
}

// Congestion is the congestion control of one side of a connection, and what it says of
// itself.
type Congestion struct {
	Name string
	BBR  *BBR // nil unless it is bbr
}

// BBR is what bbr has found out about the path (N. Cardwell et al., "BBR: Congestion-Based
// Congestion Control", 2016).
type BBR struct {
	Bandwidth              float64       // of the bottleneck, bit/s
	MinRTT                 time.Duration // without a queue
	PacingGain, WindowGain float64       // what it sends at, in bandwidths; what it has in flight, in their product
}

// CongestionOf tells the congestion control of a connection.
func CongestionOf(c net.Conn) (Congestion, error) {
	rc, err := raw(c)
	if err != nil {
		return Congestion{}, err
	}
	var x Congestion
	err = control(rc, func(fd int) (err error) {
		x, err = congestionOf(fd)
		return err
	})
	return x, err
}

func congestionOf(fd int) (Congestion, error) {
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return Congestion{}, fmt.Errorf("reading the congestion control: %w", err)
	}
	x := Congestion{Name: name}
	if name != "bbr" {
		return x, nil
	}
	var b [64]byte
	n, err := getsockopt(fd, unix.TCP_CC_INFO, b[:])
	if err != nil {
		return x, fmt.Errorf("reading TCP_CC_INFO: %w", err)
	}
	x.BBR = parseBBR(b[:n])
	return x, nil
}

// parseBBR reads struct tcp_bbr_info; nil if it is shorter than that.
func parseBBR(b []byte) *BBR {
	if len(b) < 20 {
		return nil
	}
	word := func(i int) uint64 { return uint64(binary.NativeEndian.Uint32(b[4*i:])) }
	const unit = 256
	x := &BBR{
		Bandwidth:  float64(word(1)<<32|word(0)) * 8,
		PacingGain: float64(word(3)) / unit,
		WindowGain: float64(word(4)) / unit,
	}
	if us := word(2); us != 1<<32-1 { // none yet
		x.MinRTT = time.Duration(us) * time.Microsecond
	}
	return x
}
