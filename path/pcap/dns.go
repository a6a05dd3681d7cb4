package pcap

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// Lookup is a name that was looked up by DNS before a connection.
type Lookup struct {
	Name  string
	Asked int64 // ns since 1970
	Took  int64 // ns, from the first question to the answer with the address
	Tries int   // questions
	used  bool
}

// resolver remembers questions and answers, so many at the most.
type resolver struct {
	asked    map[question]*Lookup
	answered map[[16]byte]*Lookup
}

type question struct {
	client [16]byte
	name   string
}

const maxLookups = 4096

// packet takes a packet of UDP of port 53.
func (r *resolver) packet(s *segment) {
	b := s.payload
	if len(b) < 12 || binary.BigEndian.Uint16(b[4:]) != 1 {
		return
	}
	name, rest, ok := dnsName(b, b[12:])
	if !ok || len(rest) < 4 {
		return
	}
	rest = rest[4:]
	if r.asked == nil || len(r.asked) > maxLookups || len(r.answered) > 4*maxLookups {
		r.asked, r.answered = map[question]*Lookup{}, map[[16]byte]*Lookup{}
	}
	if b[2]&0x80 == 0 {
		if s.dst.port != 53 {
			return
		}
		q := question{s.src.addr, name}
		l := r.asked[q]
		if l == nil || s.at-l.Asked > 30e9 {
			l = &Lookup{Name: name, Asked: s.at}
			r.asked[q] = l
		}
		l.Tries++
		return
	}
	l := r.asked[question{s.dst.addr, name}]
	if s.src.port != 53 || l == nil || s.at < l.Asked || s.at-l.Asked > 60e9 {
		return
	}
	for range min(binary.BigEndian.Uint16(b[6:]), 64) {
		if _, rest, ok = dnsName(b, rest); !ok || len(rest) < 10 {
			return
		}
		kind, n := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[8:]))
		if rest = rest[10:]; len(rest) < n {
			return
		}
		if a, ok := netip.AddrFromSlice(rest[:n]); ok && (kind == 1 && n == 4 || kind == 28 && n == 16) {
			r.answered[a.As16()] = &Lookup{Name: l.Name, Asked: l.Asked, Took: s.at - l.Asked, Tries: l.Tries}
		}
		rest = rest[n:]
	}
}

// find is the lookup that a connection to this address was waiting for: the first connection
// within 30 s.
func (r *resolver) find(server [16]byte, at int64) *Lookup {
	l := r.answered[server]
	if l == nil || l.used || at < l.Asked+l.Took || at-l.Asked-l.Took > 30e9 {
		return nil
	}
	l.used = true
	return l
}

// dnsName reads a name at the beginning of rest, which is a part of the message b, and says what
// comes after it. Pointers go backwards only, so that it ends.
func dnsName(b, rest []byte) (string, []byte, bool) {
	var labels []string
	after, jumped := rest, false
	limit := len(b)
	for range 128 {
		if len(rest) == 0 {
			return "", nil, false
		}
		n := int(rest[0])
		switch {
		case n == 0:
			if !jumped {
				after = rest[1:]
			}
			return strings.ToLower(strings.Join(labels, ".")), after, true
		case n&0xc0 == 0xc0:
			if len(rest) < 2 {
				return "", nil, false
			}
			if !jumped {
				after = rest[2:]
			}
			to := (n&0x3f)<<8 | int(rest[1])
			if to >= limit {
				return "", nil, false
			}
			jumped, limit, rest = true, to, b[to:]
		case n < 64 && len(rest) > n:
			labels = append(labels, string(rest[1:1+n]))
			rest = rest[1+n:]
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}
