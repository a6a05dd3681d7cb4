package page

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// passes computes them for few at a time, and keeps what it computed: who looks at the sky from the same town
// within the same minutes gets the same answer.
type passes struct {
	busy  chan struct{} // held while computing
	most  int           // answers that are kept
	mu    sync.Mutex
	known map[passKey]*list.Element // of *passEntry
	order *list.List                // the last used first

	computed, kept, refused atomic.Uint64
}

const (
	mostKept  = 2000                    // answers; some 4 MB
	window    = 10 * time.Minute        // to which the beginning is rounded down
	patience  = 1500 * time.Millisecond // for a place among those that compute
	farthestN = 10                      // days
)

// passKey is rounded: a hundredth of a degree is a kilometre, in which a pass changes by a second or less.
type passKey struct {
	number    int
	epoch     int64
	lat, lon  int // hundredths of a degree
	height    int // hundreds of metres
	from      int64
	days      int
	elevation int // tenths of a degree
}

type passEntry struct {
	key    passKey
	done   chan struct{}
	passes []orbit.Pass
	err    error
}

func newPasses() *passes {
	return &passes{most: mostKept, busy: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), known: map[passKey]*list.Element{}, order: list.New()}
}

var errBusy = errors.New("too many ask for passes at the moment; try again in a second")

// find the passes of an object over a place within days from a moment.
func (c *passes) find(ctx context.Context, o *sky.Object, p orbit.Place, from time.Time, days int, elevation float64) ([]orbit.Pass, orbit.Place, error) {
	k := passKey{
		number: o.Number, epoch: o.Epoch.UnixNano(), lat: int(math.Round(p.Latitude * 100)), lon: int(math.Round(p.Longitude * 100)),
		height: int(math.Round(p.Height * 10)), from: from.Truncate(window).Unix(), days: days, elevation: int(math.Round(elevation * 10)),
	}
	if k.lon == -18000 {
		k.lon = 18000
	}
	place := orbit.Place{Latitude: float64(k.lat) / 100, Longitude: float64(k.lon) / 100, Height: float64(k.height) / 10}
	c.mu.Lock()
	if e, ok := c.known[k]; ok {
		c.order.MoveToFront(e)
		c.mu.Unlock()
		c.kept.Add(1)
		entry := e.Value.(*passEntry)
		select {
		case <-entry.done:
			return entry.passes, place, entry.err
		case <-ctx.Done():
			return nil, place, ctx.Err()
		}
	}
	entry := &passEntry{key: k, done: make(chan struct{})}
	element := c.order.PushFront(entry)
	c.known[k] = element
	for c.order.Len() > c.most {
		c.forget(c.order.Back())
	}
	c.mu.Unlock()
	// Whoever waits for the same waits for this one, and must not wait for ever: what is not
	// known in the end is forgotten.
	defer func() {
		if entry.err != nil && !theory(entry.err) {
			c.mu.Lock()
			if c.known[k] == element {
				c.forget(element)
			}
			c.mu.Unlock()
		}
		close(entry.done)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case c.busy <- struct{}{}:
	case <-timer.C:
		c.refused.Add(1)
		entry.err = errBusy
		return nil, place, errBusy
	}
	defer func() { <-c.busy }()
	c.computed.Add(1)
	begin := time.Unix(k.from, 0)
	entry.passes, entry.err = o.Orbit().Passes(place, begin, begin.Add(window+time.Duration(days)*24*time.Hour), float64(k.elevation)/10)
	return entry.passes, place, entry.err
}

func (c *passes) forget(e *list.Element) {
	c.order.Remove(e)
	delete(c.known, e.Value.(*passEntry).key)
}

// theory tells that an error is one that will be there the next time, too.
func theory(err error) bool { return orbit.Code(err) > 0 || errors.Is(err, orbit.ErrTooFar) }

// within leaves out what is over before a moment, or begins after another.
func within(all []orbit.Pass, from, to time.Time, visible bool) []Pass {
	out := []Pass{}
	for _, p := range all {
		if !p.Set.Time.IsZero() && p.Set.Time.Before(from) || p.Culmination.Time.After(to) || visible && !p.Visible {
			continue
		}
		out = append(out, Pass{Rise: sight(p.Rise), Highest: *sight(p.Culmination), Set: sight(p.Set), Visible: p.Visible})
	}
	return out
}

func sight(s orbit.Sighting) *Sight {
	if s.Time.IsZero() {
		return nil
	}
	return &Sight{s.Time.Truncate(time.Second / 10), round(s.Azimuth, 1), round(s.Elevation, 1), round(s.Range, 0)}
}

// passesFrom are those that passes finds, without what the zone refuses to tell; then the error says so.
func (s *Site) passesFrom(ctx context.Context, o *sky.Object, p orbit.Place, from time.Time, days int, elevation float64) ([]orbit.Pass, orbit.Place, error) {
	if err := s.o.Zone.Refused(o, from); err != nil {
		return nil, p, err
	}
	all, place, err := s.passes.find(ctx, o, p, from, days, elevation)
	told := make([]orbit.Pass, 0, len(all))
	for _, pass := range all {
		if refused := s.o.Zone.Refused(o, pass.Culmination.Time); refused != nil {
			err = refused
			continue
		}
		told = append(told, pass)
	}
	return told, place, err
}

func (s *Site) passesOver(w http.ResponseWriter, r *http.Request) {
	now := s.o.Now()
	q := newQuery(r)
	p := q.place()
	from := q.moment("from", now, now)
	days := q.whole("days", 1, farthestN, 3)
	elevation, _ := q.number("elevation", " degrees", 0, 89, 10)
	visible := q.yes("visible")
	if p == nil && q.wrong == nil {
		q.bad("lat", "lat and lon say from where it is seen, in degrees: lat=48.2&lon=16.4")
	}
	if e := q.end(); e != nil {
		refuse(w, r, e)
		return
	}
	o := s.find(w, r)
	if o == nil {
		return
	}
	all, place, err := s.passesFrom(r.Context(), o, *p, from, days, elevation)
	note := ""
	var old *zone.TooOldError
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "1")
		fail(w, r, http.StatusServiceUnavailable, "", err.Error())
		return
	case err != nil && len(all) == 0:
		lost(w, r, o, err)
		return
	case errors.As(err, &old):
		note = "passes are left out: " + err.Error()
	case err != nil:
		note = fmt.Sprintf("the list ends where the theory does: %v", err)
	}
	answer(w, r, struct {
		Object    Object  `json:"object"`
		Latitude  float64 `json:"latitude"` // as rounded
		Longitude float64 `json:"longitude"`
		Height    float64 `json:"height_m"`
		From      string  `json:"from"`
		Days      int     `json:"days"`
		Elevation float64 `json:"elevation"`
		Passes    []Pass  `json:"passes"`
		Note      string  `json:"note,omitempty"`
	}{s.object(o, now), place.Latitude, place.Longitude, place.Height * 1000, from.UTC().Format(time.RFC3339), days, elevation,
		within(all, from, from.AddDate(0, 0, days), visible), note}, 60)
}

// place is nil when none is asked for, or when it is wrong.
func (q *query) place() *orbit.Place {
	lat, ok := q.number("lat", " degrees", -90, 90, 0)
	lon, too := q.number("lon", " degrees", -180, 180, 0)
	height, _ := q.number("height", " metres", -500, 9000, 0)
	if ok != too {
		missing := "lat"
		if ok {
			missing = "lon"
		}
		q.bad(missing, "%s is missing", missing)
	}
	if !ok || q.wrong != nil {
		return nil
	}
	return &orbit.Place{Latitude: lat, Longitude: lon, Height: height / 1000}
}
