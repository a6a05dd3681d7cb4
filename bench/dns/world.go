package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// world writes what all servers serve: element sets for iss, a zone file for the others, and
// the names to ask for. One object in ten is in deep space, as in the public catalogue.
func (b *bench) world() error {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UTC()
	var sets, file, names strings.Builder
	file.WriteString("$ORIGIN example.\n$TTL 4\n@ IN SOA ns hostmaster 1 7200 1800 1209600 60\n@ IN NS ns\nns IN A 192.0.2.1\n")
	base := sky.BuiltIn().Station().Orbit().Elements()
	for i := range b.objects {
		e := base
		if i > 0 {
			e.Number, e.Name, e.Designator = 1+i, fmt.Sprintf("OBJECT %d", i), ""
			if e.Number == base.Number {
				e.Number = 1 + b.objects
			}
			e.Inclination, e.Node = 110*r.Float64(), 360*r.Float64()
			e.ArgPerigee, e.MeanAnomaly = 360*r.Float64(), 360*r.Float64()
			e.MeanMotion, e.Eccentricity = 12+3.5*r.Float64(), .01*r.Float64()
			if i%10 == 0 {
				e.MeanMotion, e.Eccentricity = 1.0027, .001
			}
			if i%50 == 0 {
				e.MeanMotion, e.Eccentricity = 2.006, .7
			}
		}
		e.Epoch = now.Add(-time.Duration(r.IntN(24*3600)) * time.Second)
		one, two, err := e.TLE()
		if err != nil {
			return err
		}
		fmt.Fprintf(&sets, "%s\n%s\n%s\n", e.Name, one, two)
		o, err := orbit.New(e, orbit.WGS72, orbit.Improved)
		if err != nil {
			return err
		}
		p, err := o.Below(now)
		if err != nil {
			return err
		}
		l, err := zone.NewLOC(p, 1, 6000, 3000)
		if err != nil {
			return err
		}
		label := "iss"
		if i > 0 {
			label = sky.Label(e.Name)
		}
		fmt.Fprintf(&file, "%s IN LOC %s\n", label, l)
	}
	for range 20000 {
		label := "iss"
		if i := r.IntN(b.objects); i > 0 && !b.hot {
			label = fmt.Sprintf("object-%d", i)
			if b.objects <= 9 {
				label = "iss"
			}
		}
		fmt.Fprintf(&names, "%s.example LOC\n", label)
	}
	for name, s := range map[string]string{"sets.tle": sets.String(), "example.zone": file.String(), "names": names.String()} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(s), 0o644); err != nil {
			return err
		}
	}
	return nil
}
