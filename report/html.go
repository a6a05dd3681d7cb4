package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headway-lab/headway/report/style"
)

//go:embed page.tmpl page.css page.js
var files embed.FS

var page = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{"breakable": breakable}).ParseFS(files, "page.tmpl"))

// HTML writes one page that holds everything it needs and asks nothing of the network:
// the answer, the overview with the leading groups first, then each group with charts,
// the same numbers as a table, and the source. All of it is there without scripts and
// on paper; the script adds the filter, the tooltip, the theme and the keyboard.
func (r *Report) HTML(w io.Writer) error {
	if err := r.Validate(); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, r.view()); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// The page as its template sees it.
type (
	view struct {
		*Report
		CSS        template.CSS
		JS         template.JS
		Title      string
		Answer     string
		Question   string
		Command    string
		Measured   []pair
		Confidence string
		Noun       string // what is filtered: "sites", "groups" or "cases"
		Axes       []axisView
		Rows       []rowView
		Alone      *alone
		Plotted    []plotView
		Cards      []cardView
		Figures    []figureView
	}
	pair     struct{ Name, Text string }
	axisView struct {
		Name, Better string
		Scale        template.HTML
	}
	rowView struct {
		Target, Full, Path, Name, Detail, Verdict, Tone, Search string
		Code                                                    bool // the name is one of a program, and set so
		Cells                                                   []cellView
	}
	cellView struct {
		Metric, Text, At, Tone string
		Whisker                template.HTML
	}
	cardView struct {
		ID, Path, Name, Verdict, Tone, Search string
		Code                                  bool
		Facts                                 []string
		Notes                                 []string
		Charts                                []chartView
		Table                                 *tableView
		Bars                                  []barsView
		Source                                *sourceView
	}
	chartView struct {
		Title, Better string
		Expected      bool
		Hollow        bool
		Tone          string
		SVG           template.HTML
	}
	tableView struct {
		Metrics  []string
		Expected bool
		Rows     []tableRow
	}
	tableRow struct {
		Label, N string
		Cells    []numberView
	}
	numberView struct{ Text, Interval, Expected, Tone string }
	barsView   struct {
		Title, Better string
		Rows          []barRow
	}
	barRow struct {
		Label, Value, Interval, Effect, EffectInterval, N, Tone, Search, ID string
		Bar                                                                 template.HTML
	}
	sourceView struct {
		Name  string
		Lines []lineView
	}
	lineView struct {
		Number int
		Text   string
		Here   bool
	}
)

func (r *Report) view() *view {
	if r.Error != "" {
		failed := *r
		failed.Warnings = append([]string{"not done: " + r.Error}, r.Warnings...)
		r = &failed
	}
	v := &view{
		Report:     r,
		Title:      "headway " + r.Verb,
		Answer:     unbroken(r.Answer),
		Question:   unbroken(r.Question),
		Command:    shellQuote(r.Command),
		Measured:   r.measured(),
		Confidence: r.confidence(),
		Noun:       "cases",
		Alone:      r.alone(),
		Plotted:    r.plots(),
		Figures:    r.tables(),
	}
	css, _ := files.ReadFile("page.css")
	js, _ := files.ReadFile("page.js")
	v.CSS, v.JS = template.CSS(style.Sheet(css)), template.JS(js)
	if r.Answer != "" {
		v.Title = r.Answer + " (" + v.Title + ")"
	}
	subjects := r.subjects()
	metrics := slices.DeleteFunc(r.withEffects(), func(m Metric) bool { return m.Minor })
	scales := make([]scale, len(metrics))
	for i, m := range metrics {
		scales[i] = overviewScale(subjects, m)
		v.Axes = append(v.Axes, axisView{m.Name, m.Better + " is better", scales[i].draw()})
	}
	for i, s := range subjects {
		v.Rows = append(v.Rows, s.row(fmt.Sprintf("s%d", i+1), metrics, scales))
	}
	switch {
	case len(r.Groups) == 0:
		if len(r.Cases) > 0 && v.Alone == nil {
			v.Cards = r.metricCards(subjects)
		}
		return v
	case r.bySpeedup():
		v.Noun = "sites"
	default:
		v.Noun = "groups"
	}
	for i, s := range subjects {
		v.Cards = append(v.Cards, r.card(fmt.Sprintf("s%d", i+1), s))
	}
	return v
}

// measured is how the figures came about, in the order of reading.
func (r *Report) measured() []pair {
	e := r.Environment
	var all []pair
	add := func(name, text string) {
		if text != "" {
			all = append(all, pair{name, text})
		}
	}
	runs := r.runs() + " behind each effect"
	if len(r.withEffects()) == 0 {
		runs = r.runs()
	}
	if !r.Observed {
		add("Runs", runs)
	}
	machine := strings.TrimSpace(e.Go + " " + strings.Trim(e.OS+"/"+e.Arch, "/"))
	switch {
	case e.CPUs == 1:
		machine += ", 1 CPU"
	case e.CPUs > 1:
		machine += fmt.Sprintf(", %d CPUs", e.CPUs)
	}
	add("Machine", machine)
	if !r.Started.IsZero() {
		add("Started", r.Started.Format("2 January 2006, 15:04 MST"))
	}
	if !r.Observed {
		add("Seed", fmt.Sprint(e.Seed))
	}
	for _, name := range slices.Sorted(maps.Keys(e.More)) {
		add(strings.ToUpper(name[:min(1, len(name))])+name[min(1, len(name)):], e.More[name])
	}
	return all
}

// withEffects are the metrics that some case has an effect on.
func (r *Report) withEffects() []Metric {
	var all []Metric
	for _, m := range r.Metrics {
		if slices.ContainsFunc(r.Cases, func(c Case) bool { _, ok := c.Effects[m.Name]; return ok }) {
			all = append(all, m)
		}
	}
	return all
}

func (m Metric) title() string {
	if m.Unit == "" {
		return m.Name
	}
	return m.Name + ", " + m.Unit
}

// tone says what an effect is to the eye.
func (m Metric) tone(e Effect) string {
	switch gain := m.gain(e); {
	case !e.Real:
		return "none"
	case gain < 0:
		return "harm"
	default:
		return "gain"
	}
}

func (s subject) row(id string, metrics []Metric, scales []scale) rowView {
	v := rowView{Target: id, Full: s.name, Name: s.name, Verdict: s.verdict, Tone: s.tone, Search: s.search(), Code: s.code()}
	if s.group != nil {
		path, name := splitName(s.name)
		v.Path, v.Name = strings.TrimSuffix(path, "/"), name
		if i, j := strings.Index(name, "["), strings.LastIndex(name, "]"); len(name) > 34 && 0 <= i && i < j {
			v.Name = name[:i] + "[…]" + name[j+1:]
		}
		v.Detail = strings.Join(s.facts(), " · ")
	}
	for i, m := range metrics {
		cell := cellView{Metric: m.Name, Tone: "base", Text: baselined}
		if c, e, ok := s.best(m); ok {
			cell.Tone, cell.Text = m.tone(e), noEffect
			if e.Real {
				cell.Text = signed(e.Percent) + " " + plusMinus(e.Low, e.High) + " %"
				if x, ok := c.Params[Speedup]; ok && s.group != nil {
					cell.At = "at " + percentOf(x)
				} else if s.group != nil {
					cell.At = c.Name
				}
			}
			cell.Whisker = scales[i].whisker(e, cell.Tone)
		} else {
			if s.tone != "base" {
				cell.Text = "not measured"
			}
			cell.Whisker = scales[i].empty()
		}
		v.Cells = append(v.Cells, cell)
	}
	return v
}

func (s subject) search() string {
	all := s.name
	if s.group != nil && s.group.Source != nil {
		all += " " + s.group.Source.File
	}
	return strings.ToLower(all)
}

// code is true where the subject is a piece of a program.
func (s subject) code() bool {
	return s.group != nil && (s.group.Source != nil || slices.ContainsFunc(s.cases, func(c Case) bool { _, ok := c.Params[Speedup]; return ok }))
}

func (s subject) facts() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.group.Values)) {
		all = append(all, name+" "+fact(name, s.group.Values[name]))
	}
	return all
}

// card is all that is known about a group.
func (r *Report) card(id string, s subject) cardView {
	v := cardView{ID: id, Verdict: s.verdict, Tone: s.tone, Search: s.search(), Notes: s.group.Notes, Facts: s.facts(), Code: s.code()}
	v.Path, v.Name = splitName(s.name)
	if src := s.group.Source; src != nil {
		v.Source = &sourceView{Name: fmt.Sprintf("%s:%d", src.File, src.Line)}
		for i, l := range src.Lines {
			v.Source.Lines = append(v.Source.Lines, lineView{src.First + i, l, src.First+i == src.Line})
		}
	}
	if !r.bySpeedup() {
		for _, m := range r.Metrics {
			v.Bars = append(v.Bars, bars(m, s.cases, func(int) string { return "" }, func(int) string { return "" }))
		}
		return v
	}
	table := &tableView{}
	for _, m := range r.withEffects() {
		table.Metrics = append(table.Metrics, m.title())
		chart := chartView{Title: m.title(), Better: m.Better + " is better", Tone: "none", SVG: lineChart(m, s.cases)}
		if _, e, ok := s.best(m); ok {
			chart.Tone = m.tone(e)
		}
		for _, c := range s.cases {
			if v, ok := c.Values[m.Name]; ok && c.Baseline {
				chart.Better += ", baseline " + withUnit(v.Value, m.Unit)
			}
		}
		for _, c := range s.cases {
			if e, ok := c.Effects[m.Name]; ok {
				chart.Expected = chart.Expected || e.Expected != nil
				chart.Hollow = chart.Hollow || !e.Real
			}
		}
		table.Expected = table.Expected || chart.Expected
		v.Charts = append(v.Charts, chart)
	}
	for _, c := range s.cases {
		if len(c.Effects) == 0 {
			continue
		}
		row := tableRow{Label: c.Name}
		if x, ok := c.Params[Speedup]; ok {
			row.Label = percentOf(x)
		}
		low, high := 0, 0
		for i, m := range r.withEffects() {
			e, ok := c.Effects[m.Name]
			if !ok {
				row.Cells = append(row.Cells, numberView{Text: "not measured", Tone: "none"})
				continue
			}
			cell := numberView{Text: noEffect, Interval: interval(e.Low, e.High), Tone: m.tone(e)}
			if e.Real {
				cell.Text = signed(e.Percent) + " %"
			}
			if e.Expected != nil {
				cell.Expected = signed(*e.Expected)
			}
			row.Cells = append(row.Cells, cell)
			if i == 0 || e.N < low {
				low = e.N
			}
			high = max(high, e.N)
		}
		row.N = span(low, high)
		table.Rows = append(table.Rows, row)
	}
	v.Table = table
	return v
}

// metricCards shows cases that stand in no group: a card a metric, a bar a case.
func (r *Report) metricCards(subjects []subject) []cardView {
	var cards []cardView
	for i, m := range r.Metrics {
		var cases []Case
		for _, s := range subjects {
			c := s.cases[0]
			c.Name = s.name
			cases = append(cases, c)
		}
		id := func(k int) string {
			if i == 0 {
				return fmt.Sprintf("s%d", k+1)
			}
			return ""
		}
		b := bars(m, cases, id, func(k int) string { return subjects[k].search() })
		b.Title, b.Better = "", ""
		cards = append(cards, cardView{ID: fmt.Sprintf("m%d", i+1), Name: m.title(), Facts: []string{m.Better + " is better"}, Bars: []barsView{b}})
	}
	return cards
}

func bars(m Metric, cases []Case, id, search func(int) string) barsView {
	v := barsView{Title: m.title(), Better: m.Better + " is better"}
	axis := valueScale(m, cases)
	for i, c := range cases {
		value, measured := c.Values[m.Name]
		e, changed := c.Effects[m.Name]
		row := barRow{Label: c.Name, ID: id(i), Search: search(i), Tone: "base", N: fmt.Sprint(max(value.N, e.N)), Value: "not measured"}
		if measured {
			row.Value = withUnit(value.Value, m.Unit)
			if value.Low != 0 || value.High != 0 {
				row.Interval = "[" + figure(value.Low) + ", " + figure(value.High) + "]"
			}
		}
		switch {
		case changed && e.Real:
			row.Effect, row.EffectInterval = signed(e.Percent)+" %", interval(e.Low, e.High)
			row.Tone = m.tone(e)
		case changed:
			row.Effect, row.Tone = noEffect, "none"
			if !math.IsInf(e.Low, -1) || !math.IsInf(e.High, 1) {
				row.EffectInterval = interval(e.Low, e.High)
			}
		case c.Baseline:
			row.Effect = baselined
		}
		row.Bar = axis.bar(value, measured, row.Tone)
		v.Rows = append(v.Rows, row)
	}
	return v
}

// breakable lets a long name break where its parts end, but no number, and escapes it.
func breakable(name string) template.HTML {
	var b strings.Builder
	for i, r := range name {
		b.WriteString(template.HTMLEscapeString(string(r)))
		if rest := name[i:]; (r == '.' || r == '/') && len(rest) > 1 && !strings.ContainsAny(rest[1:2], "0123456789 ") {
			b.WriteString("<wbr>")
		}
	}
	return template.HTML(b.String())
}

// unbroken keeps a figure and its per cent sign on one line.
func unbroken(s string) string { return strings.ReplaceAll(s, " %", "\u00a0%") }

func interval(low, high float64) string { return "[" + signed(low) + ", " + signed(high) + "]" }

// shellQuote writes a command so that a shell reads it back.
func shellQuote(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]{}!#~\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}
