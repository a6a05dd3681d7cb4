package dns

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/zone"
)

// Options of a responder.
type Options struct {
	Zone   *zone.Zone
	Rate   float64          // answers a second over UDP to a network that shows no cookie; 0: any number
	Secret [16]byte         // of cookies, to share among servers on one address; random if all 0
	Served func()           // called for each answer that was not a refusal; may be nil
	Now    func() time.Time // the clock; time.Now if nil
}

// Responder answers queries. It is safe for concurrent use.
type Responder struct {
	zone   *zone.Zone
	origin []byte // of the zone as the wire has it, in small letters
	limit  *limiter
	secret [16]byte
	now    func() time.Time
	served func()
	slow   bool // for tests and measurements: no short way
	stats  counters
}

// maxUDP is how long an answer over UDP may be: what gets through everywhere without
// fragments (DNS flag day 2020).
const maxUDP = 1232

// NewResponder for a zone.
func NewResponder(o Options) *Responder {
	r := &Responder{zone: o.Zone, secret: o.Secret, now: o.Now, served: o.Served}
	if r.now == nil {
		r.now = time.Now
	}
	if r.secret == [16]byte{} {
		rand.Read(r.secret[:]) // never fails
	}
	if o.Rate > 0 {
		r.limit = newLimiter(o.Rate)
	}
	b := make([]byte, 256)
	n, err := dns.PackDomainName(o.Zone.Origin, b, 0, nil, false)
	if err != nil {
		panic("dns: " + err.Error()) // zone.New has checked it
	}
	r.origin = b[:n]
	return r
}

// Respond appends the answer to a query to b, which it returns. It returns b as it was
// where silence is the answer: to what is no query, and to those who ask too much.
func (r *Responder) Respond(b, query []byte, from netip.Addr, tcp bool) []byte {
	start := len(b)
	now := r.now()
	over := overUDP
	if tcp {
		over = overTCP
	}
	r.stats.queries[over].Add(1)
	out, rcode, cookieOK, done := r.fast(b, query, from, now)
	if !done {
		out, rcode, cookieOK = r.full(b, query, from, tcp, now)
	}
	if len(out) == start {
		r.stats.ignored.Add(1)
		return b
	}
	if r.limit != nil && !tcp && !cookieOK {
		switch r.limit.check(from, rcode != dns.RcodeSuccess, now) {
		case cut:
			short := cutShort(out[start:])
			r.stats.cut.Add(1)
			return out[:start+len(short)]
		case drop:
			r.stats.dropped.Add(1)
			return b
		}
	}
	r.stats.count(out[start:], rcode)
	if r.served != nil && (rcode == dns.RcodeSuccess || rcode == dns.RcodeNameError) {
		r.served()
	}
	return out
}

// full answers any query through miekg/dns. cookieOK tells that the client has shown a
// cookie of ours.
func (r *Responder) full(b, query []byte, from netip.Addr, tcp bool, now time.Time) (out []byte, rcode int, cookieOK bool) {
	if len(query) < 12 || query[2]&0x80 != 0 {
		return b, 0, false
	}
	bare := func(rcode int) ([]byte, int, bool) { // a header is all that can be said
		b = append(b, query[0], query[1], 0x80|query[2]&0x79, byte(rcode), 0, 0, 0, 0, 0, 0, 0, 0)
		return b, rcode, false
	}
	if opcode := int(query[2] >> 3 & 15); opcode != dns.OpcodeQuery {
		return bare(dns.RcodeNotImplemented)
	}
	count := func(i int) uint16 { return binary.BigEndian.Uint16(query[i:]) }
	if count(4) != 1 || count(6) > 0 || count(8) > 1 || count(10) > 8 {
		return bare(dns.RcodeFormatError)
	}
	var q dns.Msg
	if err := q.Unpack(query); err != nil || len(q.Question) != 1 {
		return bare(dns.RcodeFormatError)
	}
	m := &dns.Msg{}
	m.SetReply(&q)
	m.RecursionDesired = q.RecursionDesired
	m.CheckingDisabled = false
	m.Compress = true
	limit := dns.MinMsgSize
	if tcp {
		limit = dns.MaxMsgSize
	}
	e, ok := r.readEDNS(&q, from, now)
	if !ok && e.opt == nil {
		return bare(dns.RcodeFormatError)
	}
	if e.opt != nil && !tcp {
		limit = min(max(int(e.opt.UDPSize()), dns.MinMsgSize), maxUDP)
	}
	switch {
	case !ok: // who speaks EDNS is answered with it, also with an error (RFC 6891, section 7)
		m.Rcode = dns.RcodeFormatError
		e.cookie = cookie{}
	case e.opt != nil && e.opt.Version() != 0:
		m.Rcode = dns.RcodeBadVers
	default:
		r.answer(m, &e, now)
	}
	rcode = m.Rcode
	if e.opt != nil {
		m.Extra = append(m.Extra, r.opt(&e, from, now))
	}
	packed, err := m.Pack()
	if err != nil {
		return bare(dns.RcodeServerFailure)
	}
	if len(packed) > limit && len(m.Extra) > 0 { // what nobody asked for goes first
		m.Extra = m.Extra[:0]
		if e.opt != nil {
			m.Extra = append(m.Extra, r.opt(&e, from, now))
		}
		packed, err = m.Pack()
	}
	if err == nil && len(packed) > limit {
		m.Truncated = true
		m.Answer, m.Ns = nil, nil
		packed, err = m.Pack()
	}
	if err != nil || len(packed) > limit {
		return bare(dns.RcodeServerFailure)
	}
	return append(b, packed...), rcode, e.cookie.valid
}

// answer fills in what the zone says.
func (r *Responder) answer(m *dns.Msg, e *edns, now time.Time) {
	q := m.Question[0]
	switch {
	case q.Qclass != dns.ClassINET, q.Qtype == dns.TypeAXFR, q.Qtype == dns.TypeIXFR:
		m.Rcode = dns.RcodeRefused
		return
	case q.Qtype == dns.TypeOPT, q.Qtype == dns.TypeTSIG, q.Qtype == dns.TypeTKEY, q.Qtype == dns.TypeNone:
		m.Rcode = dns.RcodeFormatError
		return
	}
	a := r.zone.Answer(q.Name, q.Qtype, now)
	e.note = a.Note
	switch {
	case a.Outside:
		m.Rcode = dns.RcodeRefused
		e.note, e.noteCode = "", dns.ExtendedErrorCodeNotAuthoritative
		e.noteAlways = true
		return
	case a.Busy:
		m.Rcode = dns.RcodeServerFailure
		return
	}
	m.Authoritative = true
	m.Answer, m.Extra = a.Records, a.Extra
	if q.Qtype == dns.TypeANY && len(m.Answer) > 0 { // one set of records is an answer, too
		kind := m.Answer[0].Header().Rrtype
		n := 1
		for n < len(m.Answer) && m.Answer[n].Header().Rrtype == kind {
			n++
		}
		m.Answer = m.Answer[:n]
	}
	switch {
	case !a.Exists:
		m.Rcode = dns.RcodeNameError
		m.Ns = []dns.RR{r.zone.NegativeSOA()}
	case len(m.Answer) == 0:
		m.Ns = []dns.RR{r.zone.NegativeSOA()}
	case a.Old && q.Qtype != dns.TypeTXT:
		e.noteCode = dns.ExtendedErrorCodeStaleAnswer
		if e.opt == nil { // cannot be told otherwise
			m.Extra = append(m.Extra, r.zone.Answer(q.Name, dns.TypeTXT, now).Records...)
		}
	}
}

// edns is what a query says by EDNS, and what the answer is to say.
type edns struct {
	opt        *dns.OPT // nil if the query has none
	cookie     cookie
	note       string
	noteCode   uint16
	noteAlways bool // also without a text
}

func (r *Responder) readEDNS(q *dns.Msg, from netip.Addr, now time.Time) (e edns, ok bool) {
	for _, rr := range q.Extra {
		opt, is := rr.(*dns.OPT)
		if !is {
			continue
		}
		if e.opt != nil || opt.Hdr.Name != "." {
			return e, false // there can be one
		}
		e.opt = opt
	}
	if e.opt == nil {
		return e, true
	}
	for _, o := range e.opt.Option {
		c, is := o.(*dns.EDNS0_COOKIE)
		if !is {
			continue
		}
		raw, err := hex.DecodeString(c.Cookie)
		if err != nil || e.cookie.have {
			return e, false
		}
		if e.cookie, ok = r.readCookie(raw, from, now); !ok {
			return e, false
		}
	}
	return e, true
}

// opt is the OPT record of the answer.
func (r *Responder) opt(e *edns, from netip.Addr, now time.Time) *dns.OPT {
	o := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
	o.SetUDPSize(maxUDP)
	if e.opt.Do() {
		o.SetDo()
	}
	if e.cookie.have {
		raw := r.appendCookie(nil, &e.cookie, from, now)
		o.Option = append(o.Option, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: hex.EncodeToString(raw[4:])})
	}
	if e.note != "" || e.noteAlways {
		o.Option = append(o.Option, &dns.EDNS0_EDE{InfoCode: e.noteCode, ExtraText: e.note})
	}
	return o
}
