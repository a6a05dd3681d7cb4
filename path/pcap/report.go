package pcap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/report"
)

// View says what a report shows of an analysis.
type View struct {
	Of          string        // the name of the capture
	Connections []*Connection // those that it is about; nil is all
	Top         int           // how many of them are listed; 0 is 20
}

var metrics = []report.Metric{
	{Name: "goodput", Unit: "Mbit/s", Better: "higher"},
	{Name: "transfer", Unit: "s", Better: "lower"},
	{Name: "data", Unit: "MB", Better: "higher"},
	{Name: "connect", Unit: "ms", Better: "lower"},
	{Name: "wait for the answer", Unit: "ms", Better: "lower"},
	{Name: "least round trip", Unit: "ms", Better: "lower"},
	{Name: "median round trip", Unit: "ms", Better: "lower"},
	{Name: "p95 of the round trip", Unit: "ms", Better: "lower"},
	{Name: "lost", Unit: "%", Better: "lower"},
	{Name: "sent again", Unit: "segments", Better: "lower"},
	{Name: "name", Unit: "ms", Better: "lower", Minor: true},
	{Name: "tls", Unit: "ms", Better: "lower", Minor: true},
	{Name: "sent again in vain", Unit: "segments", Better: "lower", Minor: true},
	{Name: "reordered", Unit: "segments", Better: "lower", Minor: true},
	{Name: "timeouts", Better: "lower", Minor: true},
	{Name: "tail loss probes", Better: "lower", Minor: true},
	{Name: "duplicate acknowledgements", Better: "lower", Minor: true},
	{Name: "zero windows", Better: "lower", Minor: true},
	{Name: "stalls", Better: "lower", Minor: true},
	{Name: "initial window", Unit: "segments", Better: "higher", Minor: true},
	{Name: "slow start", Unit: "round trips", Better: "lower", Minor: true},
	{Name: "congestion marks", Better: "lower", Minor: true},
}

// Report says in full what the largest of the connections did, and lists the others.
func (a *Analysis) Report(v View) *report.Report {
	all := v.Connections
	if all == nil {
		all = a.Connections
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y *Connection) int { return cmp.Compare(y.size(), x.size()) })
	if v.Top <= 0 {
		v.Top = 20
	}
	r := &report.Report{
		Schema: report.Schema, Verb: "path pcap", Metrics: metrics, Listed: true, Observed: true, Started: time.Now(),
		Environment: report.Here(0, map[string]string{"capture": a.about(v.Of)}),
		Warnings:    slices.Clone(a.Warnings),
	}
	if len(all) == 0 {
		r.Answer = "No TCP connection is in the capture."
		if n := a.Unwanted + int64(len(a.Connections)); n > 0 {
			r.Answer = fmt.Sprintf("None of the %d connections is meant.", n)
		}
		r.Question = a.about(v.Of)
		return r
	}
	c := all[0]
	d := diagnosis.Diagnose(c.Evidence())
	r.Answer, r.Question = c.answer(d), c.question(d)
	r.Cases = []report.Case{{Name: c.name(), Values: c.values()}}
	r.Plots = c.plots()
	r.Tables = append(r.Tables, c.timeTable())
	if c.Up().AllResent()+c.Down().AllResent() > 0 {
		r.Tables = append(r.Tables, c.resentTable())
	}
	if t := c.stallTable(); len(t.Rows) > 0 {
		r.Tables = append(r.Tables, t)
	}
	if len(all) > 1 {
		r.Tables = append(r.Tables, connectionTable(all, v.Top))
		if len(all) > v.Top {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d smaller connections are not listed: --top shows more", len(all)-v.Top))
		}
	}
	r.Warnings = append(r.Warnings, c.doubts()...)
	return r
}

func (c *Connection) size() int64 { return c.half[0].Bytes + c.half[1].Bytes }

// name is its number and its ends, that which sends more last.
func (c *Connection) name() string {
	return fmt.Sprintf("%d: %v to %v", c.Number, c.Client, c.Server)
}

func (a *Analysis) about(of string) string {
	took := time.Duration(max(a.Last-a.First, 0)).Round(time.Millisecond)
	s := fmt.Sprintf("%d packets in %v, %d TCP connections", a.Packets, took, len(a.Connections))
	if len(a.Connections) == 1 {
		s = strings.TrimSuffix(s, "s")
	}
	if of != "" {
		s = of + ": " + s
	}
	return s
}

// answer says what the transfer took and the cause.
func (c *Connection) answer(d diagnosis.Diagnosis) string {
	h := c.main()
	if h.Bytes == 0 {
		return "The connection carries no data."
	}
	from, to := "server", "client"
	if h.up {
		from, to = to, from
	}
	s := fmt.Sprintf("%s from %s to %s take %s", amount(h.Bytes), from, to, duration(h.active))
	if rate := c.goodput(); !math.IsNaN(rate) {
		s += fmt.Sprintf(", %.3g Mbit/s", rate/1e6)
	}
	if d.Cause == diagnosis.NotClear {
		return s + ": what limits it is not clear."
	}
	return fmt.Sprintf("%s: %s, %.0f %% of the time.", s, d.Cause, 100*d.Share)
}

// question is the evidence, what to do, and which connection it is.
func (c *Connection) question(d diagnosis.Diagnosis) string {
	var s string
	if d.Sentence != "" && c.main().Bytes > 0 {
		s = strings.ToUpper(d.Sentence[:1]) + strings.TrimSuffix(d.Sentence[1:], ".") + ". "
	}
	if d.Advice != "" && d.Cause != diagnosis.NotClear {
		s += "What to do: " + strings.TrimSuffix(d.Advice, ".") + ". "
	}
	return s + fmt.Sprintf("This is connection %s; the capture is %s.", c.name(), c.place())
}

// place says where on the path the capture is from.
func (c *Connection) place() string {
	whole := c.Handshake()
	if whole == 0 {
		return "from somewhere on the path: it lacks the handshake, which would tell"
	}
	if whole < 1e6 {
		return fmt.Sprintf("from a path of %.3g ms, where the place matters little", float64(whole)/1e6)
	}
	share := float64(c.toServer) / float64(whole)
	switch {
	case share > .85:
		return "from the client's end"
	case share < .15:
		return "from the server's end"
	}
	return fmt.Sprintf("from between them, with %.0f %% of the round trip on the client's side", 100*(1-share))
}

func amount(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.3g KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

func duration(ns int64) string {
	if ns >= 1e9 {
		return fmt.Sprintf("%.3g s", float64(ns)/1e9)
	}
	return fmt.Sprintf("%.3g ms", float64(ns)/1e6)
}

// goodput is bytes that arrived over the time of the transfer, bit/s.
func (c *Connection) goodput() float64 {
	h := c.main()
	if h.active <= 0 {
		return math.NaN()
	}
	return float64(h.Bytes) * 8 / float64(h.active) * 1e9
}

// Lost is how many of the segments that were sent did not arrive, with the bounds of its interval at 95 % (Wilson 1927) as
// shares of them. It holds as far as losses are independent; what was sent again without need
// is not counted (Allman and others 2003).
func (f *Flow) Lost() (lost int64, share, low, high float64) {
	lost = max(f.AllResent()-f.Spurious, 0)
	n := float64(max(f.Segments, lost))
	if n == 0 {
		return 0, 0, 0, 1
	}
	const z = 1.959964
	p := float64(lost) / n
	middle, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return lost, p, min(max(0, (middle-half)/(1+z*z/n)), p), max(min(1, (middle+half)/(1+z*z/n)), p)
}

func (c *Connection) values() map[string]report.Value {
	h := c.main()
	v := map[string]report.Value{}
	plain := func(name string, x float64, n int64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			v[name] = report.Value{Value: x, N: int(n)}
		}
	}
	ms := func(t int64) float64 { return float64(t) / 1e6 }
	plain("goodput", c.goodput()/1e6, 1)
	plain("transfer", float64(h.active)/1e9, 1)
	plain("data", float64(h.Bytes)/1e6, 1)
	if c.Opened > 0 {
		plain("connect", ms(c.Opened), 1)
	}
	if c.Exchanges > 0 {
		plain("wait for the answer", ms(c.Wait)/float64(c.Exchanges), int64(c.Exchanges))
	}
	if c.Lookup != nil {
		plain("name", ms(c.Lookup.Took), 1)
	}
	if c.secure {
		plain("tls", ms(c.TLS), 1)
	}
	if h.RTTCount > 0 {
		plain("least round trip", ms(h.MinRTT), h.RTTCount)
		plain("median round trip", 1e3*h.RTTs.quantile(.5, 0), h.RTTCount)
		plain("p95 of the round trip", 1e3*h.RTTs.quantile(.95, 0), h.RTTCount)
	}
	if h.Segments > 0 {
		_, p, low, high := h.Lost()
		v["lost"] = report.Value{Value: 100 * p, Low: 100 * low, High: 100 * high, N: int(h.Segments)}
	}
	count := func(name string, n int64) { plain(name, float64(n), h.Segments) }
	count("sent again", h.AllResent())
	count("sent again in vain", h.Spurious)
	count("reordered", h.Reordered)
	count("timeouts", h.Timeouts)
	count("tail loss probes", h.Probes)
	count("duplicate acknowledgements", h.DupAcks)
	count("zero windows", h.ZeroWindows)
	count("stalls", h.StallCount)
	count("congestion marks", h.CE+h.ECE)
	if h.Initial > 0 && h.initialWhole {
		count("initial window", h.segments(h.Initial))
	}
	if h.SlowRounds > 0 && h.syn {
		count("slow start", int64(h.SlowRounds))
	}
	return v
}

// doubts are what the reader must know about the connection's figures.
func (c *Connection) doubts() []string {
	h := c.main()
	var all []string
	if !h.syn || !h.other.syn {
		all = append(all, fmt.Sprintf("connection %d: the capture lacks its beginning, so the scale of windows and the place of the capture are not known", c.Number))
	}
	if h.other.Packets == 0 {
		all = append(all, fmt.Sprintf("connection %d: the capture has one direction only: round trips, windows and the kinds of what was sent again are not known", c.Number))
	}
	if h.shifted() && (!h.stamps || !h.other.stamps) {
		all = append(all, fmt.Sprintf("connection %d: the capture is not from the sender's end and there are no TCP timestamps: what the sender knew is worked out from the handshake's round trip", c.Number))
	}
	if h.Restarts > 0 {
		all = append(all, fmt.Sprintf("connection %d: its numbers jump %d times, as when a part is not captured", c.Number, h.Restarts))
	}
	return all
}
