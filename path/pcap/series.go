package pcap

import (
	"math"
	"slices"
)

// budget is how many points all series of an analysis may hold together, about 16 bytes each.
// When it is used up, a series keeps what it has room for and halves its detail.
type budget struct{ left int }

// sample is a figure at a time in ns.
type sample struct {
	at int64
	v  float64
}

// series keeps figures over time in bounded room: when it is full it merges neighbours, so
// that each point stands for twice as many.
type series struct {
	all   []sample
	merge func(a, b float64) float64
	group int // samples a point
	in    int // samples in the last point
}

const (
	seriesLeast = 64   // points that every series has
	seriesMost  = 4096 // points that none exceeds
)

func latest(_, b float64) float64 { return b }

func (s *series) add(at int64, v float64, b *budget) {
	if s.group == 0 {
		s.group = 1
		if s.merge == nil {
			s.merge = latest
		}
	}
	if n := len(s.all); n > 0 && s.in < s.group {
		last := &s.all[n-1]
		last.v = s.merge(last.v, v)
		s.in++
		return
	}
	if len(s.all) >= seriesMost || len(s.all) >= seriesLeast && b.left <= 0 {
		half := s.all[:0]
		for i := 0; i+1 < len(s.all); i += 2 {
			half = append(half, sample{s.all[i].at, s.merge(s.all[i].v, s.all[i+1].v)})
		}
		if len(s.all)%2 == 1 {
			half = append(half, s.all[len(s.all)-1])
		}
		s.all = half
		s.group *= 2
	}
	if len(s.all) == cap(s.all) {
		grow := max(8, min(len(s.all), 1024))
		s.all = slices.Grow(s.all, grow)
		b.left -= cap(s.all) - len(s.all)
	}
	s.all = append(s.all, sample{at, v})
	s.in = 1
}

// quantile of the figures from a time on, NaN if there are none.
func (s *series) quantile(q float64, from int64) float64 {
	var x []float64
	for _, p := range s.all {
		if p.at >= from {
			x = append(x, p.v)
		}
	}
	return quantile(x, q)
}

// quantile sorts x. It interpolates between neighbours; NaN if there are none.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	p := q * float64(len(x)-1)
	i := int(p)
	if i+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[i] + (p-float64(i))*(x[i+1]-x[i])
}

// at is the figure at a time, linear between points, that of the first or last outside.
func (s *series) value(at int64) float64 {
	if len(s.all) == 0 {
		return math.NaN()
	}
	i, _ := slices.BinarySearchFunc(s.all, at, func(p sample, at int64) int {
		switch {
		case p.at < at:
			return -1
		case p.at > at:
			return 1
		}
		return 0
	})
	switch {
	case i == 0:
		return s.all[0].v
	case i == len(s.all):
		return s.all[i-1].v
	}
	a, b := s.all[i-1], s.all[i]
	if b.at == a.at {
		return b.v
	}
	return a.v + (b.v-a.v)*float64(at-a.at)/float64(b.at-a.at)
}

// spread is the coefficient of variation.
func spread(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	if mean == 0 {
		return math.NaN()
	}
	dev := 0.0
	for _, v := range x {
		dev += (v - mean) * (v - mean)
	}
	return math.Sqrt(dev/float64(len(x)-1)) / mean
}
