package pcap

import (
	"math"

	"github.com/headway-lab/headway/path/diagnosis"
)

// Side is which end of the transfer the capture is from, or nearer to.
func (c *Connection) Side() diagnosis.Side {
	if c.main().shifted() {
		return diagnosis.AtReceiver
	}
	return diagnosis.AtSender
}

// Evidence is what the capture tells of the transfer, for a diagnosis. Its data are those of the
// direction that has more. It speaks as the sender does, wherever the capture is from: what the
// sender knew and did is seen, or worked out from the echoes of its and the receiver's clocks.
func (c *Connection) Evidence() diagnosis.Evidence {
	h := c.main()
	e := diagnosis.Evidence{Side: diagnosis.AtSender, Upload: h.up}
	seconds := func(t int64) diagnosis.Value { return diagnosis.Is(float64(t) / 1e9) }
	count := func(n int64) diagnosis.Value { return diagnosis.Is(float64(n)) }
	if c.Lookup != nil {
		e.DNS = seconds(c.Lookup.Took)
	}
	if c.Opened > 0 {
		e.Connect = seconds(c.Opened)
		e.TLS = seconds(c.TLS)
	}
	if c.TLSRounds > 0 {
		e.TLSRounds = count(int64(c.TLSRounds))
	}
	if c.Exchanges > 0 {
		e.Exchanges = count(int64(c.Exchanges))
		e.Send, e.Wait, e.Transfer = seconds(c.Send), seconds(c.Wait), seconds(c.half[1].transfer)
	}
	duration := float64(h.active)
	e.Duration = seconds(h.active)
	e.Bytes, e.Segments = count(h.Bytes), count(h.Segments)
	e.MSS = count(h.full())
	if h.MinRTT > 0 {
		e.MinRTT = seconds(h.MinRTT)
	}
	e.RTT = diagnosis.Is(h.RTTs.quantile(.5, h.First))
	e.MaxRTT = diagnosis.Is(h.RTTs.quantile(.95, h.First))
	e.LossRTT = diagnosis.Is(h.LossRTT.quantile(.5, 0))
	h.growth(&e)
	e.Plateau, e.PlateauSpread = h.plateau()
	if h.Bytes == 0 {
		return e
	}
	if duration > 0 {
		share := func(t int64) diagnosis.Value { return diagnosis.Is(min(float64(t)/duration, 1)) }
		e.Idle = share(h.spent[Application])
		if h.scaled {
			e.WindowFull = share(h.spent[Receiver])
		}
		e.BufferFull = share(h.spent[SendBuffer])
		e.CwndFull = share(h.spent[SlowStart] + h.spent[Congestion] + h.spent[PathFull])
		e.HeldBack = share(h.spent[HeldBack])
		e.Recovering, e.TimedOut = share(h.spent[Recovery]), share(h.spent[TimedOut])
		e.Silent, e.Silences = share(h.silent), count(h.silences)
		if h.leftSlowStart > 0 && h.syn {
			e.SlowStart = share(h.leftSlowStart - h.First)
		}
	}
	if h.Initial > 0 && !h.initialOpen && h.initialWhole {
		e.InitialWindow = diagnosis.Is(math.Round(float64(h.Initial) / float64(h.full())))
	}
	if h.scaled {
		e.Window = diagnosis.Is(h.Windows.quantile(.5, h.First))
		e.LeastWindow = diagnosis.Is(h.Windows.quantile(0, h.First))
	}
	e.Flight, e.FlightSpread = diagnosis.Is(h.flight), diagnosis.Is(h.flightSpread)
	e.Resent, e.Spurious, e.Timeouts = count(h.AllResent()), count(h.Spurious), count(h.Timeouts)
	e.LossEvents = count(max(h.Episodes-h.vain, 0))
	e.Reordered, e.OutOfOrder = count(h.Reordered), count(max(h.OutOfOrder, h.SACKs))
	if h.Gaps > 0 {
		e.LateGaps = diagnosis.Is(min(1, float64(h.Late)/float64(h.Gaps)))
	}
	held := h.Held + h.other.Held
	e.AckWaits = count(held)
	if whole := c.exchange(); whole > 0 {
		e.AckWait = diagnosis.Is(min(1, float64(h.HeldTime)/max(duration, 1)+float64(h.other.HeldTime)/whole))
	}
	if held > 0 {
		x := h
		if h.Held < h.other.Held {
			x = h.other
		}
		e.AckDelay = diagnosis.Is(x.AckDelays.quantile(.5, 0))
	}
	if rate, fit, ok := h.policed(); ok {
		e.PolicedRate, e.PolicedFit = diagnosis.Is(rate), diagnosis.Is(fit)
	}
	return e
}

// growth says whether segments were lost when much was in flight, or a queue full.
func (h *half) growth(e *diagnosis.Evidence) {
	if !h.realLoss() || h.shift > 3 || len(h.Flights.all) == 0 {
		return
	}
	mss := float64(h.full())
	at := h.left()
	sent := make([]diagnosis.Sent, len(h.log))
	var left []diagnosis.Left
	for i := range h.log {
		x := &h.log[i]
		arrived, lost := x.passed(mss)/mss, max(float64(x.lost), 0)
		sent[i] = diagnosis.Sent{Flight: h.Flights.value(x.at), Arrived: arrived, Lost: lost}
		if at != nil {
			left = append(left, diagnosis.Left{At: at[i], Arrived: arrived, Lost: lost})
		}
	}
	delivered := make([]diagnosis.Progress, len(h.Progress.all))
	for i, p := range h.Progress.all {
		delivered[i] = diagnosis.Progress{At: float64(p.at) / 1e9, Bytes: p.v / mss}
	}
	o := diagnosis.FindOverflow(left, delivered, float64(h.least())/1e9)
	e.LossFull, e.LossTimes = diagnosis.Is(o.Full), diagnosis.Is(o.Times)
	e.LossRate, e.LossRoom, e.LossPassed = diagnosis.Is(o.Rate*mss*8), diagnosis.Is(o.Room*mss), diagnosis.Is(o.Passed*mss)
	e.LossFlight = diagnosis.Growth(sent)
}

// left is when the entries of the log left the sender, s: as seen near it, and elsewhere by its own clock; nil where that is not known.
func (h *half) left() []float64 {
	at := make([]float64, len(h.log))
	for i := range h.log {
		at[i] = float64(h.log[i].at) / 1e9
	}
	if !h.shifted() {
		return at
	}
	first, last := -1, -1
	for i := range h.log {
		if h.log[i].stamp != 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return nil
	}
	ticks := float64(int32(h.log[last].stamp - h.log[first].stamp))
	begin := at[first]
	tick := (at[last] - begin) / ticks
	if ticks < 50 || !(tick > 0 && tick < 5e-3) {
		return nil
	}
	// When one that was lost left is not seen, only when the one before it did. That is taken of all, so that nothing tells them apart.
	before := begin
	for i := range h.log {
		at[i] = before
		if s := h.log[i].stamp; s != 0 {
			before = begin + tick*float64(int32(s-h.log[first].stamp))
		}
	}
	return at
}

// exchange is the time of all that was spoken, ns.
func (c *Connection) exchange() float64 {
	return float64(c.Send+c.Wait+c.TLS+c.Opened) + float64(c.half[1].transfer)
}

// plateau is the rate at which the last three quarters of the bytes were acknowledged, bit/s, and its
// coefficient of variation over tenths of that time.
func (h *half) plateau() (rate, variation diagnosis.Value) {
	all := h.Progress.all
	if len(all) < 8 {
		return
	}
	total := all[len(all)-1].v
	begin := all[0]
	for _, p := range all {
		if p.v >= total/4 {
			begin = p
			break
		}
	}
	end := all[len(all)-1]
	took := end.at - begin.at
	if took <= 0 {
		return
	}
	rate = diagnosis.Is((end.v - begin.v) * 8 / float64(took) * 1e9)
	var tenths []float64
	last := begin.v
	for k := 1; k <= 10; k++ {
		v := h.Progress.value(begin.at + took*int64(k)/10)
		tenths = append(tenths, v-last)
		last = v
	}
	return rate, diagnosis.Is(spread(tenths))
}
