package page

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

func refusing(t *testing.T, age time.Duration) *Site {
	t.Helper()
	c := sky.NewCatalogue(sky.BuiltIn())
	z, err := zone.New(zone.Config{Origin: "example.", Refuse: 10 * 24 * time.Hour}, c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Catalogue: c, Zone: z, Now: func() time.Time { return c.Now().Station().Epoch.Add(age) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Elements that are too old for the zone are too old for everybody: no form of a position is told.
func TestTooOldIsToldNowhere(t *testing.T) {
	s := refusing(t, 109*24*time.Hour)
	for _, p := range []string{"position/iss", "track/iss", "passes/iss?lat=48.2&lon=16.4", "live/iss"} {
		r := get(t, s, "/api/v1/"+p)
		if r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", p, r.StatusCode)
			continue
		}
		if f := read[Fault](t, r); f.Error != "iss: elements are 109 days old: too old for a position" {
			t.Errorf("%s: %+v", p, f)
		}
	}
	r := get(t, s, "/?lat=48.2&lon=16.4")
	body, _ := io.ReadAll(r.Body)
	page := string(body)
	if r.StatusCode != http.StatusOK || strings.Contains(page, `id="map"`) || strings.Contains(page, `id="alt"`) || strings.Contains(page, "visible</td>") {
		t.Errorf("the page (%d) tells where it is", r.StatusCode)
	}
	if n := strings.Count(page, "too old for a position"); n != 2 || strings.Contains(page, "from where it is shown") {
		t.Errorf("the page says it %d times", n)
	}
	if event := string(s.event(25544, true)); !strings.HasPrefix(event, "event: gone\n") {
		t.Errorf("a stream is told %s", event)
	}
}

// It is by the moment that is told, not by the one in which it is asked.
func TestTooOldByMoment(t *testing.T) {
	s := refusing(t, 10*24*time.Hour-time.Minute)
	if r := get(t, s, "/api/v1/position/iss"); r.StatusCode != http.StatusOK {
		t.Errorf("now: %d", r.StatusCode)
	}
	if r := get(t, s, "/api/v1/position/iss?at=2026-10-01T00:00:00Z"); r.StatusCode != http.StatusNotFound {
		t.Errorf("later: %d", r.StatusCode)
	}
	type list struct {
		Points []Point
		Passes []Pass
		Note   string
	}
	limit := s.o.Catalogue.Now().Station().Epoch.Add(10 * 24 * time.Hour)
	track := read[list](t, get(t, s, "/api/v1/track/iss"))
	if n := len(track.Points); n == 0 || !track.Points[n-1].Time.Before(limit) || !strings.Contains(track.Note, "left out") {
		t.Errorf("%d points, %q", n, track.Note)
	}
	if r := get(t, s, "/api/v1/passes/iss?lat=48.2&lon=16.4"); r.StatusCode != http.StatusNotFound {
		t.Errorf("all passes come later: %d", r.StatusCode)
	}
	early := read[list](t, get(t, s, "/api/v1/passes/iss?lat=48.2&lon=16.4&from=2026-08-14T00:00:00Z"))
	if len(early.Passes) == 0 || !strings.Contains(early.Note, "left out") {
		t.Errorf("where elements are good: %+v", early)
	}
	for _, p := range early.Passes {
		if !p.Highest.Time.Before(limit) {
			t.Errorf("a pass at %v", p.Highest.Time)
		}
	}
}
