package probe

import (
	"fmt"
	"strings"

	"github.com/headway-lab/headway/path/tcpinfo"
	"github.com/headway-lab/headway/report"
)

// warn says what the reader could miss.
func (o *Options) warn(r *report.Report, ways []*way) {
	add := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if n := least(ways); n > 1 && n < fewest {
		add("a median of %d exchanges has no interval at 95 %%, however wide: six are the fewest that carry one (-n %d)", n, fewest)
		if len(o.Try) > 0 {
			add("effects of %d pairs have wide intervals: what is not seen may still be there", n)
		}
	}
	for _, w := range ways {
		if w.failed > 0 {
			add("%s%d of %d exchanges failed and do not count, the last one so: %v", prefix(w), w.failed, len(w.runs), w.fault)
		}
		for _, warning := range statuses(w.good()).warnings() {
			add("%s%s", prefix(w), warning)
		}
		encoding := ""
		for _, x := range w.good() {
			encoding = x.encoding
		}
		if w.Group == "encoding" && w.Name != "identity" && encoding != w.Name {
			add("%sthe server does not compress so: its answers have Content-Encoding %q", prefix(w), encoding)
		}
		if w.keep {
			for _, x := range w.good() {
				if !x.Reused {
					add("%sthe server ends connections: some exchanges had to make a new one", prefix(w))
					break
				}
			}
		}
		if w.Group == "congestion control" {
			if good := w.good(); len(good) > 0 && !good[0].evidence.Upload {
				add("%sthe congestion control is this side's, which sends requests only; the download's is the server's: set it there (net.ipv4.tcp_congestion_control, or in its listener)", prefix(w))
			}
		}
	}
	for _, w := range ways {
		if good := w.good(); len(good) > 0 {
			if missing := missing(good[0].course); len(missing) > 0 {
				add("this kernel's TCP_INFO lacks %s, so that the diagnosis knows less", strings.Join(missing, ", "))
			}
			break
		}
	}
}

// least is how many exchanges stand behind the figure with the fewest.
func least(ways []*way) int {
	n := len(ways[0].good())
	for _, w := range ways[1:] {
		n = min(n, len(w.good()))
	}
	return n
}

// missing are the fields that a diagnosis would have liked.
func missing(course []tcpinfo.Sample) []string {
	var names []string
	if len(course) > 0 {
		for _, name := range []string{"ReceiveWindow", "OutOfOrder", "SendWindow", "DSACKDups"} {
			if !course[0].Known(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func prefix(w *way) string {
	if w.Name == "" {
		return ""
	}
	return w.Name + ": "
}
