package causal

import (
	"context"
	"math"
	"slices"
	"sort"
	"time"
)

const (
	shortest = 40 * time.Millisecond // of a window
	longest  = time.Second
	brief    = 200 * time.Millisecond // the longest where clients that wait for nobody are held up by a part of it
	visits   = 10                     // the fewest in a window, on average
)

// settle is how long a window waits after a change, in wall-clock time, when
// visits come every per. Rates follow a change at once; a queue's latency
// follows within its relaxation time, (1-sqrt(load))^-2 services (Kleinrock,
// Queueing Systems 1, 2.11): twelve at load .5, of which three make 5 %.
func (r *runner) settle(per time.Duration) time.Duration {
	if slices.ContainsFunc(r.metrics, func(m *metric) bool { return m.latency }) {
		return min(max(30*per, 10*time.Millisecond), 300*time.Millisecond)
	}
	return min(max(10*per, 10*time.Millisecond), 100*time.Millisecond)
}

// calibrate chooses the length of a window by the noise of this program on
// this machine. Long windows waste no time on gaps, short ones give more pairs,
// of which a disturbance spoils fewer. What is best depends on how the noise
// is correlated in time (a collector's cycles, neighbours on the machine), so
// it is measured: the spread of differences between adjacent windows, for
// windows of several lengths.
func (r *runner) calibrate(ctx context.Context) error {
	r.window, r.gap = r.o.Window, 30*time.Millisecond
	if r.window == 0 {
		r.window = 200 * time.Millisecond
	}
	w, err := r.measure(ctx, nil, 0)
	if err != nil {
		return err
	}
	n := w.fewest()
	if w.real <= 0 {
		return nil
	}
	per := time.Duration(float64(w.real) / float64(max(n, 1)))
	r.gap = r.settle(per)
	if r.o.Window != 0 {
		return nil
	}
	most := longest
	if r.o.Open {
		most = brief
	}
	floor := min(max(shortest, visits*per), most)
	ceiling := max(floor, min(most, r.affordable()))
	r.window = min(max(floor, 100*time.Millisecond), ceiling)
	block := floor / 2
	budget := min(max(r.o.Duration/16, 600*time.Millisecond), 4*time.Second)
	var blocks []snapshot
	for begin := time.Now(); time.Since(begin) < budget; {
		blocks = append(blocks, r.take())
		if err := r.proc.sleep(ctx, block); err != nil {
			if err = r.again(ctx, err); err == nil {
				r.proc.block.SetOn(true) // what was seen is too little: the usual window
			}
			return err
		}
	}
	blocks = append(blocks, r.take())
	r.window = r.sharpest(blocks, block, ceiling, r.window)
	return nil
}

// sharpest is the length of window for which the variance of a pair times its
// duration is least; otherwise if there are too few blocks to tell.
func (r *runner) sharpest(blocks []snapshot, block, ceiling, otherwise time.Duration) time.Duration {
	cost := map[int]float64{}
	least := math.Inf(1)
	var lengths []int
	for k := 2; time.Duration(k)*block <= ceiling && len(blocks)/k >= 8; k *= 2 {
		if c := r.spread2(blocks, k) * float64(time.Duration(k)*block+r.gap); !math.IsNaN(c) {
			cost[k] = c
			least = min(least, c)
			lengths = append(lengths, k)
		}
	}
	for _, k := range lengths {
		if cost[k] <= 1.15*least { // the shorter the better where it makes little difference
			return time.Duration(k) * block
		}
	}
	return otherwise
}

// affordable is the longest window that leaves six pairs for every speed-up of the leaders.
func (r *runner) affordable() time.Duration {
	cells := min(len(r.sites), leaders) * len(r.o.Speedups)
	if cells == 0 {
		return longest
	}
	return time.Until(r.deadline)/time.Duration(2*6*cells) - r.gap
}

// spread2 is the squared spread of the differences between adjacent windows of
// k blocks: of the metric that is the noisiest. The largest fifth of the
// differences is left out, as the trimmed means of the experiments will do.
func (r *runner) spread2(blocks []snapshot, k int) float64 {
	worst := math.NaN()
	for i := range r.metrics {
		var logs []float64
		for j := 0; j+k < len(blocks); j += k {
			logs = append(logs, math.Log(r.between(blocks[j], blocks[j+k]).values[i]))
		}
		var d []float64
		for j := 1; j < len(logs); j++ {
			if x := math.Abs(logs[j] - logs[j-1]); !math.IsNaN(x) && !math.IsInf(x, 0) {
				d = append(d, x)
			}
		}
		if len(d) < 4 {
			return math.NaN()
		}
		sort.Float64s(d)
		d = d[:len(d)-len(d)/5]
		sum := 0.0
		for _, x := range d {
			sum += x * x
		}
		if s := sum / float64(len(d)); math.IsNaN(worst) || s > worst {
			worst = s
		}
	}
	return worst
}
