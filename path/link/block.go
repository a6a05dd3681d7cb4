package link

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Root is the addresses of a link that stands alone, and of those behind it: from the block for carriers' own
// use (RFC 6598), at an end that nobody's network behind this machine should have.
//
// A link has the last four addresses of a block. What is left of it goes in fifteen equal parts to links behind its end A,
// whose end B is that namespace; so whoever knows the route to a block knows the routes to all behind it.
var Root = netip.MustParsePrefix("100.127.0.0/16")

// behind is how many links there can be behind a namespace.
const behind = 15

// Ends returns the addresses of a block's own link.
func Ends(block netip.Prefix) (a, b netip.Addr) {
	last := number(block.Addr()) + uint32(1)<<(32-block.Bits()) - 1
	return address(last - 2), address(last - 1)
}

// part returns the block of the link number i behind that of a block.
func part(block netip.Prefix, i int) (netip.Prefix, error) {
	bits := block.Bits() + 4
	if bits > 30 {
		return netip.Prefix{}, fmt.Errorf("a path in a path in a path in a path: no deeper")
	}
	return netip.PrefixFrom(address(number(block.Addr())+uint32(i)<<(32-bits)), bits), nil
}

func number(a netip.Addr) uint32 { b := a.As4(); return binary.BigEndian.Uint32(b[:]) }

func address(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

// newNamespaceHere makes the namespace of the caller end B of a link behind that of block, under a device that is not taken
// yet, and returns the block of the new link too.
func newNamespaceHere(block netip.Prefix, d Devices) (_ *Namespace, own netip.Prefix, err error) {
	n := &Namespace{fd: -1}
	made := n
	defer func() {
		if err != nil {
			made.close()
		}
	}()
	// The thread may be in a namespace of its own.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil, own, fmt.Errorf("keeping a network namespace: %w", err)
	}
	if err := isEndA(block); err != nil {
		return nil, own, err
	}
	for i := 0; ; i++ {
		if i == behind {
			return nil, own, fmt.Errorf("%d links begin in this namespace already", behind)
		}
		if own, err = part(block, i); err != nil {
			return nil, own, err
		}
		n.name = fmt.Sprint("path", i)
		// The kernel refuses a name that is taken, so that nobody else takes the block either.
		if n.port, n.devices, err = openPort(d, n.name); err == nil {
			break
		}
		if _, none := netlink.LinkByName(n.name); none != nil {
			return nil, own, err
		}
	}
	n.Peer, n.Addr = Ends(own)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return nil, own, fmt.Errorf("letting packets through from one link to the other: %w", err)
	}
	os.WriteFile("/proc/sys/net/ipv4/conf/"+n.name+"/rp_filter", []byte("0"), 0)
	dev, err := n.up()
	if err != nil {
		return nil, own, err
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: dev.Attrs().Index, Dst: ipNet(own), Gw: n.Peer.AsSlice()}); err != nil {
		return nil, own, fmt.Errorf("the route to the inner end of the link: %w", err)
	}
	return n, own, nil
}

// isEndA says whether the namespace of the thread is end A of the link of a block: nobody else's is to be changed.
func isEndA(block netip.Prefix) error {
	a, _ := Ends(block)
	all, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("the addresses of this namespace: %w", err)
	}
	for _, x := range all {
		if x.Label == device && x.IP.Equal(a.AsSlice()) {
			return nil
		}
	}
	return fmt.Errorf("this network namespace is not the inside of a path with the addresses %v", block)
}
