package pcap

import (
	"encoding/binary"
	"net/netip"
)

// Link types that are read, by their numbers in tcpdump.org's list.
const (
	linkNull     = 0
	linkEthernet = 1
	linkPPP      = 9
	linkRaw12    = 12 // raw IP of BSD
	linkRaw14    = 14
	linkPPPHDLC  = 50
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

// TCP flags.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	flagPSH
	flagACK
	flagURG
	flagECE
	flagCWR
)

const (
	protoTCP = 6
	protoUDP = 17
)

// endpoint is an address and a port. IPv4 addresses are mapped into IPv6 ones.
type endpoint struct {
	addr [16]byte
	port uint16
}

func (e endpoint) AddrPort() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(e.addr).Unmap(), e.port)
}

// segment is what a packet says of TCP or UDP.
type segment struct {
	at       int64
	src, dst endpoint
	proto    uint8
	seq, ack uint32
	flags    uint8
	window   uint16
	length   int    // of the payload on the wire
	payload  []byte // what was kept of it
	sum      uint16 // the checksum, to tell packets apart
	id       uint16 // IPv4's; 0 is none
	ecn      uint8
	wire     int // bytes of the IP packet

	mss        uint16 // 0 is none
	scale      int8   // -1 is none
	sackOK     bool
	timestamps bool
	tsval      uint32
	tsecr      uint32
	sacks      int
	sack       [4][2]uint32
}

// What keeps a packet from being read as a segment of TCP.
type skip string

const (
	skipNone     skip = ""
	skipLink     skip = "of a link type that is not read"
	skipOther    skip = "that are not TCP over IP"
	skipFragment skip = "that are later fragments of IP"
	skipCut      skip = "of which too little was kept"
	skipBad      skip = "whose headers contradict themselves"
	skipTime     skip = "without a time"
)

// decode reads a packet into s. It keeps a part of data, and trusts none of it.
func decode(q Packet, s *segment) skip {
	b, beyond := q.Data, max(q.Length-len(q.Data), 0)
	var kind uint16
	switch q.Link {
	case linkEthernet:
		if len(b) < 14 {
			return skipCut
		}
		kind, b = binary.BigEndian.Uint16(b[12:]), b[14:]
	case linkSLL:
		if len(b) < 16 {
			return skipCut
		}
		kind, b = binary.BigEndian.Uint16(b[14:]), b[16:]
	case linkSLL2:
		if len(b) < 20 {
			return skipCut
		}
		kind, b = binary.BigEndian.Uint16(b), b[20:]
	case linkNull, linkLoop:
		if len(b) < 4 {
			return skipCut
		}
		b = b[4:] // the family's number depends on the system: the IP version is enough
	case linkPPP, linkPPPHDLC:
		if len(b) >= 2 && b[0] == 0xff && b[1] == 3 {
			b = b[2:]
		}
		if len(b) < 2 {
			return skipCut
		}
		if p := binary.BigEndian.Uint16(b); p != 0x21 && p != 0x57 {
			return skipOther
		}
		b = b[2:]
	case linkRaw, linkRaw12, linkRaw14, linkIPv4, linkIPv6:
	default:
		return skipLink
	}
	for tags := 0; kind != 0; tags++ {
		switch kind {
		case 0x8100, 0x88a8, 0x9100: // VLAN
			if len(b) < 4 {
				return skipCut
			}
			kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
		case 0x8864: // PPPoE
			if len(b) < 8 {
				return skipCut
			}
			if p := binary.BigEndian.Uint16(b[6:]); p != 0x21 && p != 0x57 {
				return skipOther
			}
			kind, b = 0, b[8:]
		case 0x8847: // MPLS
			if len(b) < 4 {
				return skipCut
			}
			if b[2]&1 != 0 { // bottom of the stack
				kind = 0
			}
			b = b[4:]
		case 0x0800, 0x86dd:
			kind = 0
		default:
			return skipOther
		}
		if tags > 8 {
			return skipOther
		}
	}
	if len(b) < 1 {
		return skipCut
	}
	*s = segment{at: q.Time, scale: -1}
	switch b[0] >> 4 {
	case 4:
		return ipv4(b, beyond, s)
	case 6:
		return ipv6(b, beyond, s)
	}
	return skipOther
}

func ipv4(b []byte, beyond int, s *segment) skip {
	if len(b) < 20 {
		return skipCut
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 { // segmented by the network card, after the capture
		total = len(b) + beyond
	}
	if head < 20 || total < head {
		return skipBad
	}
	s.ecn, s.id, s.wire = b[1]&3, binary.BigEndian.Uint16(b[4:]), total
	if binary.BigEndian.Uint16(b[6:])&0x1fff != 0 {
		return skipFragment
	}
	s.proto = b[9]
	s.src.addr, s.dst.addr = mapped(b[12:16]), mapped(b[16:20])
	if len(b) > total {
		b = b[:total] // the rest is padding
	}
	if len(b) < head {
		return skipCut
	}
	return transport(b[head:], total-head, s)
}

func mapped(b []byte) (a [16]byte) {
	a[10], a[11] = 0xff, 0xff
	copy(a[12:], b)
	return a
}

func ipv6(b []byte, beyond int, s *segment) skip {
	if len(b) < 40 {
		return skipCut
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n == 0 { // a jumbogram, or segmented after the capture
		n = len(b) + beyond - 40
	}
	s.ecn, s.wire = b[1]>>4&3, n+40
	copy(s.src.addr[:], b[8:24])
	copy(s.dst.addr[:], b[24:40])
	next := b[6]
	b = b[40:]
	if len(b) > n {
		b = b[:n]
	}
	for range 16 {
		var skip int
		switch next {
		case 0, 43, 60: // hop by hop, routing, destination
			if len(b) < 8 {
				return skipCut
			}
			skip = 8 + int(b[1])*8
		case 51: // authentication
			if len(b) < 8 {
				return skipCut
			}
			skip = 8 + int(b[1])*4
		case 44:
			if len(b) < 8 {
				return skipCut
			}
			if binary.BigEndian.Uint16(b[2:])&0xfff8 != 0 {
				return skipFragment
			}
			skip = 8
		default:
			s.proto = next
			return transport(b, n, s)
		}
		next = b[0]
		if n < skip {
			return skipBad
		}
		if len(b) < skip {
			return skipCut
		}
		b, n = b[skip:], n-skip
	}
	return skipOther
}

// transport reads the header of TCP or UDP; n is the length on the wire.
func transport(b []byte, n int, s *segment) skip {
	switch s.proto {
	case protoUDP:
		if n < 8 {
			return skipBad
		}
		if len(b) < 8 {
			return skipCut
		}
		s.src.port, s.dst.port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		s.length, s.payload = n-8, b[8:]
		return skipNone
	case protoTCP:
	default:
		return skipOther
	}
	if n < 20 {
		return skipBad
	}
	if len(b) < 20 {
		return skipCut
	}
	head := int(b[12]>>4) * 4
	if head < 20 || head > n {
		return skipBad
	}
	s.src.port, s.dst.port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	s.seq, s.ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	s.flags, s.window, s.sum = b[13], binary.BigEndian.Uint16(b[14:]), binary.BigEndian.Uint16(b[16:])
	s.length = n - head
	if len(b) > head {
		s.payload = b[head:]
	}
	s.options(b[20:min(head, len(b))])
	return skipNone
}

func (s *segment) options(b []byte) {
	for len(b) > 0 {
		if b[0] == 0 {
			return
		}
		if b[0] == 1 {
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		v := b[2:b[1]]
		switch {
		case b[0] == 2 && len(v) == 2:
			s.mss = binary.BigEndian.Uint16(v)
		case b[0] == 3 && len(v) == 1:
			s.scale = int8(min(v[0], 14)) // RFC 7323, 2.3
		case b[0] == 4:
			s.sackOK = true
		case b[0] == 5:
			for ; len(v) >= 8 && s.sacks < len(s.sack); v = v[8:] {
				s.sack[s.sacks] = [2]uint32{binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])}
				s.sacks++
			}
		case b[0] == 8 && len(v) == 8:
			s.timestamps, s.tsval, s.tsecr = true, binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:])
		}
		b = b[b[1]:]
	}
}
