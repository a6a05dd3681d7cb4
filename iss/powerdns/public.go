package powerdns

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"
)

// public is the DNSKEY of a key. PowerDNS and pdnsutil write private keys as BIND does, and
// leave the public half to whoever reads them.
func (k *Keys) public(x key) (*dns.DNSKEY, error) {
	fields := map[string]string{}
	for line := range strings.Lines(x.Content) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			value, _, _ = strings.Cut(strings.TrimSpace(value), " ") // "13 (ECDSAP256SHA256)"
			fields[name] = value
		}
	}
	private, err := base64.StdEncoding.DecodeString(fields["PrivateKey"])
	if err != nil || len(private) == 0 {
		return nil, errors.New("it has no field PrivateKey that can be read")
	}
	d := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: k.zone, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: uint16(x.Flags), Protocol: 3,
	}
	var raw []byte
	switch a := fields["Algorithm"]; a {
	case "13", "14":
		curve := elliptic.P256()
		d.Algorithm = dns.ECDSAP256SHA256
		if a == "14" {
			curve = elliptic.P384()
			d.Algorithm = dns.ECDSAP384SHA384
		}
		p, err := ecdsa.ParseRawPrivateKey(curve, private)
		if err != nil {
			return nil, err
		}
		point, err := p.PublicKey.Bytes()
		if err != nil {
			return nil, err
		}
		raw = point[1:] // without the octet that says it is not compressed
	case "15":
		if len(private) != ed25519.SeedSize {
			return nil, fmt.Errorf("an Ed25519 key of %d octets", len(private))
		}
		d.Algorithm = dns.ED25519
		raw = ed25519.NewKeyFromSeed(private).Public().(ed25519.PublicKey)
	default:
		return nil, fmt.Errorf("algorithm %q: want 13 or 14 (ECDSA) or 15 (Ed25519)", a)
	}
	d.PublicKey = base64.StdEncoding.EncodeToString(raw)
	return d, nil
}
