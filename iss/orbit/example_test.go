package orbit_test

import (
	"fmt"
	"log"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

func Example() {
	e, err := orbit.ParseTLE(`ISS (ZARYA)
1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991
2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482`)
	if err != nil {
		log.Fatal(err)
	}
	o, err := orbit.New(e, orbit.WGS72, orbit.Improved)
	if err != nil {
		log.Fatal(err)
	}
	t := time.Date(2019, 12, 9, 20, 42, 0, 0, time.UTC)
	state, err := o.AtTime(t)
	if err != nil {
		log.Fatal(err)
	}
	place := state.Position.EarthFixed(orbit.UT1(t)).Place()
	fmt.Printf("%s is above %.3f, %.3f degrees, %.1f km up, at %.2f km/s, %v\n", e.Name,
		place.Latitude, place.Longitude, place.Height, state.Velocity.Norm(), state.Position.Light(orbit.Sun(t)))

	berlin := orbit.Place{Latitude: 52.52, Longitude: 13.40, Height: .05}
	passes, err := o.Passes(berlin, t, t.AddDate(0, 0, 1), 30)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range passes {
		fmt.Printf("%s up to %.0f degrees, to %s, visible: %t\n", p.Rise.Time.Format(time.TimeOnly),
			p.Culmination.Elevation, p.Set.Time.Format(time.TimeOnly), p.Visible)
	}
	// Output:
	// ISS (ZARYA) is above -25.091, 159.939 degrees, 420.4 km up, at 7.66 km/s, sunlit
	// 12:38:08 up to 65 degrees, to 12:41:02, visible: false
	// 14:14:46 up to 72 degrees, to 14:17:45, visible: false
	// 15:52:21 up to 31 degrees, to 15:53:08, visible: true
}
