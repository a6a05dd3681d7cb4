package pcap

import (
	"math"
	"slices"
)

// Share is a part of a transfer's time.
type Share struct {
	Limit Limit
	Time  int64 // ns
}

// Limits says what the time of the transfer went to, the most first. The time in which a window
// allowed no more, though the receiver's did, is told apart round trip by round trip, after
// T-RAT's rules (Zhang and others, 2002): until the flight has stopped growing it is slow
// start; with acknowledgements coming as fast as they ever do, or with a queue that has built up,
// the path is full; what stays flat below that is the sender's buffer, as long as nothing was
// lost; the rest is the congestion window.
func (f *Flow) Limits() []Share {
	var all []Share
	for l, t := range f.spent {
		if t > 0 {
			all = append(all, Share{Limit(l), t})
		}
	}
	slices.SortStableFunc(all, func(a, b Share) int {
		switch {
		case a.Time > b.Time:
			return -1
		case a.Time < b.Time:
			return 1
		}
		return int(a.Limit) - int(b.Limit)
	})
	return all
}

// conclude tells the windows apart, when the whole transfer is known.
func (h *half) conclude() {
	rounds := h.rounds
	if len(rounds) == 0 {
		return
	}
	begin := rounds[0].begin
	end := max(h.Last, h.LastAck)
	h.leftSlowStart = end
	// Slow start ends with the first loss, or when the flight grows no more.
	growing := int64(0)
	flat := 0
	for i, r := range rounds {
		if r.again > 0 && h.realLoss() {
			h.leftSlowStart = min(h.leftSlowStart, r.begin)
			break
		}
		if r.program && float64(r.flight) < .95*float64(growing) || i == len(rounds)-1 && i > 0 {
			continue // it sent what there was
		}
		if i > 0 && float64(r.flight) < 1.2*float64(growing) {
			if flat == 0 {
				h.leftSlowStart = r.begin
			}
			if flat++; flat >= 2 {
				break
			}
		} else {
			flat = 0
			h.leftSlowStart = end
			h.SlowRounds = i + 1
		}
		growing = max(growing, r.flight)
	}
	least := float64(h.least())
	// What lasts: of the later rounds.
	var flights, bursts []float64
	half := begin + (end-begin)/2
	most := int64(0)
	for i, r := range rounds {
		most = max(most, r.flight)
		if (r.begin >= half || len(rounds) < 4) && i < len(rounds)-1 && r.flight > 0 && (!r.program || float64(r.flight) >= .95*float64(most)) {
			flights = append(flights, float64(r.flight))
		}
		if r.burst > 0 {
			bursts = append(bursts, r.burst)
		}
	}
	h.flightSpread = spread(flights)
	h.flight = quantile(slices.Clone(flights), .5)
	train := quantile(bursts, .5)
	firstLoss := int64(math.MaxInt64)
	if h.realLoss() {
		for _, r := range rounds {
			if r.again > 0 {
				firstLoss = r.begin
				break
			}
		}
	}
	steady := !h.realLoss() && h.steady(flights)
	var window int64
	for _, r := range rounds {
		window += r.window
	}
	trickles := 4*h.shorts > h.Segments && 3*h.spent[Application] > window
	for i, r := range rounds {
		took := float64(max(r.end-r.begin, 1))
		rate := float64(r.bytes) / took * 1e9
		queue := float64(r.rttLeast) - least
		why := Congestion
		switch {
		case i > 0 && i == len(rounds)-1 && r.bytes < rounds[i-1].bytes/2:
			why = h.lastWhy // its end is that of the data
		case r.rttLeast > 0 && least > 0 && queue > max(.5*least, 10e6):
			why = PathFull
		case r.begin < h.leftSlowStart && r.begin < firstLoss:
			why = SlowStart
		case r.rttLeast > 0 && least > 0 && queue > max(.25*least, 4e6) && (train == 0 || rate > .5*train):
			why = PathFull
		case train > 0 && rate > .8*train:
			why = PathFull
		case steady && math.Abs(float64(r.flight)-h.flight) < .15*h.flight:
			switch why = SendBuffer; {
			case r.room < 2*h.full():
				why = Receiver
			case trickles: // at a steady pace, which some acknowledgement always happens to meet
				why = Application
			}
		}
		h.lastWhy = why
		h.spent[why] += r.window
	}
}

// steady says that the flight stays the same, round trip after round trip: a congestion window
// grows, a buffer does not.
func (h *half) steady(flights []float64) bool {
	n := len(flights)
	if n < 4 || math.IsNaN(h.flight) {
		return false
	}
	third := max(n/3, 1)
	early, late := quantile(slices.Clone(flights[:third]), .5), quantile(slices.Clone(flights[n-third:]), .5)
	return math.Abs(late-early) < .1*h.flight && h.flightSpread < .25
}

// realLoss says that something was lost, not only taken for lost.
func (h *half) realLoss() bool { return h.AllResent() > h.Spurious }
