// Package page is the service as people and programs see it over HTTP: a page that shows an object on
// a map while it moves, and the JSON API behind it.
//
//	site, err := page.New(page.Options{Catalogue: c, Zone: z, Pod: pod, Dig: "@127.0.0.1 -p 5353"})
//	server := &http.Server{Handler: site, ReadHeaderTimeout: 5 * time.Second}
//	server.RegisterOnShutdown(site.Close)
//
// GET / is the page, whole without a script: the map is drawn on the server, and a script only moves
// what moves. Nothing comes from elsewhere. What it shows every second comes by
// server-sent events, computed once for all who look at the same object.
//
// GET /api/v1/ is the API (docs/iss.md). What it may cost is bounded, whoever asks: ranges have limits,
// passes are computed by few at a time and kept.
//
// GET /metrics is for Prometheus; /healthz, /livez, /readyz and /served are package health's.
package page

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/headway-lab/headway/health"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// Options of a Site. Catalogue and Zone must be there.
type Options struct {
	Catalogue *sky.Catalogue
	Zone      *zone.Zone
	Dig       string           // what dig needs to find this server, such as "@127.0.0.1 -p 5353"; empty if the zone is delegated
	Pod       *health.Pod      // counts and judges; nil makes one that compares with nobody, and is ready
	Streams   int              // browsers that may follow at once; 0 means 1000
	Metrics   func(io.Writer)  // writes more metrics, such as those of the DNS server; may be nil
	Now       func() time.Time // a clock for tests; nil means time.Now
}

// Site is the handler of everything.
type Site struct {
	o        Options
	mux      *http.ServeMux
	static   map[string]*asset
	hub      *hub
	passes   *passes
	drawings drawings
	metrics  metrics
	search   chan struct{} // held while searching
}

// New makes the site.
func New(o Options) (*Site, error) {
	if o.Catalogue == nil || o.Zone == nil {
		return nil, errors.New("page: Options need a Catalogue and a Zone")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Streams <= 0 {
		o.Streams = 1000
	}
	if o.Pod == nil {
		o.Pod = health.New(health.Options{})
		o.Pod.SetReady(true)
	}
	s := &Site{o: o, mux: http.NewServeMux(), passes: newPasses(), search: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	s.hub = newHub(s, o.Streams)
	var err error
	if s.static, err = assets(); err != nil {
		return nil, err
	}
	site := func(pattern string, h http.HandlerFunc) {
		s.mux.Handle(pattern, o.Pod.Count(s.metrics.watch(pattern, h)))
	}
	site("GET /{$}", s.index)
	site("GET /assets/{name}", s.asset)
	site("GET /api/v1/{$}", s.describe)
	site("GET /api/v1/objects", s.objects)
	site("GET /api/v1/position/{id}", s.position)
	site("GET /api/v1/track/{id}", s.track)
	site("GET /api/v1/passes/{id}", s.passesOver)
	site("GET /api/v1/live/{id}", s.live)
	site("/api/", s.noSuchAPI)
	s.mux.HandleFunc("GET /metrics", s.prometheus)
	s.mux.HandleFunc("GET /healthz", o.Pod.Live)
	s.mux.HandleFunc("GET /livez", o.Pod.Live)
	s.mux.HandleFunc("GET /readyz", o.Pod.Ready)
	s.mux.HandleFunc("GET /served", o.Pod.Tell)
	s.mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /api/\n")
	})
	return s, nil
}

// Close ends the streams: an http.Server would wait for them.
func (s *Site) Close() { s.hub.close() }

// Nothing is loaded from elsewhere, nothing is framed, and no script runs but our own. The one that stands in
// the page, so that the theme is there before the first paint, is known by its hash.
var policy = "default-src 'none'; script-src 'self' '" + themeHash + "'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "geolocation=(self)")
	// A server of streams has no timeout for all; whoever does not take an answer within this has gone.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(30 * time.Second))
	s.mux.ServeHTTP(w, r)
}

// name in the zone without its last dot, as one asks dig.
func (s *Site) name(o *sky.Object) string {
	return strings.TrimSuffix(o.Label+"."+s.o.Zone.Origin, ".")
}

// dig is the command that asks for an object.
func (s *Site) dig(o *sky.Object) string {
	c := "dig "
	if s.o.Dig != "" {
		c += s.o.Dig + " "
	}
	return c + "LOC " + s.name(o)
}
