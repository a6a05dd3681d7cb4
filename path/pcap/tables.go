package pcap

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/report"
)

// timeTable says what the transfer's time went to.
func (c *Connection) timeTable() report.Table {
	h := c.main()
	t := report.Table{Title: "What the time of the transfer went to", Columns: []report.Column{{Name: "time", Unit: "s"}, {Name: "share", Unit: "%"}}}
	var sum int64
	all := h.Limits()
	for _, s := range all {
		sum += s.Time
	}
	for _, s := range all {
		t.Rows = append(t.Rows, report.Row{Name: s.Limit.String(), Values: report.Figures{float64(s.Time) / 1e9, 100 * float64(s.Time) / float64(max(sum, 1))}})
	}
	return t
}

// resentTable says why segments were sent again.
func (c *Connection) resentTable() report.Table {
	t := report.Table{Title: "Segments sent again, by what made the sender do it", Columns: []report.Column{{Name: "to the client"}, {Name: "to the server"}}}
	down, up := c.Down(), c.Up()
	row := func(name string, d, u int64) {
		t.Rows = append(t.Rows, report.Row{Name: name, Values: report.Figures{float64(d), float64(u)}})
	}
	for k := range kinds {
		row(k.String(), down.Resent[k], up.Resent[k])
	}
	row("of all these in vain", down.Spurious, up.Spurious)
	row("of segments with data", down.Segments, up.Segments)
	return t
}

// stallTable has the longest stalls.
func (c *Connection) stallTable() report.Table {
	h := c.main()
	t := report.Table{Title: "The longest stalls", Columns: []report.Column{{Name: "at", Unit: "s"}, {Name: "for", Unit: "ms"}}}
	all := slices.Clone(h.Stalls)
	slices.SortStableFunc(all, func(a, b Stall) int { return cmp.Compare(b.Length, a.Length) })
	for _, s := range all[:min(len(all), 8)] {
		t.Rows = append(t.Rows, report.Row{Name: s.Why.String(), Values: report.Figures{float64(s.At-c.Start) / 1e9, float64(s.Length) / 1e6}})
	}
	return t
}

func connectionTable(all []*Connection, top int) report.Table {
	t := report.Table{Title: "Connections, the largest first", Columns: []report.Column{
		{Name: "down", Unit: "KB"}, {Name: "up", Unit: "KB"}, {Name: "goodput", Unit: "Mbit/s"}, {Name: "round trip", Unit: "ms"},
		{Name: "lost", Unit: "%"}, {Name: "begins", Unit: "s"}, {Name: "lasts", Unit: "s"}, {Name: "sent again"}, {Name: "timeouts"},
	}}
	first := all[0].Start
	for _, c := range all {
		first = min(first, c.Start)
	}
	for _, c := range all[:min(len(all), top)] {
		h := c.main()
		// What tells connections apart stands last: long names are cut in front.
		name := fmt.Sprintf("%v > %v, #%d", c.Client, c.Server, c.Number)
		if h.Bytes > 0 {
			name += " " + string(diagnosis.Diagnose(c.Evidence()).Cause)
		}
		_, lost, _, _ := h.Lost()
		rtt := math.NaN()
		if h.MinRTT > 0 {
			rtt = float64(h.MinRTT) / 1e6
		}
		t.Rows = append(t.Rows, report.Row{Name: name, Values: report.Figures{
			float64(c.half[1].Bytes) / 1e3, float64(c.half[0].Bytes) / 1e3, c.goodput() / 1e6, rtt, 100 * lost,
			float64(c.Start-first) / 1e9, float64(c.End-c.Start) / 1e9, float64(h.AllResent()), float64(h.Timeouts),
		}})
	}
	return t
}
