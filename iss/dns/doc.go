// Package dns is the name server that needs no other: it answers for one zone, over UDP
// and TCP on one address, IPv4 and IPv6.
//
//	r := dns.NewResponder(dns.Options{Zone: z, Rate: 200})
//	s, err := dns.Listen("localhost:5353", r)
//	go s.Serve()
//	...
//	s.Shutdown(ctx)
//
// A [Responder] makes of the octets of a query the octets of its answer, and knows no
// sockets: what fuzzing feeds and what serves is the same. Queries for LOC, which are
// nearly all, take a short way without garbage (fast.go); all others go through
// github.com/miekg/dns. Both ways give the same answers, which a test holds against
// each other.
//
// # What it does to whom
//
// It has authority for its zone and says REFUSED for everything else: no recursion, no
// transfer, no version.bind. ANY gets one set of records (RFC 8482). Names keep the case
// they were asked with. EDNS is version 0, with answers of at most 1232 octets over UDP,
// extended errors (RFC 8914) and cookies (RFC 7873, 9018).
//
// A name server can be used to send others what they did not ask for. Answers are
// short, and each network (a /24 of IPv4, a /56 of IPv6) gets only so many a second:
// beyond that every other one is cut to the question with the bit TC set, which makes
// those who did ask come back over TCP, and the rest is dropped. Who shows a cookie of
// ours, or comes over TCP, is who he says he is, and is not limited.
package dns
