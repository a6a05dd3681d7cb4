package diagnosis

import "math"

// Left is segments that left the sender together.
type Left struct {
	At            float64 // s
	Arrived, Lost float64 // segments
}

// Overflow is what a full queue, or an empty bucket, would explain of losses. What is not known is NaN.
type Overflow struct {
	// Full is the share of the segments that arrived which would have found less before them, in a queue or bucket that drains at a
	// steady rate, than those that were lost did: 1/2 and a little more where chance loses them, 1 where a full queue does.
	Full float64
	// Times is how often something was lost: what is lost within a round trip may have one reason, and counts once.
	Times float64
	Rate  float64 // at which it drains, segments/s
	Room  float64 // what was in it at the first loss, segments
	// Passed is how much of that, segments, had come by at once before the first loss: a queue lets through no more than its rate, a
	// policer's bucket all that it has room for.
	Passed float64
}

// FindOverflow fills queues that drain at many rates, from that of the transfer up, with what was sent, and takes the one that is
// the fullest for what was lost: by the statistic of H. B. Mann and D. R. Whitney (1947) over its largest value, as in [Growth]. It
// tells more than that where it is known when segments left: much can be in flight with the queue empty, and a burst overflows
// it with little.
//
// The segments are in the order in which they left, delivered is how many of them had come by when, and trip is a round trip in
// s. Nothing is known where nothing was lost.
func FindOverflow(all []Left, delivered []Progress, trip float64) Overflow {
	unknown := Overflow{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	var arrived float64
	first := -1
	for i, s := range all {
		arrived += s.Arrived
		if s.Lost > 0 && first < 0 {
			first = i
		}
	}
	if first < 0 || arrived < 10 {
		return unknown
	}
	took := all[len(all)-1].At - all[0].At
	if took <= 0 {
		return unknown
	}
	q := queue{all: all, level: make([]float64, len(all)), trip: trip}
	o := unknown
	for rate := arrived / took; rate < 40*arrived/took; rate *= 1.15 {
		full, times, ok := q.fill(rate, arrived)
		if ok && !(full <= o.Full) {
			o = Overflow{Full: full, Times: times, Rate: rate, Room: q.level[first]}
		}
	}
	// Until the acknowledgements of what was sent with the first loss are there, and before that of what was sent again is.
	o.Passed = atOnce(delivered, all[first].At+1.2*trip, o.Rate)
	return o
}

// atOnce is the most that had come by until then of what a rate does not explain.
func atOnce(delivered []Progress, until, rate float64) float64 {
	level, most := 0.0, 0.0
	for i := 1; i < len(delivered) && delivered[i].At <= until; i++ {
		level = max(level-rate*(delivered[i].At-delivered[i-1].At), 0) + delivered[i].Bytes - delivered[i-1].Bytes
		most = max(most, level)
	}
	return most
}

// queue drains at a rate.
type queue struct {
	all   []Left
	level []float64 // before each
	trip  float64
}

// fill puts in what arrived, and says how full it was for what was lost.
func (q *queue) fill(rate, arrived float64) (full, times float64, ok bool) {
	level, at, most := 0.0, q.all[0].At, 0.0
	for i, s := range q.all {
		level = max(level-rate*max(s.At-at, 0), 0) // clocks step back
		at = s.At
		q.level[i] = level
		most = max(most, level)
		level += s.Arrived
	}
	if most <= 0 {
		return 0, 0, false
	}
	const bins = 1024
	var below [bins + 1]float64 // arrived at less than so much
	bin := func(i int) int { return int(q.level[i] / most * (bins - 1)) }
	for i, s := range q.all {
		below[bin(i)+1] += s.Arrived
	}
	for k := range bins {
		below[k+1] += below[k]
	}
	var sum, part, lost float64
	begin := math.Inf(-1)
	settle := func() {
		if lost > 0 {
			sum += part / lost
			times++
		}
		part, lost = 0, 0
	}
	for i, s := range q.all {
		if s.Lost <= 0 {
			continue
		}
		if s.At-begin > q.trip {
			settle()
			begin = s.At
		}
		k := bin(i)
		part += s.Lost * (below[k] + below[k+1]) / 2 / arrived
		lost += s.Lost
	}
	settle()
	return sum / times, times, true
}

// meanOver is the probability that the mean of n numbers, each uniform from 0 to 1, is x or more: the distribution of Irwin and Hall (1927).
func meanOver(x, n float64) float64 {
	if n = math.Floor(n); !(n >= 1) {
		return 1
	}
	if n > 12 { // it is normal by then
		return math.Erfc((x-.5)*math.Sqrt(12*n)/math.Sqrt2) / 2
	}
	sum, p, term := n*(1-x), 0.0, 1.0 // by symmetry: that their sum is less
	for k := 0.0; k <= n && k <= sum; k++ {
		p += term * math.Pow(sum-k, n)
		term *= -(n - k) / (k + 1)
	}
	return min(max(p/math.Gamma(n+1), 0), 1)
}
