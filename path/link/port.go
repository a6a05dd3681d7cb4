package link

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Devices says what joins a namespace to the emulator.
type Devices int

const (
	// AnyDevices are TUN devices, or where those are not to be had a veth pair.
	AnyDevices Devices = iota
	// TUN devices: what the kernel sends to one is read from it.
	TUN
	// Veth pairs: one end is in the namespace, at the other a packet socket reads and writes. They take no
	// /dev/net/tun, which containers often lack, and more time.
	Veth
)

func (d Devices) String() string { return [...]string{"any", "tun", "veth"}[d] }

// ErrNoDevice is that a kernel has neither TUN nor veth, or allows neither.
var ErrNoDevice = errors.New("no device for the link")

// port is where the emulator meets a namespace: IP packets are read from it and written to it.
type port struct {
	fd int
	// to is where packets go whose device has addresses of hardware: nil for a TUN device.
	to *unix.SockaddrLinklayer
}

func (p *port) read(b []byte) (int, error) { return unix.Read(p.fd, b) }

func (p *port) write(b []byte) error {
	for {
		var err error
		if p.to == nil {
			_, err = unix.Write(p.fd, b)
		} else {
			err = unix.Sendto(p.fd, b, 0, p.to)
		}
		if err != unix.EINTR {
			return err
		}
	}
}

func (p *port) close() {
	if p != nil && p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}

// openPort makes a device of that name in the namespace of the thread, and says which kind it is.
func openPort(d Devices, name string) (*port, Devices, error) {
	if d != Veth {
		p, err := openTUN(name)
		if err == nil || d == TUN {
			return p, TUN, err
		}
		v, verr := openVeth(name)
		if verr != nil {
			return nil, Veth, fmt.Errorf("%w; %w", err, verr)
		}
		return v, Veth, nil
	}
	p, err := openVeth(name)
	return p, Veth, err
}

// openTUN makes a TUN device.
func openTUN(name string) (*port, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: opening /dev/net/tun: %w", ErrNoDevice, err)
	}
	r, err := unix.NewIfreq(name)
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%w: making a TUN device: %w", ErrNoDevice, err)
	}
	return &port{fd: fd}, nil
}

// wire is the other end of a veth pair.
const wire = "wire"

// openVeth makes a veth pair: the device, and another in a namespace that nobody but the packet socket keeps.
func openVeth(device string) (_ *port, err error) {
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping a network namespace: %w", err)
	}
	defer unix.Close(own)
	p := &port{fd: -1}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace for the wire: %w", err)
		}
		os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
		a := netlink.NewLinkAttrs()
		a.Name = wire
		v := netlink.NewVeth(a)
		v.PeerName, v.PeerNamespace = device, netlink.NsFd(own)
		if err := netlink.LinkAdd(v); err != nil {
			return fmt.Errorf("%w: making a veth pair: %w", ErrNoDevice, err)
		}
		w, err := netlink.LinkByName(wire)
		if err != nil {
			return err
		}
		for _, f := range []func() error{
			func() error { return netlink.LinkSetMTU(w, MTU) },
			func() error { return netlink.LinkSetARPOff(w) },
			func() error { return netlink.LinkSetUp(w) },
		} {
			if err := f(); err != nil {
				return fmt.Errorf("setting up the wire: %w", err)
			}
		}
		p.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("a packet socket: %w", err)
		}
		// A failure of these costs packets, which are counted, and nothing else.
		unix.SetsockoptInt(p.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
		for _, option := range []int{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF} {
			if unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, option, 64<<20) == nil {
				break
			}
		}
		for _, option := range []int{unix.SO_SNDBUFFORCE, unix.SO_SNDBUF} {
			if unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, option, 8<<20) == nil {
				break
			}
		}
		const ip = 0x0008 // ETH_P_IP in the order of the network
		p.to = &unix.SockaddrLinklayer{Protocol: ip, Ifindex: w.Attrs().Index, Halen: 6}
		if err := unix.Bind(p.fd, p.to); err != nil {
			return fmt.Errorf("a packet socket: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	dev, err := netlink.LinkByName(device)
	if err != nil {
		return nil, fmt.Errorf("the device of the link: %w", err)
	}
	copy(p.to.Addr[:], dev.Attrs().HardwareAddr)
	// Nobody asks for addresses of hardware, or needs them: what is sent goes to the device's own, and
	// so is nobody's on the wire, where only the socket takes it.
	if err := netlink.LinkSetARPOff(dev); err != nil {
		return nil, fmt.Errorf("setting up the device of the link: %w", err)
	}
	return p, wholePackets(device)
}

// wholePackets makes the kernel give a device packets as they would be on a wire: with checksums, and none larger
// than the MTU.
func wholePackets(device string) error {
	for _, command := range []uint32{unix.ETHTOOL_STXCSUM, unix.ETHTOOL_STSO, unix.ETHTOOL_SGSO, unix.ETHTOOL_SGRO} {
		off := struct{ command, value uint32 }{command, 0}
		var r struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte
		}
		copy(r.name[:unix.IFNAMSIZ-1], device)
		r.data = unsafe.Pointer(&off)
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
		unix.Close(fd)
		// A device that cannot be told about large packets makes none without checksums.
		if e != 0 && command == unix.ETHTOOL_STXCSUM {
			return fmt.Errorf("turning checksum offloading off: %w", e)
		}
	}
	return nil
}
