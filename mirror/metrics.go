package mirror

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// Metrics serves the progress of a run in the text format of Prometheus, at /metrics.
type Metrics struct {
	last   atomic.Pointer[Progress]
	server *http.Server
	addr   net.Addr
}

// ServeMetrics listens at an address such as :9100 or localhost:0.
func ServeMetrics(address string) (*Metrics, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	m := &Metrics{addr: l.Addr()}
	m.last.Store(&Progress{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.last.Load().prometheus(w)
	})
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	go m.server.Serve(l)
	return m, nil
}

// Addr is where it listens.
func (m *Metrics) Addr() net.Addr { return m.addr }

// Show makes a progress the one that is served.
func (m *Metrics) Show(p Progress) { m.last.Store(&p) }

// Close ends the server.
func (m *Metrics) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return m.server.Shutdown(ctx)
}

func (p *Progress) prometheus(w io.Writer) {
	one := func(name, kind, help string, v float64) {
		fmt.Fprintf(w, "# HELP headway_mirror_%s %s\n# TYPE headway_mirror_%s %s\nheadway_mirror_%s %s\n", name, help, name, kind, name, strconv.FormatFloat(v, 'g', -1, 64))
	}
	one("stored_records_total", "counter", "Records fetched and written by this run.", float64(p.Stored))
	one("present_records_total", "counter", "Records that were on disk before.", float64(p.There))
	one("duplicate_records_total", "counter", "Records that the list had more than once.", float64(p.Duplicates))
	one("stored_bytes_total", "counter", "Bytes of the records stored.", float64(p.Bytes))
	one("list_pages_total", "counter", "Pages of the list that were read.", float64(p.Pages))
	one("retries_total", "counter", "Requests sent again.", float64(p.Retries))
	one("slowdowns_total", "counter", "Answers that asked for patience.", float64(p.Slowed))
	one("held_back_seconds", "gauge", "For how long the server holds requests back from now on.", p.Held.Seconds())
	one("connections_made_total", "counter", "Connections made.", float64(p.Dialed))
	one("connections_open", "gauge", "Connections that there are now.", float64(p.Open))
	one("workers", "gauge", "Workers.", float64(p.Workers))
	one("elapsed_seconds", "gauge", "Time since the run began.", p.Elapsed.Seconds())
	one("records_per_minute", "gauge", "Records a minute over the last seconds.", p.Rate)
	if p.Total > 0 {
		one("list_records", "gauge", "Records that the list says it has.", float64(p.Total))
	}
	fmt.Fprintf(w, "# HELP headway_mirror_failed_records_total Records that failed, by kind.\n# TYPE headway_mirror_failed_records_total counter\n")
	for _, k := range slices.Sorted(maps.Keys(p.Kinds)) {
		fmt.Fprintf(w, "headway_mirror_failed_records_total{kind=%q} %d\n", k, p.Kinds[k])
	}
}
