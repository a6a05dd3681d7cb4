package page

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// What the API says. Within version 1 no field changes its meaning or its unit, and none disappears.
type (
	// Object is one of the catalogue.
	Object struct {
		Number     int      `json:"number"` // in the catalogue of the US Space Force
		Name       string   `json:"name"`
		Label      string   `json:"label"` // in the zone, and wherever an id is asked for
		Designator string   `json:"designator,omitempty"`
		DNS        string   `json:"dns"` // the name to ask for
		Elements   Elements `json:"elements"`
	}
	// Elements are what is known of an orbit.
	Elements struct {
		Epoch       time.Time `json:"epoch"`
		Age         float64   `json:"age_hours"`
		Freshness   string    `json:"freshness"` // "fresh", "old", "too old"
		Uncertainty float64   `json:"uncertainty_km"`
		Origin      string    `json:"origin"`
	}
	// Position is where an object is.
	Position struct {
		Time      time.Time `json:"time"`
		Latitude  float64   `json:"latitude"`  // degrees, geodetic
		Longitude float64   `json:"longitude"` // degrees, east positive
		Altitude  float64   `json:"altitude_km"`
		Speed     float64   `json:"speed_km_s"`     // inertial
		Light     string    `json:"light"`          // "sunlit", "penumbra", "umbra"
		Over      string    `json:"over,omitempty"` // a country or an ocean, roughly
		LOC       string    `json:"loc,omitempty"`  // the record; none beyond 42,850 km
		Note      string    `json:"note,omitempty"` // what has to be said with it
	}
	// Point is a place on a track.
	Point struct {
		Time      time.Time `json:"time"`
		Latitude  float64   `json:"latitude"`
		Longitude float64   `json:"longitude"`
		Altitude  float64   `json:"altitude_km"`
	}
	// Sight is a direction at a moment of a pass.
	Sight struct {
		Time      time.Time `json:"time"`
		Azimuth   float64   `json:"azimuth"`   // degrees, 0 north, 90 east
		Elevation float64   `json:"elevation"` // degrees
		Range     float64   `json:"range_km"`
	}
	// Pass is one stay above the horizon.
	Pass struct {
		Rise    *Sight `json:"rise"` // null where it is up already when the window begins
		Highest Sight  `json:"highest"`
		Set     *Sight `json:"set"`     // null where it stays up beyond the window
		Visible bool   `json:"visible"` // at some time it is sunlit and the place is dark
	}
)

func (s *Site) describe(w http.ResponseWriter, r *http.Request) {
	answer(w, r, map[string]any{"version": 1, "documentation": "docs/iss.md", "paths": []string{
		"/api/v1/objects?q=TEXT&limit=N", "/api/v1/position/{id}?at=TIME", "/api/v1/track/{id}?from=TIME&to=TIME&step=SECONDS",
		"/api/v1/passes/{id}?lat=DEGREES&lon=DEGREES&height=METRES&from=TIME&days=N&elevation=DEGREES&visible=true", "/api/v1/live/{id}",
	}}, 3600)
}

// noSuchAPI answers in JSON what the mux would answer in text.
func (s *Site) noSuchAPI(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, r, http.StatusMethodNotAllowed, "", "only GET and HEAD are answered")
		return
	}
	// The latest version is found without its number.
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/"); ok && !strings.HasPrefix(rest, "v") {
		if first, _, _ := strings.Cut(rest, "/"); first == "objects" || first == "position" || first == "track" || first == "passes" || first == "live" {
			u := *r.URL
			u.Scheme, u.Host, u.Path, u.RawPath = "", "", "/api/v1/"+rest, ""
			w.Header().Set("Access-Control-Allow-Origin", "*")
			http.Redirect(w, r, u.String(), http.StatusTemporaryRedirect)
			return
		}
	}
	fail(w, r, http.StatusNotFound, "", "there is nothing here; GET /api/v1/ says what there is")
}

func (s *Site) object(o *sky.Object, now time.Time) Object {
	age := o.Age(now)
	off, _ := sky.Uncertainty(age)
	return Object{Number: o.Number, Name: o.Name, Label: o.Label, Designator: o.Designator, DNS: s.name(o), Elements: Elements{
		Epoch: o.Epoch, Age: round(age.Hours(), 2), Freshness: o.Freshness(now).String(), Uncertainty: round(off, 0), Origin: s.o.Catalogue.Now().Origin.Text,
	}}
}

// label is the name that Find knows: an object's name, or that in the zone.
func (s *Site) label(id string) string {
	low := strings.ToLower(strings.TrimSpace(id))
	zone := strings.TrimSuffix(s.o.Zone.Origin, ".")
	if name, ok := strings.CutSuffix(strings.TrimSuffix(low, "."), "."+zone); ok && !strings.Contains(name, ".") {
		return sky.Label(name)
	}
	return sky.Label(id)
}

// find answers for itself when there is no such object.
func (s *Site) find(w http.ResponseWriter, r *http.Request) *sky.Object {
	id := r.PathValue("id")
	o, err := s.o.Catalogue.Now().Find(s.label(id))
	if err == nil {
		return o
	}
	var several *sky.AmbiguousError
	if errors.As(err, &several) {
		names := []string{}
		for _, o := range several.Objects[:min(10, len(several.Objects))] {
			names = append(names, o.Label)
		}
		fail(w, r, http.StatusNotFound, "id", fmt.Sprintf("%d objects are called %q: %s", len(several.Objects), clip(id), strings.Join(names, ", ")))
		return nil
	}
	fail(w, r, http.StatusNotFound, "id", fmt.Sprintf("there is no object %q; /api/v1/objects?q= searches", clip(id)))
	return nil
}

// lost answers when the theory gives no place.
func lost(w http.ResponseWriter, r *http.Request, o *sky.Object, err error) {
	status := http.StatusUnprocessableEntity
	var old *zone.TooOldError
	switch {
	case errors.As(err, &old):
		status = http.StatusNotFound
	case errors.Is(err, orbit.ErrDecayed):
		status = http.StatusGone
	}
	fail(w, r, status, "", o.Label+": "+strings.TrimPrefix(err.Error(), "orbit: "))
}

func (s *Site) objects(w http.ResponseWriter, r *http.Request) {
	q := newQuery(r)
	text, limit := q.text("q"), q.whole("limit", 1, 50, 10)
	if len(text) > 64 {
		q.bad("q", "q has %d bytes; want 64 at most", len(text))
	}
	if e := q.end(); e != nil {
		refuse(w, r, e)
		return
	}
	select {
	case s.search <- struct{}{}:
		defer func() { <-s.search }()
	case <-r.Context().Done():
		return
	}
	catalogue, now := s.o.Catalogue.Now(), s.o.Now()
	found := []Object{}
	if text == "" {
		for o := range catalogue.All() {
			if found = append(found, s.object(o, now)); len(found) == limit {
				break
			}
		}
	} else {
		for _, o := range catalogue.Search(text, limit) {
			found = append(found, s.object(o, now))
		}
	}
	answer(w, r, struct {
		Objects   []Object `json:"objects"`
		Catalogue int      `json:"catalogue"`
	}{found, catalogue.Len()}, 60)
}

// where is the position with all that is said about it.
func (s *Site) where(o *sky.Object, t time.Time) (Position, sky.Position, error) {
	if err := s.o.Zone.Refused(o, t); err != nil {
		return Position{}, sky.Position{}, err
	}
	p, err := o.At(t)
	if err != nil {
		return Position{}, p, err
	}
	v := Position{
		Time: p.Time, Latitude: round(p.Latitude, 6), Longitude: round(p.Longitude, 6), Altitude: round(p.Height, 3),
		Speed: round(p.Speed, 4), Light: p.Light.String(), Over: theWorld().over(p.Place),
	}
	if l, note, err := s.o.Zone.LOC(o, t); err == nil {
		v.LOC, v.Note = l.String(), note
	} else {
		v.Note = err.Error()
	}
	return v, p, nil
}

func (s *Site) position(w http.ResponseWriter, r *http.Request) {
	now := s.o.Now()
	q := newQuery(r)
	at := q.moment("at", now, now)
	if e := q.end(); e != nil {
		refuse(w, r, e)
		return
	}
	o := s.find(w, r)
	if o == nil {
		return
	}
	v, _, err := s.where(o, at)
	if err != nil {
		lost(w, r, o, err)
		return
	}
	answer(w, r, struct {
		Object   Object   `json:"object"`
		Position Position `json:"position"`
	}{s.object(o, at), v}, 1)
}

const mostPoints = 2000 // of a track

func (s *Site) track(w http.ResponseWriter, r *http.Request) {
	o := s.find(w, r)
	if o == nil {
		return
	}
	now, period := s.o.Now(), o.Orbit().Period().Truncate(time.Second)
	q := newQuery(r)
	from := q.moment("from", now, now.Add(-period))
	to := q.moment("to", now, from.Add(2*period))
	seconds, _ := q.number("step", " seconds", 1, 86400, max(1, math.Round(to.Sub(from).Seconds()/180)))
	step := time.Duration(seconds * float64(time.Second))
	if to.Before(from) {
		q.bad("to", "to is before from")
	} else if n := int64(to.Sub(from)/step) + 1; n > mostPoints {
		q.bad("step", "that is %d points; want %d at most: a longer step or a shorter time", n, mostPoints)
	}
	if e := q.end(); e != nil {
		refuse(w, r, e)
		return
	}
	places, err := o.Orbit().Track(from, to, step)
	if err != nil && len(places) == 0 {
		lost(w, r, o, err)
		return
	}
	points := []Point{}
	var refused error
	for i, p := range places {
		t := from.Add(time.Duration(i) * step).UTC()
		if err := s.o.Zone.Refused(o, t); err != nil {
			refused = err
			continue
		}
		points = append(points, Point{t, round(p.Latitude, 4), round(p.Longitude, 4), round(p.Height, 2)})
	}
	note := ""
	switch {
	case refused != nil && len(points) == 0:
		lost(w, r, o, refused)
		return
	case refused != nil:
		note = "points are left out: " + refused.Error()
	case err != nil:
		note = "the track ends where the theory does: " + strings.TrimPrefix(err.Error(), "orbit: ")
	}
	answer(w, r, struct {
		Object Object  `json:"object"`
		Step   float64 `json:"step_seconds"`
		Points []Point `json:"points"`
		Note   string  `json:"note,omitempty"`
	}{s.object(o, now), seconds, points, note}, 10)
}

func round(v float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}
