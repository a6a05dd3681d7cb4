package effect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var coverageN = []int{4, 5, 6, 7, 8, 10, 15, 20, 30, 60}

// noises are what measurements suffer from, as relative errors of about 5 %.
var noises = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return 0.05 * r.NormFloat64() }},
	{"t3", func(r *rand.Rand) float64 {
		chi := 0.0
		for range 3 {
			z := r.NormFloat64()
			chi += z * z
		}
		return 0.05 * r.NormFloat64() / math.Sqrt(chi/3)
	}},
	{"skewed", func(r *rand.Rand) float64 { return 0.05 * math.Exp(r.NormFloat64()) }},
	{"outliers", func(r *rand.Rand) float64 { // one in ten is 25 to 60 % too slow
		if r.Float64() < 0.1 {
			return 0.05 * (5 + 5*r.ExpFloat64())
		}
		return 0.05 * r.NormFloat64()
	}},
}

// TestPairedCoverage asks how often the 95 % interval holds the truth, in 2000
// experiments a cell. The machine drifts by 30 % over the experiment, the same for both
// halves of a pair. In the rows marked * only the change is noisy that way and the
// baseline is normal; the truth is then the trimmed mean of the population.
//
//	pairs         4     5     6     7     8    10    15    20    30    60
//	normal     0.952 0.931 0.940 0.948 0.940 0.945 0.944 0.949 0.952 0.950
//	t3         0.961 0.949 0.960 0.959 0.954 0.952 0.945 0.960 0.950 0.960
//	skewed     0.980 0.960 0.971 0.976 0.968 0.962 0.960 0.967 0.960 0.955
//	outliers   0.979 0.953 0.965 0.969 0.967 0.954 0.962 0.961 0.964 0.949
//	skewed*    0.923 0.951 0.941 0.949 0.949 0.934 0.945 0.948 0.939 0.945
//	outliers*  0.877 0.939 0.943 0.950 0.956 0.953 0.946 0.947 0.956 0.946
//
// What was tried beside it on the same noise, with its worst row at 5, 8 and 20 pairs
// (500 to 2000 runs, 400 resamples): Student's t on log ratios 0.87, 0.84, 0.87;
// percentile bootstrap of the trimmed mean 0.89, 0.89, 0.93, and 0.67 at 4 pairs;
// percentile bootstrap of the median 0.92, 0.90, 0.92. Bootstrap-t of the trimmed mean
// keeps the level, but is infinite at 5 pairs and twice as wide at 6. Signed ranks
// keep it too, but carry it only from 6 pairs on, with no p below 0.03 there, which
// false discovery control hardly lets pass, and are twice as wide under outliers up to 10.
func TestPairedCoverage(t *testing.T) {
	const runs, truePercent = 2000, -20.0
	check := func(name string, base, change func(*rand.Rand) float64, symmetric bool) {
		r := rand.New(rand.NewPCG(1, 2))
		population := make([]float64, 200_000)
		if !symmetric {
			for i := range population {
				population[i] = change(r) - base(r)
			}
			slices.Sort(population)
		}
		row := fmt.Sprintf("%-10s", name)
		for _, n := range coverageN {
			// The trimmed mean of n samples cuts int(n/5) of them from each end.
			cut := int(trim*float64(n)) * len(population) / n
			truth := percent(math.Log1p(truePercent/100) + mean(population[cut:len(population)-cut]))
			b, c := make([]float64, n), make([]float64, n)
			hits := 0
			for range runs {
				for i := range n {
					drift := 0.3 * float64(i) / float64(n)
					b[i] = 10 * math.Exp(drift+base(r))
					c[i] = 10 * math.Exp(drift+change(r)) * (1 + truePercent/100)
				}
				if e := Paired(b, c, 0.95, 1); e.Low <= truth && truth <= e.High {
					hits++
				}
			}
			share := float64(hits) / runs
			row += fmt.Sprintf(" %.3f", share)
			if n >= 5 && share < 0.90 {
				t.Errorf("%s: with %d pairs the 95 %% interval covers %.3f", name, n, share)
			}
		}
		t.Log(row)
	}
	for _, noise := range noises {
		check(noise.name, noise.draw, noise.draw, true)
	}
	for _, noise := range noises[2:] {
		check(noise.name+"*", noises[0].draw, noise.draw, false)
	}
}

// TestPairedSharedCoverage asks the same where all pairs of one experiment have an error in common, which the next one has not.
// Without counting it the interval holds the truth as seldom as the share of the variances has it.
//
//	pairs                          5     8    20    60
//	counted                    0.973 0.961 0.954 0.954
//	not counted                0.893 0.802 0.633 0.405
func TestPairedSharedCoverage(t *testing.T) {
	const runs, truePercent, sd = 4000, -20., 0.02
	for _, known := range []float64{sd, 0} {
		r := rand.New(rand.NewPCG(1, 2))
		row := fmt.Sprintf("%.2f", known)
		for _, n := range []int{5, 8, 20, 60} {
			b, c := make([]float64, n), make([]float64, n)
			hits := 0
			for range runs {
				common := sd / (1 + truePercent/100) * r.NormFloat64()
				for i := range n {
					b[i] = 10
					c[i] = 10 * (1 + truePercent/100) * math.Exp(common+noises[0].draw(r))
				}
				if e := PairedShared(b, c, 0.95, 1, known); e.Low <= truePercent && truePercent <= e.High {
					hits++
				}
			}
			share := float64(hits) / runs
			row += fmt.Sprintf(" %.3f", share)
			if known > 0 && (share < 0.93 || share > 0.98) || known == 0 && n == 60 && share > 0.6 {
				t.Errorf("%d pairs, error in common counted as %v: the 95 %% interval covers %.3f", n, known, share)
			}
		}
		t.Log(row)
	}
}

// TestOfCoverage asks the same of the interval of one sample around the trimmed
// mean of its population.
//
//	samples       4     5     6     7     8    10    15    20    30    60
//	normal     0.959 0.931 0.935 0.943 0.952 0.948 0.953 0.948 0.941 0.944
//	t3         0.966 0.948 0.954 0.957 0.959 0.957 0.956 0.952 0.951 0.942
//	skewed     0.832 0.908 0.897 0.897 0.913 0.931 0.936 0.928 0.934 0.936
//	outliers   0.808 0.948 0.945 0.954 0.953 0.953 0.956 0.954 0.957 0.946
//
// One skewed sample is harder than pairs, whose differences are nearly symmetric:
// with few of them the interval promises 95 % and keeps 90. The test asks for 0.88 from five on.
func TestOfCoverage(t *testing.T) {
	const runs = 2000
	for _, noise := range noises {
		r := rand.New(rand.NewPCG(3, 4))
		population := make([]float64, 200_000)
		for i := range population {
			population[i] = 1 + noise.draw(r)
		}
		slices.Sort(population)
		row := fmt.Sprintf("%-10s", noise.name)
		for _, n := range coverageN {
			cut := int(trim*float64(n)) * len(population) / n
			truth := mean(population[cut : len(population)-cut])
			x := make([]float64, n)
			hits := 0
			for range runs {
				for i := range x {
					x[i] = 1 + noise.draw(r)
				}
				if e := Of(x, 0.95, 1); e.Low <= truth && truth <= e.High {
					hits++
				}
			}
			share := float64(hits) / runs
			row += fmt.Sprintf(" %.3f", share)
			if n >= 5 && share < 0.88 {
				t.Errorf("%s: with %d samples the 95 %% interval covers %.3f", noise.name, n, share)
			}
		}
		t.Log(row)
	}
}

// TestFalseDiscoveries: of twenty sites four have an effect; over 500 profiles
// of ten pairs each, the mean share of false ones among the discoveries stays below q.
func TestFalseDiscoveries(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const profiles, sites, q = 500, 20, 0.05
	falseShare, found := 0.0, 0
	for range profiles {
		p := make([]float64, sites)
		for s := range p {
			b, c := make([]float64, 10), make([]float64, 10)
			for i := range b {
				b[i], c[i] = math.Exp(noises[3].draw(r)), math.Exp(noises[3].draw(r))
				if s < 4 {
					c[i] *= 0.7
				}
			}
			p[s] = Paired(b, c, 0.95, 1).P
		}
		real := FDR(p, q)
		wrong, all := 0, 0
		for s, yes := range real {
			if yes {
				all++
				if s >= 4 {
					wrong++
				}
			}
		}
		falseShare += float64(wrong) / float64(max(all, 1))
		found += all - wrong
	}
	t.Log(strings.TrimSpace(fmt.Sprintf("false among discoveries %.3f, found %.0f %% of the real ones",
		falseShare/profiles, 100*float64(found)/(4*profiles))))
	if falseShare/profiles > q {
		t.Errorf("%.3f of the discoveries are false, asked for %.2f", falseShare/profiles, q)
	}
}
