package causal

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/headway-lab/headway/effect"
)

// found is what the experiments showed beyond chance.
type found struct {
	real  map[*cell][]bool           // per cell and metric
	trend map[*site][]*effect.Effect // per site and metric, over all its speed-ups, at 50 %; nil: none
}

// thinTail makes up for small p-values of trimmed means, which are somewhat smaller than they
// should be: in simulated profiles without effect 8 % claimed one where 5 % were asked for.
const thinTail = 0.6

// discoveries separates effects from chance, in two steps, so that neither
// many sites nor many speed-ups of one site produce effects out of noise. First
// the sites: one p-value for each and metric, under the control of the false
// discovery rate. Then, within the sites that passed, the single speed-ups,
// whose intervals exclude 0.
//
// A site's p-value is twice the lesser of two: Simes' over its speed-ups, which
// sees one strong effect (a curve that turns), and the one of the slope through
// all of them, which sees many weak ones that agree.
// (R. J. Simes, Biometrika 73 (1986) 751-754; the two steps are those of
// Y. Benjamini and M. Bogomolov, J. R. Statist. Soc. B 76 (2014) 297-318.)
func (t *trial) discoveries(q, confidence float64) found {
	q *= thinTail
	f := found{real: map[*cell][]bool{}, trend: map[*site][]*effect.Effect{}}
	type family struct {
		site   *site
		metric int
		slope  effect.Effect
	}
	var families []family
	var p []float64
	for _, s := range t.sites() {
		cells := t.of(s)
		metrics := 0
		for _, c := range cells {
			f.real[c] = make([]bool, len(c.effects))
			metrics = max(metrics, len(c.effects))
		}
		f.trend[s] = make([]*effect.Effect, metrics)
		for i := range metrics {
			single, slope := simes(cells, i), trend(cells, i, confidence)
			both := single
			if finite(slope.P) && slope.N >= effect.MinN {
				both = min(1, 2*math.Min(single, slope.P))
				if math.IsNaN(single) {
					both = slope.P
				}
			}
			if !math.IsNaN(both) {
				families = append(families, family{s, i, slope})
				p = append(p, both)
			}
		}
	}
	passed := effect.FDR(p, q)
	n := 0
	for _, ok := range passed {
		if ok {
			n++
		}
	}
	for k, ok := range passed {
		if !ok {
			continue
		}
		fam := families[k]
		level := q * float64(n) / float64(len(families))
		if fam.slope.N >= effect.MinN && fam.slope.P <= level {
			f.trend[fam.site][fam.metric] = &fam.slope
		}
		for _, c := range t.of(fam.site) {
			if fam.metric < len(c.effects) {
				e := c.effects[fam.metric]
				f.real[c][fam.metric] = finite(e.P) && (e.High < 0 || e.Low > 0)
			}
		}
	}
	return f
}

// sites are those of the cells, in their order.
func (t *trial) sites() []*site {
	var out []*site
	seen := map[*site]bool{}
	for _, c := range t.cells {
		if !seen[c.site] {
			seen[c.site] = true
			out = append(out, c.site)
		}
	}
	return out
}

// of are the cells of a site.
func (t *trial) of(s *site) []*cell {
	var out []*cell
	for _, c := range t.cells {
		if c.site == s {
			out = append(out, c)
		}
	}
	return out
}

// simes is the p-value of "no speed-up of the site has an effect"; NaN where nothing is known.
func simes(cells []*cell, metric int) float64 {
	var p []float64
	for _, c := range cells {
		if metric < len(c.effects) && finite(c.effects[metric].P) {
			p = append(p, c.effects[metric].P)
		}
	}
	sort.Float64s(p)
	out := math.NaN()
	for i, x := range p {
		if v := x * float64(len(p)) / float64(i+1); math.IsNaN(out) || v < out {
			out = v
		}
	}
	return out
}

// trend is the effect at 50 % if it grows in proportion to the speed-up, on a
// logarithmic scale: the slope by least squares within each batch of
// experiments, and over the batches, which are independent of each other (the
// pairs of one batch share baselines), the trimmed mean.
func trend(cells []*cell, metric int, confidence float64) effect.Effect {
	type sums struct{ xy, xx float64 }
	batches := map[int]sums{}
	var method, known float64
	for _, c := range cells {
		if c.pairs() == 0 {
			continue
		}
		// At another speed-up as much more or less is inserted.
		n := float64(c.pairs())
		method, known = method+n*methodError(mean(c.slept), mean(c.insert)*50/float64(c.speedup)), known+n
		x := float64(c.speedup) / 50
		for i, b := range c.batch {
			y := math.Log(c.changed[metric][i] / c.base[metric][i])
			s := batches[b]
			batches[b] = sums{s.xy + x*y, s.xx + x*x}
		}
	}
	var base, changed []float64
	for _, b := range slices.Sorted(maps.Keys(batches)) {
		s := batches[b]
		base = append(base, 1)
		changed = append(changed, math.Exp(s.xy/s.xx))
	}
	k := cells[0].toll
	return k.without(effect.PairedShared(base, changed, confidence, 0, k.shared(method/max(1, known), effect.Paired(base, changed, confidence, 0))))
}
