package zone

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/headway-lab/headway/iss/orbit"
)

// LOC is the data of a LOC record (RFC 1876) as the wire has it.
type LOC struct {
	Size, Horizontal, Vertical uint8  // diameters: a digit and a power of ten, cm; see Diameter
	Latitude, Longitude        uint32 // thousandths of an arc second, 1<<31 is 0
	Altitude                   uint32 // cm above 100 km below the WGS-84 ellipsoid
}

// MaxAltitude is how high LOC reaches, metres. Geostationary objects are at 35,786 km;
// little but a few observatories and the Moon is beyond it. There they have no LOC
// record: a height that is cut off would be a wrong one.
const MaxAltitude = (math.MaxUint32 - 1e7) / 100.

// ErrAltitude tells that a place is higher than LOC can say, or more than 100 km below
// the ground.
var ErrAltitude = errors.New("zone: no LOC record reaches this height")

// NewLOC writes a place as a LOC record, each coordinate rounded to the nearest that it
// can say. The precisions are diameters in metres, rounded up. Longitude may be any
// angle; the date line is 180 degrees east.
func NewLOC(p orbit.Place, size, horizontal, vertical float64) (LOC, error) {
	const degree = 3600_000
	lat := math.Round(p.Latitude * degree)
	lon := math.Round(math.Remainder(p.Longitude, 360) * degree)
	alt := math.Round(p.Height*1e5) + 1e7
	if !(math.Abs(lat) <= 90*degree) || math.IsNaN(lon) {
		return LOC{}, fmt.Errorf("zone: there is no place at latitude %v, longitude %v", p.Latitude, p.Longitude)
	}
	if !(alt >= 0 && alt <= math.MaxUint32) {
		return LOC{}, ErrAltitude
	}
	if lon == -180*degree {
		lon = 180 * degree
	}
	return LOC{
		Size: Diameter(size), Horizontal: Diameter(horizontal), Vertical: Diameter(vertical),
		Latitude: uint32(1<<31 + int64(lat)), Longitude: uint32(1<<31 + int64(lon)), Altitude: uint32(alt),
	}, nil
}

// Diameter writes metres as LOC has them: one digit times a power of ten, in cm, rounded
// up. It ends at 90,000 km.
func Diameter(metres float64) uint8 {
	cm := math.Ceil(metres * 100)
	exponent := 0
	for cm > 9 && exponent < 9 {
		cm = math.Ceil(cm / 10)
		exponent++
	}
	return uint8(max(min(cm, 9), 0))<<4 | uint8(exponent)
}

// centimetres is Diameter backwards.
func centimetres(d uint8) uint64 {
	cm := uint64(d >> 4)
	for range d & 15 {
		cm *= 10
	}
	return cm
}

// Wire is the record's data, 16 bytes, version 0 first.
func (l LOC) Wire() (b [16]byte) {
	b[1], b[2], b[3] = l.Size, l.Horizontal, l.Vertical
	binary.BigEndian.PutUint32(b[4:], l.Latitude)
	binary.BigEndian.PutUint32(b[8:], l.Longitude)
	binary.BigEndian.PutUint32(b[12:], l.Altitude)
	return b
}

// String is the record's data as zone files have it, as in
// "43 46 46.715 S 145 49 45.069 W 417946.18m 1m 6000m 3000m". It is exact.
func (l LOC) String() string {
	b := angle(nil, l.Latitude, 'N', 'S')
	b = append(angle(append(b, ' '), l.Longitude, 'E', 'W'), ' ')
	alt := int64(l.Altitude) - 1e7
	if alt < 0 {
		b, alt = append(b, '-'), -alt
	}
	b = strconv.AppendInt(b, alt/100, 10)
	b = append(b, '.', byte('0'+alt%100/10), byte('0'+alt%10), 'm')
	for _, d := range []uint8{l.Size, l.Horizontal, l.Vertical} {
		cm := centimetres(d)
		b = strconv.AppendUint(append(b, ' '), cm/100, 10)
		if cm < 100 {
			b = append(b, '.', byte('0'+cm%100/10), byte('0'+cm%10))
		}
		b = append(b, 'm')
	}
	return string(b)
}

// angle writes degrees, minutes and seconds with three decimals.
func angle(b []byte, v uint32, positive, negative byte) []byte {
	mas, sign := int64(v)-1<<31, positive
	if mas < 0 {
		mas, sign = -mas, negative
	}
	b = strconv.AppendInt(b, mas/3600_000, 10)
	b = strconv.AppendInt(append(b, ' '), mas/60_000%60, 10)
	b = strconv.AppendInt(append(b, ' '), mas/1000%60, 10)
	ms := mas % 1000
	return append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), ' ', sign)
}

// Place is the place that the record says.
func (l LOC) Place() orbit.Place {
	return orbit.Place{
		Latitude:  float64(int64(l.Latitude)-1<<31) / 3600_000,
		Longitude: float64(int64(l.Longitude)-1<<31) / 3600_000,
		Height:    float64(int64(l.Altitude)-1e7) / 1e5,
	}
}
