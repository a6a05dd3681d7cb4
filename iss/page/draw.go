package page

import (
	"math"
	"strconv"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

// Lines on the map are SVG paths in tenths of a degree, north up, from -1800 to 1800. What crosses the date
// line is drawn as if it did not end there, and again 360 degrees on: the picture clips it.

// unwrap makes longitudes go on from one to the next. The last result is by how much the line went
// around the pole.
func unwrap(places []orbit.Place, closed bool) (points [][2]int, low, high, turned int) {
	low, high = math.MaxInt, math.MinInt
	last, shift := 0., 0.
	for i, p := range places {
		if i > 0 {
			shift -= math.Round((p.Longitude-last)/360) * 360
		}
		last = p.Longitude
		x := int(math.Round((p.Longitude + shift) * 10))
		points = append(points, [2]int{x, int(math.Round(p.Latitude * 10))})
		low, high = min(low, x), max(high, x)
	}
	if closed && len(places) > 0 {
		shift -= math.Round((places[0].Longitude-last)/360) * 360
		turned = int(math.Round(shift * 10))
	}
	return points, low, high, turned
}

func repeat(points [][2]int, low, high int, end string) string {
	var b []byte
	for shift := -7200; shift <= 7200; shift += 3600 {
		if low+shift > 1800 || high+shift < -1800 {
			continue
		}
		moved := make([][2]int, len(points))
		for i, p := range points {
			moved[i] = [2]int{p[0] + shift, p[1]}
		}
		b = append(appendPoints(b, moved), end...)
	}
	return string(b)
}

// line through places.
func line(places []orbit.Place) string {
	points, low, high, _ := unwrap(places, false)
	return repeat(points, low, high, "")
}

// area within a ring of places around a centre, at most a quarter of the way around the Earth from it.
// One around a pole, which is the nearer one then, reaches up to it.
func area(ring []orbit.Place, centre orbit.Place) string {
	points, low, high, turned := unwrap(ring, true)
	if turned != 0 {
		pole := 900
		if centre.Latitude < 0 {
			pole = -900
		}
		end := [2]int{points[0][0] + turned, points[0][1]}
		points = append(points, end, [2]int{end[0], pole}, [2]int{points[0][0], pole})
		low, high = min(low, end[0]), max(high, end[0])
	}
	return repeat(points, low, high, "z")
}

// circle of places around one, degrees of arc away, eastwards seen from it.
func circle(centre orbit.Place, degrees float64) []orbit.Place {
	const rad = math.Pi / 180
	sin, cos := math.Sincos(centre.Latitude * rad)
	sinR, cosR := math.Sincos(degrees * rad)
	all := make([]orbit.Place, 120)
	for i := range all {
		sinA, cosA := math.Sincos(float64(i) * 2 * math.Pi / float64(len(all)))
		lat := math.Asin(sin*cosR + cos*sinR*cosA)
		lon := centre.Longitude*rad + math.Atan2(sinA*sinR*cos, cosR-sin*math.Sin(lat))
		all[i] = orbit.Place{Latitude: lat / rad, Longitude: math.Remainder(lon/rad, 360)}
	}
	return all
}

// night is where the sun is below the horizon, and more than 6, 12 and 18 degrees below: the twilights.
func night(t time.Time) [4]string {
	s := orbit.SubSolar(t)
	dark := orbit.Place{Latitude: -s.Latitude, Longitude: math.Remainder(s.Longitude+180, 360)}
	var all [4]string
	for i := range all {
		all[i] = area(circle(dark, 90-6*float64(i)), dark)
	}
	return all
}

// spot is a dot: with a round cap it has the same size on a small map and a large one.
func spot(p orbit.Place) string {
	x, y := math.Round(p.Longitude*100)/10, math.Round(-p.Latitude*100)/10
	return "M" + strconv.FormatFloat(x, 'f', -1, 64) + " " + strconv.FormatFloat(y, 'f', -1, 64) + "h0"
}
