package sim

import "math/bits"

// Piece is a part of the run's time: the requests answered in it. Times are in ms.
type Piece struct {
	Begin, End float64
	OK, Failed int64
	Mean, P99  float64 // latency of the successful ones
	Instances  float64 // of the pools that scale, at its end
}

// series is made while nobody knows how long the run will take: when time goes beyond the
// last piece, pairs of pieces become one.
type series struct {
	width  int64 // ns
	pieces []counted
}

type counted struct {
	ok, failed int64
	sum        float64
	size       int                // instances and 1; 0: as before
	coarse     [coarse * 44]int32 // latencies, 8 buckets to an octave of ns
}

const coarse = 8

func newSeries(n int) *series {
	return &series{width: ms, pieces: make([]counted, 2*n)}
}

func (s *series) at(t int64) *counted {
	for t/s.width >= int64(len(s.pieces)) {
		half := len(s.pieces) / 2
		for i := range half {
			x := s.pieces[2*i]
			x.merge(&s.pieces[2*i+1])
			s.pieces[i] = x
		}
		clear(s.pieces[half:])
		s.width *= 2
	}
	return &s.pieces[t/s.width]
}

func (s *series) add(t, took int64, ok bool) {
	p := s.at(t)
	if !ok {
		p.failed++
		return
	}
	p.ok++
	p.sum += float64(took)
	p.coarse[coarseBucket(took)]++
}

func (p *counted) merge(q *counted) {
	p.ok += q.ok
	p.failed += q.failed
	p.sum += q.sum
	if q.size > 0 {
		p.size = q.size
	}
	for i, n := range q.coarse {
		p.coarse[i] += n
	}
}

// coarseBucket numbers times by octaves of which each has eight buckets: enough to draw.
func coarseBucket(t int64) int {
	t = max(t, 0)
	if t < coarse {
		return int(t)
	}
	octave := bits.Len64(uint64(t)) - bits.Len(coarse)
	return min(octave*coarse+int(t>>octave), coarse*44-1)
}

func coarseMiddle(i int) float64 {
	if i < 2*coarse {
		return float64(i)
	}
	octave := i/coarse - 1
	return (float64(i-octave*coarse) + .5) * float64(int64(1)<<octave)
}

// result is the pieces until requests stopped coming: what drains after that is no course.
func (s *series) result(came int64) []Piece {
	var all []Piece
	size := 0
	for i := range s.pieces {
		p := &s.pieces[i]
		x := Piece{Begin: float64(int64(i)*s.width) / ms, End: float64(int64(i+1)*s.width) / ms, OK: p.ok, Failed: p.failed}
		if p.ok > 0 {
			x.Mean = p.sum / float64(p.ok) / ms
			left := p.ok - p.ok/100
			for j, n := range p.coarse {
				if left -= int64(n); left <= 0 {
					x.P99 = coarseMiddle(j) / ms
					break
				}
			}
		}
		if p.size > 0 {
			size = p.size - 1
		}
		x.Instances = float64(size)
		all = append(all, x)
	}
	for len(all) > 0 && (all[len(all)-1].OK+all[len(all)-1].Failed == 0 || int64(len(all)-1)*s.width > came && len(all) > 2) {
		all = all[:len(all)-1]
	}
	return all
}
