package zone

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headway-lab/headway/iss/orbit"
)

// A place as a name: LATITUDE-LONGITUDE, degrees with n or s and e or w, with decimals or
// without, as in 48.2n-16.4e, 48n-16e or 33.87s-151.21e. The points divide labels of the
// DNS, which is why names on the way exist: with 48.2n-16.4e also 2n-16.4e, which is
// another place, and 4e, which is none.

type found uint8

const (
	nowhere  found = iota // not a place, nor the end of one
	onTheWay              // the end of one
	there
)

// observer reads the labels of a place, in small letters.
func observer(labels []string) (orbit.Place, found) {
	if len(labels) == 1 {
		if p, ok := cities[labels[0]]; ok {
			return p, there
		}
	}
	if len(labels) == 0 || len(labels) > 3 {
		return orbit.Place{}, nowhere
	}
	last := labels[len(labels)-1]
	if len(labels) == 1 && len(last) > 1 && digits(last[:len(last)-1]) && (last[len(last)-1] == 'e' || last[len(last)-1] == 'w') {
		return orbit.Place{}, onTheWay
	}
	lat, lon, ok := strings.Cut(strings.Join(labels, "."), "-")
	if !ok {
		return orbit.Place{}, nowhere
	}
	latitude, ok1 := degrees(lat, 'n', 's', 90)
	longitude, ok2 := degrees(lon, 'e', 'w', 180)
	if !ok1 || !ok2 {
		return orbit.Place{}, nowhere
	}
	// A tenth of a degree is a second of time or less in a pass, and elements are no
	// better. It bounds how many answers there can be.
	return orbit.Place{Latitude: math.Round(latitude*10) / 10, Longitude: math.Round(longitude*10) / 10}, there
}

func degrees(s string, positive, negative byte, most float64) (float64, bool) {
	if len(s) < 2 || len(s) > 12 {
		return 0, false
	}
	number, sign := s[:len(s)-1], 1.
	switch s[len(s)-1] {
	case positive:
	case negative:
		sign = -1
	default:
		return 0, false
	}
	whole, fraction, point := strings.Cut(number, ".")
	if !digits(whole) || point && !digits(fraction) {
		return 0, false
	}
	v, err := strconv.ParseFloat(number, 64)
	return sign * v, err == nil && v <= most
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// coordinates writes a place as its name has it.
func coordinates(p orbit.Place) string {
	ns, ew := 'n', 'e'
	if p.Latitude < 0 {
		ns = 's'
	}
	if p.Longitude < 0 {
		ew = 'w'
	}
	return fmt.Sprintf("%.1f%c-%.1f%c", math.Abs(p.Latitude), ns, math.Abs(p.Longitude), ew)
}

// cities for those who do not know where they are, to a tenth of a degree.
var cities = map[string]orbit.Place{}

func init() {
	for line := range strings.SplitSeq(cityList, "\n") {
		f := strings.Fields(line)
		lat, _ := strconv.ParseFloat(f[1], 64)
		lon, _ := strconv.ParseFloat(f[2], 64)
		cities[f[0]] = orbit.Place{Latitude: lat, Longitude: lon}
	}
}

const cityList = `amsterdam 52.4 4.9
athens 38.0 23.7
auckland -36.9 174.8
bangkok 13.8 100.5
barcelona 41.4 2.2
beijing 39.9 116.4
berlin 52.5 13.4
bern 46.9 7.4
bogota 4.7 -74.1
boston 42.4 -71.1
brussels 50.8 4.4
bucharest 44.4 26.1
budapest 47.5 19.0
buenos-aires -34.6 -58.4
cairo 30.0 31.2
cape-town -33.9 18.4
chicago 41.9 -87.6
copenhagen 55.7 12.6
dallas 32.8 -96.8
delhi 28.6 77.2
denver 39.7 -105.0
dublin 53.3 -6.3
frankfurt 50.1 8.7
geneva 46.2 6.1
hamburg 53.6 10.0
helsinki 60.2 24.9
hong-kong 22.3 114.2
honolulu 21.3 -157.9
houston 29.8 -95.4
istanbul 41.0 29.0
jakarta -6.2 106.8
johannesburg -26.2 28.0
karachi 24.9 67.0
kyiv 50.5 30.5
lagos 6.5 3.4
lima -12.0 -77.0
lisbon 38.7 -9.1
london 51.5 -0.1
los-angeles 34.1 -118.2
madrid 40.4 -3.7
manila 14.6 121.0
melbourne -37.8 145.0
mexico-city 19.4 -99.1
miami 25.8 -80.2
milan 45.5 9.2
montreal 45.5 -73.6
moscow 55.8 37.6
mumbai 19.1 72.9
munich 48.1 11.6
nairobi -1.3 36.8
new-york 40.7 -74.0
oslo 59.9 10.8
paris 48.9 2.4
perth -32.0 115.9
prague 50.1 14.4
reykjavik 64.1 -21.9
rio-de-janeiro -22.9 -43.2
riyadh 24.7 46.7
rome 41.9 12.5
san-francisco 37.8 -122.4
santiago -33.4 -70.7
sao-paulo -23.6 -46.6
seattle 47.6 -122.3
seoul 37.6 127.0
shanghai 31.2 121.5
singapore 1.4 103.8
stockholm 59.3 18.1
sydney -33.9 151.2
taipei 25.0 121.6
tehran 35.7 51.4
tel-aviv 32.1 34.8
tokyo 35.7 139.7
toronto 43.7 -79.4
vancouver 49.3 -123.1
vienna 48.2 16.4
warsaw 52.2 21.0
washington 38.9 -77.0
zurich 47.4 8.5`
