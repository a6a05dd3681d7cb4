package run

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is the name of the host inside a path.
const Host = "host.headway"

// resolver is the address inside of the host's name server, where that is one that only the host can reach.
var resolver = netip.MustParseAddr("100.127.255.250")

// nameServer returns the host's first name server, and whether it can be reached from inside by its own address.
func nameServer(resolv []byte) (server netip.Addr, reachable bool) {
	for line := range bytes.Lines(resolv) {
		f := strings.Fields(string(line))
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(f[1]); err == nil {
			return a, a.Is4() && !a.IsLoopback()
		}
	}
	// As resolv.conf(5) has it where none is named.
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), false
}

// withHost is /etc/hosts with the name of the host.
func withHost(hosts []byte, at netip.Addr) []byte {
	hosts = bytes.TrimRight(hosts, "\n")
	if len(hosts) > 0 {
		hosts = append(hosts, '\n')
	}
	return fmt.Appendf(hosts, "%v\t%s\n", at, Host)
}

// withResolver is resolv.conf with another name server, and all else as it is.
func withResolver(resolv []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "nameserver %v\n", resolver)
	for line := range bytes.Lines(resolv) {
		if f := strings.Fields(string(line)); len(f) > 0 && f[0] != "nameserver" {
			b.Write(line)
		}
	}
	return b.Bytes()
}

// withFiles is nsswitch.conf without services that ask somebody on the host, past the link.
func withFiles(nsswitch []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(nsswitch) {
		if f := strings.Fields(string(line)); len(f) > 0 && f[0] == "hosts:" {
			b.WriteString("hosts: files dns\n")
			continue
		}
		b.Write(line)
	}
	return b.Bytes()
}

// cover mounts files over others, for this process and those it starts. It must be in a mount namespace of its own.
// What it could not do is in the error; the rest is done.
func cover(files map[string][]byte) error {
	if len(files) == 0 {
		return nil
	}
	// A file system of its own, for as long as it takes in place of a directory that exists everywhere;
	// what is mounted from it stays when it has gone.
	const place = "/tmp"
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Mount("headway", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755"); err != nil {
		return fmt.Errorf("mounting names for the path: %w", err)
	}
	defer unix.Unmount(place, unix.MNT_DETACH)
	var failed []string
	i := 0
	for name, b := range files {
		i++
		from := filepath.Join(place, fmt.Sprint(i))
		err := os.WriteFile(from, b, 0o644)
		if err == nil {
			err = unix.Mount(from, name, "", unix.MS_BIND, "")
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("mounting names for the path: %s", strings.Join(failed, "; "))
	}
	return nil
}

// names makes the host's name known inside, and a name server reachable, which is returned if it is to be asked in place of the resolver.
func names(host netip.Addr, outside bool) (server netip.Addr, err error) {
	files := map[string][]byte{}
	hosts, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return server, fmt.Errorf("%w: the name %s is unknown inside, its address is %v", err, Host, host)
	}
	files["/etc/hosts"] = withHost(hosts, host)
	if b, err := os.ReadFile("/etc/nsswitch.conf"); err == nil {
		files["/etc/nsswitch.conf"] = withFiles(b)
	}
	if b, err := os.ReadFile("/etc/resolv.conf"); err == nil && outside {
		if a, reachable := nameServer(b); !reachable {
			files["/etc/resolv.conf"] = withResolver(b)
			server = a
		}
	}
	return server, cover(files)
}
