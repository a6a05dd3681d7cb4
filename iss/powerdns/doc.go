// Package powerdns lets PowerDNS serve the zone, and sign it: the other end of its
// remote backend, over HTTP or a unix socket, with JSON.
//
//	b := powerdns.New(z, nil)
//	http.Serve(listener, b)     // remote-connection-string=http:url=http://127.0.0.1:8053/dns
//	b.ServeUnix(listener)       // remote-connection-string=unix:path=/run/iss/powerdns.sock
//
// [Settings] writes what PowerDNS has to be told besides; how long it may keep what it was
// told first of all.
//
// # DNSSEC
//
// The positions are new with every answer, so what signs has to be where the answers are
// made: PowerDNS signs what it sends, with keys it asks us for ([Keys]). That a name does
// not exist it proves by NSEC3 in narrow mode, for a hash and the one next to it ("white
// lies"): between two names of this zone lie all the places on Earth that one might ask
// passes for, and there is no list of them to go through. A key is made the first time; what
// to tell the parent zone is [Keys.DS].
//
// The interface is described at doc.powerdns.com/authoritative/backends/remote.html and
// held here against PowerDNS 4.7.
package powerdns
