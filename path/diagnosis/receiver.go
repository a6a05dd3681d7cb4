package diagnosis

import (
	"math"

	"github.com/headway-lab/headway/path/tcpinfo"
)

// FromReceiver is what TCP_INFO tells at the side that receives, such as a client's that
// downloads. It cannot know why nothing comes, only when, how much, and in what order.
func FromReceiver(course []tcpinfo.Sample) Evidence {
	e := Evidence{Side: AtReceiver}
	begin, end := receiverExtent(course)
	if end <= begin {
		return e
	}
	r := receiverCourse{course: course[begin : end+1], least: course[end].MinRTT.Seconds()}
	first, last := r.course[0], r.course[len(r.course)-1]
	r.took = last.At.Sub(first.At).Seconds()
	if r.took <= 0 {
		return e
	}
	e.Duration = Is(r.took)
	e.Bytes = Is(float64(last.BytesReceived - first.BytesReceived))
	e.MSS = Is(float64(max(last.ReceiveMSS, last.AdvertisedMSS)))
	e.Segments = Is(float64(last.DataSegmentsIn - first.DataSegmentsIn))
	if r.least > 0 {
		e.MinRTT = Is(r.least)
	}
	if last.Known("OutOfOrder") {
		e.OutOfOrder = Is(float64(last.OutOfOrder - first.OutOfOrder))
	}
	r.windows(&e)
	r.gaps(&e)
	r.silences(&e)
	r.growth(&e)
	// What came twice, if segments are full as those of a large transfer are.
	if twice := e.Segments.Or(0) - e.Bytes.Or(0)/max(e.MSS.Or(1), 1) - 1; e.Bytes.Over(50e3) && e.OutOfOrder.Over(0) {
		e.Spurious = Is(max(math.Floor(twice), 0))
	}
	return e
}

// receiverExtent is from the last sample before data came to the first with all of them.
func receiverExtent(course []tcpinfo.Sample) (begin, end int) {
	if len(course) == 0 {
		return 0, 0
	}
	last := course[len(course)-1].BytesReceived
	for begin = 0; begin+1 < len(course) && course[begin+1].DataSegmentsIn == course[0].DataSegmentsIn; begin++ {
	}
	for end = len(course) - 1; end > begin && course[end-1].BytesReceived == last; end-- {
	}
	return begin, end
}

type receiverCourse struct {
	course []tcpinfo.Sample
	least  float64 // round trip, s
	took   float64 // s
}

func (r *receiverCourse) at(i int) float64 {
	return r.course[i].At.Sub(r.course[0].At).Seconds()
}

// windows are what the window allowed, and what came in a round trip.
func (r *receiverCourse) windows(e *Evidence) {
	var rtt, wnd, flight weighted
	full, behind := 0.0, 0
	for i := range len(r.course) - 1 {
		x, dt := &r.course[i].Info, r.at(i+1)-r.at(i)
		if x.ReceiveRTT > 0 {
			rtt.add(x.ReceiveRTT.Seconds(), dt)
		}
		for r.at(behind) < r.at(i)-r.least {
			behind++
		}
		if !x.Known("ReceiveWindow") {
			continue
		}
		wnd.add(float64(x.ReceiveWindow), dt)
		came := float64(x.BytesReceived - r.course[behind].BytesReceived)
		if r.least > 0 && r.at(i) >= r.least && came >= .7*float64(x.ReceiveWindow) {
			full += dt
		}
		if r.at(i) > r.took/2 {
			flight.add(came, dt)
		}
	}
	e.RTT, e.MaxRTT = rtt.quantile(.5), rtt.quantile(.95)
	e.Window, e.LeastWindow = wnd.quantile(.5), wnd.quantile(0)
	e.Flight, e.FlightSpread = flight.quantile(.5), flight.spread()
	if r.least > 0 && r.took > 2*r.least {
		e.WindowFull = Is(full / r.took)
	}
}

// gaps are segments that did not come in their turn, and how long it took until they came.
func (r *receiverCourse) gaps(e *Evidence) {
	course := make([]Progress, 0, len(r.course))
	open := -1.0
	gaps, late, lost := 0.0, 0.0, 0.0
	mss := e.MSS.Or(1448)
	for i := range r.course {
		x, at := &r.course[i].Info, r.at(i)
		if i > 0 {
			p := &r.course[i-1].Info
			if open >= 0 && x.BytesReceived > p.BytesReceived {
				gaps++
				if r.least > 0 && at-open >= .85*r.least {
					late++
				}
				open = -1
			}
			if open < 0 && x.OutOfOrder > p.OutOfOrder {
				open = at
				lost++
			}
		}
		course = append(course, Progress{at, float64(x.DataSegmentsIn) * mss, float64(x.OutOfOrder)})
	}
	if gaps > 0 && r.least > 0 {
		e.LateGaps = Is(late / gaps)
	}
	e.LossEvents = Is(late)
	e.Plateau, e.PlateauSpread = plateau(course)
	e.PolicedRate, e.PolicedFit = TokenBucket(course)
}

// silences are when nothing came, the first flight's size, and acknowledgements that this side held back.
func (r *receiverCourse) silences(e *Evidence) {
	if r.least == 0 {
		return
	}
	const shortest = .02 // s: less is a scheduler's or a sampler's
	var silent, count, held float64
	var delays []float64
	data, ack := 0.0, -1.0 // when data came last; when they were acknowledged, -1 not yet
	arrived, first, sent := false, -1.0, int64(0)
	for i := 1; i < len(r.course); i++ {
		x, p, at := &r.course[i].Info, &r.course[i-1].Info, r.at(i)
		if ack < 0 && x.SegmentsOut > p.SegmentsOut {
			ack = at
		}
		if x.DataSegmentsIn == p.DataSegmentsIn {
			continue
		}
		gap := at - data
		own := arrived && x.BytesSent == sent // nothing was asked for meanwhile
		sent = x.BytesSent
		if arrived && first < 0 && gap > max(.4*r.least, shortest/4) {
			first = float64(p.DataSegmentsIn - r.course[0].DataSegmentsIn)
		}
		// Held back by this side: the acknowledgement left late, and data came a round trip after it.
		if own && ack >= 0 && ack-data > leastAckDelay && at-ack > .5*r.least && at-ack < 1.4*r.least+.01 {
			delays = append(delays, ack-data)
			held += ack - data
		} else if own && gap > max(1.5*r.least, shortest) {
			silent += gap
			count++
		}
		arrived, data, ack = true, at, -1
		if x.SegmentsOut > p.SegmentsOut {
			ack = at
		}
	}
	e.Silent, e.Silences = Is(silent/r.took), Is(count)
	e.AckWaits, e.AckWait, e.AckDelay = Is(float64(len(delays))), Is(held/r.took), median(delays)
	if first > 0 {
		e.InitialWindow = Is(first)
	}
}

// growth is for how long more came in each round trip than in the one before.
func (r *receiverCourse) growth(e *Evidence) {
	if r.least == 0 {
		return
	}
	var came []float64 // in each round trip; the last one is not whole
	from := 0
	for i := range r.course {
		if r.at(i)-r.at(from) >= r.least {
			came = append(came, float64(r.course[i].BytesReceived-r.course[from].BytesReceived))
			from = i
		}
	}
	grows := 0
	for grows+1 < len(came) && came[grows+1] >= 1.4*came[grows] {
		grows++
	}
	if grows+2 >= len(came) { // to the end, or nearly
		e.SlowStart = Is(1)
		return
	}
	e.SlowStart = Is(float64(grows+1) / float64(len(came)))
}
