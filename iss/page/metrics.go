package page

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// metrics of what was asked, by route.
type metrics struct {
	mu     sync.Mutex
	routes map[string]*route
}

// route counts answers by the class of their status, and times: buckets at powers of four from 62.5 us.
type route struct {
	status  [6]atomic.Uint64
	buckets [9]atomic.Uint64
	micros  atomic.Uint64
}

const firstBucket = 62500 * time.Nanosecond

func (m *metrics) watch(pattern string, h http.HandlerFunc) http.Handler {
	rt := &route{}
	m.mu.Lock()
	if m.routes == nil {
		m.routes = map[string]*route{}
	}
	m.routes[pattern] = rt
	m.mu.Unlock()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		start := time.Now()
		defer func() {
			took := time.Since(start)
			rt.status[min(max(c.status/100, 0), 5)].Add(1)
			rt.micros.Add(uint64(took.Microseconds()))
			i, bound := 0, firstBucket
			for ; i < len(rt.buckets)-1 && took > bound; i++ {
				bound *= 4
			}
			rt.buckets[i].Add(1)
		}()
		h(c, r)
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// prometheus writes everything in its text format.
func (s *Site) prometheus(w http.ResponseWriter, _ *http.Request) {
	b := &bytes.Buffer{}
	head := func(name, kind, help string) {
		fmt.Fprintf(b, "# HELP headway_iss_%s %s\n# TYPE headway_iss_%s %s\n", name, help, name, kind)
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	one := func(name, kind, help string, v float64) {
		head(name, kind, help)
		fmt.Fprintf(b, "headway_iss_%s %s\n", name, number(v))
	}
	s.metrics.mu.Lock()
	routes := maps.Clone(s.metrics.routes)
	s.metrics.mu.Unlock()
	patterns := slices.Sorted(maps.Keys(routes))
	head("http_requests_total", "counter", "Answers, by route and class of status.")
	for _, p := range patterns {
		for class := range routes[p].status {
			if n := routes[p].status[class].Load(); n > 0 {
				fmt.Fprintf(b, "headway_iss_http_requests_total{route=%q,status=\"%dxx\"} %d\n", p, class, n)
			}
		}
	}
	head("http_request_seconds", "histogram", "Time from request to answer; of streams, how long they lasted.")
	for _, p := range patterns {
		total, bound := uint64(0), firstBucket.Seconds()
		for i := range routes[p].buckets {
			total += routes[p].buckets[i].Load()
			le := number(bound)
			if i == len(routes[p].buckets)-1 {
				le = "+Inf"
			}
			fmt.Fprintf(b, "headway_iss_http_request_seconds_bucket{route=%q,le=%q} %d\n", p, le, total)
			bound *= 4
		}
		fmt.Fprintf(b, "headway_iss_http_request_seconds_sum{route=%q} %s\nheadway_iss_http_request_seconds_count{route=%q} %d\n",
			p, number(float64(routes[p].micros.Load())/1e6), p, total)
	}
	h := s.hub
	h.mu.Lock()
	count, followed := h.count, len(h.streams)
	h.mu.Unlock()
	one("streams", "gauge", "Browsers that follow an object now.", float64(count))
	one("streams_objects", "gauge", "Objects that are followed now.", float64(followed))
	one("streams_total", "counter", "Streams begun.", float64(h.accepted.Load()))
	one("streams_refused_total", "counter", "Streams refused because there were too many.", float64(h.refused.Load()))
	one("streams_slow_total", "counter", "Streams ended because the browser did not keep up.", float64(h.slow.Load()))
	one("stream_events_total", "counter", "Events sent.", float64(h.events.Load()))
	one("passes_computed_total", "counter", "Searches for passes by HTTP that were computed.", float64(s.passes.computed.Load()))
	one("passes_kept_total", "counter", "Searches for passes by HTTP answered from memory.", float64(s.passes.kept.Load()))
	one("passes_refused_total", "counter", "Searches for passes by HTTP refused because there were too many.", float64(s.passes.refused.Load()))
	one("served_total", "counter", "Requests answered well, as package health counts them.", float64(s.o.Pod.Tally().Served))
	report := s.o.Catalogue.Report(s.o.Now())
	head("objects", "gauge", "Objects in the catalogue, by what their elements are worth.")
	for _, c := range []struct {
		name string
		n    int
	}{{"fresh", report.Fresh}, {"old", report.Old}, {"too old", report.TooOld}} {
		fmt.Fprintf(b, "headway_iss_objects{freshness=%q} %d\n", c.name, c.n)
	}
	one("elements_age_seconds", "gauge", "Age of the elements of the object that the service is about.", report.Age.Seconds())
	one("elements_fetch_failures", "gauge", "Attempts to get newer elements that failed since one succeeded.", float64(report.Fetch.Failed))
	one("elements_rejected", "gauge", "Element sets that came with those that are served and were not right.", float64(report.Fetch.Rejected))
	if !report.Fetch.Done.IsZero() {
		one("elements_fetched_timestamp_seconds", "gauge", "When elements were last found up to date.", float64(report.Fetch.Done.Unix()))
	}
	if s.o.Metrics != nil {
		s.o.Metrics(b)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(b.Bytes())
}
