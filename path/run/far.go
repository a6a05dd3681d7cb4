package run

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/path/link"
)

// everywhere makes the far end take packets for every address but those of links: what is for the outside
// ends there as if it were its own. A host's forwarding and address translation would take root there.
func everywhere(l *link.Link, outside bool) error {
	return l.B.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: resolver.AsSlice(), Mask: net.CIDRMask(32, 32)}}); err != nil {
			return fmt.Errorf("the address of the name server: %w", err)
		}
		dev, err := netlink.LinkByName("link")
		if err != nil {
			return err
		}
		// In the table that is looked at first, and says which addresses are local.
		back := netlink.Route{Table: unix.RT_TABLE_LOCAL, LinkIndex: dev.Attrs().Index, Dst: prefix(link.Root), Gw: l.A.Addr.AsSlice()}
		if err := netlink.RouteAdd(&back); err != nil {
			return fmt.Errorf("the route back: %w", err)
		}
		if !outside {
			return nil
		}
		all := netlink.Route{Table: unix.RT_TABLE_LOCAL, Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST, LinkIndex: lo.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}}
		if err := netlink.RouteAdd(&all); err != nil {
			return fmt.Errorf("taking packets for the outside: %w", err)
		}
		return nil
	})
}

// alone makes the near end know that there is no outside, so that nobody waits for an answer from it.
func alone(l *link.Link) error {
	return l.A.Do(func() error {
		dev, err := netlink.LinkByName("link")
		if err != nil {
			return err
		}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: dev.Attrs().Index, Dst: prefix(link.Root), Gw: l.B.Addr.AsSlice()}); err != nil {
			return err
		}
		none := netlink.Route{Type: unix.RTN_UNREACHABLE, Dst: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}}
		return netlink.RouteReplace(&none)
	})
}

func prefix(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

// targets says where a flow that has ended at the far end goes on: to the host's loopback what was for the host, to its name server
// what was for that, and to where it wanted to go what was for the outside, or where divert says.
func targets(host, server netip.Addr, outside bool, divert func(netip.AddrPort) netip.AddrPort) func(byte, netip.AddrPort) []netip.AddrPort {
	four, six := netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()
	return func(protocol byte, to netip.AddrPort) []netip.AddrPort {
		a := to.Addr()
		switch {
		case a == host && protocol == unix.IPPROTO_TCP:
			return []netip.AddrPort{netip.AddrPortFrom(four, to.Port()), netip.AddrPortFrom(six, to.Port())}
		case a == host:
			return []netip.AddrPort{netip.AddrPortFrom(four, to.Port())}
		case a == resolver && server.IsValid() && to.Port() == 53:
			return []netip.AddrPort{netip.AddrPortFrom(server, 53)}
		case !outside || a == resolver || link.Root.Contains(a) || a.IsLoopback() || a.IsMulticast() || a.IsUnspecified():
			return nil
		}
		if divert != nil {
			to = divert(to)
		}
		return []netip.AddrPort{to}
	}
}

// forwarding lets a namespace pass packets on, for paths that begin in it.
func forwarding(n *link.Namespace) error {
	return n.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) })
}
