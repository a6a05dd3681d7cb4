package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/path/link"
)

// bed is an emulated path that is ready.
type bed struct {
	far   func(func() error) error // does something at the far end
	addr  string                   // of the far end
	start func(*exec.Cmd) error    // inside
	close func()
}

var beds = map[string]func(c Conditions, mahimahi string) (*bed, error){
	"headway":       func(c Conditions, _ string) (*bed, error) { return headway(c, link.TUN) },
	"headway, veth": func(c Conditions, _ string) (*bed, error) { return headway(c, link.Veth) },
	"mahimahi":      mahimahi,
	"netem":         netem,
}

func headway(c Conditions, d link.Devices) (*bed, error) {
	l, err := link.Config{
		ToB:  link.Conditions{Delay: c.Delay, Loss: c.Loss, Rate: c.Rate},
		ToA:  link.Conditions{Delay: c.Delay},
		Seed: uint64(os.Getpid()), Devices: d,
	}.Join()
	if err != nil {
		return nil, err
	}
	return &bed{l.B.Do, l.B.Addr.String(), l.A.Start, func() { l.Close() }}, nil
}

// mahimahi is nested as its users do it: loss outside, the link, the delay inside. It takes a namespace in which it may make
// rules for address translation, and somebody else than root.
func mahimahi(c Conditions, dir string) (*bed, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("it takes root to give its programs a namespace of their own")
	}
	program := func(name string) (string, error) {
		if dir != "" {
			name = filepath.Join(dir, name)
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("%w (build github.com/ravinet/mahimahi and name its directory with -mahimahi)", err)
		}
		if i, err := os.Stat(path); err == nil && i.Mode()&os.ModeSetuid == 0 {
			return "", fmt.Errorf("%s has no set-user-ID bit", path)
		}
		return filepath.Abs(path)
	}
	var shells []string
	add := func(name string, args ...string) error {
		path, err := program(name)
		shells = append(append(shells, path), args...)
		return err
	}
	var err error
	var trace string
	if c.Loss > 0 {
		err = add("mm-loss", "uplink", fmt.Sprint(c.Loss))
	}
	if c.Rate > 0 && err == nil {
		if trace, err = steady(c.Rate); err == nil {
			err = add("mm-link", trace, trace, "--uplink-queue=droptail", fmt.Sprintf("--uplink-queue-args=bytes=%d", int(c.Rate/8/10)), "--")
		}
	}
	if (c.Delay > 0 || len(shells) == 0) && err == nil {
		err = add("mm-delay", strconv.Itoa(int(c.Delay.Milliseconds())))
	}
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread() // and never unlocked: the trial is this thread
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err == nil {
		err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	}
	if err != nil {
		return nil, err
	}
	self, remove, err := open()
	if err != nil {
		return nil, err
	}
	far := func(f func() error) error { return f() }
	start := func(cmd *exec.Cmd) error {
		cmd.Args = append(shells, append([]string{self}, cmd.Args[1:]...)...)
		cmd.Path = shells[0]
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cmd.Start()
	}
	return &bed{far, "100.64.0.1", start, func() { os.Remove(trace); remove() }}, nil
}

// open copies this program to where anybody may call it: go run keeps it in a directory of its own.
func open() (name string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "headway-bench-path-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	name = filepath.Join(dir, "path")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(name, self, 0o755))
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return name, remove, nil
}

// steady writes a trace with a steady rate: one packet of 1504 bytes at each time.
func steady(rate float64) (string, error) {
	f, err := os.CreateTemp("", "steady")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for i := 1; i <= 10000; i++ {
		fmt.Fprintf(f, "%d\n", int(float64(i)*1504*8/rate*1000))
	}
	return f.Name(), f.Chmod(0o644)
}

// netem is the kernel's own, on a pair of devices between two namespaces.
func netem(c Conditions, _ string) (*bed, error) {
	l, err := link.Config{Devices: link.Veth}.Join() // for two namespaces; its packets take another way
	if err != nil {
		return nil, err
	}
	in := func(n *link.Namespace, f func() error) error { return n.Do(f) }
	var there int
	err = in(l.B, func() (err error) {
		there, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err == nil {
		err = in(l.A, func() error {
			a := netlink.NewLinkAttrs()
			a.Name = "near"
			v := netlink.NewVeth(a)
			v.PeerName, v.PeerNamespace = "far", netlink.NsFd(there)
			if err := netlink.LinkAdd(v); err != nil {
				return err
			}
			return shape("near", "192.0.2.1/24", c, c.Loss, c.Rate)
		})
	}
	if err == nil {
		err = in(l.B, func() error { return shape("far", "192.0.2.2/24", c, 0, 0) })
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return &bed{l.B.Do, "192.0.2.2", l.A.Start, func() { l.Close() }}, nil
}

// shape gives a device its address and its conditions.
func shape(name, address string, c Conditions, loss, rate float64) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	if err := errors.Join(netlink.AddrAdd(dev, a), netlink.LinkSetUp(dev)); err != nil {
		return err
	}
	q := netlink.NewNetem(netlink.QdiscAttrs{LinkIndex: dev.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		netlink.NetemQdiscAttrs{Latency: uint32(c.Delay.Microseconds()), Loss: float32(100 * loss), Limit: 20000, Rate64: uint64(rate / 8)})
	if err := netlink.QdiscAdd(q); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("this kernel has no netem (CONFIG_NET_SCH_NETEM): %w", err)
		}
		return fmt.Errorf("netem: %w", err)
	}
	return nil
}
