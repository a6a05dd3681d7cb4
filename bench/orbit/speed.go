package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/iss/orbit"
)

// race is one comparison: seconds for the same propagations.
type race struct {
	name         string
	calls        float64
	ours, theirs func() (seconds float64, err error)
	a, b         []float64 // propagations a second
}

// speed measures by turns, in an order that changes from round to round.
func speed(p *peer, all []set, rounds int, seed uint64) error {
	runtime.GOMAXPROCS(1)
	// A catalogue: what has not decayed and will not for a day, five parts low to one deep.
	var catalogue []set
	r := rand.New(rand.NewPCG(seed, 1))
	for len(catalogue) < len(all) {
		for _, s := range random(len(all), r.Uint64()) {
			if s.kind == "low" || s.kind == "deep space" && r.IntN(5) == 0 || s.kind == "one revolution a day" && r.IntN(10) == 0 {
				s.gravity, s.mode, s.Epoch = orbit.WGS72, orbit.Improved, time.Date(2026, 1, 1, r.IntN(24), 0, 0, 0, time.UTC)
				if s.kind == "low" {
					s.BStar = math.Abs(s.BStar) / 10
					s.Eccentricity = min(s.Eccentricity, perigee(s.MeanMotion, 300))
				}
				if o, err := orbit.New(s.Elements, s.gravity, s.mode); err == nil && lasts(o) && len(catalogue) < len(all) {
					catalogue = append(catalogue, s)
				}
			}
		}
	}
	var elements []float64
	orbits := make([]*orbit.Orbit, len(catalogue))
	first := map[bool]int{} // one near-earth and one deep-space orbit
	for i, s := range catalogue {
		elements = append(elements, s.numbers()...)
		o, err := orbit.New(s.Elements, s.gravity, s.mode)
		if err != nil {
			return err
		}
		orbits[i] = o
		deep := o.Period() >= 225*time.Minute
		if _, ok := first[deep]; !ok {
			first[deep] = i
		}
	}
	if _, err := p.ask('e', elements, 1); err != nil {
		return err
	}

	moments := make([]time.Time, 20) // of a day
	days := make([]float64, len(moments))
	for i := range moments {
		moments[i] = time.Date(2026, 1, 2, 0, 72*i, 0, 0, time.UTC)
		j := orbit.Julian(moments[i])
		days[i] = j.Day + j.Fraction
	}
	races := []*race{{
		name:  fmt.Sprintf("batch of %d objects, %d times", len(orbits), len(moments)),
		calls: float64(len(orbits) * len(moments)),
		ours: func() (float64, error) {
			// Like SatrecArray, into an array of all results.
			states := make([]orbit.State, len(orbits)*len(moments))
			codes := make([]error, len(states))
			begin := time.Now()
			for i, o := range orbits {
				for j, t := range moments {
					k := i*len(moments) + j
					states[k], codes[k] = o.AtTime(t)
				}
			}
			d := time.Since(begin).Seconds()
			return d, errors.Join(codes...)
		},
		theirs: func() (float64, error) { return one(p.ask('b', days, 1)) },
	}}
	for _, deep := range []bool{false, true} {
		i, ok := first[deep]
		if !ok {
			continue
		}
		name := "near earth"
		if deep {
			name = "deep space"
		}
		const calls = 200_000
		single := func() (float64, error) {
			o := orbits[i]
			begin := time.Now()
			for n := range calls {
				if _, err := o.At(float64(n % 1440)); err != nil {
					return 0, err
				}
			}
			return time.Since(begin).Seconds(), nil
		}
		races = append(races,
			&race{
				name: "one object, " + name + ": a Go call each, and a loop in C++", calls: calls, ours: single,
				theirs: func() (float64, error) { return one(p.ask('1', []float64{float64(i), calls}, 1)) },
			},
			&race{
				name: "one object, " + name + ": a Go call each, and a Python call each", calls: calls, ours: single,
				theirs: func() (float64, error) { return one(p.ask('c', []float64{float64(i), calls}, 1)) },
			})
	}
	for range rounds {
		for _, i := range r.Perm(len(races)) {
			t := races[i]
			sides := []func() (float64, error){t.ours, t.theirs}
			rates := []*[]float64{&t.a, &t.b}
			for _, side := range r.Perm(2) {
				runtime.GC()
				s, err := sides[side]()
				if err != nil {
					return err
				}
				*rates[side] = append(*rates[side], t.calls/s)
			}
		}
	}
	fmt.Printf("propagations a second on one core, %d rounds by turns\n", rounds)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tiss/orbit\tsgp4's C++\ttimes as fast\t95 %\t")
	for _, t := range races {
		e := effect.Paired(t.b, t.a, .95, seed)
		fmt.Fprintf(w, "%s\t%.3g million\t%.3g million\t%.2f\t%.2f to %.2f\t\n", t.name, effect.Of(t.a, .95, seed).Value/1e6,
			effect.Of(t.b, .95, seed).Value/1e6, 1+e.Percent/100, 1+e.Low/100, 1+e.High/100)
	}
	return w.Flush()
}

// lasts says whether an orbit can be propagated over the days that are measured.
func lasts(o *orbit.Orbit) bool {
	for t := 0.; t <= 3000; t += 250 {
		if _, err := o.At(t); err != nil {
			return false
		}
	}
	return true
}

func one(x []float64, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return x[0], nil
}
