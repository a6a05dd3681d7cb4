package powerdns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/zone"
)

// Backend answers what PowerDNS asks. It is safe for concurrent use.
type Backend struct {
	zone  *zone.Zone
	keys  *Keys
	now   func() time.Time
	stats struct{ lookups, others atomic.Uint64 }

	served func()
}

// New makes a backend of a zone. With keys, PowerDNS can sign it.
func New(z *zone.Zone, keys *Keys) *Backend {
	return &Backend{zone: z, keys: keys, now: time.Now}
}

// OnLookup has f called for every lookup that finds something. It is for the start.
func (b *Backend) OnLookup(f func()) { b.served = f }

// Metrics writes what was asked in the text format of Prometheus.
func (b *Backend) Metrics(w io.Writer) {
	fmt.Fprintf(w, "# HELP headway_iss_powerdns_calls_total Calls of PowerDNS's remote backend.\n# TYPE headway_iss_powerdns_calls_total counter\n")
	fmt.Fprintf(w, "headway_iss_powerdns_calls_total{call=\"lookup\"} %d\nheadway_iss_powerdns_calls_total{call=\"other\"} %d\n", b.stats.lookups.Load(), b.stats.others.Load())
}

// Lookups is how many records PowerDNS asked for, and how many other things, since
// the start.
func (b *Backend) Lookups() (lookups, others uint64) {
	return b.stats.lookups.Load(), b.stats.others.Load()
}

// request is a call as the unix socket and POST have it.
type request struct {
	Method     string     `json:"method"`
	Parameters parameters `json:"parameters"`
}

type parameters struct {
	QName string   `json:"qname"`
	QType string   `json:"qtype"`
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Value []string `json:"value"`
	ID    number   `json:"id"`
	Key   newKey   `json:"key"`
}

// number is an integer that may come as a string.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	return json.Unmarshal([]byte(strings.Trim(string(b), `"`)), (*int)(n))
}

type newKey struct {
	Flags     int    `json:"flags"`
	Active    bool   `json:"active"`
	Published bool   `json:"published"`
	Content   string `json:"content"`
}

// reply to a call. Result is false for "no" of any kind. Without one, PowerDNS tells its
// client SERVFAIL.
type reply struct {
	Result any      `json:"result,omitempty"`
	Log    []string `json:"log,omitempty"`
}

// record as PowerDNS takes it.
type record struct {
	QType    string `json:"qtype"`
	QName    string `json:"qname"`
	Content  string `json:"content"`
	TTL      uint32 `json:"ttl"`
	Auth     int    `json:"auth"`
	DomainID int    `json:"domain_id"`
}

type domain struct {
	ID     int    `json:"id"`
	Zone   string `json:"zone"`
	Kind   string `json:"kind"`
	Serial uint32 `json:"serial"`
}

const zoneID = 1

// do answers a call.
func (b *Backend) do(r request) reply {
	p := r.Parameters
	if r.Method == "lookup" || r.Method == "APILookup" {
		b.stats.lookups.Add(1)
		records, busy := b.lookup(p.QName, p.QType)
		if busy != "" { // which is not that there is nothing
			return reply{Log: []string{busy}}
		}
		return reply{Result: records}
	}
	b.stats.others.Add(1)
	ours := strings.EqualFold(dns.Fqdn(p.Name), b.zone.Origin)
	switch r.Method {
	case "initialize":
		return reply{Result: true}
	case "getAllDomains":
		return reply{Result: []domain{b.domain()}}
	case "getDomainInfo":
		if ours {
			return reply{Result: b.domain()}
		}
	case "getUpdatedMasters", "getUnfreshSlaveInfos", "searchRecords", "getTSIGKeys":
		return reply{Result: []string{}}
	case "getAllDomainMetadata":
		if !ours || b.keys == nil {
			return reply{Result: map[string][]string{}}
		}
		return reply{Result: b.keys.allMetadata()}
	case "getDomainMetadata":
		if !ours || b.keys == nil {
			return reply{Result: []string{}}
		}
		return reply{Result: b.keys.metadata(p.Kind)}
	case "getDomainKeys":
		if !ours || b.keys == nil {
			return reply{Result: []key{}}
		}
		return reply{Result: b.keys.list()}
	case "setDomainMetadata", "addDomainKey", "removeDomainKey", "activateDomainKey", "deactivateDomainKey", "publishDomainKey", "unpublishDomainKey":
		if !ours || b.keys == nil {
			return no("iss was not started with DNSSEC")
		}
		result, err := b.keys.change(r)
		if err != nil {
			return no(err.Error())
		}
		return reply{Result: result}
	}
	return reply{Result: false}
}

func no(why string) reply { return reply{Result: false, Log: []string{why}} }

func (b *Backend) domain() domain {
	return domain{zoneID, b.zone.Origin, "native", b.zone.SOA().Serial}
}

// lookup is what there is at a name. PowerDNS asks for ANY and chooses itself. A name
// that exists without records has the type that PowerDNS has for that, none.
func (b *Backend) lookup(name, kind string) (records []record, busy string) {
	records = []record{}
	t, ok := dns.StringToType[strings.ToUpper(kind)]
	if !ok {
		return records, ""
	}
	a := b.zone.Answer(name, t, b.now())
	if a.Busy {
		return nil, a.Note
	}
	for _, rr := range a.Records {
		h := rr.Header()
		records = append(records, record{
			QType: dns.TypeToString[h.Rrtype], QName: h.Name, Content: content(rr), TTL: h.Ttl, Auth: 1, DomainID: zoneID,
		})
	}
	if len(records) == 0 && a.Exists && t == dns.TypeANY {
		records = append(records, record{QType: "", QName: name, Content: "", TTL: 60, Auth: 1, DomainID: zoneID})
	}
	if len(records) > 0 && b.served != nil {
		b.served()
	}
	return records, ""
}

// content is the data of a record as zone files have it.
func content(rr dns.RR) string {
	if l, ok := rr.(*dns.LOC); ok { // to the last digit, which miekg/dns may get wrong
		return zone.LOC{
			Size: l.Size, Horizontal: l.HorizPre, Vertical: l.VertPre,
			Latitude: l.Latitude, Longitude: l.Longitude, Altitude: l.Altitude,
		}.String()
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

var errForm = errors.New("powerdns: not a call of the remote backend")
