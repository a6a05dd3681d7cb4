package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// TextOptions says what the terminal can show.
type TextOptions struct {
	Width int  // columns; 0 is unlimited. A table that does not fit becomes a list.
	Color bool // ANSI colours; the words say the same without them
}

// Text writes the answer in words, then the table with the leading groups first, then
// the warnings. Effects are in percent of the baseline, with half the width of their interval.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	if err := r.Validate(); err != nil {
		return err
	}
	t := terminal{o: o}
	if r.Answer != "" {
		t.line(t.paint("bold", t.wrap(r.Answer, 0)))
	}
	if r.Question != "" {
		t.line(t.paint("none", t.wrap(r.Question, 0)))
	}
	if alone := r.alone(); alone != nil {
		t.line("")
		t.figures(alone.figures())
		if legend := alone.legend(r); legend != "" {
			t.line(t.paint("none", t.wrap(legend, 0)))
		}
	} else if rows := r.subjects(); len(rows) > 0 {
		header, body := r.rows(rows, &t)
		t.line("")
		t.table(header, body, rows)
		t.line(t.paint("none", t.wrap(r.legend(), 0)))
	} else {
		t.line("")
		t.line("Nothing was measured.")
	}
	for _, figures := range r.tables() {
		t.line("")
		t.line(t.paint("bold", figures.Title))
		t.figures(figures)
	}
	if len(r.Warnings) > 0 {
		t.line("")
		for _, warning := range r.Warnings {
			t.line(t.paint("mixed", "warning: ") + t.wrap(warning, len("warning: ")))
		}
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

// legend says how to read the figures of the table.
func (r *Report) legend() string {
	s := "Effects in percent of the baseline ± half the " + r.confidence() + " interval; " + r.runs() + " runs behind each."
	if r.unseen() {
		s += " From … to: no effect seen, and if there is one it lies between."
	}
	if r.bySpeedup() {
		s = "Columns in percent: how much faster the code is made, virtually. " + s
	}
	return s
}

// unseen is whether the table has an effect that was not seen.
func (r *Report) unseen() bool {
	for _, c := range r.Cases {
		for _, m := range r.Metrics {
			if e, ok := c.Effects[m.Name]; ok && !e.Real && hidden(e) != "" && (r.bySpeedup() || !m.Minor) {
				return true
			}
		}
	}
	return false
}

// rows are the cells of the table: what names the subject, then one row a metric.
func (r *Report) rows(subjects []subject, t *terminal) (header []string, body []textRow) {
	speedups := r.speedups()
	header = []string{"case", "metric", "value", "effect", "n", "verdict"}
	if r.bySpeedup() {
		header = []string{"where", "share", "metric"}
		for _, x := range speedups {
			header = append(header, percentOf(x))
		}
		header = append(header, "n", "verdict")
	}
	for i, s := range subjects {
		for _, m := range r.Metrics {
			name := m.Name
			if m.Unit != "" {
				name += ", " + m.Unit
			}
			if r.bySpeedup() {
				var unseen []Effect
				cells := []string{s.name, s.share(), name}
				low, high, any := 0, 0, false
				for _, x := range speedups {
					cell := ""
					for _, c := range s.cases {
						if e, ok := c.Effects[m.Name]; ok && c.Params[Speedup] == x {
							if cell = t.effect(m, e); !e.Real {
								unseen = append(unseen, e)
							}
							if !any {
								low, high, any = e.N, e.N, true
							}
							low, high = min(low, e.N), max(high, e.N)
						}
					}
					cells = append(cells, cell)
				}
				body = append(body, textRow{i, append(cells, span(low, high), t.paint(s.tone, s.verdict)), unseen})
				continue
			}
			for _, c := range s.cases {
				if m.Minor && len(r.Cases) > 1 {
					continue
				}
				v, measured := c.Values[m.Name]
				e, changed := c.Effects[m.Name]
				if !measured && !changed {
					continue
				}
				label, verdict := s.name, t.paint(s.tone, s.verdict)
				if s.group != nil {
					label += ": " + strings.TrimPrefix(strings.TrimPrefix(c.Name, s.name+" "), s.name+", ")
					if s.group.Verdict == "" { // nobody speaks for the group, so each case for itself
						one := subject{cases: []Case{c}}
						one.judge(r.major())
						verdict = t.paint(one.tone, one.verdict)
					}
				}
				row := []string{label, name, "", "", fmt.Sprint(max(v.N, e.N)), verdict}
				if measured {
					row[2] = figure(v.Value)
					if v.Low != 0 || v.High != 0 {
						row[2] += " ±" + figure((v.High-v.Low)/2)
					}
				}
				if changed {
					row[3] = t.effect(m, e)
				} else if c.Baseline {
					row[3] = baselined
				}
				body = append(body, textRow{subject: i, cells: row})
			}
		}
	}
	return header, body
}

type textRow struct {
	subject int
	cells   []string
	unseen  []Effect // those of its effects that were not seen
}

func (s subject) share() string {
	if v, ok := s.group.Values["share"]; ok {
		return fact("share", v)
	}
	for _, name := range slices.Sorted(maps.Keys(s.group.Values)) {
		return name + " " + fact(name, s.group.Values[name])
	}
	return ""
}

func span(low, high int) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}

// terminal collects lines.
type terminal struct {
	b bytes.Buffer
	o TextOptions
}

func (t *terminal) line(s string) {
	for l := range strings.Lines(s + "\n") {
		t.b.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
}

// wrap breaks s at blanks, not before a "%" and not at no-break spaces, which it
// turns into blanks; lines after the first are indented.
func (t *terminal) wrap(s string, indent int) string {
	room := t.o.Width - indent
	var b strings.Builder
	column := 0
	for _, word := range strings.Split(strings.ReplaceAll(s, " %", "\u00a0%"), " ") {
		width := text.StringWidthWithoutEscSequences(word)
		switch {
		case column == 0:
		case t.o.Width > 0 && column+1+width > room:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = 0
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += width
	}
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

var ansi = map[string]string{"bold": "\x1b[1m", "gain": "\x1b[32m", "harm": "\x1b[31m", "mixed": "\x1b[33m", "none": "\x1b[2m", "base": "\x1b[2m"}

func (t *terminal) paint(tone, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return ansi[tone] + strings.ReplaceAll(s, "\n", "\x1b[0m\n"+ansi[tone]) + "\x1b[0m"
}

// effect is one cell. What was not seen has no figure, only between which ones it would have stayed hidden: narrow or not, that is
// what tells code that is worth nothing from an experiment that was too short.
func (t *terminal) effect(m Metric, e Effect) string {
	if !e.Real {
		return t.paint("none", cmp.Or(hidden(e), noEffect))
	}
	tone := "gain"
	if m.gain(e) < 0 {
		tone = "harm"
	}
	return t.paint(tone, signed(e.Percent)+" "+plusMinus(e.Low, e.High))
}

// table draws the rows, with shorter names if that makes them fit, else as a list.
func (t *terminal) table(header []string, body []textRow, subjects []subject) {
	for _, limit := range []int{0, 60, 48, 40, 34, 28} {
		drawn := t.draw(header, body, limit)
		if t.o.Width == 0 || widest(drawn) <= t.o.Width {
			t.line(drawn)
			return
		}
	}
	t.list(header, body, subjects)
}

// list is for terminals too narrow for columns: the name on a line of its own, then the
// verdict, then a line a metric.
func (t *terminal) list(header []string, body []textRow, subjects []subject) {
	verdict := len(header) - 1
	last := -1
	for _, row := range body {
		if row.subject != last {
			last = row.subject
			s := subjects[last]
			t.line(t.paint("bold", shorten(s.name, t.o.Width)))
			if share := row.cells[1]; header[1] == "share" && share != "" {
				t.line("  " + row.cells[verdict] + ", share " + share)
			} else {
				t.line("  " + row.cells[verdict])
			}
		}
		var parts []string
		cells := t.merge(header, row)
		for i, h := range header[:verdict] {
			cell := cells[i]
			switch {
			case cell == "" || h == "where" || h == "share" || h == "case" && subjects[last].group == nil:
				continue
			case h == "metric" || h == "case":
				cell += ":"
			case h == "n":
				cell = "n=" + cell
			case strings.HasSuffix(h, "%") && cells[i] == row.cells[i]:
				cell = h + " " + cell + ";"
			default:
				cell += ";"
			}
			parts = append(parts, strings.ReplaceAll(cell, " ", "\u00a0"))
		}
		t.line("    " + t.wrap(strings.Join(parts, " "), 4))
	}
}

// merge says once what would be said for every speed-up: that nothing was seen.
func (t *terminal) merge(header []string, row textRow) []string {
	merged, first, all := slices.Clone(row.cells), -1, 0
	for i, h := range header {
		if !strings.HasSuffix(h, "%") || row.cells[i] == "" {
			continue
		}
		if merged[i] = ""; first < 0 {
			first = i
		}
		all++
	}
	if all == 0 || len(row.unseen) < all {
		return row.cells
	}
	said := noEffect + " at any"
	if h := hidden(row.unseen...); h != "" {
		said += ", " + h
	}
	merged[first] = t.paint("none", said)
	return merged
}

// hidden is between which figures effects that were not seen lie, such as "-15 … +3.2"; nothing if that is not known.
func hidden(effects ...Effect) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range effects {
		low, high = min(low, e.Low), max(high, e.High)
	}
	if !isFinite(low) || !isFinite(high) {
		return ""
	}
	return bound(low) + " … " + bound(high)
}

// figures draws a table of plain figures; what does not fit is cut at the right, as
// its last columns say least.
func (t *terminal) figures(v figureView) {
	for columns := len(v.Columns); ; columns-- {
		header := append([]string{""}, v.Columns[:columns]...)
		var body []textRow
		for i, r := range v.Rows {
			body = append(body, textRow{subject: i, cells: append([]string{r.Name}, r.Cells[:columns]...)})
		}
		header[0] = "case" // aligned left
		drawn := t.draw(header, body, 48)
		if columns == 0 || t.o.Width == 0 || widest(drawn) <= t.o.Width {
			t.line(strings.ReplaceAll(strings.Replace(drawn, "case", "    ", 1), "\u00a0", " "))
			if cut := v.Columns[columns:]; len(cut) > 0 {
				t.line(t.paint("none", t.wrap("Not shown for want of room: "+strings.Join(cut, "; ")+". The page and the JSON have them.", 0)))
			}
			return
		}
	}
}

func (t *terminal) draw(header []string, body []textRow, limit int) string {
	w := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	w.SetStyle(style)
	row := func(cells []string) table.Row {
		out := make(table.Row, len(cells))
		for i, c := range cells {
			out[i] = c
		}
		return out
	}
	w.AppendHeader(row(header))
	for i, r := range body {
		cells := slices.Clone(r.cells)
		cells[0] = shorten(cells[0], limit)
		if i > 0 && r.subject == body[i-1].subject && r.cells[0] == body[i-1].cells[0] { // said in the row above
			cells[0], cells[len(cells)-1] = "", ""
			if header[1] == "share" {
				cells[1] = ""
			}
		}
		w.AppendRow(row(cells))
	}
	var columns []table.ColumnConfig
	for i, h := range header {
		if h != "case" && h != "where" && h != "metric" && h != "verdict" {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	w.SetColumnConfigs(columns)
	return w.Render()
}

func widest(s string) int {
	w := 0
	for l := range strings.Lines(s) {
		w = max(w, text.StringWidthWithoutEscSequences(strings.TrimRight(l, " \n")))
	}
	return w
}

// shorten leaves out first the package path, then type arguments, then the start: the
// end tells names apart.
func shorten(name string, limit int) string {
	long := func(s string) bool { return limit > 0 && len([]rune(s)) > limit }
	if !long(name) {
		return name
	}
	if path, rest := splitName(name); path != "" {
		name = "…/" + rest
	}
	if from, to := strings.Index(name, "["), strings.LastIndex(name, "]"); long(name) && from >= 0 && from < to {
		name = name[:from] + "[…]" + name[to+1:]
	}
	if runes := []rune(name); long(name) {
		name = "…" + string(runes[len(runes)-limit+1:])
	}
	return name
}

// splitName parts github.com/a/b/pkg.Func[x/y.T] into github.com/a/b/ and pkg.Func[x/y.T].
func splitName(name string) (path, rest string) {
	end := len(name)
	if i := strings.IndexAny(name, "[( "); i >= 0 {
		end = i
	}
	i := strings.LastIndex(name[:end], "/") + 1
	return name[:i], name[i:]
}
