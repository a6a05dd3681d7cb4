package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Namespace is one end of a link: a network stack of its own, with a loopback device and
// the link.
type Namespace struct {
	Addr, Peer netip.Addr // of this end and of the other

	fd      int    // of the namespace
	name    string // of the device
	port    *port  // of the device, for the lanes
	devices Devices
}

// device is what the link is called in both namespaces.
const device = "link"

// newNamespace makes a namespace with the device of one end.
func newNamespace(own, peer netip.Addr, d Devices) (*Namespace, error) {
	n := &Namespace{Addr: own, Peer: peer, fd: -1, name: device}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			if errors.Is(err, unix.EPERM) {
				return fmt.Errorf("%w: making one: %w: it takes root, or a user namespace, see link.Enter", ErrForbidden, err)
			}
			return fmt.Errorf("making a network namespace: %w", err)
		}
		var err error
		if n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("keeping a network namespace: %w", err)
		}
		if n.port, n.devices, err = openPort(d, n.name); err != nil {
			return err
		}
		return n.configure()
	})
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// settings of a namespace: what would make one transfer depend on those before it, or
// put packets on the link that nobody sent.
var settings = map[string]string{
	"net/ipv4/tcp_no_metrics_save":           "1", // else the next connection begins with the last one's threshold
	"net/ipv6/conf/all/disable_ipv6":         "1", // else router solicitations
	"net/ipv4/ping_group_range":              "0 2147483647",
	"net/ipv4/ip_unprivileged_port_start":    "0",
	"net/ipv4/tcp_slow_start_after_idle":     "1",
	"net/ipv4/conf/all/rp_filter":            "0",
	"net/ipv4/conf/" + device + "/rp_filter": "0",
}

// txQueue is how many packets the device holds until the lane reads them, more than any
// window: what is dropped there would be lost without the lane's knowledge.
const txQueue = 20000

func (n *Namespace) configure() error {
	// Before the device is up: it would greet routers.
	for name, value := range settings {
		// A kernel without one of them has nothing to turn off.
		os.WriteFile("/proc/sys/"+name, []byte(value), 0)
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("the loopback device of a namespace: %w", err)
	}
	dev, err := n.up()
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: dev.Attrs().Index, Gw: n.Peer.AsSlice()}); err != nil {
		return fmt.Errorf("the route to the other end of the link: %w", err)
	}
	return nil
}

// up gives the device its address.
func (n *Namespace) up() (netlink.Link, error) {
	dev, err := netlink.LinkByName(n.name)
	if err != nil {
		return nil, fmt.Errorf("the device of the link: %w", err)
	}
	for _, step := range []func() error{
		func() error { return netlink.LinkSetMTU(dev, MTU) },
		func() error { return netlink.LinkSetTxQLen(dev, txQueue) },
		func() error {
			a, err := netlink.ParseAddr(n.Addr.String() + "/30")
			if err != nil {
				return err
			}
			return netlink.AddrAdd(dev, a)
		},
		func() error { return netlink.LinkSetUp(dev) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("setting up the device of the link: %w", err)
		}
	}
	return dev, nil
}

// Do runs f on a thread in the namespace; sockets that it makes, and processes that it
// starts, stay there. f must not hand work to other goroutines.
func (n *Namespace) Do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering a network namespace: %w", err)
		}
		return f()
	})
}

// onThread runs f on a thread that ends with it, for what it does to the thread to go with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		done <- f()
	}()
	return <-done
}

// Listen listens on a port of this end, with a congestion control for what it sends; "" is the
// system's.
func (n *Namespace) Listen(network string, port uint16, congestion string) (net.Listener, error) {
	var l net.Listener
	err := n.Do(func() (err error) {
		c := net.ListenConfig{Control: control(congestion)}
		l, err = c.Listen(context.Background(), network, netip.AddrPortFrom(n.Addr, port).String())
		return err
	})
	return l, err
}

// ListenOn is Listen on any address that is local to this end, with the default congestion control.
func (n *Namespace) ListenOn(network string, at netip.AddrPort) (l net.Listener, err error) {
	err = n.Do(func() (err error) {
		l, err = net.Listen(network, at.String())
		return err
	})
	return l, err
}

// ListenPacketOn is ListenOn for datagrams.
func (n *Namespace) ListenPacketOn(network string, at netip.AddrPort) (c net.PacketConn, err error) {
	err = n.Do(func() (err error) {
		c, err = net.ListenPacket(network, at.String())
		return err
	})
	return c, err
}

// Dial connects to a port of the other end.
func (n *Namespace) Dial(ctx context.Context, network string, port uint16, congestion string) (net.Conn, error) {
	var c net.Conn
	err := n.Do(func() (err error) {
		d := net.Dialer{Control: control(congestion)}
		c, err = d.DialContext(ctx, network, netip.AddrPortFrom(n.Peer, port).String())
		return err
	})
	return c, err
}

// Start starts a command in the namespace.
func (n *Namespace) Start(cmd *exec.Cmd) error { return n.Do(cmd.Start) }

// control sets the congestion control of a socket before it is used.
func control(congestion string) func(string, string, syscall.RawConn) error {
	if congestion == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) {
			err = setCongestion(int(fd), congestion)
		}); e != nil {
			return e
		}
		return err
	}
}

func (n *Namespace) close() {
	n.port.close()
	if n.fd >= 0 {
		unix.Close(n.fd)
		n.fd = -1
	}
}
