package probe

import (
	"math"
	"slices"
	"time"

	"github.com/headway-lab/headway/path/tcpinfo"
	"github.com/headway-lab/headway/report"
)

// phases are the steps one after the other, and what share each has.
func phases(ways []*way) report.Table {
	t := report.Table{Title: "Phases, one after the other (those of an exchange add up to its total)"}
	rows := []struct {
		name string
		of   func(*one) float64
	}{
		{"dns: the host's addresses", func(x *one) float64 { return ms(x.Phases.DNS) }},
		{"connect: one round trip", func(x *one) float64 { return ms(x.Phases.Connect) }},
		{"tls: one or two", func(x *one) float64 { return ms(x.Phases.TLS) }},
		{"send: the request", func(x *one) float64 { return ms(x.Phases.Send) }},
		{"wait: a round trip and the server", func(x *one) float64 { return ms(x.Phases.Wait) }},
		{"transfer: first byte to last", func(x *one) float64 { return ms(x.Phases.Transfer) }},
	}
	return byWay(t, ways, "ms", func(add func(string, func(*one) float64)) {
		for _, r := range rows {
			add(r.name, r.of)
		}
	})
}

// asCurl are the same as curl -w has them: from the beginning to the end of each step.
func asCurl(ways []*way) report.Table {
	t := report.Table{Title: "The same as curl -w names it (from the beginning)"}
	up := func(x *one, n int) float64 {
		p := x.Phases
		sum := time.Duration(0)
		for _, d := range []time.Duration{p.DNS, p.Connect, p.TLS, p.Send, p.Wait, p.Transfer}[:n] {
			sum += d
		}
		return ms(sum)
	}
	return byWay(t, ways, "ms", func(add func(string, func(*one) float64)) {
		add("time_namelookup", func(x *one) float64 { return up(x, 1) })
		add("time_connect", func(x *one) float64 { return up(x, 2) })
		add("time_appconnect", func(x *one) float64 {
			if x.conn.TLS == nil {
				return 0
			}
			return up(x, 3)
		})
		add("time_starttransfer", func(x *one) float64 { return up(x, 5) })
		add("time_total", func(x *one) float64 { return up(x, 6) })
	})
}

// byWay is a table with the median of every row for every way; where there is but one, with its interval, if it has one.
func byWay(t report.Table, ways []*way, unit string, rows func(add func(string, func(*one) float64))) report.Table {
	single := len(ways) == 1 && least(ways) >= fewest
	for _, w := range ways {
		t.Columns = append(t.Columns, report.Column{Name: w.label(), Unit: unit})
	}
	if single {
		t.Columns = append(t.Columns, report.Column{Name: "low", Unit: unit}, report.Column{Name: "high", Unit: unit})
	}
	rows(func(name string, of func(*one) float64) {
		r := report.Row{Name: name}
		for _, w := range ways {
			v := medianOf(over(w.runs, of))
			r.Values = append(r.Values, v.Value)
			if single {
				r.Values = append(r.Values, v.Low, v.High)
			}
		}
		t.Rows = append(t.Rows, r)
	})
	return t
}

// sockets are what this side's TCP_INFO said at the end of each exchange.
func sockets(ways []*way) report.Table {
	t := report.Table{Title: "TCP_INFO of this side's socket, at the end of each exchange"}
	last := func(f func(*tcpinfo.Info) float64, fields ...string) func(*one) float64 {
		return func(x *one) float64 {
			if len(x.course) == 0 {
				return math.NaN()
			}
			i := &x.course[len(x.course)-1].Info
			for _, name := range fields {
				if !i.Known(name) {
					return math.NaN()
				}
			}
			return f(i)
		}
	}
	least := func(d time.Duration) float64 {
		if d == 0 {
			return math.NaN()
		}
		return ms(d)
	}
	return byWay(t, ways, "", func(add func(string, func(*one) float64)) {
		add("round trip, ms", last(func(i *tcpinfo.Info) float64 { return ms(i.RTT) }))
		add("least round trip, ms", last(func(i *tcpinfo.Info) float64 { return least(i.MinRTT) }, "MinRTT"))
		add("round trip as the receiver sees it, ms", last(func(i *tcpinfo.Info) float64 { return least(i.ReceiveRTT) }))
		add("received, KB", last(func(i *tcpinfo.Info) float64 { return float64(i.BytesReceived) / 1e3 }, "BytesReceived"))
		add("segments that came after a gap", last(func(i *tcpinfo.Info) float64 { return float64(i.OutOfOrder) }, "OutOfOrder"))
		add("window offered, KB", last(func(i *tcpinfo.Info) float64 { return float64(i.ReceiveWindow) / 1e3 }, "ReceiveWindow"))
		add("sent and acknowledged, KB", last(func(i *tcpinfo.Info) float64 { return float64(i.BytesAcked) / 1e3 }, "BytesAcked"))
		add("segments sent again", last(func(i *tcpinfo.Info) float64 { return float64(i.TotalRetrans) }))
		add("of them for nothing", last(func(i *tcpinfo.Info) float64 { return float64(i.DSACKDups) }, "DSACKDups"))
		add("congestion window, segments", last(func(i *tcpinfo.Info) float64 { return float64(i.CongestionWindow) }))
		add("delivery rate, Mbit/s", last(func(i *tcpinfo.Info) float64 { return i.DeliveryRate / 1e6 }, "DeliveryRate"))
		add("busy sending, ms", last(func(i *tcpinfo.Info) float64 { return ms(i.BusyTime) }, "BusyTime"))
		add("of it the peer's window was full, ms", last(func(i *tcpinfo.Info) float64 { return ms(i.WindowLimited) }, "WindowLimited"))
		add("of it the send buffer was full, ms", last(func(i *tcpinfo.Info) float64 { return ms(i.BufferLimited) }, "BufferLimited"))
	})
}

// course is how long the exchanges took, one after the other.
func course(ways []*way) report.Plot {
	p := report.Plot{Title: "Exchanges one after the other", X: report.Axis{Name: "exchange"}, Y: report.Axis{Name: "total", Unit: "ms"}}
	for _, w := range ways {
		l := report.Line{Name: w.label()}
		if w.Name == "" {
			l.Name = "total"
		}
		for k, x := range w.runs {
			if x != nil {
				l.Points = append(l.Points, report.Point{X: float64(k + 1), Y: ms(x.Phases.Total())})
			}
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// enough samples to draw a line through.
const enough = 10

// arrival is what had come by when, in the exchange that took the median time.
func arrival(ways []*way) report.Plot {
	p := report.Plot{
		Title: "What had come by when", Note: "time from the request",
		X: report.Axis{Name: "time", Unit: "ms"}, Y: report.Axis{Name: "bytes", Unit: "KB"},
	}
	if least(ways) > 1 {
		p.Note = "the exchange with the median total; " + p.Note
	}
	for _, w := range ways {
		good := w.good()
		if len(good) == 0 {
			continue
		}
		slices.SortFunc(good, func(a, b *one) int { return int(a.Phases.Total() - b.Phases.Total()) })
		x := good[len(good)/2]
		bytes := func(i *tcpinfo.Info) int64 { return i.BytesReceived }
		l := report.Line{Name: w.label()}
		if w.Name == "" {
			l.Name = "received"
		}
		if x.evidence.Upload {
			bytes = func(i *tcpinfo.Info) int64 { return i.BytesAcked }
			p.Title = "What had been acknowledged by when"
		}
		if len(x.course) < enough {
			continue
		}
		begin := x.course[0].At
		from := bytes(&x.course[0].Info)
		step := max(len(x.course)/400, 1)
		for i := 0; i < len(x.course); i += step {
			s := &x.course[i]
			l.Points = append(l.Points, report.Point{X: ms(s.At.Sub(begin)), Y: float64(bytes(&s.Info)-from) / 1e3})
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}
