package health

import (
	"encoding/json"
	"net/http"
	"sync"
)

// Live answers a liveness probe: 200, or 503 when the process should be restarted, with the Verdict as JSON.
func (p *Pod) Live(w http.ResponseWriter, r *http.Request) {
	v := p.Judge(r.Context())
	tell(w, v.Alive, v)
}

// Ready answers a readiness probe: 200, or 503 before SetReady(true) and after SetReady(false).
func (p *Pod) Ready(w http.ResponseWriter, _ *http.Request) {
	ready := p.ready.Load() != never
	tell(w, ready, map[string]bool{"ready": ready})
}

// Tell answers another pod with the Tally as JSON.
func (p *Pod) Tell(w http.ResponseWriter, _ *http.Request) { tell(w, true, p.Tally()) }

func tell(w http.ResponseWriter, good bool, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(v) // whoever asked may have gone: nothing to do about it
}

// Count counts every answer of next whose status is below 500: a pod that answers all requests with
// an error does not serve. Mount it around what users ask for, and not around the probes.
func (p *Pod) Count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := writers.Get().(*writer)
		c.ResponseWriter, c.status = w, http.StatusOK
		defer func() {
			// In a deferred call, but after a panic not counted: the status is only good when all was well.
			if c.done && c.status < http.StatusInternalServerError {
				p.Served()
			}
			*c = writer{}
			writers.Put(c)
		}()
		next.ServeHTTP(c, r)
		c.done = true
	})
}

var writers = sync.Pool{New: func() any { return new(writer) }}

type writer struct {
	http.ResponseWriter
	status int
	wrote  bool
	done   bool
}

func (w *writer) WriteHeader(status int) {
	if !w.wrote && status >= 200 { // 1xx are not the answer yet
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(b)
}

// Flush is for those who ask for an http.Flusher; http.ResponseController finds the rest by Unwrap.
func (w *writer) Flush() {
	w.wrote = true
	http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
