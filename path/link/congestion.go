package link

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// What a congestion control takes, as found in Linux 6.18 (net/ipv4/tcp_cong.c):
//
//   - A socket may have any that the kernel has loaded if the caller has CAP_NET_ADMIN over the
//     namespace's user: root, or anybody after Enter. Others are limited to the host's
//     net.ipv4.tcp_allowed_congestion_control, for which a namespace has no list of its own.
//   - The default of a namespace must be one of that list, whoever sets it; so where it is not, the routes of the
//     namespace carry it, for which there is no such rule.
//   - Only root of the host makes the kernel load a module, as modprobe tcp_bbr does.

// Available names the congestion controls that the kernel has, sorted: those that are built in or loaded.
// Modules that root could load are not among them.
func Available() []string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return nil
	}
	names := strings.Fields(string(b))
	slices.Sort(names)
	return names
}

// NoCongestionControlError is that a kernel lacks one.
type NoCongestionControlError struct{ Name string }

func (e *NoCongestionControlError) Error() string {
	s := fmt.Sprintf("this kernel has no congestion control %q", e.Name)
	if a := Available(); len(a) > 0 {
		s += ", but " + strings.Join(a, ", ")
	}
	return s + "; if it is a module, root loads it with modprobe tcp_" + e.Name
}

// CheckCongestion says whether a link can have a congestion control; "" is the system's, and always there.
// For root, a module is loaded.
func CheckCongestion(name string) error {
	if name == "" || slices.Contains(Available(), name) {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return setCongestion(fd, name)
}

// setCongestion sets that of a socket.
func setCongestion(fd int, name string) error {
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOENT):
		return &NoCongestionControlError{name}
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("congestion control %q is not in net.ipv4.tcp_allowed_congestion_control of the host, and this process may not have it outside a link: %w", name, err)
	}
	return fmt.Errorf("congestion control %q: %w", name, err)
}

// Default sets the congestion control of connections over the link that begin at this end from now on and ask for none;
// those that have asked keep theirs where the kernel allows it as a default.
func (n *Namespace) Default(congestion string) error {
	if err := CheckCongestion(congestion); err != nil || congestion == "" {
		return err
	}
	return n.Do(func() error {
		onRoutes := congestion
		if os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte(congestion), 0) == nil {
			onRoutes = "" // which would come before what a socket asks for
		}
		dev, err := netlink.LinkByName(n.name)
		if err != nil {
			return fmt.Errorf("the device of the link: %w", err)
		}
		routes, err := netlink.RouteList(dev, netlink.FAMILY_V4)
		if err != nil {
			return fmt.Errorf("the routes of the link: %w", err)
		}
		for _, r := range routes {
			if r.Congctl == onRoutes {
				continue
			}
			r.Congctl = onRoutes
			if r.Dst == nil {
				r.Dst = &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
			}
			if err := netlink.RouteReplace(&r); err != nil {
				return fmt.Errorf("congestion control %q for route %v: %w", congestion, r.Dst, err)
			}
		}
		return nil
	})
}
