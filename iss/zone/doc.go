// Package zone says what the DNS zone of the service holds: which names there are and
// which records they have at a moment. Who carries the answers, the embedded server
// (package dns) or PowerDNS (package powerdns), asks it.
//
//	z, err := zone.New(zone.Config{Origin: "iss.example."}, catalogue)
//	a := z.Answer("hubble.iss.example.", dns.TypeLOC, time.Now())
//
// With the zone example:
//
//	example.                            SOA, NS, TXT (what this is); A, AAAA if configured
//	iss.example.                        LOC where it is, TXT what is known of it
//	25544.example.                      the same by number; see package sky for names
//	48.2n-16.4e.pass.iss.example.       TXT when it next passes over 48.2 N, 16.4 E
//	vienna.pass.iss.example.            and over a city of a short list
//	ns.example.                         A, AAAA if configured
//
// Everything else does not exist. Names on the way to a name that exists do, without
// records (RFC 8020), as pass.iss.example. does.
//
// # Elements that are too old
//
// A position is never given without saying what it is worth. LOC has a field for that,
// the horizontal precision: the diameter of the circle in which the object is. It grows
// with the age of the elements (sky.Uncertainty): "6000m" at their epoch, "20000m" after
// a day, half the Earth in the end. So each LOC record says how old its elements are to everybody,
// through any resolver and through PowerDNS, too. From sky.Old on, answers carry a note
// besides (Answer.Note), which the embedded server sends as extended DNS error 3, "Stale
// Answer" (RFC 8914), or, to those who do not speak EDNS, as the TXT record in the
// additional section. TXT always has the age.
//
// Config.Refuse is for those who would rather have no answer: from that age on the name
// has no LOC record. That is an empty answer and not SERVFAIL, because the server does not
// fail: resolvers would ask again, elsewhere and for nothing.
package zone
