package pcap

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// byteOrder is that of a section that begins with this magic number, nil if it is none.
func byteOrder(b []byte) binary.ByteOrder {
	switch uint32(ngMagic) {
	case binary.LittleEndian.Uint32(b):
		return binary.LittleEndian
	case binary.BigEndian.Uint32(b):
		return binary.BigEndian
	}
	return nil
}

// maxInterfaces is how many of a section are believed in.
const maxInterfaces = 1 << 16

// block reads blocks of pcapng until one is a packet.
func (p *Reader) block() (Packet, error) {
	for {
		p.done()
		b, err := p.peek(8, "the head of a block")
		if err != nil {
			return Packet{}, err
		}
		if binary.BigEndian.Uint32(b) == ngSection { // the same in both orders
			if b, err = p.peek(12, "the head of a section"); err != nil {
				return Packet{}, err
			}
			order := byteOrder(b[8:])
			if order == nil {
				return Packet{}, p.damage("a section begins without its magic number")
			}
			p.order, p.ifaces = order, p.ifaces[:0]
		}
		kind, length := p.order.Uint32(b), p.order.Uint32(b[4:])
		if length < 12 || length%4 != 0 {
			return Packet{}, p.damage("it says that the next block has %d bytes", length)
		}
		known := kind == ngSection || kind == ngInterface || kind == ngEnhanced || kind == ngSimple || kind == ngPacket
		if length > maxBlock || !known {
			if known && kind != ngSection && kind != ngInterface {
				return Packet{}, p.damage("it says that the next packet's block has %d bytes", length)
			}
			if known && length > 1<<28 { // no options are so long: it must be damage
				return Packet{}, p.damage("it says that the next block has %d bytes", length)
			}
			if err := p.skip(int64(length)); err != nil {
				return Packet{}, err
			}
			continue
		}
		if b, err = p.peek(int(length), "a block"); err != nil {
			return Packet{}, err
		}
		if again := p.order.Uint32(b[length-4:]); again != length {
			return Packet{}, p.damage("a block has %d bytes at its head and %d at its end", length, again)
		}
		body := b[8 : length-4]
		var q Packet
		var fault string
		switch kind {
		case ngSection:
			if len(body) < 16 {
				fault = "a section's head is too short"
			} else if major := p.order.Uint16(body[4:]); major != 1 {
				fault = "a section of a version that is not known"
			}
		case ngInterface:
			fault = p.newInterface(body)
		case ngEnhanced:
			q, fault = p.enhanced(body)
		case ngPacket:
			q, fault = p.obsolete(body)
		case ngSimple:
			q, fault = p.simple(body)
		}
		if fault != "" {
			return Packet{}, p.damage("%s", fault)
		}
		p.spare = b
		if kind == ngEnhanced || kind == ngPacket || kind == ngSimple {
			return q, nil
		}
	}
}

// options calls f for each until the end, or until they make no sense.
func (p *Reader) options(b []byte, f func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := p.order.Uint16(b), int(p.order.Uint16(b[2:]))
		if code == optEnd || 4+n > len(b) {
			return
		}
		f(code, b[4:4+n])
		b = b[min(4+(n+3)&^3, len(b)):]
	}
}

func (p *Reader) newInterface(b []byte) string {
	if len(b) < 8 {
		return "an interface's block is too short"
	}
	if len(p.ifaces) >= maxInterfaces {
		return "a section has too many interfaces"
	}
	i := iface{link: p.order.Uint16(b), snaplen: p.order.Uint32(b[4:]), resol: 6, number: len(p.ifaces)}
	p.options(b[8:], func(code uint16, value []byte) {
		switch {
		case code == optTsresol && len(value) >= 1:
			i.resol = value[0]
		case code == optTsoffset && len(value) >= 8:
			i.offset = int64(p.order.Uint64(value))
		}
	})
	p.ifaces = append(p.ifaces, i)
	return ""
}

// time turns a time in the units of the interface into ns since 1970. What does not fit is as far as it can be.
func (i iface) time(high, low uint32) int64 {
	t := uint64(high)<<32 | uint64(low)
	var ns uint64
	if k := i.resol & 0x7f; i.resol&0x80 != 0 { // powers of two
		h, l := bits.Mul64(t, 1e9)
		switch {
		case k >= 128 || k >= 64 && k-64 >= 64:
		case k >= 64:
			ns = h >> (k - 64)
		case h>>k != 0:
			ns = math.MaxInt64
		default:
			ns = h<<(64-k) | l>>k
		}
	} else if k <= 9 {
		h, l := bits.Mul64(t, pow10[9-k])
		if ns = l; h != 0 {
			ns = math.MaxInt64
		}
	} else if k <= 28 {
		ns = t
		for range k - 9 {
			ns /= 10
		}
	}
	ns = min(ns, math.MaxInt64)
	seconds := i.offset
	if seconds > 4e9 || seconds < -4e9 {
		seconds = 0 // that is no time
	}
	sum := int64(ns) + seconds*1e9
	if seconds > 0 && sum < int64(ns) {
		return math.MaxInt64
	}
	return sum
}

var pow10 = [10]uint64{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000}

func (p *Reader) enhanced(b []byte) (Packet, string) {
	if len(b) < 20 {
		return Packet{}, "a packet's block is too short"
	}
	n := p.order.Uint32(b)
	if n >= uint32(len(p.ifaces)) {
		return Packet{}, "a packet is of an interface that was not described"
	}
	i := p.ifaces[n]
	kept, length := p.order.Uint32(b[12:]), p.order.Uint32(b[16:])
	if kept > maxPacket || int(kept) > len(b)-20 {
		return Packet{}, "a packet is longer than its block"
	}
	q := Packet{Time: i.time(p.order.Uint32(b[4:]), p.order.Uint32(b[8:])), Data: b[20 : 20+kept], Length: int(min(max(length, kept), 1<<30)), Link: i.link, Interface: i.number}
	p.options(b[min(20+(int(kept)+3)&^3, len(b)):], func(code uint16, value []byte) {
		if code == optEPBFlags && len(value) >= 4 {
			q.Direction = Direction(p.order.Uint32(value) & 3)
		}
	})
	return q, ""
}

func (p *Reader) obsolete(b []byte) (Packet, string) {
	if len(b) < 20 {
		return Packet{}, "a packet's block is too short"
	}
	n := p.order.Uint16(b)
	if int(n) >= len(p.ifaces) {
		return Packet{}, "a packet is of an interface that was not described"
	}
	i := p.ifaces[n]
	kept, length := p.order.Uint32(b[12:]), p.order.Uint32(b[16:])
	if kept > maxPacket || int(kept) > len(b)-20 {
		return Packet{}, "a packet is longer than its block"
	}
	return Packet{Time: i.time(p.order.Uint32(b[4:]), p.order.Uint32(b[8:])), Data: b[20 : 20+kept], Length: int(min(max(length, kept), 1<<30)), Link: i.link, Interface: i.number}, ""
}

// simple packets have no time; their bytes still count.
func (p *Reader) simple(b []byte) (Packet, string) {
	if len(b) < 4 {
		return Packet{}, "a packet's block is too short"
	}
	if len(p.ifaces) == 0 {
		return Packet{}, "a packet is of an interface that was not described"
	}
	i := p.ifaces[0]
	length := p.order.Uint32(b)
	kept := min(uint64(length), uint64(len(b)-4))
	if i.snaplen > 0 {
		kept = min(kept, uint64(i.snaplen))
	}
	return Packet{Time: NoTime, Data: b[4 : 4+kept], Length: int(min(length, 1<<30)), Link: i.link, Interface: i.number}, ""
}

// NoTime is the time of packets that have none.
const NoTime = math.MinInt64
