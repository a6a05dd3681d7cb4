package causal

import (
	"fmt"
	"math"

	"github.com/headway-lab/headway/report"
)

const (
	disturbed = "not as it should be" // the verdict on a placebo that has an effect
	evenly    = "placebo"             // what its only group is called
	delayed   = "delayed"             // the parameter of its cases, in percent of the time
)

// MostPlacebo is the most, in percent of the time, that everything can be delayed evenly: the program needs the rest.
const MostPlacebo = 90

// placebo words a report as one of delays that everything shared, the negative control of the experiments: what it shows is
// no property of the program but an error of the method, so its intervals do not have that in.
func (r *runner) placebo(rep *report.Report) {
	rep.Question = fmt.Sprintf("Do delays alone change %s?", r.o.Package)
	rep.Environment.More["placebo"] = "everything was delayed evenly"
	for i := range rep.Groups {
		g := &rep.Groups[i]
		g.Name, g.Source, g.Notes, g.Values = evenly, nil, nil, nil
		if g.Verdict != NoEffect && g.Verdict != TooFew {
			g.Verdict = disturbed
		}
	}
	for i := range rep.Cases {
		c := &rep.Cases[i]
		c.Group, c.Name = evenly, "as it is"
		c.Params = map[string]float64{delayed: c.Params["speedup"]}
		if !c.Baseline {
			c.Name = fmt.Sprintf("delayed by %.0f%% of the time", c.Params[delayed])
		}
		for name, e := range c.Effects {
			e.Expected = nil // no profile says anything of this
			c.Effects[name] = e
		}
	}
	rep.Answer = placeboWords(rep, r.metrics)
}

// placeboWords says what the strongest effect of delays is that was seen, or how large one may be that was not.
func placeboWords(rep *report.Report, metrics []*metric) string {
	var most *report.Effect
	var what string
	var at, hidden float64
	for _, c := range rep.Cases {
		for _, m := range metrics {
			e, ok := c.Effects[m.name]
			if !ok {
				continue
			}
			hidden = max(hidden, -e.Low, e.High)
			if e.Real && (most == nil || math.Abs(e.Percent) > math.Abs(most.Percent)) {
				most, what, at = &e, m.what(), c.Params[delayed]
			}
		}
	}
	switch {
	case hidden == 0:
		return "Too few experiments to say: give it more time (--duration)."
	case most == nil && hidden > 5:
		return fmt.Sprintf("Delays that everything shares change nothing that was seen, but up to %.0f%% would have stayed hidden in the noise: give it more time (--duration), a quieter machine, or --awake.", hidden)
	case most == nil:
		return fmt.Sprintf("Delays that everything shares change nothing, as it should be: an effect of more than %.1f%% would have been seen.", hidden)
	}
	how := "shorter"
	low, high := -most.High, -most.Low
	if most.Percent > 0 {
		how, low, high = "longer", most.Low, most.High
	}
	return fmt.Sprintf("Delays that everything shares should change nothing, but with %.0f%% of the time %s is %.1f%% (%.1f to %.1f) %s: effects of that size may be the method's own.", at, what, math.Abs(most.Percent), low, high, how)
}
