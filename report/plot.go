package report

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Plot is a picture of what was measured: a distribution, a course in time, a figure over
// what was varied.
type Plot struct {
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`
	Lines []Line `json:"lines"`
}

// Axis says what is told off along it. Scale is "" for a linear one, "log", or "nines",
// for shares of all from 0 to 1 of which the last matter: 0.9 and 0.99 are as far apart as 0.99 and
// 0.999.
type Axis struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"`
	Scale string `json:"scale,omitempty"`
}

// Line is one of those in a plot. A reference, such as a bound or what theory says, is dashed.
type Line struct {
	Name      string  `json:"name"`
	Reference bool    `json:"reference,omitempty"`
	Points    []Point `json:"points"`
}

// Point is a place on a line with its interval; Low = High = 0 is a point without one.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// Table is figures that are not compared, such as the state of every node.
type Table struct {
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
}

// Column is the head of one.
type Column struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
}

// Row is a name and a figure for every column.
type Row struct {
	Name   string  `json:"name"`
	Values Figures `json:"values"`
}

// Figures are numbers of which those that are not finite are null in JSON: there is
// nothing to say.
type Figures []float64

// MarshalJSON writes what is not finite as null.
func (f Figures) MarshalJSON() ([]byte, error) {
	all := make([]*float64, len(f))
	for i, x := range f {
		all[i] = finite(x)
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads null as NaN.
func (f *Figures) UnmarshalJSON(b []byte) error {
	var all []*float64
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*f = make(Figures, len(all))
	for i, x := range all {
		(*f)[i] = or(x, math.NaN())
	}
	return nil
}

func (p Plot) check() error {
	for _, a := range []Axis{p.X, p.Y} {
		if a.Name == "" {
			return fmt.Errorf("an axis without a name")
		}
		if a.Scale != "" && a.Scale != "log" && a.Scale != "nines" {
			return fmt.Errorf("axis %q: scale is %q, want log or nines, or nothing", a.Name, a.Scale)
		}
	}
	for _, l := range p.Lines {
		for _, q := range l.Points {
			if !isFinite(q.X) || !isFinite(q.Y) || !isFinite(q.Low) || !isFinite(q.High) {
				return fmt.Errorf("line %q has a point at %v, %v", l.Name, q.X, q.Y)
			}
		}
	}
	return nil
}

func (t Table) check() error {
	for _, row := range t.Rows {
		if len(row.Values) != len(t.Columns) {
			return fmt.Errorf("row %q has %d figures for %d columns", row.Name, len(row.Values), len(t.Columns))
		}
	}
	return nil
}

func (a Axis) title() string {
	if a.Unit == "" {
		return a.Name
	}
	return a.Name + ", " + a.Unit
}

// along is a scale in the units of an axis: at turns a figure into 0..1.
type along struct {
	scale
	kind string
}

// place is where a figure lies before it is scaled.
func (a along) place(x float64) float64 {
	x = clamp(x)
	switch a.kind {
	case "log":
		return math.Log10(max(x, 1e-12))
	case "nines":
		return -math.Log10(max(1-x, 1e-9))
	}
	return x
}

func (a along) at(x float64) float64 { return a.scale.at(a.place(x)) }

// span is the scale of an axis over the figures; linear ones begin at 0 if that is near.
func (x Axis) span(fromZero bool, figures []float64) along {
	a := along{scale{math.Inf(1), math.Inf(-1)}, x.Scale}
	for _, f := range figures {
		if x.Scale == "log" && f <= 0 {
			continue
		}
		p := a.place(f)
		a.low, a.high = min(a.low, p), max(a.high, p)
	}
	if fromZero && x.Scale == "" && a.low > 0 {
		a.low = 0
	}
	if !(a.low < a.high) {
		if !isFinite(a.low) {
			a.low = 0
		}
		a.high = a.low + 1
	}
	return a
}

// ticks are the figures to write along the axis.
func (a along) marks(n int) []float64 {
	var all []float64
	switch a.kind {
	case "log":
		steps := []float64{1, 2, 5}
		if a.high-a.low > 3 {
			steps = steps[:1]
		}
		for e := math.Floor(a.low); e <= a.high; e++ {
			for _, k := range steps {
				if v := k * math.Pow(10, e); a.place(v) >= a.low-1e-9 && a.place(v) <= a.high+1e-9 {
					all = append(all, v)
				}
			}
		}
		if len(all) > 1 {
			return all
		}
		return []float64{math.Pow(10, a.low), math.Pow(10, a.high)}
	case "nines":
		for _, v := range []float64{0, .5, .9, .99, .999, .9999, .99999, .999999} {
			if a.place(v) >= a.low-1e-9 && a.place(v) <= a.high+1e-9 {
				all = append(all, v)
			}
		}
		return all
	}
	return a.ticks(n)
}

func (x Axis) label(v float64) string {
	if x.Scale == "nines" {
		return strconv.FormatFloat(math.Round(1e8*v)/1e6, 'f', -1, 64) + "%"
	}
	return figure(v)
}

// lineStyles is how many lines can be told apart by colour; then dashes begin.
const lineStyles = 6

// draw is the plot as a picture with labelled axes.
func (p Plot) draw() template.HTML {
	const width, height, left, right, top, bottom = 720.0, 340.0, 62.0, 16.0, 28.0, 46.0
	var xs, ys []float64
	for _, l := range p.Lines {
		for _, q := range l.Points {
			xs, ys = append(xs, q.X), append(ys, q.Y)
			if q.Low != 0 || q.High != 0 {
				ys = append(ys, q.Low, q.High)
			}
		}
	}
	x, y := p.X.span(false, xs), p.Y.span(true, ys)
	px := func(v float64) float64 { return left + x.at(v)*(width-left-right) }
	py := func(v float64) float64 { return top + (1-y.at(v))*(height-top-bottom) }
	var s svg
	label := fmt.Sprintf("%s: %s over %s.", p.Title, p.Y.title(), p.X.title())
	s.open("svg", "class", "chart plot", "viewBox", fmt.Sprintf("0 0 %g %g", width, height), "role", "img", "aria-label", label)
	for _, v := range y.marks(5) {
		s.empty("line", "class", "grid", "x1", left, "x2", width-right, "y1", py(v), "y2", py(v))
		s.text(p.Y.label(v), "x", left-8, "y", py(v)+4, "text-anchor", "end")
	}
	marks := x.marks(8)
	if few := distinct(xs); len(few) <= 8 { // a sweep: its own values
		marks = few
	}
	for _, v := range marks {
		s.empty("line", "class", "grid", "x1", px(v), "x2", px(v), "y1", top, "y2", height-bottom)
		s.text(p.X.label(v), "x", px(v), "y", height-bottom+18, "text-anchor", "middle")
	}
	s.text(p.Y.title(), "class", "axis", "x", 0.0, "y", 13.0)
	s.text(p.X.title(), "class", "axis", "x", width-right, "y", height-6, "text-anchor", "end")
	for i, l := range p.Lines {
		class := fmt.Sprintf("series s%d", i%lineStyles)
		if l.Reference || i >= lineStyles {
			class += " dashed"
		}
		var line []string
		for _, q := range l.Points {
			line = append(line, xy(px(q.X), py(q.Y)))
		}
		s.open("g", "class", class)
		s.empty("polyline", "class", "line", "points", strings.Join(line, " "))
		if len(l.Points) <= 24 {
			p.spots(&s, l, px, py)
		}
		s.close("g")
	}
	s.close("svg")
	return s.html()
}

func distinct(x []float64) []float64 {
	all := slices.Clone(x)
	slices.Sort(all)
	return slices.Compact(all)
}

// spots are the points of a line that has few.
func (p Plot) spots(s *svg, l Line, px, py func(float64) float64) {
	for _, q := range l.Points {
		tip := fmt.Sprintf("%s at %s: %s", l.Name, p.X.label(q.X), withUnit(q.Y, p.Y.Unit))
		if q.Low != 0 || q.High != 0 {
			tip += ", interval " + figure(q.Low) + " to " + figure(q.High)
		}
		s.open("g", "class", "spot", "data-tip", tip)
		s.open("title")
		s.WriteString(html.EscapeString(tip))
		s.close("title")
		if q.Low != 0 || q.High != 0 {
			s.empty("line", "class", "whisker", "x1", px(q.X), "x2", px(q.X), "y1", py(q.Low), "y2", py(q.High))
		}
		s.empty("circle", "class", "point", "cx", px(q.X), "cy", py(q.Y), "r", 4.0)
		s.close("g")
	}
}

// The plots and tables as the page's template sees them.
type (
	plotView struct {
		Title, Note string
		SVG         template.HTML
		Legend      []legendView
	}
	legendView struct{ Name, Class string }
	figureView struct {
		Title   string
		Columns []string
		Rows    []figureRow
	}
	figureRow struct {
		Name  string
		Cells []string
	}
)

func (r *Report) plots() []plotView {
	var all []plotView
	for _, p := range r.Plots {
		v := plotView{Title: p.Title, Note: p.Note, SVG: p.draw()}
		for i, l := range p.Lines {
			class := fmt.Sprintf("s%d", i%lineStyles)
			if l.Reference || i >= lineStyles {
				class += " dashed"
			}
			v.Legend = append(v.Legend, legendView{l.Name, class})
		}
		all = append(all, v)
	}
	return all
}

func (r *Report) tables() []figureView {
	var all []figureView
	for _, t := range r.Tables {
		v := figureView{Title: t.Title}
		for _, c := range t.Columns {
			v.Columns = append(v.Columns, Axis{Name: c.Name, Unit: c.Unit}.title())
		}
		for _, row := range t.Rows {
			v.Rows = append(v.Rows, figureRow{row.Name, row.Values.strings()})
		}
		all = append(all, v)
	}
	return all
}

func (f Figures) strings() []string {
	var all []string
	for _, x := range f {
		if isFinite(x) {
			all = append(all, figure(x))
		} else {
			all = append(all, "")
		}
	}
	return all
}
