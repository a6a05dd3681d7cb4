package dns

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// cookie of a query (RFC 7873): what the client made up, and what it had from us.
type cookie struct {
	client [8]byte
	server [16]byte
	have   bool // there was a cookie at all
	valid  bool // and the server's half is ours, for this address, and of late
}

const cookieLen = 8 + 16

// readCookie takes the option's data. A length that cannot be is an error of form.
func (r *Responder) readCookie(data []byte, from netip.Addr, now time.Time) (c cookie, ok bool) {
	if len(data) != 8 && (len(data) < 16 || len(data) > 40) {
		return c, false
	}
	c.have = true
	copy(c.client[:], data)
	if len(data) != cookieLen {
		return c, true // none, or not one of ours
	}
	copy(c.server[:], data[8:])
	age := int32(uint32(now.Unix()) - binary.BigEndian.Uint32(c.server[4:]))
	c.valid = r.hashed(c.server, &c.client, from) == c.server && c.server[0] == 1 && age >= -300 && age <= 3600
	return c, true
}

// appendCookie writes the option for the answer, with a server cookie that is new enough.
func (r *Responder) appendCookie(b []byte, c *cookie, from netip.Addr, now time.Time) []byte {
	b = append(b, 0, 10, 0, cookieLen)
	b = append(b, c.client[:]...)
	made := uint32(now.Unix())
	if c.valid && int32(made-binary.BigEndian.Uint32(c.server[4:])) < 1800 {
		return append(b, c.server[:]...)
	}
	s := r.serverCookie(&c.client, made, from)
	return append(b, s[:]...)
}

// serverCookie is that of RFC 9018, section 4: version 1, the time, and a hash.
func (r *Responder) serverCookie(client *[8]byte, made uint32, from netip.Addr) (s [16]byte) {
	s[0] = 1
	binary.BigEndian.PutUint32(s[4:], made)
	return r.hashed(s, client, from)
}

// hashed puts the hash into a cookie. Octets that are reserved count as they are.
func (r *Responder) hashed(s [16]byte, client *[8]byte, from netip.Addr) [16]byte {
	var in [32]byte
	n := copy(in[:], client[:])
	n += copy(in[n:], s[:8])
	if from = from.Unmap(); from.Is4() {
		a := from.As4()
		n += copy(in[n:], a[:])
	} else {
		a := from.As16()
		n += copy(in[n:], a[:])
	}
	binary.LittleEndian.PutUint64(s[8:], siphash(&r.secret, in[:n]))
	return s
}
