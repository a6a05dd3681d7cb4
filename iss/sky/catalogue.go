package sky

import (
	"sync/atomic"
	"time"
)

// Catalogue holds the current sky and what became of the last attempts to get a newer
// one. Any number of goroutines may use it; none waits.
type Catalogue struct {
	now   atomic.Pointer[Sky]
	fetch atomic.Pointer[Fetch]
}

// NewCatalogue with its first sky.
func NewCatalogue(s *Sky) *Catalogue {
	c := &Catalogue{}
	c.now.Store(s)
	c.fetch.Store(&Fetch{})
	return c
}

// Now is the current sky.
func (c *Catalogue) Now() *Sky { return c.now.Load() }

// Swap puts another sky in place of the current one, at once for all readers.
func (c *Catalogue) Swap(s *Sky) { c.now.Store(s) }

// Fetch is how the getting of elements stands.
type Fetch struct {
	Tried    time.Time // last attempt; zero if there was none
	Done     time.Time // last that found the elements up to date; zero if there was none
	Next     time.Time // next attempt; zero if none is planned
	Failed   int       // attempts that failed since Done
	Rejected int       // sets that came with those that are served and were not right
	Problem  string    // why the last one failed; empty if it did not
}

// Fetch is how the getting of elements stands.
func (c *Catalogue) Fetch() Fetch { return *c.fetch.Load() }

// SetFetch is for who gets the elements.
func (c *Catalogue) SetFetch(f Fetch) { c.fetch.Store(&f) }

// Report is all that there is to say about the age of the elements at a moment: what a
// page shows, what an alarm watches.
type Report struct {
	Origin           Origin
	Objects          int
	Fresh, Old       int // objects by [Freshness]
	TooOld           int
	Station          *Object       // see [Sky.Station]
	Age              time.Duration // of the station's elements
	Freshness        Freshness     // of the station's elements
	Newest, Earliest time.Time     // epochs
	Fetch            Fetch
}

// Report at a moment. It looks at every object.
func (c *Catalogue) Report(t time.Time) Report {
	s := c.Now()
	o := s.Station()
	r := Report{
		Origin: s.Origin, Objects: s.Len(), Fetch: c.Fetch(),
		Station: o, Age: o.Age(t), Freshness: o.Freshness(t),
	}
	for o := range s.All() {
		switch o.Freshness(t) {
		case Fresh:
			r.Fresh++
		case Stale:
			r.Old++
		default:
			r.TooOld++
		}
		if o.Epoch.After(r.Newest) {
			r.Newest = o.Epoch
		}
		if r.Earliest.IsZero() || o.Epoch.Before(r.Earliest) {
			r.Earliest = o.Epoch
		}
	}
	return r
}
