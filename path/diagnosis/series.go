package diagnosis

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/headway-lab/headway/path/tcpinfo"
)

// Between returns the samples from one moment to another, with the last one before; a zero time is no bound.
func Between(course []tcpinfo.Sample, from, to time.Time) []tcpinfo.Sample {
	a, b := 0, len(course)
	for i, s := range course {
		if !from.IsZero() && s.At.Before(from) {
			a = i
		}
		if !to.IsZero() && s.At.After(to) {
			b = i + 1 // one after the end: what the end was acknowledged by
			break
		}
	}
	return course[a:b]
}

// weighted is figures that each held for a time.
type weighted []struct{ x, w float64 }

func (s *weighted) add(x, w float64) {
	if w > 0 {
		*s = append(*s, struct{ x, w float64 }{x, w})
	}
}

// quantile is unknown where there is nothing.
func (s weighted) quantile(q float64) Value {
	slices.SortFunc(s, func(a, b struct{ x, w float64 }) int { return cmp.Compare(a.x, b.x) })
	all := 0.0
	for _, p := range s {
		all += p.w
	}
	sum := 0.0
	for _, p := range s {
		if sum += p.w; sum >= q*all {
			return Is(p.x)
		}
	}
	return Value{}
}

// spread is the coefficient of variation.
func (s weighted) spread() Value {
	var all, mean, square float64
	for _, p := range s {
		all += p.w
		mean += p.w * p.x
		square += p.w * p.x * p.x
	}
	if all == 0 || mean <= 0 {
		return Value{}
	}
	mean, square = mean/all, square/all
	return Is(math.Sqrt(max(square-mean*mean, 0)) / mean)
}

func median(x []float64) Value {
	if len(x) == 0 {
		return Value{}
	}
	x = slices.Clone(x)
	slices.Sort(x)
	return Is((x[(len(x)-1)/2] + x[len(x)/2]) / 2)
}

// plateau is the rate, bit/s, of the last three quarters of a course, and its coefficient of variation in tenths.
func plateau(course []Progress) (rate, spread Value) {
	if len(course) < 2 {
		return
	}
	first, last := course[0], course[len(course)-1]
	from := first.At + (last.At-first.At)/4
	width := (last.At - from) / 10
	if width <= 0 {
		return
	}
	at := func(t float64) float64 { // bytes by t
		i, _ := slices.BinarySearchFunc(course, t, func(p Progress, t float64) int { return cmp.Compare(p.At, t) })
		if i == 0 {
			return first.Bytes
		}
		if i == len(course) {
			return last.Bytes
		}
		a, b := course[i-1], course[i]
		if b.At == a.At {
			return b.Bytes
		}
		return a.Bytes + (b.Bytes-a.Bytes)*(t-a.At)/(b.At-a.At)
	}
	var s weighted
	for i := range 10 {
		s.add((at(from+float64(i+1)*width)-at(from+float64(i)*width))*8/width, 1)
	}
	return Is((last.Bytes - at(from)) * 8 / (last.At - from)), s.spread()
}
