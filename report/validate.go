package report

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Validate says everything that is wrong with the report, each fault with the
// case it is in. A report that passes can be shown in all three ways.
func (r *Report) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("report: "+format, args...))
	}
	if r.Schema != Schema {
		fault("schema is %d, want %d", r.Schema, Schema)
	}
	if r.Verb == "" {
		fault("no verb")
	}
	metrics := map[string]bool{}
	for _, m := range r.Metrics {
		switch {
		case m.Name == "":
			fault("a metric without a name")
		case metrics[m.Name]:
			fault("metric %q twice", m.Name)
		case m.Better != "lower" && m.Better != "higher":
			fault(`metric %q: better is %q, want "lower" or "higher"`, m.Name, m.Better)
		}
		metrics[m.Name] = true
	}
	groups := map[string]bool{}
	for _, g := range r.Groups {
		if groups[g.Name] {
			fault("group %q twice", g.Name)
		}
		groups[g.Name] = true
		for _, key := range slices.Sorted(maps.Keys(g.Values)) {
			if err := g.Values[key].check(); err != nil {
				fault("group %q, %s: %w", g.Name, key, err)
			}
		}
		if s := g.Source; s != nil && len(s.Lines) > 0 && (s.First < 1 || s.Line < s.First || s.Line >= s.First+len(s.Lines)) {
			fault("group %q: source has %d lines from line %d, and not line %d", g.Name, len(s.Lines), s.First, s.Line)
		}
	}
	baseline := map[string]bool{}
	for _, c := range r.Cases {
		if c.Baseline && baseline[c.Group] {
			fault("group %q has a second baseline, case %q", c.Group, c.Name)
		}
		baseline[c.Group] = baseline[c.Group] || c.Baseline
	}
	type key struct{ group, name string }
	seen := map[key]bool{}
	for _, c := range r.Cases {
		where := fmt.Sprintf("case %q", c.Name)
		if c.Group != "" {
			where += fmt.Sprintf(" of group %q", c.Group)
		}
		if seen[key{c.Group, c.Name}] {
			fault("%s twice", where)
		}
		seen[key{c.Group, c.Name}] = true
		if len(r.Groups) > 0 && !groups[c.Group] {
			fault("%s: no such group", where)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			if !isFinite(c.Params[name]) {
				fault("%s: parameter %q is %v", where, name, c.Params[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Values)) {
			if !metrics[name] {
				fault("%s: value of %q, which is no metric", where, name)
			}
			if err := c.Values[name].check(); err != nil {
				fault("%s, %s: %w", where, name, err)
			}
		}
		if len(c.Effects) > 0 && (c.Baseline || !baseline[c.Group]) {
			fault("%s has effects and no baseline to have them against", where)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Effects)) {
			if !metrics[name] {
				fault("%s: effect on %q, which is no metric", where, name)
			}
			if err := c.Effects[name].check(); err != nil {
				fault("%s, %s: %w", where, name, err)
			}
		}
	}
	for _, p := range r.Plots {
		if err := p.check(); err != nil {
			fault("plot %q: %w", p.Title, err)
		}
	}
	for _, t := range r.Tables {
		if err := t.check(); err != nil {
			fault("table %q: %w", t.Title, err)
		}
	}
	return errors.Join(faults...)
}

func (v Value) check() error {
	if v.N < 0 {
		return fmt.Errorf("n is %d", v.N)
	}
	if v.Low == 0 && v.High == 0 {
		return nil // a plain figure
	}
	return ordered(v.Low, v.Value, v.High)
}

func (e Effect) check() error {
	switch {
	case e.N < 0:
		return fmt.Errorf("n is %d", e.N)
	case !(e.Confidence > 0 && e.Confidence < 1):
		return fmt.Errorf("confidence is %v, want a share such as 0.95", e.Confidence)
	case e.Expected != nil && !isFinite(*e.Expected):
		return fmt.Errorf("expected is %v", *e.Expected)
	case !isFinite(e.Shared) || e.Shared < 0:
		return fmt.Errorf("shared is %v", e.Shared)
	case e.Real && !(e.Low > 0 || e.High < 0):
		return fmt.Errorf("said to be real, and the interval [%v, %v] contains 0", e.Low, e.High)
	}
	return ordered(e.Low, e.Percent, e.High)
}

// ordered allows infinite bounds, and an estimate that is NaN.
func ordered(low, x, high float64) error {
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 1) || math.IsInf(high, -1) || low > x || x > high || low > high {
		return fmt.Errorf("%v is not inside its interval [%v, %v]", x, low, high)
	}
	return nil
}
