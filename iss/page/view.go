package page

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

var tmpl = template.Must(template.New("page.tmpl").ParseFS(files, "page.tmpl"))

// view is the page as its template sees it.
type view struct {
	CSS, JS, World string
	Theme          template.JS
	Title          string
	Object         Object
	Who            string // in a sentence
	Zone           string
	TTL            uint32
	Dig, At        string // the command, and what of it finds this server
	Now            time.Time
	Moment         *Moment
	Figures        []figure
	Alarm, Tone    string
	Lost           string // why there is no position
	Asked          string // what was searched for and not found
	Candidates     []Object
	Lat, Lon       string
	Passes         []passRow
	NoPasses       string
	Catalogue      int
	Fetch          string
}

type figure struct{ ID, Name, Value, Small, Tone string }

type passRow struct {
	Day, Rise, Highest, Set string
	Eye                     string
}

func (s *Site) index(w http.ResponseWriter, r *http.Request) {
	now := s.o.Now()
	catalogue := s.o.Catalogue.Now()
	v := view{
		CSS: s.static["page.css"].url, JS: s.static["page.js"].url, World: s.static["world.svg"].url, Theme: template.JS(theme),
		Now: now.UTC(), Catalogue: catalogue.Len(), Zone: strings.TrimSuffix(s.o.Zone.Origin, "."), TTL: s.o.Zone.TTL,
	}
	q := newQuery(r)
	asked := clip(q.text("object"))
	place := q.place()
	status := http.StatusOK
	o := catalogue.Station()
	if asked != "" {
		found, err := catalogue.Find(s.label(asked))
		var several *sky.AmbiguousError
		switch {
		case err == nil:
			o = found
		case errors.As(err, &several):
			v.Asked, status = asked, http.StatusNotFound
			for _, c := range several.Objects[:min(20, len(several.Objects))] {
				v.Candidates = append(v.Candidates, s.object(c, now))
			}
		default:
			all := catalogue.Search(asked, 20)
			if len(all) == 1 {
				o = all[0]
				break
			}
			v.Asked, status = asked, http.StatusNotFound
			for _, c := range all {
				v.Candidates = append(v.Candidates, s.object(c, now))
			}
		}
	}
	if q.wrong != nil {
		v.NoPasses = q.wrong.text
	}
	v.Object, v.Who, v.Dig = s.object(o, now), o.Name, s.dig(o)
	v.At = s.o.Dig
	if o.Number == 25544 {
		v.Who = "The space station"
	}
	m, err := s.moment(o, now, true)
	if err != nil {
		v.Lost = strings.TrimPrefix(err.Error(), "orbit: ")
		v.Title = v.Who
	} else {
		v.Moment, v.Title = &m, v.Who+" is above "+m.Over
		v.Figures = figures(&m, o, v.Object)
	}
	if v.Tone, v.Alarm = alarm(o, v.Object, now); s.o.Zone.Refused(o, now) != nil {
		v.Tone, v.Alarm = "harm", "The elements are too old: "+sky.Days(o.Age(now))+". No position is told from them."
	}
	v.Fetch = s.fetched()
	if place != nil {
		v.Lat, v.Lon = fmt.Sprint(round(place.Latitude, 2)), fmt.Sprint(round(place.Longitude, 2))
		all, _, err := s.passesFrom(r.Context(), o, *place, now, 3, 10)
		if v.Passes = rows(within(all, now, now.AddDate(0, 0, 3), false)); err != nil {
			v.NoPasses = strings.TrimPrefix(err.Error(), "orbit: ")
		} else if len(v.Passes) == 0 {
			v.NoPasses = "It does not rise 10° above the horizon there within three days."
		}
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b, &v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	send(w, r, status, "text/html; charset=utf-8", b.Bytes(), 0)
}

func figures(m *Moment, known *sky.Object, o Object) []figure {
	lat, lon, _ := splitLOC(m.LOC)
	light := map[string]string{"sunlit": "in sunlight", "penumbra": "in twilight", "umbra": "in the Earth’s shadow"}[m.Light]
	tone, worth := tones[m.Freshness], m.Freshness
	if !known.High() {
		worth += fmt.Sprintf(", good to about %s\u00a0km", thousands(o.Elements.Uncertainty))
	}
	return []figure{
		{"lat", "Latitude", coordinate(m.Latitude, "N", "S"), lat, ""},
		{"lon", "Longitude", coordinate(m.Longitude, "E", "W"), lon, ""},
		{"alt", "Altitude", fmt.Sprintf("%.1f km", m.Altitude), "above the ellipsoid", ""},
		{"speed", "Speed", fmt.Sprintf("%.2f km/s", m.Speed), thousands(m.Speed*3600) + " km/h", ""},
		{"light", "Light", light, "", ""},
		{"age", "Age of the elements", m.Age, worth, tone},
	}
}

var tones = map[string]string{"fresh": "", "old": "mixed", "too old": "harm"}

// splitLOC takes a record apart: latitude, longitude, the rest.
func splitLOC(loc string) (lat, lon, rest string) {
	f := strings.Fields(loc)
	if len(f) < 9 {
		return "", "", ""
	}
	return strings.Join(f[:4], " "), strings.Join(f[4:8], " "), strings.Join(f[8:], " ")
}

func coordinate(v float64, positive, negative string) string {
	if v < 0 {
		positive = negative
	}
	return fmt.Sprintf("%.3f° %s", math.Abs(v), positive)
}

func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func alarm(known *sky.Object, o Object, now time.Time) (tone, text string) {
	since := o.Elements.Epoch.UTC().Format("2 January 2006")
	age := sky.Days(now.Sub(o.Elements.Epoch))
	off := fmt.Sprintf("may be %s km from where it is shown.", thousands(o.Elements.Uncertainty))
	if known.High() {
		off = "may be elsewhere: how far off such elements are is not known for so high an orbit."
	}
	switch o.Elements.Freshness {
	case sky.Stale.String():
		return "mixed", fmt.Sprintf("The elements are old: %s, of %s. The object %s", age, since, off)
	case sky.Worthless.String():
		return "harm", fmt.Sprintf("The elements are too old: %s, of %s. The object is somewhere on its orbit, and %s", age, since, off)
	}
	return "", ""
}

// fetched says how the getting of elements stands.
func (s *Site) fetched() string {
	f, origin := s.o.Catalogue.Fetch(), s.o.Catalogue.Now().Origin
	text := "Elements: " + origin.String() + "."
	switch {
	case f.Problem != "" && f.Failed > 1:
		text += fmt.Sprintf(" The last %d attempts to get newer ones failed.", f.Failed)
	case f.Problem != "":
		text += " The last attempt to get newer ones failed."
	case !f.Done.IsZero():
		text += " Last looked for newer ones: " + f.Done.UTC().Format("2 January 2006, 15:04 UTC") + "."
	}
	return text
}

func rows(passes []Pass) []passRow {
	all := []passRow{}
	for _, p := range passes {
		r := passRow{Day: p.Highest.Time.UTC().Format("Mon 2 Jan"), Eye: eye(p),
			Highest: fmt.Sprintf("%s, %.0f° %s", p.Highest.Time.UTC().Format("15:04"), p.Highest.Elevation, compass(p.Highest.Azimuth))}
		r.Rise, r.Set = "up already", "stays up"
		if p.Rise != nil {
			r.Rise = p.Rise.Time.UTC().Format("15:04") + " " + compass(p.Rise.Azimuth)
		}
		if p.Set != nil {
			r.Set = p.Set.Time.UTC().Format("15:04") + " " + compass(p.Set.Azimuth)
		}
		all = append(all, r)
	}
	return all
}

// eye is what there is to see: what is sunlit, but far away, is no sight without a telescope.
func eye(p Pass) string {
	switch {
	case !p.Visible:
		return "not visible"
	case p.Highest.Range > 3000:
		return "sunlit, but far"
	}
	return "visible"
}

func compass(azimuth float64) string {
	return []string{"N", "NE", "E", "SE", "S", "SW", "W", "NW"}[int(math.Round(azimuth/45))&7]
}

// Whom is Who within a sentence.
func (v *view) Whom() string {
	if rest, ok := strings.CutPrefix(v.Who, "The "); ok {
		return "the " + rest
	}
	return v.Who
}

// Graticule is the lines every 30 degrees.
func (v *view) Graticule() string {
	var b strings.Builder
	for x := -1500; x <= 1500; x += 300 {
		fmt.Fprintf(&b, "M%d-900v1800", x)
	}
	for y := -600; y <= 600; y += 300 {
		fmt.Fprintf(&b, "M-1800 %dh3600", y)
	}
	return b.String()
}

// Spot of the object.
func (v *view) Spot() string {
	if v.Moment == nil {
		return ""
	}
	return spot(orbit.Place{Latitude: v.Moment.Latitude, Longitude: v.Moment.Longitude})
}
