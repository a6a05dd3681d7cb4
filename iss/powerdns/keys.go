package powerdns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/whole"
)

// Keys are what a zone is signed with, and how, in a file. PowerDNS reads them through
// the backend, and pdnsutil may change them.
type Keys struct {
	path string
	zone string

	mu   sync.Mutex
	kept kept
}

type kept struct {
	Zone     string              `json:"zone"`
	Keys     []key               `json:"keys"`
	Metadata map[string][]string `json:"metadata"`
}

// key as PowerDNS takes it; Content is BIND's format of private keys.
type key struct {
	ID        int    `json:"id"`
	Flags     int    `json:"flags"`
	Active    bool   `json:"active"`
	Published bool   `json:"published"`
	Content   string `json:"content"`
}

// OpenKeys reads the file of a zone's keys, which its owner alone may read. If there is
// none it makes one, with one key for everything (a CSK, flags 257): ECDSA with P-256,
// whose signatures are short.
func OpenKeys(path, zone string) (*Keys, error) {
	k := &Keys{path: path, zone: strings.ToLower(dns.Fqdn(zone))}
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, k.create()
	case err != nil:
		return nil, fmt.Errorf("powerdns: keys: %w", err)
	}
	if err := json.Unmarshal(b, &k.kept); err != nil {
		return nil, fmt.Errorf("powerdns: keys: %s: %w", path, err)
	}
	if k.kept.Zone != k.zone {
		return nil, fmt.Errorf("powerdns: keys: %s is for the zone %s, not %s", path, k.kept.Zone, k.zone)
	}
	for _, x := range k.kept.Keys {
		if _, err := k.public(x); err != nil {
			return nil, fmt.Errorf("powerdns: keys: %s: key %d: %w", path, x.ID, err)
		}
	}
	return k, nil
}

func (k *Keys) create() error {
	d := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: k.zone, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 3600},
		Flags: 257, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := d.Generate(256)
	if err != nil {
		return fmt.Errorf("powerdns: keys: %w", err)
	}
	k.kept = kept{
		Zone: k.zone,
		Keys: []key{{ID: 1, Flags: 257, Active: true, Published: true, Content: d.PrivateKeyString(private)}},
		// One round of hashing without salt (RFC 9276): more hide nothing.
		Metadata: map[string][]string{"NSEC3PARAM": {"1 0 0 -"}, "NSEC3NARROW": {"1"}},
	}
	return k.save()
}

// save replaces the file.
func (k *Keys) save() error {
	b, err := json.MarshalIndent(k.kept, "", " ")
	if err != nil {
		return fmt.Errorf("powerdns: keys: %w", err)
	}
	if err := whole.Replace(k.path, 0o600, append(b, '\n')); err != nil {
		return fmt.Errorf("powerdns: keys: %w", err)
	}
	return nil
}

// DS are the records that the parent zone needs for the keys in use, in the form of zone
// files.
func (k *Keys) DS() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []string
	for _, x := range k.kept.Keys {
		if !x.Active || x.Flags&1 == 0 {
			continue
		}
		if d, err := k.public(x); err == nil {
			out = append(out, strings.ReplaceAll(d.ToDS(dns.SHA256).String(), "\t", " "))
		}
	}
	return out
}

func (k *Keys) list() []key {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]key{}, k.kept.Keys...)
}

func (k *Keys) metadata(kind string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.kept.Metadata[kind]...)
}

func (k *Keys) allMetadata() map[string][]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string][]string{}
	for kind, v := range k.kept.Metadata {
		out[kind] = slices.Clone(v)
	}
	return out
}

// change does what pdnsutil wants. What cannot be saved is not changed.
func (k *Keys) change(r request) (result any, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.kept
	k.kept.Keys = slices.Clone(before.Keys)
	k.kept.Metadata = map[string][]string{}
	for kind, v := range before.Metadata {
		k.kept.Metadata[kind] = v
	}
	defer func() {
		if err != nil {
			k.kept = before
		}
	}()
	p := r.Parameters
	at := slices.IndexFunc(k.kept.Keys, func(x key) bool { return x.ID == int(p.ID) })
	switch r.Method {
	case "setDomainMetadata":
		if len(p.Value) == 0 {
			delete(k.kept.Metadata, p.Kind)
		} else {
			k.kept.Metadata[p.Kind] = p.Value
		}
		return true, k.save()
	case "addDomainKey":
		x := key{Flags: p.Key.Flags, Active: p.Key.Active, Published: p.Key.Published, Content: p.Key.Content}
		if _, err := k.public(x); err != nil {
			return nil, fmt.Errorf("cannot use the key: %w", err)
		}
		for _, y := range k.kept.Keys {
			x.ID = max(x.ID, y.ID)
		}
		x.ID++
		k.kept.Keys = append(k.kept.Keys, x)
		return x.ID, k.save()
	}
	if at < 0 {
		return nil, fmt.Errorf("there is no key %d", p.ID)
	}
	switch r.Method {
	case "removeDomainKey":
		k.kept.Keys = slices.Delete(k.kept.Keys, at, at+1)
	case "activateDomainKey":
		k.kept.Keys[at].Active = true
	case "deactivateDomainKey":
		k.kept.Keys[at].Active = false
	case "publishDomainKey":
		k.kept.Keys[at].Published = true
	case "unpublishDomainKey":
		k.kept.Keys[at].Published = false
	}
	return true, k.save()
}
