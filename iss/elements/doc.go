// Package elements gets element sets and keeps them: from servers, by default
// CelesTrak's, or from a file, into a sky.Catalogue.
//
//	k, err := elements.New(elements.Options{From: []string{elements.CelesTrak}, Dir: dir}, catalogue)
//	go k.Run(ctx)
//
// New serves what is on disk at once; Run gets newer sets once a day. The catalogue has
// how that stands (sky.Fetch). Whatever a server does, the service goes on with the last
// good set, which is getting older, and says so.
//
// # Being a good guest
//
// CelesTrak is run by few for many. Its rules (celestrak.org/usage-policy.php, May 2026)
// ask for one download per update, which come every two hours at most, and for silence
// after any answer that is not 200, until a human has looked. So: a request a day, never
// two within two hours, at times that chance spreads; If-None-Match and
// If-Modified-Since where the server has given what they need; no redirects followed; a
// User-Agent that says who asks; after an error at least two hours of silence, twice as long
// each time, and a day after 403 or 404. When the next request is due stands on disk before the
// request is made: a service that is restarted in a loop asks no more often.
//
// # Not believing everything
//
// A new set replaces the old one only as a whole and only if it looks right (check.go): it
// parses but for a few sets, it has not lost a third of its objects, nor the station, it is
// not older than what is there, and its orbits are those of the same objects. Each kept
// file is replaced by rename, after it is safe on disk.
package elements
