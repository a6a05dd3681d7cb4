package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Charts are drawn here, not by a script, so that they stand on paper and without one.
// Colours and type are the style sheet's; classes are the tones of [subject].

// svg builds markup; attributes and text are always escaped.
type svg struct{ strings.Builder }

// open writes a start tag; attrs are names and values in turn, floats to a hundredth.
func (s *svg) open(tag string, attrs ...any) {
	s.WriteString("<" + tag)
	for i := 0; i+1 < len(attrs); i += 2 {
		text := fmt.Sprint(attrs[i+1])
		if x, ok := attrs[i+1].(float64); ok {
			text = coordinate(x)
		}
		fmt.Fprintf(s, ` %s="%s"`, attrs[i], html.EscapeString(text))
	}
	s.WriteString(">")
}

func (s *svg) close(tag string) { s.WriteString("</" + tag + ">") }

func (s *svg) empty(tag string, attrs ...any) {
	s.open(tag, attrs...)
	s.close(tag)
}

func (s *svg) text(text string, attrs ...any) {
	s.open("text", attrs...)
	s.WriteString(html.EscapeString(text))
	s.close("text")
}

func (s *svg) html() template.HTML { return template.HTML(s.String()) }

func coordinate(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

func share(x float64) string { return coordinate(100*x) + "%" }

// scale maps numbers to 0..1.
type scale struct{ low, high float64 }

func (s scale) at(x float64) float64 {
	return min(max((clamp(x)-s.low)/(s.high-s.low), 0), 1)
}

// clamp keeps what is drawn inside what arithmetic carries.
func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, -1e9), 1e9)
}

// ticks are about n round numbers inside the scale.
func (s scale) ticks(n int) []float64 {
	raw := (s.high - s.low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, k := range []float64{1, 2, 2.5, 5} {
		if k*unit >= raw*0.999 {
			step = k * unit
			break
		}
	}
	var all []float64
	for i := math.Ceil(s.low/step - 1e-9); i*step <= s.high+1e-9*step; i++ {
		all = append(all, i*step+0) // +0 turns -0 into 0
	}
	return all
}

// effectScale holds 0, the figures, and the intervals as far as they do not dwarf these.
func effectScale(effects []Effect, least float64) scale {
	s := scale{}
	for _, e := range effects {
		s.low, s.high = min(s.low, clamp(e.Percent)), max(s.high, clamp(e.Percent))
		if e.Expected != nil {
			s.low, s.high = min(s.low, clamp(*e.Expected)), max(s.high, clamp(*e.Expected))
		}
	}
	room := max(s.high-s.low, least) * 0.75
	low, high := s.low-room, s.high+room
	for _, e := range effects {
		s.low = min(s.low, max(clamp(e.Low), low))
		s.high = max(s.high, min(clamp(e.High), high))
	}
	if lack := least - (s.high - s.low); lack > 0 { // a small effect must not fill the chart
		s.low, s.high = s.low-lack/2, s.high+lack/2
	}
	margin := (s.high - s.low) * 0.06
	return scale{s.low - margin, s.high + margin}
}

// lineChart draws the effect over the virtual speed-up, both in percent: the points and
// their intervals as a band, the classic expectation dashed.
func lineChart(m Metric, cases []Case) template.HTML {
	const width, height, left, right, top, bottom = 400.0, 250.0, 46.0, 12.0, 26.0, 44.0
	type point struct {
		x float64
		e Effect
	}
	var points []point
	var effects []Effect
	last := 100.0
	for _, c := range cases {
		if e, ok := c.Effects[m.Name]; ok {
			points = append(points, point{clamp(c.Params[Speedup]), e})
			effects = append(effects, e)
			last = max(last, clamp(c.Params[Speedup]))
		}
	}
	y, x := effectScale(effects, 10), scale{0, last}
	px := func(v float64) float64 { return left + x.at(v)*(width-left-right) }
	py := func(v float64) float64 { return top + (1-y.at(v))*(height-top-bottom) }

	var s svg
	label := "Effect on " + m.Name + " over the speed-up of this code."
	for _, p := range points {
		label += fmt.Sprintf(" At %s: %s.", percentOf(p.x), describe(p.e))
	}
	s.open("svg", "class", "chart", "viewBox", fmt.Sprintf("0 0 %g %g", width, height), "role", "img", "aria-label", label)
	for _, v := range y.ticks(5) {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		s.empty("line", "class", class, "x1", left, "x2", width-right, "y1", py(v), "y2", py(v))
		s.text(tick(v), "x", left-8, "y", py(v)+4, "text-anchor", "end")
	}
	for _, v := range x.ticks(4) {
		s.text(strconv.FormatFloat(v, 'f', -1, 64), "x", px(v), "y", height-bottom+18, "text-anchor", "middle")
	}
	s.text("change, %", "class", "axis", "x", 0.0, "y", 12.0)
	s.text("this code made faster by, %", "class", "axis", "x", width-right, "y", height-6, "text-anchor", "end")

	line, upper, lower, expected := []string{xy(px(0), py(0))}, []string{xy(px(0), py(0))}, "", []string{xy(px(0), py(0))}
	for _, p := range points {
		line = append(line, xy(px(p.x), py(p.e.Percent)))
		upper = append(upper, xy(px(p.x), py(p.e.High)))
		lower = xy(px(p.x), py(p.e.Low)) + " " + lower
		if p.e.Expected != nil {
			expected = append(expected, xy(px(p.x), py(*p.e.Expected)))
		}
	}
	if len(points) > 0 {
		s.empty("polygon", "class", "band", "points", strings.TrimSpace(strings.Join(upper, " ")+" "+lower))
	}
	if len(expected) > 1 {
		s.empty("polyline", "class", "expected", "points", strings.Join(expected, " "))
	}
	s.empty("polyline", "class", "line", "points", strings.Join(line, " "))
	strip := (width - left - right) / float64(max(len(points), 1))
	for _, p := range points {
		class := "point"
		if !p.e.Real {
			class = "point hollow"
		}
		tip := percentOf(p.x) + " faster: " + describe(p.e)
		s.open("g", "class", "spot", "data-tip", tip)
		s.open("title")
		s.WriteString(html.EscapeString(tip))
		s.close("title")
		s.empty("rect", "class", "hit", "x", px(p.x)-strip/2, "y", top, "width", strip, "height", height-top-bottom)
		s.empty("line", "class", "whisker", "x1", px(p.x), "x2", px(p.x), "y1", py(p.e.Low), "y2", py(p.e.High))
		s.empty("circle", "class", class, "cx", px(p.x), "cy", py(p.e.Percent), "r", 4.5)
		s.close("g")
	}
	s.close("svg")
	return s.html()
}

// describe is an effect in words, for those who cannot see it and those who point at it.
func describe(e Effect) string {
	s := noEffect
	if e.Real {
		s = signed(e.Percent) + " %"
	}
	s += fmt.Sprintf(", interval %s, n=%d", interval(e.Low, e.High), e.N)
	if e.Expected != nil {
		s += ", a classic profile would say " + signed(*e.Expected)
	}
	return s
}

func xy(x, y float64) string { return coordinate(x) + "," + coordinate(y) }

// tick is the label of an axis of changes.
func tick(v float64) string {
	if v > 0 {
		return "+" + figure(v)
	}
	return figure(v)
}

// overviewScale is shared by all rows, so that their whiskers can be compared.
func overviewScale(subjects []subject, m Metric) scale {
	var effects []Effect
	for _, s := range subjects {
		if _, e, ok := s.best(m); ok {
			e.Expected = nil
			effects = append(effects, e)
		}
	}
	return effectScale(effects, 10)
}

// draw is the axis above the rows. Horizontal places are in percent of the width, so
// that it stretches and its type does not.
func (a scale) draw() template.HTML {
	var s svg
	s.open("svg", "class", "scale", "aria-hidden", "true")
	for _, v := range a.ticks(3) {
		s.text(tick(v)+" %", "x", share(a.at(v)), "y", "12", "text-anchor", "middle")
	}
	s.close("svg")
	return s.html()
}

func (a scale) empty() template.HTML {
	var s svg
	s.open("svg", "class", "whiskers", "aria-hidden", "true")
	s.zero(a)
	s.close("svg")
	return s.html()
}

func (s *svg) zero(a scale) {
	s.empty("line", "class", "zero", "x1", share(a.at(0)), "x2", share(a.at(0)), "y1", "0%", "y2", "100%")
}

// whisker is a bar from 0 to the effect, and its interval.
func (a scale) whisker(e Effect, tone string) template.HTML {
	var s svg
	s.open("svg", "class", "whiskers "+tone, "aria-hidden", "true")
	zero, x := a.at(0), a.at(e.Percent)
	if e.Real {
		s.empty("rect", "class", "fill", "x", share(min(zero, x)), "width", share(math.Abs(x-zero)), "y", "34%", "height", "32%")
	}
	s.zero(a)
	s.whisker(a, e.Low, e.High)
	class := "point"
	if !e.Real {
		class = "point hollow"
	}
	s.empty("circle", "class", class, "cx", share(x), "cy", "50%", "r", "4")
	s.close("svg")
	return s.html()
}

func (s *svg) whisker(a scale, low, high float64) {
	l, h := a.at(low), a.at(high)
	s.empty("line", "class", "whisker", "x1", share(l), "x2", share(h), "y1", "50%", "y2", "50%")
	for _, end := range []float64{l, h} {
		s.empty("line", "class", "whisker", "x1", share(end), "x2", share(end), "y1", "41%", "y2", "59%")
	}
}

// valueScale starts at 0 unless a value lies below it.
func valueScale(m Metric, cases []Case) scale {
	s := scale{}
	for _, c := range cases {
		if v, ok := c.Values[m.Name]; ok {
			s.low, s.high = min(s.low, clamp(v.Value)), max(s.high, clamp(v.Value))
		}
	}
	room := (s.high - s.low) * 0.25
	low, high := s.low-room, s.high+room
	for _, c := range cases {
		if v, ok := c.Values[m.Name]; ok {
			s.low, s.high = min(s.low, max(clamp(v.Low), low)), max(s.high, min(clamp(v.High), high))
		}
	}
	if s.high-s.low < 1e-12 {
		s.high = s.low + 1
	}
	return s
}

// bar is a value from 0, and its interval.
func (a scale) bar(v Value, measured bool, tone string) template.HTML {
	var s svg
	s.open("svg", "class", "whiskers value "+tone, "aria-hidden", "true")
	if measured {
		zero, x := a.at(0), a.at(v.Value)
		s.empty("rect", "class", "fill", "x", share(min(zero, x)), "width", share(math.Abs(x-zero)), "y", "22%", "height", "56%")
		if v.Low != 0 || v.High != 0 {
			s.whisker(a, v.Low, v.High)
		}
	}
	s.zero(a)
	s.close("svg")
	return s.html()
}
