package dns

import "sync/atomic"

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
