// Command world makes the map of package page, world.json, from countries-50m.json of the npm package
// world-atlas 2.0.2: Natural Earth's countries at 1:50 million, which are in the public domain, as TopoJSON.
//
//	go run ./iss/page/world countries-50m.json > iss/page/world.json
//
// Borders that two countries share stay shared, so that they still meet after simplification. What is
// smaller than a pixel of a map 1,200 pixels wide is left out.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
)

const (
	tolerance = .13 // degrees
	smallest  = .12 // square degrees, of an island
)

type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]float64
	Objects   struct {
		Countries struct {
			Geometries []struct {
				Type       string
				Arcs       json.RawMessage
				Properties struct{ Name string }
			}
		}
	}
}

// World is the file: points in tenths of a degree, each after the first as the difference from the one before.
type World struct {
	Arcs      [][]int   `json:"arcs"`
	Countries []Country `json:"countries"`
}

// Country has rings of arcs; ^i is arc i backwards.
type Country struct {
	Name  string  `json:"name"`
	Rings [][]int `json:"rings"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: world countries-50m.json > world.json")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var t topology
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	arcs := make([][][2]float64, len(t.Arcs))
	for i, a := range t.Arcs {
		var x, y float64
		for _, d := range a {
			x, y = x+d[0], y+d[1]
			arcs[i] = append(arcs[i], [2]float64{x*t.Transform.Scale[0] + t.Transform.Translate[0], y*t.Transform.Scale[1] + t.Transform.Translate[1]})
		}
	}
	var w World
	used := map[int]int{} // arc there -> arc here
	for _, g := range t.Objects.Countries.Geometries {
		var polygons [][][]int
		switch g.Type {
		case "Polygon":
			var one [][]int
			err = json.Unmarshal(g.Arcs, &one)
			polygons = [][][]int{one}
		case "MultiPolygon":
			err = json.Unmarshal(g.Arcs, &polygons)
		default:
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", file, g.Properties.Name, err)
		}
		c := Country{Name: g.Properties.Name}
		for _, p := range polygons {
			for _, ring := range p {
				if area(arcs, ring) < smallest {
					continue
				}
				var r []int
				for _, i := range ring {
					back := i < 0
					if back {
						i = ^i
					}
					to, ok := used[i]
					if !ok {
						to = len(w.Arcs)
						used[i] = to
						w.Arcs = append(w.Arcs, encode(simplify(arcs[i])))
					}
					if back {
						to = ^to
					}
					r = append(r, to)
				}
				c.Rings = append(c.Rings, r)
			}
		}
		if c.Rings != nil {
			w.Countries = append(w.Countries, c)
		}
	}
	slices.SortFunc(w.Countries, func(a, b Country) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return json.NewEncoder(os.Stdout).Encode(w)
}

func area(arcs [][][2]float64, ring []int) float64 {
	var all [][2]float64
	for _, i := range ring {
		a := arcs[max(i, ^i)]
		if i < 0 {
			a = slices.Clone(a)
			slices.Reverse(a)
		}
		all = append(all, a...)
	}
	sum := 0.
	for i, p := range all {
		q := all[(i+1)%len(all)]
		sum += p[0]*q[1] - q[0]*p[1]
	}
	return math.Abs(sum / 2)
}

// simplify by D. Douglas and T. Peucker. A closed arc is split where it is farthest from its start.
func simplify(a [][2]float64) [][2]float64 {
	if len(a) < 3 {
		return a
	}
	first, last := a[0], a[len(a)-1]
	worst, at := 0., 0
	for i, p := range a[1 : len(a)-1] {
		if d := distance(p, first, last); d > worst {
			worst, at = d, i+1
		}
	}
	if worst < tolerance {
		return [][2]float64{first, last}
	}
	return append(simplify(a[:at+1]), simplify(a[at:])[1:]...)
}

func distance(p, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	t := 0.
	if l := dx*dx + dy*dy; l > 0 {
		t = min(max(((p[0]-a[0])*dx+(p[1]-a[1])*dy)/l, 0), 1)
	}
	return math.Hypot(p[0]-a[0]-t*dx, p[1]-a[1]-t*dy)
}

func encode(a [][2]float64) []int {
	var out []int
	px, py := 0, 0
	for i, p := range a {
		x, y := int(math.Round(p[0]*10)), int(math.Round(p[1]*10))
		if i > 0 && i < len(a)-1 && x == px && y == py {
			continue
		}
		out = append(out, x-px, y-py)
		px, py = x, y
	}
	return out
}
