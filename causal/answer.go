package causal

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

// The verdicts.
const (
	WorthIt  = "worth it"
	NoEffect = "no effect seen"
	Worse    = "would make it worse"
	Mixed    = "better and worse"
	Unclear  = "not clear"
	TooFew   = "too few experiments"
)

// report assembles what is known so far.
func (r *runner) report() *report.Report {
	o := r.o
	rep := &report.Report{
		Schema: report.Schema, Verb: "profile",
		Question: fmt.Sprintf("What would make %s faster?", r.called()),
		Command:  append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...),
		Started:  r.started,
		Environment: report.Environment{
			Go: r.g.vars.GOVERSION, OS: r.g.vars.GOOS, Arch: r.g.vars.GOARCH, CPUs: runtime.NumCPU(), Seed: o.Seed,
			More: map[string]string{},
		},
		Warnings: append([]string{}, r.warnings...),
	}
	if r.runs > 0 {
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("the program came to its end %d times and was started again: the experiments are spread over its runs", r.runs))
	}
	for _, m := range r.metrics {
		rep.Metrics = append(rep.Metrics, m.report())
	}
	t := r.trial
	if t == nil {
		rep.Answer = "Nothing was measured."
		return rep
	}
	rep.Environment.More["experiments"] = fmt.Sprint(t.windows)
	rep.Environment.More["window"] = r.window.Round(10 * time.Microsecond).String()
	if t.processes > 1 {
		rep.Environment.More["runs"] = fmt.Sprint(t.processes)
	}
	if s := t.slept(); finite(s) {
		rep.Environment.More["sleeps"] = fmt.Sprintf("%.0f a second", s)
	}
	if e := r.accounts; e != nil {
		rep.Environment.More["accounts"] = fmt.Sprintf("cost %+.1f %% [%+.1f, %+.1f] of an operation's time", e.Percent, e.Low, e.High)
	}
	shown := t.discoveries(1-o.Confidence, o.Confidence)
	bySite := map[*site][]*cell{}
	order := t.sites()
	for _, s := range order {
		bySite[s] = t.of(s)
	}
	strength := map[*site]float64{}
	verdict := map[*site]string{}
	for s, cells := range bySite {
		verdict[s], strength[s] = judge(cells, shown)
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if rank(verdict[a]) != rank(verdict[b]) {
			return rank(verdict[a]) < rank(verdict[b])
		}
		if strength[a] != strength[b] {
			return strength[a] > strength[b]
		}
		return a.share > b.share
	})
	names := r.uniqueNames(order)
	for _, s := range order {
		g := report.Group{Name: names[s], Verdict: verdict[s], Source: r.source(s), Values: map[string]report.Value{
			"share": {Value: 100 * s.share, Low: 100 * s.share, High: 100 * s.share, N: len(r.stacks)},
		}}
		if p := s.share; len(r.stacks) > 0 {
			d := 196 * math.Sqrt(p*(1-p)/float64(len(r.stacks)))
			g.Values["share"] = report.Value{Value: 100 * p, Low: max(0, 100*p-d), High: min(100, 100*p+d), N: len(r.stacks)}
		}
		if s.whole {
			g.Notes = append(g.Notes, "counted with what it calls: its own code takes next to no time")
		}
		if len(s.around) > 0 {
			g.Notes = append(g.Notes, "takes the time of what calls it, which would show the same: "+strings.Join(s.around, ", "))
		}
		if s.carried < 0.9 {
			g.Notes = append(g.Notes, fmt.Sprintf("%.0f%% of this site's samples could be sped up; the rest lies in the scheduler, the collector or functions too short to time", 100*s.carried))
		}
		g.Notes = append(g.Notes, bySite[s][0].toll.note()...)
		for i, e := range shown.trend[s] {
			if e != nil && len(bySite[s]) > 1 {
				g.Notes = append(g.Notes, fmt.Sprintf("all speed-ups taken together: %s %+.1f %% (%+.1f to %+.1f) at 50 %%, if the effect is in proportion", r.metrics[i].name, e.Percent, e.Low, e.High))
			}
		}
		base := report.Case{Name: names[s] + ", as it is", Group: names[s], Baseline: true, Params: map[string]float64{"speedup": 0}, Values: map[string]report.Value{}}
		for i, m := range r.metrics {
			if e := effect.Of(t.baselines[i], o.Confidence, o.Seed); finite(e.Value) {
				base.Values[m.name] = bySite[s][0].toll.less(value(e), e.Value)
			}
		}
		rep.Cases = append(rep.Cases, base)
		for _, c := range bySite[s] {
			if c.dead() {
				why := "no time is left: the site always runs on some processor"
				if c.silent > c.stuck {
					why = "there was no progress in most experiments"
				}
				g.Notes = append(g.Notes, fmt.Sprintf("at %d%% %s", c.speedup, why))
				continue
			}
			if len(c.effects) == 0 {
				continue
			}
			k := report.Case{Name: fmt.Sprintf("%s, %d%% faster", names[s], c.speedup), Group: names[s],
				Params: map[string]float64{"speedup": float64(c.speedup)}, Values: map[string]report.Value{}, Effects: map[string]report.Effect{}}
			for i, m := range r.metrics {
				if e := effect.Of(c.changed[i], o.Confidence, o.Seed); finite(e.Value) {
					k.Values[m.name] = c.toll.less(value(e), effect.Of(c.base[i], o.Confidence, o.Seed).Value)
				}
				e := c.effects[i]
				if !finite(e.Percent) || !finite(e.Low) || !finite(e.High) {
					continue
				}
				x := -s.share * float64(c.speedup)
				k.Effects[m.name] = report.Effect{Percent: e.Percent, Low: e.Low, High: e.High, Confidence: e.Confidence, N: e.N, Expected: &x, Shared: 100 * c.toll.shared(c.toll.factor()*c.method(), e), Real: shown.real[c][i]}
			}
			if len(k.Effects) > 0 {
				rep.Cases = append(rep.Cases, k)
			}
		}
		rep.Groups = append(rep.Groups, g)
	}
	rep.Answer = r.words(order, names, bySite, verdict, shown)
	if ns, times := int64(0), int64(0); r.proc != nil {
		ns, times = r.proc.block.Paid()
		rep.Environment.More["delays"] = fmt.Sprintf("%d, together %.1f s", times, float64(ns)/1e9)
	}
	if o.Placebo {
		r.placebo(rep)
	}
	return rep
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func value(e effect.Estimate) report.Value {
	v := report.Value{Value: e.Value, Low: e.Low, High: e.High, N: e.N}
	if !finite(v.Low) || !finite(v.High) {
		v.Low, v.High = v.Value, v.Value
	}
	return v
}

// small effects are not worth anybody's work, however certain.
const small = 1.0

// doubtful is the p-value above which one speed-up does not stand for others that were not tried: with several
// candidates, each screened at one, it would be chance too often.
const doubtful = 0.001

func judge(cells []*cell, shown found) (string, float64) {
	better, worse := 0.0, 0.0
	sure := false // the speed-ups taken together say so
	if len(cells) > 0 {
		for _, e := range shown.trend[cells[0].site] {
			if e != nil {
				sure = true
				better = max(better, -e.Percent)
				worse = max(worse, e.Percent)
			}
		}
	}
	measured := false
	speedups, agree := 0, 0
	surest := 1.0
	for _, c := range cells {
		any, told := false, false
		for i, e := range c.effects {
			if finite(e.Low) && finite(e.High) {
				measured, told = true, true
			}
			if !shown.real[c][i] {
				continue
			}
			any = true
			surest = min(surest, e.P)
			better = max(better, -e.Percent)
			worse = max(worse, e.Percent)
		}
		if told {
			speedups++
		}
		if any {
			agree++
		}
	}
	switch {
	case !measured:
		return TooFew, 0
	case agree == 1 && !sure && (speedups > 2 || speedups < len(cells) && surest > doubtful) && max(better, worse) >= small:
		// One speed-up alone, while those beside it say nothing or were not tried: as likely chance.
		return Unclear, 0
	case better >= small && worse >= small:
		return Mixed, max(better, worse)
	case better >= small:
		return WorthIt, better
	case worse >= small:
		return Worse, worse
	}
	return NoEffect, max(better, worse)
}

func rank(verdict string) int {
	for i, v := range []string{WorthIt, Mixed, Worse, Unclear, NoEffect, TooFew} {
		if v == verdict {
			return i
		}
	}
	return 9
}

// words answers the question in a sentence.
func (r *runner) words(order []*site, names map[*site]string, cells map[*site][]*cell, verdict map[*site]string, shown found) string {
	var parts []string
	begin := "Worth it: "
	for _, s := range order {
		if verdict[s] != WorthIt && (verdict[s] != Mixed || len(parts) > 0) {
			continue
		}
		var best *cell
		at := 0
		for _, c := range cells[s] {
			for i, e := range c.effects {
				if shown.real[c][i] && e.Percent < 0 && (best == nil || c.speedup == 50 && best.speedup != 50 || best.speedup != 50 && e.Percent < best.effects[at].Percent || c == best && e.Percent < best.effects[at].Percent) {
					best, at = c, i
				}
			}
		}
		var e effect.Effect
		speedup := 50
		if best != nil {
			e, speedup = best.effects[at], best.speedup
		} else {
			for i, x := range shown.trend[s] {
				if x != nil && x.Percent < e.Percent {
					e, at = *x, i
				}
			}
		}
		if e.Percent >= 0 {
			continue
		}
		part := fmt.Sprintf("%s %d%% faster would cut %s by %.1f%% (%.1f to %.1f)", names[s], speedup, r.metrics[at].what(), -e.Percent, -e.High, -e.Low)
		if verdict[s] == Mixed {
			begin = "Better and worse: "
			part += r.worst(cells[s], shown)
		}
		parts = append(parts, part)
		if len(parts) == 2 {
			break
		}
	}
	if len(parts) > 0 {
		return begin + strings.Join(parts, "; ") + "."
	}
	for _, s := range order {
		if verdict[s] == Worse {
			return fmt.Sprintf("Nothing tried would help; a faster %s would make it worse.", names[s])
		}
	}
	if len(order) > 0 && verdict[order[0]] == Unclear {
		return fmt.Sprintf("Not clear yet: only one speed-up of %s shows an effect; a longer --duration or --site %q would tell.", names[order[0]], names[order[0]])
	}
	if len(order) > 0 && verdict[order[0]] == TooFew {
		return "Too few experiments to say: give it more time (--duration)."
	}
	n, h := hidden(cells)
	if h > 5 {
		return fmt.Sprintf("No effect seen, but changes of up to %.0f%% would have stayed hidden in the noise: give it more time (--duration), a quieter machine, or --awake.", h)
	}
	if n < len(order) {
		return fmt.Sprintf("No effect seen: of the %d sites those tried longest (%d) would make no difference on their own.", len(order), n)
	}
	if len(order) == 1 {
		return fmt.Sprintf("No effect seen: a faster %s would make no difference on its own.", names[order[0]])
	}
	return fmt.Sprintf("No effect seen: none of the %d sites tried would make a difference on its own.", len(order))
}

// worst says what gets worse in a site that has both.
func (r *runner) worst(cells []*cell, shown found) string {
	var worst *cell
	at := 0
	for _, c := range cells {
		for i, e := range c.effects {
			if shown.real[c][i] && e.Percent > 0 && (worst == nil || e.Percent > worst.effects[at].Percent) {
				worst, at = c, i
			}
		}
	}
	if worst == nil {
		return ""
	}
	e := worst.effects[at]
	return fmt.Sprintf(", but %d%% faster raise %s by %.1f%% (%.1f to %.1f)", worst.speedup, r.metrics[at].what(), e.Percent, e.Low, e.High)
}

// what a metric is, in a sentence.
func (m *metric) what() string {
	if m.latency {
		return m.name
	}
	return "time per " + m.name
}

// hidden is the widest half-interval, in points, of the sites that were tried at all speed-ups, or of all if the time did not
// suffice for that: what an effect must exceed to be seen. It also returns how many sites have no wider one.
func hidden(sites map[*site][]*cell) (n int, half float64) {
	widest, leading := map[*site]float64{}, 0.0
	for s, cells := range sites {
		for _, c := range cells {
			if !finite(c.half()) {
				continue
			}
			widest[s] = max(widest[s], c.half())
			if c.pairs() > screening {
				leading = max(leading, c.half())
			}
		}
		half = max(half, widest[s])
	}
	if leading > 0 {
		half = leading
	}
	for _, w := range widest {
		if w <= half {
			n++
		}
	}
	return n, half
}

// uniqueNames gives sites the names that reports use, short ones if that leaves no doubt; --site names stay as given.
func (r *runner) uniqueNames(sites []*site) map[*site]string {
	full := map[string]string{}
	for _, s := range sites {
		n := shortName(s.name)
		if have, ok := full[n]; ok && have != s.name {
			full[n] = "" // of two packages
		} else {
			full[n] = s.name
		}
	}
	out := map[*site]string{}
	seen := map[string]int{}
	for _, s := range sites {
		n := s.name
		if short := shortName(n); full[short] == n && !slices.Contains(r.o.Sites, n) {
			n = short
		}
		seen[n]++
		if k := seen[n]; k > 1 {
			n = fmt.Sprintf("%s (%d)", n, k)
		}
		out[s] = n
	}
	return out
}

// source is the text around a site.
func (r *runner) source(s *site) *report.Source {
	if s.file == "" || s.line < 1 {
		return nil
	}
	b, err := os.ReadFile(s.file)
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if s.line > len(lines) {
		return nil
	}
	first := max(1, s.line-7)
	last := min(len(lines), s.line+7)
	name := filepath.Base(s.file)
	for _, p := range r.pr.pkgs {
		for _, f := range p.sources() {
			if f == s.file {
				name = p.path() + "/" + filepath.Base(f)
			}
		}
	}
	return &report.Source{File: name, Line: s.line, First: first, Lines: lines[first-1 : last]}
}
