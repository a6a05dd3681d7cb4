package pcap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Options of an analysis.
type Options struct {
	// Connections is how many are kept at a time; 0 is 20000. When there are more, those that are over
	// and have the fewest bytes are left out.
	Connections int
	// Keep says which connections are looked at; nil is all.
	Keep func(client, server netip.AddrPort) bool
	// Progress is called now and then with how many packets were read.
	Progress func(packets int64)
}

// Analysis is what a capture holds.
type Analysis struct {
	Connections []*Connection // by their first packets
	First, Last int64         // packets, ns since 1970
	Packets     int64
	Bytes       int64            // on the wire
	Skipped     map[string]int64 // packets that say nothing of a TCP connection, by why not
	LeftOut     int64            // connections
	LeftBytes   int64            // of payload, in them
	Unwanted    int64            // connections that Options.Keep refused
	Warnings    []string
}

type key struct{ a, b endpoint }

// Analyzer is an analysis under way. Its captures are parts of one, in order.
type Analyzer struct {
	Analysis
	o       Options
	table   map[key]*Connection
	kept    []*Connection
	numbers int
	budget  budget
	names   resolver
}

// points is how many points the series of an analysis may hold, at about 16 bytes.
const points = 16 << 20

// NewAnalyzer begins an analysis.
func NewAnalyzer(o Options) *Analyzer {
	if o.Connections <= 0 {
		o.Connections = 20000
	}
	a := &Analyzer{o: o, table: map[key]*Connection{}, budget: budget{points}}
	a.Skipped = map[string]int64{}
	return a
}

// Analyze reads a capture to its end, or to where it is damaged: that is a warning. The error is that of reading,
// or of ctx; the analysis is then of what had been read.
func Analyze(ctx context.Context, r io.Reader, o Options) (*Analysis, error) {
	a := NewAnalyzer(o)
	err := a.Read(ctx, "the capture", r)
	return a.Finish(), err
}

// Read takes a capture, or the next part of one, to its end, or to where it is damaged: that is a
// warning, with the name. The error is [ErrNoCapture], that of reading, or of ctx; what was read before it counts.
func (a *Analyzer) Read(ctx context.Context, name string, r io.Reader) (err error) {
	p, err := NewReader(r)
	if err != nil {
		return err
	}
	defer p.Close()
	before, first := a.Last, true
	for err == nil {
		var q Packet
		if q, err = p.Next(); err != nil {
			break
		}
		if first && q.Time != NoTime {
			if first = false; before > 0 && q.Time < before {
				a.warn("%s begins before the file in front of it ends: files are taken as parts of one capture, in the order of the command line", name)
			}
		}
		a.packet(q)
		if a.Packets%(1<<14) == 0 {
			if a.o.Progress != nil {
				a.o.Progress(a.Packets)
			}
			err = ctx.Err()
		}
	}
	var damage *Damage
	switch {
	case err == io.EOF:
		return nil
	case errors.As(err, &damage):
		a.warn("%s is damaged at byte %d, after packet %d: %s; what comes before it is analysed", name, damage.Offset, damage.Packet, damage.What)
		return nil
	}
	return err
}

func (a *Analyzer) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

func (a *Analyzer) packet(q Packet) {
	a.Packets++
	a.Bytes += int64(q.Length)
	if q.Time == NoTime {
		a.Skipped[string(skipTime)]++
		return
	}
	if a.First == 0 || q.Time < a.First {
		a.First = q.Time
	}
	a.Last = max(a.Last, q.Time)
	var s segment
	if why := decode(q, &s); why != skipNone {
		a.Skipped[string(why)]++
		return
	}
	if s.proto == protoUDP {
		a.Skipped[string(skipOther)]++
		if s.src.port == 53 || s.dst.port == 53 {
			a.names.packet(&s)
		}
		return
	}
	if c := a.connection(&s); c != nil {
		c.take(&s)
	}
}

// less orders endpoints.
func less(x, y endpoint) bool {
	if c := slices.Compare(x.addr[:], y.addr[:]); c != 0 {
		return c < 0
	}
	return x.port < y.port
}

// connection finds or makes that of a segment; nil if it is not wanted.
func (a *Analyzer) connection(s *segment) *Connection {
	k := key{s.src, s.dst}
	if less(s.dst, s.src) {
		k = key{s.dst, s.src}
	}
	c, known := a.table[k]
	opens := s.flags&(flagSYN|flagACK|flagRST) == flagSYN
	if known && c == nil {
		if opens {
			a.numbers++ // as Wireshark counts them
		}
		return nil
	}
	if known && !(opens && c.over(s)) {
		return c
	}
	client, server := s.src, s.dst
	switch {
	case opens:
	case s.flags&(flagSYN|flagACK) == flagSYN|flagACK, s.src.port < s.dst.port:
		client, server = server, client
	}
	number := a.numbers
	a.numbers++
	if a.o.Keep != nil && !a.o.Keep(client.AddrPort(), server.AddrPort()) {
		a.Unwanted++
		if len(a.table) < 8*a.o.Connections {
			a.table[k] = nil
		}
		return nil
	}
	if len(a.kept) >= a.o.Connections {
		a.makeRoom(s.at)
	}
	c = newConnection(number, client, server, s.at, &a.budget)
	if opens {
		c.Lookup = a.names.find(server.addr, s.at)
	}
	a.table[k] = c
	a.kept = append(a.kept, c)
	return c
}

// over says that a SYN begins another connection between the same ports.
func (c *Connection) over(s *segment) bool {
	h := &c.half[0]
	if s.src != c.client {
		h = &c.half[1]
	}
	return !h.syn || h.known && h.base != s.seq+1
}

// makeRoom leaves out the smaller half of those that are over, or silent for half a minute, or if there are none of all.
func (a *Analyzer) makeRoom(now int64) {
	over := func(c *Connection) bool { return c.Reset || c.Finished == 2 || now-c.End > 30e9 }
	size := func(c *Connection) int64 { return c.half[0].Bytes + c.half[1].Bytes }
	slices.SortStableFunc(a.kept, func(x, y *Connection) int {
		if ox, oy := over(x), over(y); ox != oy {
			if ox {
				return -1
			}
			return 1
		}
		return cmp.Compare(size(x), size(y))
	})
	n := 0
	for n < len(a.kept) && over(a.kept[n]) {
		n++
	}
	n = max(n/2, len(a.kept)/10, 1)
	gone := map[*Connection]bool{}
	for _, c := range a.kept[:n] {
		a.LeftOut++
		a.LeftBytes += size(c)
		gone[c] = true
	}
	maps.DeleteFunc(a.table, func(_ key, c *Connection) bool { return c != nil && gone[c] })
	a.kept = append([]*Connection(nil), a.kept[n:]...)
}

// Finish returns what was found.
func (a *Analyzer) Finish() *Analysis {
	slices.SortFunc(a.kept, func(x, y *Connection) int { return cmp.Compare(x.Number, y.Number) })
	a.Connections = a.kept
	var copies, missing, late, back, lossy int64
	for _, c := range a.kept {
		c.finish()
		late += c.OutOfTime
		back = max(back, c.StepBack)
		for i := range c.half {
			copies += c.half[i].Copies
			missing += c.half[i].Missing
			lossy += b2i(c.half[i].Missing > 0)
		}
	}
	warn := a.warn
	if a.LeftOut > 0 {
		warn("%d connections with %d bytes are left out: no more than %d are kept at a time, the largest", a.LeftOut, a.LeftBytes, a.o.Connections)
	}
	for _, why := range slices.Sorted(maps.Keys(a.Skipped)) {
		if n := a.Skipped[why]; why != string(skipOther) {
			warn("%d packets %s are left out", n, why)
		}
	}
	if copies > 0 {
		warn("%d packets were captured twice and count once", copies)
	}
	if missing > 0 {
		warn("the capture lacks packets: %d bytes were acknowledged that it does not have, of %d connections; what it says of losses there is unsure", missing, lossy)
	}
	// A kernel with several processors steps back by less, as it stamps what goes and what comes on different ones.
	if back > 1e6 {
		warn("%d packets bear a time before that of the one before them, by up to %v; they count as simultaneous", late, time.Duration(back).Round(10*time.Microsecond))
	}
	if a.budget.left <= 0 {
		warn("the course of some connections is coarse, to bound the memory; counts and sums are exact")
	}
	return &a.Analysis
}
