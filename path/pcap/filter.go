package pcap

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParseFilter reads what says which connections are wanted: an address, a network as in
// 10.0.0.0/8, a port, or address:port; of several with commas between them, any.
func ParseFilter(s string) (func(client, server netip.AddrPort) bool, error) {
	var all []func(netip.AddrPort) bool
	for word := range strings.SplitSeq(s, ",") {
		f, err := parseEnd(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return func(client, server netip.AddrPort) bool {
		for _, f := range all {
			if f(client) || f(server) {
				return true
			}
		}
		return false
	}, nil
}

func parseEnd(s string) (func(netip.AddrPort) bool, error) {
	if port, err := strconv.ParseUint(s, 10, 16); err == nil {
		return func(a netip.AddrPort) bool { return a.Port() == uint16(port) }, nil
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return func(a netip.AddrPort) bool { return p.Contains(a.Addr()) }, nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return func(a netip.AddrPort) bool { return a == ap }, nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return func(a netip.AddrPort) bool { return a.Addr() == addr }, nil
	}
	return nil, fmt.Errorf("%q is no address, network, port or address:port", s)
}

// Find returns the connections that s means: one by its number, or all with such an end (see [ParseFilter]).
// A bare number is that of a connection, not a port.
func (a *Analysis) Find(s string) ([]*Connection, error) {
	if n, err := strconv.Atoi(s); err == nil {
		for _, c := range a.Connections {
			if c.Number == n {
				return []*Connection{c}, nil
			}
		}
		return nil, nil
	}
	f, err := parseEnd(s)
	if err != nil {
		return nil, err
	}
	var all []*Connection
	for _, c := range a.Connections {
		if f(c.Client) || f(c.Server) {
			all = append(all, c)
		}
	}
	return all, nil
}
