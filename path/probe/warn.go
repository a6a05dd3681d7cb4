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
	for _, w := range ways {
		if w.failed > 0 {
			add("%s%d of %d exchanges failed and do not count, the last one so: %v", prefix(w), w.failed, len(w.runs), w.fault)
		}
		statuses := map[int]int{}
		sizes := map[int64]int{}
		var encoding, location string
		for _, x := range w.good() {
			statuses[x.Status]++
			sizes[x.Body]++
			encoding, location = x.encoding, x.location
		}
		for s, n := range statuses {
			switch {
			case s >= 300 && s < 400:
				add("%s%d answers are a redirection (%d) to %s, which is not followed: probe that URL", prefix(w), n, s, location)
			case s >= 400:
				add("%s%d answers have status %d: the time is that of an error", prefix(w), n, s)
			}
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
