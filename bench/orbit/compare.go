package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

// set is an element set of a kind.
type set struct {
	kind string
	orbit.Elements
	gravity orbit.Gravity
	mode    orbit.Mode
}

var kinds = []struct {
	name string
	draw func(*rand.Rand, *orbit.Elements)
}{
	{"low", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Eccentricity = between(r, 11, 16), .1*r.Float64()*r.Float64()
	}},
	{"near earth, eccentric", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion = between(r, 6.5, 12)
		e.Eccentricity = perigee(e.MeanMotion, between(r, 150, 1000))
	}},
	{"equator", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Inclination = between(r, .9, 15), []float64{0, 0, 1e-4, .01}[r.IntN(4)]
		e.Eccentricity = .01 * r.Float64()
	}},
	{"retrograde equator", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Inclination = between(r, .9, 15), []float64{180, 179.99, 179.9, 178}[r.IntN(4)]
		e.Eccentricity = .01 * r.Float64()
	}},
	{"critical inclination", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Inclination = between(r, 1.5, 15), []float64{63.4349, 116.5651}[r.IntN(2)]
		e.Eccentricity = perigee(e.MeanMotion, between(r, 200, 2000)) * r.Float64()
	}},
	{"one revolution a day", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Eccentricity, e.Inclination = between(r, .9, 1.1), .3*r.Float64()*r.Float64(), between(r, 0, 70)*r.Float64()
	}},
	{"two revolutions a day", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Eccentricity = between(r, 1.9, 2.1), between(r, .45, .75)
	}},
	{"deep space", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion = between(r, .2, 6.3)
		e.Eccentricity = perigee(e.MeanMotion, between(r, 200, 30000)) * r.Float64()
	}},
	{"decaying", func(r *rand.Rand, e *orbit.Elements) {
		e.MeanMotion, e.Eccentricity, e.BStar = between(r, 15.8, 16.6), .02*r.Float64(), between(r, .001, .1)
	}},
	{"anything", func(r *rand.Rand, e *orbit.Elements) { e.MeanMotion, e.Eccentricity = between(r, .1, 17), r.Float64() }},
}

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// perigee gives the eccentricity that brings the lowest point to a height in km.
func perigee(motion, height float64) float64 {
	n := motion * 2 * math.Pi / 86400
	a := math.Cbrt(398600.8 / (n * n))
	return max(0, 1-(6378.135+height)/a)
}

// random sets, the kinds by turns.
func random(n int, seed uint64) []set {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([]set, n)
	for i := range all {
		k := kinds[i%len(kinds)]
		e := orbit.Elements{
			Number:      i,
			Epoch:       time.Date(1980+r.IntN(60), 1, 1+r.IntN(365), 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(86400)) * time.Second / 4 * 4),
			Inclination: 180 * r.Float64(), Node: 360 * r.Float64(), ArgPerigee: 360 * r.Float64(), MeanAnomaly: 360 * r.Float64(),
			BStar: math.Pow(10, between(r, -6, -3)) * []float64{1, 1, 1, 0, -1}[r.IntN(5)],
		}
		k.draw(r, &e)
		all[i] = set{kind: k.name, Elements: e, gravity: orbit.Gravity(r.IntN(2)), mode: orbit.Mode(r.IntN(2))}
	}
	return all
}

// numbers that the peer makes its element set from.
func (s *set) numbers() []float64 {
	j := orbit.Julian(s.Epoch)
	g, m := 0., 0.
	if s.gravity == orbit.WGS84 {
		g = 1
	}
	if s.mode == orbit.AFSPC {
		m = 1
	}
	// As from a TLE: the Julian date in one float64.
	epoch := (j.Day + j.Fraction) - 2433281.5
	return []float64{g, m, epoch, s.BStar, s.Eccentricity, s.ArgPerigee, s.Inclination, s.MeanAnomaly, s.MeanMotion, s.Node}
}

// times at which sets are compared, minutes from epoch: a day and a month around it.
var times = []float64{0, 1, 97.3, 720, 1440, -1440, 10080, -43200}

// tally of a kind.
type tally struct {
	sets, states, codes, errors int
	position, velocity          float64 // largest differences, km and km/s
	above                       int     // states that are more than 1e-6 km or 1e-9 km/s apart
	odd                         int     // states that are of no orbit around the Earth, see sane
	relative                    float64 // largest difference of those, by distance
}

// sane is false for states of no orbit around the Earth: those with error 6 and those of elements that
// drag has driven away from the Earth or through its middle. They are what the equations give,
// too, but with so much taken from so much that the last bits of any two computations differ.
func sane(s orbit.State, code int) bool {
	// The lowest point of the ellipse on which it is now.
	r, v := s.Position, s.Velocity
	const mu = 398600.8
	v2 := v.Dot(v)
	energy := v2/2 - mu/r.Norm()
	rv := r.Dot(v)
	h2 := r.Dot(r)*v2 - rv*rv
	e := math.Sqrt(max(0, 1+2*energy*h2/(mu*mu)))
	return code == 0 && energy < 0 && h2/mu/(1+e) > 5000 && r.Norm() < 1e6
}

func compare(p *peer, all []set) error {
	var elements, minutes []float64
	for i := range all {
		elements = append(elements, all[i].numbers()...)
		minutes = append(minutes, times...)
	}
	if _, err := p.ask('e', elements, 1); err != nil {
		return err
	}
	states, err := p.ask('s', minutes, 7*len(minutes))
	if err != nil {
		return err
	}
	byKind := map[string]*tally{}
	var total tally
	var worst string
	for i, s := range all {
		o, err := orbit.New(s.Elements, s.gravity, s.mode)
		if err != nil {
			return fmt.Errorf("%+v: %w", s, err)
		}
		k := byKind[s.kind]
		if k == nil {
			k = new(tally)
			byKind[s.kind] = k
		}
		k.sets++
		for j, t := range times {
			w := states[7*(i*len(times)+j):]
			got, err := o.At(t)
			code := orbit.Code(err)
			k.states++
			if code != 0 {
				k.errors++
			}
			if code != int(w[0]) {
				k.codes++
				fmt.Printf("error %d, theirs %d: %+v at %g\n", code, int(w[0]), s, t)
				continue
			}
			if code != 0 && code != 6 {
				continue
			}
			r, v := got.Position, got.Velocity
			dr := max(math.Abs(r.X-w[1]), math.Abs(r.Y-w[2]), math.Abs(r.Z-w[3]))
			dv := max(math.Abs(v.X-w[4]), math.Abs(v.Y-w[5]), math.Abs(v.Z-w[6]))
			if math.IsNaN(dr) || math.IsNaN(dv) {
				return fmt.Errorf("no number: %+v at %g: %+v, theirs %v", s, t, got, w[:7])
			}
			if !sane(got, code) {
				k.odd++
				k.relative = max(k.relative, dr/r.Norm())
				continue
			}
			if dr > total.position {
				worst = fmt.Sprintf("%+v at %g minutes: %.3g km, error %d", s, t, dr, code)
			}
			if dr > 1e-6 || dv > 1e-9 {
				k.above++
			}
			k.position, k.velocity = max(k.position, dr), max(k.velocity, dv)
			total.position = max(total.position, dr)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kind\tsets\tstates\twith an error\terrors that differ\tlargest difference, km\tkm/s\tabove 1e-6 km or 1e-9 km/s\tof no orbit\tthere by distance\t")
	for _, k := range kinds {
		if t := byKind[k.name]; t != nil {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.2g\t%.2g\t%d\t%d\t%.2g\t\n", k.name, t.sets, t.states, t.errors, t.codes, t.position, t.velocity, t.above, t.odd, t.relative)
		}
	}
	w.Flush()
	fmt.Printf("\nlargest: %s\n\n", worst)
	return nil
}
