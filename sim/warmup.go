package sim

import "math"

// batches are means of the latencies of successive requests, by order of arrival.
type batches struct {
	size int64 // requests in one
	sum  []float64
	n    []int64
}

// mserBatches bounds the memory: longer runs have larger batches.
const mserBatches = 8192

func newBatches(requests int) *batches {
	size := int64(5)
	for int64(requests) > size*mserBatches {
		size += 5
	}
	k := (int64(requests) + size - 1) / size
	return &batches{size, make([]float64, k), make([]int64, k)}
}

func (b *batches) add(id, took int64, ok bool) {
	if i := id / b.size; ok && i < int64(len(b.sum)) {
		b.sum[i] += float64(took)
		b.n[i]++
	}
}

// warmUp is how many requests at the beginning do not count, by MSER-5: the number
// that makes the standard error of the mean of the rest the least, at most half
// of all (K. P. White, "An effective truncation heuristic for bias reduction in
// simulation output", Simulation 69, 1997; five to a batch after S. C. Spratt, 1998).
func (b *batches) warmUp() int {
	var means []float64
	var at []int // batches
	for i, n := range b.n {
		if n > 0 {
			means = append(means, b.sum[i]/float64(n))
			at = append(at, i)
		}
	}
	best, least := 0, math.Inf(1)
	mean, m2 := 0.0, 0.0 // of those from d on (Welford)
	for d := len(means) - 1; d >= 0; d-- {
		n := float64(len(means) - d)
		delta := means[d] - mean
		mean += delta / n
		m2 += delta * (means[d] - mean)
		if d <= len(means)/2 && n > 1 {
			if z := m2 / (n * n); z <= least {
				best, least = d, z
			}
		}
	}
	if len(at) == 0 {
		return 0
	}
	return at[best] * int(b.size)
}

// detect runs once to see how long the network warms up, and once to measure the rest.
func detect(c Config, root Node) (*Result, error) {
	c.Detect = false
	probe := c
	probe.Window, probe.Series = All, 0
	if _, _, err := prepare(&probe, root, c.blind); err != nil {
		return nil, err
	}
	b := newBatches(probe.Requests)
	if _, err := run(probe, root, b); err != nil {
		return nil, err
	}
	first := b.warmUp()
	c.Window = func(n int) (int, int) { return min(first, n), n }
	return run(c, root, nil)
}
