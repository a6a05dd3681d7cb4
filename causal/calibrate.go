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
	plenty   = 100                    // so many where there is time for them
	wear     = 1000                   // visits after which a program has forgotten what was before, where there is time for them
	spare    = 30                     // pairs of each speed-up that the leaders must have time for, if there is to be time for that
)

// settle is how long a window waits after a change, in wall-clock time, when
// visits come every per. Rates follow a change once the operations in flight have
// ended, of which there may be twenty; a queue's latency follows within its relaxation time, (1-sqrt(load))^-2 services (Kleinrock,
// Queueing Systems 1, 2.11): twelve at load .5, of which three make 5 %.
func (r *runner) settle(per time.Duration) time.Duration {
	if slices.ContainsFunc(r.metrics, func(m *metric) bool { return m.latency }) {
		return min(max(30*per, 10*time.Millisecond), 300*time.Millisecond)
	}
	return min(max(20*per, 10*time.Millisecond), 200*time.Millisecond)
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
		r.gap = max(r.gap, r.forget(per, r.window))
		return nil
	}
	most := longest
	if r.o.Open {
		most = brief
	}
	// How far the operations in flight have got differs between a baseline and an experiment, and is all work that is done and
	// not counted, or the other way round. In calm, between baselines, that is not seen.
	floor := min(max(shortest, visits*per), most)
	floor = max(floor, min(plenty*per, most, r.affordable()/2))
	r.gap = max(r.gap, r.forget(per, floor))
	ceiling := max(floor, min(most, r.affordable()))
	r.window = min(max(floor, 100*time.Millisecond), ceiling)
	block := floor / 2
	budget := min(max(r.o.Duration/16, 600*time.Millisecond), 4*time.Second)
	var blocks []snapshot
	for begin := time.Now(); time.Since(begin) < budget; {
		blocks = append(blocks, r.take())
		if err := r.proc.sleep(ctx, block); err != nil {
			return r.resume(ctx, err) // what was seen is too little: the usual window
		}
	}
	blocks = append(blocks, r.take())
	r.window = r.sharpest(blocks, block, ceiling, r.window)
	return nil
}

// sharpest is the length of window that leaves the narrowest intervals, as far as that is sure: of the longest
// there are few, whose variance may be small by chance. It is otherwise if there are too few blocks to tell.
//
// An interval's squared width goes with the variance of a pair over the number of pairs n there is time for, and,
// where these are few, with the square of Student's t: 1+6/n of what it is for many, within 10 % from n=7 to 30.
func (r *runner) sharpest(blocks []snapshot, block, ceiling, otherwise time.Duration) time.Duration {
	cost := map[int]float64{}
	least := math.Inf(1)
	var lengths []int
	for k := 2; time.Duration(k)*block <= ceiling && len(blocks)/k >= 8; k *= 2 {
		each := time.Duration(k)*block + r.gap
		few := 1 + 6*float64(2*each)/float64(max(each, r.share()))
		doubt := 1 + 2*math.Sqrt(2*float64(k)/float64(len(blocks))) // two standard errors of a variance
		if c := few * doubt * r.spread2(blocks, k) * float64(each); !math.IsNaN(c) {
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

// forget is how long a window waits after a change, in wall-clock time, if windows take floor, visits come every per, and there is time:
// until the program's own state is no longer that of the phase before. A contended sync.Mutex gets from the mix of quick and slow
// hand-overs of an experiment to its own within 350 visits, but for a third, and within a thousand, but for a twentieth; baselines right
// after an experiment were off by 5 % (docs/profile-findings.md).
// Clients that wait for nobody would be held up by a part of that time, too, so where there are such it is none.
func (r *runner) forget(per, floor time.Duration) time.Duration {
	if r.o.Open {
		return 0
	}
	return min(wear*per, r.share()/(2*spare)-floor, 500*time.Millisecond)
}

// share is the time left for each speed-up of the leaders.
func (r *runner) share() time.Duration {
	return time.Until(r.deadline) / time.Duration(max(1, min(len(r.sites), leaders)*len(r.o.Speedups)))
}

// affordable is the longest window that leaves six pairs for every speed-up of the leaders.
func (r *runner) affordable() time.Duration { return r.share()/(2*6) - r.gap }

// spread2 is the squared spread of the differences between adjacent windows of
// k blocks, wherever they begin (the overlapping estimator of Allan's variance:
// D. A. Howe, D. W. Allan, J. A. Barnes, Proc. 35th Frequency Control Symposium,
// 1981): of the metric that is the noisiest. The largest fifth of the differences
// is left out, as the trimmed means of the experiments will do.
func (r *runner) spread2(blocks []snapshot, k int) float64 {
	worst := math.NaN()
	for i := range r.metrics {
		var logs []float64 // of the windows that begin with each block
		for j := 0; j+k < len(blocks); j++ {
			logs = append(logs, math.Log(r.between(blocks[j], blocks[j+k]).values[i]))
		}
		var d []float64
		for j := k; j < len(logs); j++ {
			if x := math.Abs(logs[j] - logs[j-k]); !math.IsNaN(x) && !math.IsInf(x, 0) {
				d = append(d, x)
			}
		}
		if len(d) < 4*k {
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
