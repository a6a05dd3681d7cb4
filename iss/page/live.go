package page

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// hub computes once a second where each object is that somebody follows, and tells all who do. It
// works only while somebody does.
type hub struct {
	site  *Site
	most  int
	every time.Duration

	mu      sync.Mutex
	streams map[int]map[*stream]bool // by object
	count   int
	closed  bool
	running bool
	end     chan struct{}

	accepted, refused, slow, events atomic.Uint64
}

// stream is a browser that follows an object.
type stream struct {
	messages chan []byte // closed when it is too slow, or the hub ends
}

const (
	backlog   = 8                // messages that a browser may be behind
	redraw    = 10               // seconds between two drawings of track and night
	longest   = 30 * time.Minute // of a stream, so that browsers spread over new pods; they come again
	writeTime = 10 * time.Second
)

func newHub(s *Site, most int) *hub {
	return &hub{site: s, most: most, every: time.Second, streams: map[int]map[*stream]bool{}, end: make(chan struct{})}
}

func (h *hub) join(number int) *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.count >= h.most {
		h.refused.Add(1)
		return nil
	}
	c := &stream{messages: make(chan []byte, backlog)}
	if h.streams[number] == nil {
		h.streams[number] = map[*stream]bool{}
	}
	h.streams[number][c] = true
	h.count++
	h.accepted.Add(1)
	if !h.running {
		h.running = true
		go h.run()
	}
	return c
}

func (h *hub) leave(number int, c *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(number, c)
}

// drop is called with mu held.
func (h *hub) drop(number int, c *stream) {
	if !h.streams[number][c] {
		return
	}
	delete(h.streams[number], c)
	if len(h.streams[number]) == 0 {
		delete(h.streams, number)
	}
	h.count--
	close(c.messages)
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	close(h.end)
	for number, all := range h.streams {
		for c := range all {
			h.drop(number, c)
		}
	}
}

func (h *hub) run() {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-h.end:
			return
		}
		h.mu.Lock()
		if h.count == 0 {
			h.running = false
			h.mu.Unlock()
			return
		}
		numbers := make([]int, 0, len(h.streams))
		for number := range h.streams {
			numbers = append(numbers, number)
		}
		h.mu.Unlock()
		for _, number := range numbers {
			h.tell(number, h.site.event(number, n%redraw == 0))
		}
	}
}

// tell all who follow an object. Nobody is waited for.
func (h *hub) tell(number int, message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.streams[number] {
		select {
		case c.messages <- message:
			h.events.Add(1)
		default:
			h.slow.Add(1)
			h.drop(number, c)
		}
	}
}

// Moment is what a browser is told every second.
type Moment struct {
	Position
	Milliseconds int64    `json:"ms"`        // since 1970
	Age          string   `json:"age"`       // of the elements
	Freshness    string   `json:"freshness"` // of the elements
	Footprint    string   `json:"footprint"` // these are paths on the map
	Drawn        *Drawing `json:"drawn,omitempty"`
}

// event as the protocol has it (HTML, 9.2).
func (s *Site) event(number int, draw bool) []byte {
	o := s.o.Catalogue.Now().Number(number)
	if o == nil {
		return []byte("event: gone\ndata: {\"error\":\"the object is no longer in the catalogue\"}\n\n")
	}
	m, err := s.moment(o, s.o.Now(), draw)
	if err != nil {
		text, _ := json.Marshal(Fault{Error: err.Error()}) // a string does
		return fmt.Appendf(nil, "event: gone\ndata: %s\n\n", text)
	}
	text, err := json.Marshal(m)
	if err != nil { // no number is infinite: see orbit
		return nil
	}
	return fmt.Appendf(nil, "event: moment\ndata: %s\n\n", text)
}

func (s *Site) moment(o *sky.Object, t time.Time, draw bool) (Moment, error) {
	v, p, err := s.where(o, t)
	if err != nil {
		return Moment{}, err
	}
	age := o.Age(t)
	m := Moment{Position: v, Milliseconds: t.UnixMilli(), Age: sky.Days(age), Freshness: o.Freshness(t).String()}
	fixed := p.State.Position.EarthFixed(orbit.UT1(t))
	if ring := fixed.Footprint(72); ring != nil {
		m.Footprint = area(ring, p.Place)
	}
	if draw {
		m.Drawn = s.drawings.at(o, t)
	}
	return m, nil
}

func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	if e := newQuery(r).end(); e != nil {
		refuse(w, r, e)
		return
	}
	o := s.find(w, r)
	if o == nil {
		return
	}
	if err := s.o.Zone.Refused(o, s.o.Now()); err != nil {
		lost(w, r, o, err)
		return
	}
	c := s.hub.join(o.Number)
	if c == nil {
		w.Header().Set("Retry-After", strconv.Itoa(10+rand.IntN(20)))
		fail(w, r, http.StatusServiceUnavailable, "", "too many follow already")
		return
	}
	defer s.hub.leave(o.Number, c)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would gather it
	h.Set("Access-Control-Allow-Origin", "*")
	control := http.NewResponseController(w)
	write := func(b []byte) bool {
		// Whoever does not read for so long has gone. A writer without deadlines is a test's.
		control.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	// A server that comes back is not asked by all at once.
	first := append(fmt.Appendf(nil, "retry: %d\n\n", 2000+rand.IntN(4000)), s.event(o.Number, true)...)
	if r.Method == http.MethodHead || !write(first) {
		return
	}
	heart := time.NewTicker(15 * time.Second)
	defer heart.Stop()
	end := time.NewTimer(longest)
	defer end.Stop()
	for {
		select {
		case m, ok := <-c.messages:
			if !ok || !write(m) {
				return
			}
		case <-heart.C: // so that a proxy sees life where there is nothing to tell
			if !write([]byte(":\n\n")) {
				return
			}
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}
