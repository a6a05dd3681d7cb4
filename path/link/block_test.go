package link

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

func TestBlocks(t *testing.T) {
	for block, want := range map[string][2]string{
		"100.127.0.0/16":   {"100.127.255.253", "100.127.255.254"},
		"100.127.16.0/20":  {"100.127.31.253", "100.127.31.254"},
		"100.127.16.32/28": {"100.127.16.45", "100.127.16.46"},
	} {
		a, b := Ends(netip.MustParsePrefix(block))
		if a.String() != want[0] || b.String() != want[1] {
			t.Errorf("%s: %v and %v, want %v", block, a, b, want)
		}
	}
	// No part has addresses of another, or of the link itself, all the way down.
	block := Root
	for deep := 1; ; deep++ {
		var parts []netip.Prefix
		for i := range behind {
			p, err := part(block, i)
			if err != nil {
				if deep != 4 {
					t.Errorf("%v has no parts", block)
				}
				return
			}
			a, b := Ends(block)
			if !block.Overlaps(p) || p.Contains(a) || p.Contains(b) {
				t.Errorf("%v has part %v, and ends %v and %v", block, p, a, b)
			}
			for _, o := range parts {
				if p.Overlaps(o) {
					t.Errorf("%v overlaps %v", p, o)
				}
			}
			parts = append(parts, p)
		}
		block = parts[deep]
	}
}

// A connection from behind two links takes the delay of both, and is one connection: its far end has the address
// of the inner one. Two links behind the same one have addresses of their own.
func TestBehind(t *testing.T) {
	for _, d := range []Devices{TUN, Veth} {
		t.Run(d.String(), func(t *testing.T) { behindAnother(t, d) })
	}
}

func behindAnother(t *testing.T, d Devices) {
	const delay = 20 * time.Millisecond
	outer := joinedBy(t, Config{ToB: Conditions{Delay: delay}, Devices: d})
	if err := outer.B.Do(func() error { return addRoute(Root, outer.A.Addr) }); err != nil {
		t.Fatal(err)
	}
	ln, err := outer.B.Listen("tcp", 80, "")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := (Config{Behind: outer.Block, Devices: d}).Join(); err == nil {
		t.Fatal("a link behind a namespace that is no end of one")
	}
	seen := map[netip.Addr]bool{}
	for range 2 {
		var inner *Link
		if err := outer.A.Do(func() (err error) {
			inner, err = Config{ToB: Conditions{Delay: delay}, Devices: d, Behind: outer.Block}.Join()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer inner.Close()
		begin := time.Now()
		inner.A.Peer = outer.B.Addr
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c, err := inner.A.Dial(ctx, "tcp", 80, "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if took := time.Since(begin); took < 2*delay {
			t.Errorf("%v for two links of %v", took, delay)
		}
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		from := netip.MustParseAddrPort(s.RemoteAddr().String()).Addr()
		if a, _ := Ends(inner.Block); from != a || seen[a] {
			t.Errorf("the connection comes from %v, the inner end is %v", from, a)
		}
		seen[from] = true
	}
}

func addRoute(to netip.Prefix, by netip.Addr) error {
	dev, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: dev.Attrs().Index, Dst: ipNet(to), Gw: by.AsSlice()})
}
