package dns

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/miekg/dns"
)

const (
	overUDP = iota
	overTCP
)

type counters struct {
	queries                     [2]atomic.Uint64
	rcodes                      [24]atomic.Uint64
	ignored, cut, dropped, tc   atomic.Uint64
	octetsOut                   atomic.Uint64
	connections, connectionsNow atomic.Int64
	turnedAway                  atomic.Int64
}

func (c *counters) count(answer []byte, rcode int) {
	c.rcodes[min(rcode, len(c.rcodes)-1)].Add(1)
	c.octetsOut.Add(uint64(len(answer)))
	if answer[2]&2 != 0 {
		c.tc.Add(1)
	}
}

// Stats are counts since the start.
type Stats struct {
	UDP, TCP     uint64         // queries
	Answers      map[int]uint64 // by RCODE, those that were sent whole
	Truncated    uint64         // of them, too long for UDP
	Ignored      uint64         // were no queries
	Cut, Dropped uint64         // over the limit of their network
	Octets       uint64         // of answers
	Connections  int64          // over TCP
	Open         int64          // of them, now
	TurnedAway   int64          // connections, for there were too many
}

// Stats are counts since the start.
func (r *Responder) Stats() Stats {
	c := &r.stats
	s := Stats{
		UDP: c.queries[overUDP].Load(), TCP: c.queries[overTCP].Load(), Answers: map[int]uint64{},
		Truncated: c.tc.Load(), Ignored: c.ignored.Load(), Cut: c.cut.Load(), Dropped: c.dropped.Load(),
		Octets: c.octetsOut.Load(), Connections: c.connections.Load(), Open: c.connectionsNow.Load(),
		TurnedAway: c.turnedAway.Load(),
	}
	for i := range c.rcodes {
		if n := c.rcodes[i].Load(); n > 0 {
			s.Answers[i] = n
		}
	}
	return s
}

// Metrics writes the counts in the text format of Prometheus.
func (r *Responder) Metrics(w io.Writer) {
	s := r.Stats()
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP headway_iss_dns_%s %s\n# TYPE headway_iss_dns_%s %s\n", name, help, name, kind)
	}
	head("queries_total", "counter", "Packets and messages that came, by transport.")
	fmt.Fprintf(w, "headway_iss_dns_queries_total{transport=\"udp\"} %d\n", s.UDP)
	fmt.Fprintf(w, "headway_iss_dns_queries_total{transport=\"tcp\"} %d\n", s.TCP)
	head("answers_total", "counter", "Answers that were sent whole, by RCODE.")
	for _, rcode := range slices.Sorted(maps.Keys(s.Answers)) {
		name := dns.RcodeToString[rcode]
		switch {
		case rcode == dns.RcodeBadVers: // the number is also BADSIG's, which we do not say
			name = "BADVERS"
		case name == "":
			name = "other"
		}
		fmt.Fprintf(w, "headway_iss_dns_answers_total{rcode=%q} %d\n", name, s.Answers[rcode])
	}
	for _, m := range []struct {
		name, kind, help string
		n                any
	}{
		{"truncated_total", "counter", "Answers too long for UDP.", s.Truncated},
		{"ignored_total", "counter", "Packets that were no queries.", s.Ignored},
		{"limited_cut_total", "counter", "Answers over the limit of their network, cut to make the client come over TCP.", s.Cut},
		{"limited_dropped_total", "counter", "Answers over the limit of their network, dropped.", s.Dropped},
		{"answer_octets_total", "counter", "Octets of answers.", s.Octets},
		{"tcp_connections_total", "counter", "Connections.", s.Connections},
		{"tcp_connections", "gauge", "Connections now.", s.Open},
		{"tcp_turned_away_total", "counter", "Connections closed at once, for there were too many.", s.TurnedAway},
	} {
		head(m.name, m.kind, m.help)
		fmt.Fprintf(w, "headway_iss_dns_%s %v\n", m.name, m.n)
	}
}
