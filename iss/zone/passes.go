package zone

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// errBusy tells that too many passes are being computed.
var errBusy = errors.New("zone: too many passes to compute at once")

// passes keeps what was computed: a pass costs a thousand times what a position does, so
// an attacker who asks for passes over places by chance would have the processor. Only a
// quarter of the processors compute passes at a time; whoever comes meanwhile waits a
// moment or is told so.
type passes struct {
	turns chan struct{}

	mu   sync.Mutex
	kept map[passKey]passValue

	computed, known, refused atomic.Uint64
}

type passKey struct {
	object   *sky.Object
	lat, lon float32
}

type passValue struct {
	pass  orbit.Pass
	err   error
	until time.Time
}

const (
	passesKept   = 4096
	passPatience = 200 * time.Millisecond
)

func newPasses() *passes {
	return &passes{turns: make(chan struct{}, max(runtime.GOMAXPROCS(0)/4, 1)), kept: map[passKey]passValue{}}
}

// minElevation is from where on a pass counts, degrees: lower there are houses.
const minElevation = 10

func (c *passes) next(o *sky.Object, p orbit.Place, t time.Time) (orbit.Pass, error) {
	if !reaches(o, p.Latitude) {
		return orbit.Pass{}, sky.ErrNoPass
	}
	key := passKey{o, float32(p.Latitude), float32(p.Longitude)}
	c.mu.Lock()
	v, ok := c.kept[key]
	c.mu.Unlock()
	if ok && t.Before(v.until) && t.After(v.until.Add(-sky.PassWindow)) {
		c.known.Add(1)
		return v.pass, v.err
	}
	patience := time.NewTimer(passPatience)
	defer patience.Stop()
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-patience.C:
		c.refused.Add(1)
		return orbit.Pass{}, errBusy
	}
	c.computed.Add(1)
	v.pass, v.err = o.NextPass(p, t, minElevation)
	switch {
	case v.err == nil && !v.pass.Set.Time.IsZero() && !v.pass.Rise.Time.IsZero():
		v.until = v.pass.Set.Time
	default:
		v.until = t.Add(10 * time.Minute) // nothing, or one under way, or one without end
		if v.err == nil && !v.pass.Set.Time.IsZero() && v.pass.Set.Time.Before(v.until) {
			v.until = v.pass.Set.Time
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.kept {
		if len(c.kept) < passesKept {
			break
		}
		delete(c.kept, k) // any: maps are walked from a place by chance
	}
	c.kept[key] = v
	return v.pass, v.err
}

// Metrics writes how many searches for passes there were, in the text format of Prometheus.
func (z *Zone) Metrics(w io.Writer) {
	for _, m := range []struct {
		name, help string
		n          uint64
	}{
		{"computed", "that were computed", z.passes.computed.Load()},
		{"kept", "answered from memory", z.passes.known.Load()},
		{"refused", "refused because there were too many", z.passes.refused.Load()},
	} {
		name := "headway_iss_zone_passes_" + m.name + "_total"
		fmt.Fprintf(w, "# HELP %s Searches for passes by DNS %s.\n# TYPE %s counter\n%s %d\n", name, m.help, name, name, m.n)
	}
}

// reaches says whether an object can ever stand above the horizon at a latitude. It spares
// the search where it takes longest.
func reaches(o *sky.Object, latitude float64) bool {
	const ground, field = 6356.75, 398600.8
	e := o.Orbit().Elements()
	rate := e.MeanMotion * 2 * math.Pi / 86400
	apogee := math.Cbrt(field/(rate*rate)) * (1 + e.Eccentricity)
	if apogee <= ground {
		return true // for the theory to say
	}
	highest := min(e.Inclination, 180-e.Inclination)
	seen := math.Acos(ground/apogee) * 180 / math.Pi
	return math.Abs(latitude) <= highest+seen+1
}

// passText is a pass in the strings of a TXT record.
func passText(p orbit.Pass, err error) []string {
	if errors.Is(err, sky.ErrNoPass) {
		return []string{fmt.Sprintf("pass=none above %d degrees within two days", minElevation)}
	}
	if err != nil {
		return []string{"pass=unknown", "problem=" + err.Error()}
	}
	moment := func(name string, s orbit.Sighting, none string) string {
		if s.Time.IsZero() {
			return name + "=" + none
		}
		return fmt.Sprintf("%s=%s azimuth %.0f elevation %.0f", name, s.Time.Format(time.RFC3339), s.Azimuth, s.Elevation)
	}
	visible := "visible=no"
	if p.Visible {
		visible = "visible=yes"
	}
	return []string{
		moment("rise", p.Rise, "is up"), moment("highest", p.Culmination, ""),
		moment("set", p.Set, "not within two days"), visible,
	}
}
