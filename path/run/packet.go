package run

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// flow is whose packet it is.
type flow struct {
	protocol byte
	from, to netip.AddrPort
}

// kind is what a packet asks of the relay.
type kind int

const (
	other  kind = iota
	opens       // a connection: the first segment of TCP
	sends       // a datagram of UDP
	echoes      // an echo request
)

// parse looks into a packet of IPv4; the rest is other.
func parse(b []byte) (flow, kind) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return flow{}, other
	}
	head := int(b[0]&15) * 4
	if head < 20 || len(b) < head+8 || binary.BigEndian.Uint16(b[6:])&0x1fff != 0 { // a later fragment
		return flow{}, other
	}
	x := b[head:]
	f := flow{protocol: b[9],
		from: netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), binary.BigEndian.Uint16(x)),
		to:   netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), binary.BigEndian.Uint16(x[2:])),
	}
	const syn, ack = 0x02, 0x10
	switch {
	case f.protocol == unix.IPPROTO_TCP && len(x) >= 20 && x[13]&(syn|ack) == syn:
		return f, opens
	case f.protocol == unix.IPPROTO_UDP:
		return f, sends
	case f.protocol == unix.IPPROTO_ICMP && x[0] == 8:
		return f, echoes
	}
	return f, other
}
