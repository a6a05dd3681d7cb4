package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Speedup is the parameter, in percent, that a causal profile varies.
const Speedup = "speedup"

// The words for what was seen, where the report brings none of its own.
const (
	noEffect  = "no effect seen"
	worthIt   = "worth it"
	worse     = "would make it worse"
	mixed     = "better and worse"
	baselined = "baseline"
)

// A subject is what one row of the answer is about: a group, or a case where there are no groups.
type subject struct {
	name    string
	group   *Group // nil if the subject is a case
	cases   []Case
	verdict string
	gain    float64 // best real improvement in percent, less than 0 if there is only harm
	tone    string  // "gain", "harm", "mixed", "none", "base": what the colours say
}

// subjects are the rows of the answer, the leading ones first.
func (r *Report) subjects() []subject {
	var all []subject
	if len(r.Groups) > 0 {
		for i := range r.Groups {
			g := &r.Groups[i]
			s := subject{name: g.Name, group: g, verdict: g.Verdict}
			for _, c := range r.Cases {
				if c.Group == g.Name {
					s.cases = append(s.cases, c)
				}
			}
			slices.SortStableFunc(s.cases, func(a, b Case) int { return cmp.Compare(a.Params[Speedup], b.Params[Speedup]) })
			all = append(all, s)
		}
	} else {
		for _, c := range r.Cases {
			name := c.Name
			if c.Group != "" {
				name = c.Group + ": " + c.Name
			}
			all = append(all, subject{name: name, cases: []Case{c}})
		}
	}
	for i := range all {
		all[i].judge(r.major())
	}
	if !r.Listed {
		slices.SortStableFunc(all, func(a, b subject) int { return cmp.Compare(b.gain, a.gain) })
	}
	return all
}

// major are the metrics that decide.
func (r *Report) major() []Metric {
	return slices.DeleteFunc(slices.Clone(r.Metrics), func(m Metric) bool { return m.Minor })
}

// judge finds the best real improvement or the worst harm, and words for it.
func (s *subject) judge(metrics []Metric) {
	gain, harm, any := 0.0, 0.0, false
	for _, c := range s.cases {
		for _, m := range metrics {
			if e, ok := c.Effects[m.Name]; ok {
				any = true
				if e.Real {
					gain, harm = max(gain, m.gain(e)), min(harm, m.gain(e))
				}
			}
		}
	}
	better, worse := worthIt, worse
	if s.group == nil { // nobody said that it costs work
		better, worse = "better", "worse"
	}
	words := noEffect
	s.tone, s.gain = "none", gain
	switch {
	case !any && s.group == nil && s.cases[0].Baseline:
		s.tone, words = "base", baselined
	case !any && s.group == nil && len(s.cases[0].Values) > 0:
		words = "nothing to compare"
	case !any:
		words = "not measured"
	case gain > 0 && harm < 0:
		s.tone, words = "mixed", mixed
	case gain > 0:
		s.tone, words = "gain", better
	case harm < 0:
		s.tone, words, s.gain = "harm", worse, harm
	}
	switch s.verdict {
	case "":
		s.verdict = words
	case worthIt: // where the report speaks, the colours follow
		if s.tone == "mixed" {
			s.tone = "gain"
		}
	case worse:
		if s.tone == "mixed" {
			s.tone, s.gain = "harm", harm
		}
	case noEffect:
		s.tone, s.gain = "none", 0
	}
}

// gain is the effect in the good direction of the metric, in percent.
func (m Metric) gain(e Effect) float64 {
	if m.Better == "lower" {
		return -e.Percent
	}
	return e.Percent
}

// best is the case whose effect on m stands for the subject: the best real one, else
// the worst real one, else the one with the largest speed-up.
func (s subject) best(m Metric) (c Case, e Effect, ok bool) {
	for _, candidate := range s.cases {
		effect, measured := candidate.Effects[m.Name]
		if !measured {
			continue
		}
		replace := !ok || !e.Real && (effect.Real || candidate.Params[Speedup] >= c.Params[Speedup])
		if ok && e.Real && effect.Real {
			a, b := m.gain(effect), m.gain(e)
			replace = a > b && a > 0 || b < 0 && a < b
		}
		if replace {
			c, e, ok = candidate, effect, true
		}
	}
	return c, e, ok
}

// bySpeedup is true where the cases of a group differ by their virtual speed-up.
func (r *Report) bySpeedup() bool { return len(r.Groups) > 0 && len(r.speedups()) > 0 }

// speedups are the values of the parameter, ascending, without that of the baselines.
func (r *Report) speedups() []float64 {
	var all []float64
	for _, c := range r.Cases {
		if x, ok := c.Params[Speedup]; ok && !c.Baseline {
			all = append(all, x)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// runs says how many runs stand behind the effects that decide, or the values where there are none.
func (r *Report) runs() string {
	low, high := math.MaxInt, 0
	minor := map[string]bool{}
	for _, m := range r.Metrics {
		minor[m.Name] = m.Minor && len(r.major()) > 0
	}
	for _, effects := range []bool{true, false} {
		for _, c := range r.Cases {
			if effects {
				for name, e := range c.Effects {
					if !minor[name] {
						low, high = min(low, e.N), max(high, e.N)
					}
				}
			} else {
				for name, v := range c.Values {
					if !minor[name] {
						low, high = min(low, v.N), max(high, v.N)
					}
				}
			}
		}
		if low <= high {
			break
		}
	}
	switch {
	case low > high:
		return "n=0"
	case low == high:
		return fmt.Sprintf("n=%d", low)
	}
	return fmt.Sprintf("n=%d to %d", low, high)
}

// confidence is the level of the intervals, such as "95 %".
func (r *Report) confidence() string {
	for _, c := range r.Cases {
		for _, e := range c.Effects {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*e.Confidence), ".0") + " %"
		}
	}
	return "95 %"
}
