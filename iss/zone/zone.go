package zone

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// Host is a name with its addresses.
type Host struct {
	Name      string // absolute; within the zone its addresses are served
	Addresses []netip.Addr
}

// Config of a zone. All but Origin may be left out.
type Config struct {
	Origin  string        // as in "iss.example."
	Servers []Host        // its name servers; ns.ORIGIN without addresses if none
	Contact string        // mailbox as a name: "hostmaster.example."; hostmaster.ORIGIN if empty
	Home    []netip.Addr  // addresses of the origin itself: of the page
	TTL     uint32        // seconds, of what moves; 4 if 0
	Refuse  time.Duration // from elements of this age on there is no position, see Refused; 0: always some
	Exact   bool          // LOC says 1m of precision as first published, whatever the elements are worth
}

// TTLs of what stays, and of names that do not exist, seconds. Names come with new
// elements, a few times a day.
const (
	stays    = 3600
	negative = 60
)

// Zone answers questions. It is safe for concurrent use.
type Zone struct {
	Origin string // absolute, in small letters
	TTL    uint32

	config  Config
	labels  int
	cat     *sky.Catalogue
	passes  *passes
	ns      []dns.RR
	hosts   map[string][]netip.Addr // by name
	between map[string]bool         // names between the hosts and the origin

	hostLabels []string // of hosts right below the origin
}

// New makes a zone of a catalogue.
func New(c Config, cat *sky.Catalogue) (*Zone, error) {
	name := func(what, s string) (string, error) {
		odd := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' || r == '"' || r == '@' })
		if _, ok := dns.IsDomainName(s); !ok || odd || s == "" || s == "." {
			return "", fmt.Errorf("zone: %s %q is not a domain name", what, s)
		}
		return strings.ToLower(dns.Fqdn(s)), nil
	}
	z := &Zone{config: c, TTL: c.TTL, cat: cat, passes: newPasses(), hosts: map[string][]netip.Addr{}, between: map[string]bool{}}
	var err error
	if z.Origin, err = name("zone", c.Origin); err != nil {
		return nil, err
	}
	if len(z.Origin) > 150 {
		return nil, fmt.Errorf("zone: %q is too long: names below it would not fit", c.Origin)
	}
	z.labels = dns.CountLabel(z.Origin)
	if z.TTL == 0 {
		z.TTL = 4
	}
	if len(c.Servers) == 0 {
		c.Servers = []Host{{Name: "ns." + z.Origin}}
	}
	if c.Contact == "" {
		c.Contact = "hostmaster." + z.Origin
	}
	if z.config.Contact, err = name("contact", c.Contact); err != nil {
		return nil, err
	}
	for _, h := range c.Servers {
		n, err := name("name server", h.Name)
		if err != nil {
			return nil, err
		}
		z.ns = append(z.ns, &dns.NS{Hdr: header(z.Origin, dns.TypeNS, stays), Ns: n})
		if !dns.IsSubDomain(z.Origin, n) {
			continue
		}
		z.hosts[n] = append(z.hosts[n], h.Addresses...)
		if label, _, _ := strings.Cut(n, "."); n == label+"."+z.Origin {
			z.hostLabels = append(z.hostLabels, label)
		}
		for i, end := dns.NextLabel(n, 0); !end && n[i:] != z.Origin; i, end = dns.NextLabel(n, i) {
			z.between[n[i:]] = true
		}
	}
	z.hosts[z.Origin] = append(z.hosts[z.Origin], c.Home...)
	return z, nil
}

func header(name string, kind uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// Answer to a question.
type Answer struct {
	Outside bool     // the name is not in the zone
	Exists  bool     // the name exists; there may be no record of the type asked
	Records []dns.RR // of the type asked, or of all types for ANY
	Extra   []dns.RR // addresses of name servers
	Note    string   // what there is to say about a LOC answer or its absence; empty if nothing
	Old     bool     // Note is about old elements, and Records are made from them
	Busy    bool     // no answer now, for too many ask for passes
}

// Answer a question at a moment. Names are absolute; case does not matter, and records
// come with the name as it was asked. For [dns.TypeANY] all records come.
func (z *Zone) Answer(qname string, qtype uint16, t time.Time) Answer {
	name := strings.ToLower(dns.Fqdn(qname))
	if !dns.IsSubDomain(z.Origin, name) {
		return Answer{Outside: true}
	}
	a := Answer{Exists: true}
	wants := func(kind uint16) bool { return qtype == kind || qtype == dns.TypeANY }
	addresses := func() {
		for _, rr := range z.addresses(name, qname) {
			if wants(rr.Header().Rrtype) {
				a.Records = append(a.Records, rr)
			}
		}
	}
	if name == z.Origin {
		if wants(dns.TypeSOA) {
			a.Records = append(a.Records, z.SOA())
		}
		if wants(dns.TypeNS) {
			a.Records = append(a.Records, z.ns...)
			for _, rr := range z.ns {
				ns := rr.(*dns.NS).Ns
				a.Extra = append(a.Extra, z.addresses(ns, ns)...)
			}
		}
		if wants(dns.TypeTXT) {
			a.Records = append(a.Records, z.text(qname, z.about(t), z.TTL))
		}
		addresses()
		return a
	}
	if _, host := z.hosts[name]; host {
		addresses()
		return a
	}
	labels := dns.SplitDomainName(name)
	labels = labels[:len(labels)-z.labels]
	o, err := z.cat.Now().Find(labels[len(labels)-1])
	var ambiguous *sky.AmbiguousError
	switch {
	case errors.As(err, &ambiguous) && len(labels) == 1:
		a.Note = err.Error()
		if wants(dns.TypeTXT) {
			a.Records = append(a.Records, z.text(qname, ambiguousText(ambiguous), z.TTL))
		}
		return a
	case err != nil:
		return Answer{Exists: z.between[name]}
	case len(labels) == 1:
		if wants(dns.TypeLOC) {
			z.loc(&a, qname, o, t)
		}
		if wants(dns.TypeTXT) {
			a.Records = append(a.Records, z.text(qname, z.objectText(o, t), z.TTL))
		}
		return a
	case labels[len(labels)-2] != "pass":
		return Answer{Exists: z.between[name]}
	case len(labels) == 2:
		if wants(dns.TypeTXT) {
			a.Records = append(a.Records, z.text(qname, []string{
				"usage=LATITUDE-LONGITUDE." + strings.TrimSuffix(name, z.Origin) + z.Origin,
				"example=48.2n-16.4e." + name, "example=vienna." + name,
			}, z.TTL))
		}
		return a
	}
	place, where := observer(labels[:len(labels)-2])
	if where != there {
		return Answer{Exists: where == onTheWay}
	}
	if wants(dns.TypeTXT) {
		pass, err := z.nextPass(o, place, t)
		if errors.Is(err, errBusy) {
			return Answer{Exists: true, Busy: true, Note: "too many passes to compute, try again"}
		}
		text := append([]string{"object=" + clip(o.Name), "observer=" + coordinates(place)}, passText(pass, err)...)
		text = append(text, z.ageText(o, t)...)
		a.Records = append(a.Records, z.text(qname, text, z.TTL))
	}
	return a
}

// SOA of the zone. Its serial is the time when the elements were loaded.
func (z *Zone) SOA() *dns.SOA {
	return &dns.SOA{
		Hdr: header(z.Origin, dns.TypeSOA, stays), Ns: z.ns[0].(*dns.NS).Ns, Mbox: z.config.Contact,
		Serial: uint32(z.cat.Now().Made.Unix()), Refresh: 7200, Retry: 1800, Expire: 1209600, Minttl: negative,
	}
}

// NegativeSOA is what goes with an answer that has no records: its TTL is for how long
// resolvers may keep that (RFC 2308).
func (z *Zone) NegativeSOA() *dns.SOA {
	s := z.SOA()
	s.Hdr.Ttl = negative
	return s
}

func (z *Zone) addresses(name, owner string) []dns.RR {
	var out []dns.RR
	for _, ip := range z.hosts[name] {
		if ip = ip.Unmap(); ip.Is4() {
			out = append(out, &dns.A{Hdr: header(owner, dns.TypeA, stays), A: ip.AsSlice()})
		} else {
			out = append(out, &dns.AAAA{Hdr: header(owner, dns.TypeAAAA, stays), AAAA: ip.AsSlice()})
		}
	}
	return out
}

// loc adds the LOC record of an object, or says why there is none.
func (z *Zone) loc(a *Answer, qname string, o *sky.Object, t time.Time) {
	l, note, err := z.LOC(o, t)
	if err != nil {
		a.Note = err.Error()
		return
	}
	a.Note, a.Old = note, note != ""
	a.Records = append(a.Records, &dns.LOC{
		Hdr: header(qname, dns.TypeLOC, z.TTL), Size: l.Size, HorizPre: l.Horizontal, VertPre: l.Vertical,
		Latitude: l.Latitude, Longitude: l.Longitude, Altitude: l.Altitude,
	})
}

// LOC is where an object is, and what has to be said with it. The error says why
// there is none, for the one who asked. It makes no garbage as long as the elements are fresh.
func (z *Zone) LOC(o *sky.Object, t time.Time) (l LOC, note string, err error) {
	if err := z.Refused(o, t); err != nil {
		return l, "", err
	}
	age := o.Age(t)
	p, err := o.Below(t)
	if err != nil {
		return l, "", fmt.Errorf("no position: %w", err)
	}
	ground, height := sky.Uncertainty(age)
	if z.config.Exact {
		ground, height = .0005, .0005
	}
	l, err = NewLOC(p, 1, 2000*ground, 2000*height)
	if err != nil {
		return l, "", err
	}
	if sky.FreshnessOf(age) != sky.Fresh {
		note = warning(o, age)
	}
	return l, note, nil
}

// TooOldError tells that elements are older than the service wants to answer from.
type TooOldError struct{ Age time.Duration }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("elements are %s old: too old for a position", sky.Days(e.Age))
}

// Refused is a [*TooOldError] if nothing is to be said about where an object is at a
// moment, for its elements are older than Config.Refuse, and nil otherwise. Whoever tells a
// position in any form, a pass or a track, asks it for each moment that is told.
func (z *Zone) Refused(o *sky.Object, t time.Time) error {
	if age := o.Age(t); z.config.Refuse > 0 && age.Abs() >= z.config.Refuse {
		return &TooOldError{age}
	}
	return nil
}

// nextPass is the next pass if it is not refused, neither now nor at its time.
func (z *Zone) nextPass(o *sky.Object, p orbit.Place, t time.Time) (orbit.Pass, error) {
	if err := z.Refused(o, t); err != nil {
		return orbit.Pass{}, err
	}
	pass, err := z.passes.next(o, p, t)
	if err == nil {
		err = z.Refused(o, pass.Culmination.Time)
	}
	return pass, err
}

func warning(o *sky.Object, age time.Duration) string {
	return fmt.Sprintf("elements are %s old: %s", sky.Days(age), o.Doubt(age))
}

// Object is the one that a name of one label below the origin means, or nil: the label of
// a host is none, whatever objects are called. It makes no garbage.
func (z *Zone) Object(label []byte) *sky.Object {
	o := z.cat.Now().Lookup(label)
	if o != nil && z.hostLabel(label) {
		return nil
	}
	return o
}

func (z *Zone) hostLabel(label []byte) bool {
	for _, l := range z.hostLabels {
		if len(l) == len(label) && strings.EqualFold(l, string(label)) {
			return true
		}
	}
	return false
}
