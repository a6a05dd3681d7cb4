package page

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/headway-lab/headway/iss/orbit"
)

// world is the map: world.json, which command world made. Points are in tenths of a degree.
type world struct {
	Arcs      [][]int
	Countries []struct {
		Name  string
		Rings [][]int
		box   [4]int
		rings [][][2]int
	}
}

var theWorld = sync.OnceValue(func() *world {
	text, err := files.ReadFile("world.json")
	if err != nil {
		panic("page: " + err.Error()) // it is part of the program, and a test reads it
	}
	w := &world{}
	if err := json.Unmarshal(text, w); err != nil {
		panic("page: world.json: " + err.Error())
	}
	for i := range w.Countries {
		c := &w.Countries[i]
		c.box = [4]int{1 << 30, 1 << 30, -1 << 30, -1 << 30}
		for _, r := range c.Rings {
			ring := w.ring(r)
			for _, p := range ring {
				c.box = [4]int{min(c.box[0], p[0]), min(c.box[1], p[1]), max(c.box[2], p[0]), max(c.box[3], p[1])}
			}
			c.rings = append(c.rings, ring)
		}
	}
	return w
})

// arc as points; ^i is arc i backwards.
func (w *world) arc(i int) [][2]int {
	a := w.Arcs[max(i, ^i)]
	points := make([][2]int, len(a)/2)
	x, y := 0, 0
	for k := range points {
		x, y = x+a[2*k], y+a[2*k+1]
		if i < 0 {
			points[len(points)-1-k] = [2]int{x, y}
		} else {
			points[k] = [2]int{x, y}
		}
	}
	return points
}

func (w *world) ring(arcs []int) [][2]int {
	var all [][2]int
	for _, i := range arcs {
		a := w.arc(i)
		if len(all) > 0 {
			a = a[1:] // an arc begins where the last one ended
		}
		all = append(all, a...)
	}
	// Rings go on across the date line, and Antarctica's around the pole.
	shift := 0
	for i, p := range all {
		if i > 0 {
			switch d := p[0] + shift - all[i-1][0]; {
			case d > 1800:
				shift -= 3600
			case d < -1800:
				shift += 3600
			}
		}
		all[i][0] += shift
	}
	if shift != 0 {
		all = append(all, [2]int{all[len(all)-1][0], -900}, [2]int{all[0][0], -900})
	}
	return all
}

// copies are by how much a ring is to be moved so that all of it is on the map.
func copies(ring [][2]int) []int {
	low, high := 0, 0
	for _, p := range ring {
		low, high = min(low, p[0]), max(high, p[0])
	}
	all := []int{0}
	if low < -1800 {
		all = append(all, 3600)
	}
	if high > 1800 {
		all = append(all, -3600)
	}
	return all
}

// svg is the map as a picture of which the page uses the parts land and borders.
func (w *world) svg() []byte {
	b := []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1800 -900 3600 1800"><defs><path id="land" d="`)
	uses := make([]int, len(w.Arcs))
	for _, c := range w.Countries {
		for i, r := range c.rings {
			for _, shift := range copies(r) {
				moved := slices.Clone(r)
				for k := range moved {
					moved[k][0] += shift
				}
				b = append(appendPoints(b, moved), 'z')
			}
			for _, a := range c.Rings[i] {
				uses[max(a, ^a)]++
			}
		}
	}
	b = append(b, `"/><path id="borders" fill="none" d="`...)
	for i, n := range uses {
		if n > 1 {
			b = appendPoints(b, w.arc(i))
		}
	}
	return append(b, `"/></defs></svg>`...)
}

// appendPoints as a path, relative, with no character more than it needs. North is up.
func appendPoints(b []byte, points [][2]int) []byte {
	x, y, drawn := 0, 0, false
	for i, p := range points {
		dx, dy := p[0]-x, -p[1]-y
		switch {
		case i == 0:
			b = append(b, 'M')
		case dx == 0 && dy == 0:
			continue
		case !drawn: // without it, what follows M is not relative
			b, drawn = append(b, 'l'), true
		case dx >= 0:
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(dx), 10)
		if dy >= 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(dy), 10)
		x, y = p[0], -p[1]
	}
	return b
}

// over tells what is below: a country, an ocean, or "the sea".
func (w *world) over(p orbit.Place) string {
	y := p.Latitude * 10
	for i := range w.Countries {
		c := &w.Countries[i]
		in := false
		for _, x := range []float64{p.Longitude * 10, p.Longitude*10 - 3600, p.Longitude*10 + 3600} {
			if x < float64(c.box[0]) || x > float64(c.box[2]) || y < float64(c.box[1]) || y > float64(c.box[3]) {
				continue
			}
			for _, r := range c.rings {
				in = in != inside(r, x, y)
			}
		}
		if in {
			if full, ok := inWords[c.Name]; ok {
				return full
			}
			return c.Name
		}
	}
	return ocean(p)
}

func inside(ring [][2]int, x, y float64) bool {
	in := false
	for i, p := range ring {
		q := ring[(i+1)%len(ring)]
		px, py, qx, qy := float64(p[0]), float64(p[1]), float64(q[0]), float64(q[1])
		if (py > y) != (qy > y) && x < (qx-px)*(y-py)/(qy-py)+px {
			in = !in
		}
	}
	return in
}

// inWords are the names that the map shortens, or that want an article.
var inWords = map[string]string{
	"Bahamas": "the Bahamas", "Bosnia and Herz.": "Bosnia and Herzegovina", "Central African Rep.": "the Central African Republic",
	"Congo": "the Republic of the Congo", "Dem. Rep. Congo": "the Democratic Republic of the Congo", "Dominican Rep.": "the Dominican Republic",
	"Eq. Guinea": "Equatorial Guinea", "Falkland Is.": "the Falkland Islands", "Fr. S. Antarctic Lands": "the Kerguelen Islands",
	"Gambia": "the Gambia", "Macedonia": "North Macedonia", "N. Cyprus": "Northern Cyprus", "Netherlands": "the Netherlands",
	"Philippines": "the Philippines", "S. Geo. and the Is.": "South Georgia", "S. Sudan": "South Sudan", "Siachen Glacier": "the Siachen Glacier",
	"Solomon Is.": "the Solomon Islands", "United Arab Emirates": "the United Arab Emirates", "United Kingdom": "the United Kingdom",
	"United States of America": "the United States", "W. Sahara": "Western Sahara", "eSwatini": "Eswatini",
}

// The oceans, drawn by hand and with care not to reach into seas that have names of their own; longitudes from 0 to 360.
var oceans = []struct {
	name  string
	ring  [][2]int // tenths of a degree
	parts bool     // north and south
}{
	{"Pacific", [][2]int{{1469, -600}, {1469, -430}, {1500, -375}, {1535, -280}, {1530, -240}, {1600, -110}, {1550, -40}, {1500, 0}, {1350, 30}, {1270, 70},
		{1250, 127}, {1225, 185}, {1240, 240}, {1310, 310}, {1370, 335}, {1410, 350}, {1425, 390}, {1460, 430}, {1520, 460}, {1570, 500}, {1630, 550}, {1700, 540},
		{1800, 515}, {1900, 525}, {2000, 545}, {2080, 570}, {2160, 590}, {2220, 575}, {2280, 530}, {2320, 490}, {2360, 470}, {2360, 410}, {2380, 350}, {2430, 310},
		{2470, 240}, {2500, 200}, {2540, 185}, {2600, 158}, {2660, 140}, {2720, 115}, {2750, 85}, {2790, 65}, {2820, 50}, {2810, 0}, {2790, -50}, {2840, -130},
		{2900, -190}, {2890, -300}, {2870, -380}, {2860, -460}, {2850, -530}, {2927, -570}, {2927, -600}}, true},
	{"Atlantic", [][2]int{{2927, -600}, {2960, -552}, {2930, -500}, {2990, -400}, {3080, -330}, {3130, -270}, {3200, -220}, {3220, -140}, {3255, -70}, {3200, -25},
		{3120, 20}, {3080, 60}, {3020, 90}, {3000, 120}, {2990, 160}, {2960, 190}, {2900, 205}, {2870, 225}, {2830, 270}, {2805, 290}, {2800, 320}, {2850, 355},
		{2870, 395}, {2920, 420}, {2955, 430}, {3010, 455}, {3075, 465}, {3080, 500}, {3055, 540}, {3100, 590}, {3170, 595}, {3220, 645}, {3340, 640}, {3380, 633},
		{3450, 632}, {3540, 625}, {3550, 600}, {3520, 575}, {3490, 545}, {3490, 515}, {3530, 490}, {3560, 465}, {3500, 440}, {3504, 400}, {3510, 365}, {3530, 350},
		{3500, 310}, {3460, 270}, {3425, 210}, {3422, 140}, {3460, 90}, {3520, 40}, {3599, 40}, {3600, -600}}, true},
	{"Atlantic", [][2]int{{0, -600}, {0, 40}, {60, 35}, {90, 0}, {85, -30}, {120, -80}, {130, -120}, {115, -170}, {140, -240}, {175, -320}, {200, -350}, {200, -600}}, true},
	{"Indian Ocean", [][2]int{{200, -600}, {200, -350}, {260, -345}, {310, -305}, {330, -270}, {360, -240}, {360, -190}, {410, -160}, {410, -100}, {400, -40}, {440, 10},
		{490, 70}, {520, 120}, {550, 160}, {590, 210}, {620, 245}, {670, 240}, {700, 200}, {725, 180}, {740, 130}, {770, 75}, {800, 55}, {820, 60}, {840, 50},
		{935, 50}, {970, 20}, {1010, -40}, {1050, -75}, {1150, -95}, {1210, -110}, {1220, -170}, {1140, -220}, {1130, -260}, {1150, -340}, {1180, -355}, {1240, -340},
		{1300, -325}, {1350, -360}, {1410, -390}, {1460, -435}, {1469, -440}, {1469, -600}}, false},
}

func ocean(p orbit.Place) string {
	lon := p.Longitude
	if lon < 0 {
		lon += 360
	}
	switch {
	case p.Latitude < -60:
		return "the Southern Ocean"
	case p.Latitude > 75:
		return "the Arctic Ocean"
	}
	for _, o := range oceans {
		if !inside(o.ring, lon*10, p.Latitude*10) {
			continue
		}
		if !o.parts {
			return "the " + o.name
		}
		if p.Latitude < 0 {
			return "the South " + o.name
		}
		return "the North " + o.name
	}
	return "the sea"
}
