package main

import (
	"net"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/net/idna"

	"github.com/headway-lab/headway/iss/zone"
)

// ascii writes a domain name as the DNS has it: letters beyond ASCII by IDNA (RFC 5891).
func ascii(flag, name string) (string, error) {
	for i := range len(name) {
		if name[i] < 0x80 {
			continue
		}
		a, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return "", usagef("--%s %q is not a domain name: %w", flag, name, err)
		}
		return a, nil
	}
	return name, nil
}

// server reads NAME=ADDRESS,... of a name server. An address that the zone cannot tell, and half of a name,
// would be left out in silence, and the zone not be found.
func (x *flags) server(s string) (zone.Host, error) {
	name, list, addressed := strings.Cut(s, "=")
	name, err := ascii("ns", name)
	if err != nil {
		return zone.Host{}, err
	}
	if name != "" && !strings.Contains(name, ".") {
		return zone.Host{}, usagef("--ns %q: want the whole name, such as %s.%s", s, name, strings.TrimSuffix(x.zone, "."))
	}
	h := zone.Host{Name: name}
	if !addressed {
		return h, nil
	}
	if h.Addresses, err = parseAddresses("ns", strings.Split(list, ",")); err != nil {
		return h, err
	}
	if !dns.IsSubDomain(dns.Fqdn(x.zone), dns.Fqdn(name)) {
		return h, usagef("--ns %q: %s is not in %s, which cannot tell its address; leave the address out", s, name, x.zone)
	}
	return h, nil
}

// mailbox as a name (RFC 1035, section 8).
func mailbox(contact string) (string, error) {
	user, host, ok := strings.Cut(contact, "@")
	if !ok || user == "" || host == "" || strings.ContainsAny(user, ". ") || strings.Contains(host, "@") {
		return "", usagef("--contact %q: want NAME@DOMAIN, without a point in NAME", contact)
	}
	host, err := ascii("contact", host)
	return user + "." + host, err
}

func checkPeers(peers string) error {
	if host, _, err := net.SplitHostPort(peers); err != nil || host == "" || checkAddress(peers) != nil {
		return usagef("--peers %q: want HOST:PORT, such as iss-peers:8080", peers)
	}
	return nil
}

// unfound are the name servers in the zone of which nobody tells an address.
func unfound(z zone.Config) (names []string) {
	if len(z.Servers) == 0 {
		return []string{"ns." + dns.Fqdn(z.Origin)}
	}
	addressed := map[string]bool{}
	for _, h := range z.Servers {
		addressed[dns.CanonicalName(h.Name)] = addressed[dns.CanonicalName(h.Name)] || len(h.Addresses) > 0
	}
	for _, h := range z.Servers {
		if dns.IsSubDomain(dns.Fqdn(z.Origin), dns.Fqdn(h.Name)) && !addressed[dns.CanonicalName(h.Name)] {
			names = append(names, dns.Fqdn(h.Name))
		}
	}
	return names
}
