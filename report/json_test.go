package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update if this is meant):\n%s", name, diff)
	}
}

// samples are reports of every shape.
func samples() map[string]*Report {
	lone := simulation()
	lone.Answer = "95 % of the requests take up to 631 ms."
	lone.Cases = lone.Cases[:1]
	lone.Cases[0].Baseline = false
	lone.Metrics[1].Minor = true
	unknown := simulation()
	unknown.Answer = "Three runs carry no answer."
	unknown.Cases = unknown.Cases[:2]
	unknown.Cases[1].Values = map[string]Value{"latency p95": {math.NaN(), math.Inf(-1), math.Inf(1), 0, ""}}
	unknown.Cases[1].Effects = map[string]Effect{"latency p95": {Percent: -12, Low: math.Inf(-1), High: math.Inf(1), Confidence: 0.95, N: 3}}
	return map[string]*Report{
		"profile": profile(),
		"sim":     simulation(),
		"unknown": unknown,
		"alone":   lone,
		"empty":   {Schema: Schema, Verb: "profile", Answer: "The program ended before anything was measured."},
	}
}

func TestJSON(t *testing.T) {
	for name, r := range samples() {
		var b bytes.Buffer
		if err := r.JSON(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden(t, name+".json", b.Bytes())
		back, err := Parse(&b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(r, back, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: not the same after a round trip:\n%s", name, diff)
		}
	}
}

// The example that the documentation gives is a report.
func TestDocumentedExample(t *testing.T) {
	doc, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(doc), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	r, err := Parse(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Cases[1].Effects["throughput"]; e.Percent != 30.9 || !e.Real || *e.Expected != 23.6 {
		t.Errorf("got %+v", e)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "line 1: unexpected end of JSON input"},
		{`[1]`, "want struct"},
		{`{}`, `no "schema" field: not a headway report`},
		{`{"schema": 2, "verb": 7}`, "schema 2, this headway reads schema 1"},
		{`{"schema": 1}`, "no verb"},
		{`{"schema": 1, "verb": "sim"} x`, "line 1: invalid character 'x' after top-level value"},
		{"{\"schema\": 1,\n\"verb\": 7}", `line 2: field "verb" holds a number, want string`},
		{`{"schema": 1, "verb": "sim", "metrics": [{"name": "x", "better": "more"}]}`, `metric "x": better is "more", want "lower" or "higher"`},
		{`{"schema": 1, "verb": "sim", "cases": [{"name": "a", "values": {"y": {"value": 1, "low": 0, "high": 2, "n": 3}}}]}`, `case "a": value of "y", which is no metric`},
	} {
		_, err := Parse(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "report: ") {
			t.Errorf("Parse(%s):\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := Parse(strings.NewReader(`{"schema": 1, "verb": "sim", "later": {"a": 1}}`)); err != nil {
		t.Errorf("an unknown field must be skipped: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		spoil func(*Report)
		want  string
	}{
		{func(r *Report) { r.Schema = 0 }, "schema is 0, want 1"},
		{func(r *Report) { r.Metrics[1] = r.Metrics[0] }, `metric "throughput" twice`},
		{func(r *Report) { r.Metrics[0].Name = "" }, "a metric without a name"},
		{func(r *Report) { r.Groups[1].Name = r.Groups[0].Name }, `group "runtime.mallocgc" twice`},
		{func(r *Report) { r.Groups[0].Source.Line = 2000 }, `group "runtime.mallocgc": source has`},
		{func(r *Report) { r.Groups[0].Values["share"] = Value{Value: 5, Low: 6, High: 7} }, "5 is not inside its interval [6, 7]"},
		{func(r *Report) { r.Cases[1].Name = r.Cases[2].Name }, `case "50 %" of group "runtime.mallocgc" twice`},
		{func(r *Report) { r.Cases[1].Group = "?" }, `case "25 %" of group "?": no such group`},
		{func(r *Report) { r.Cases[1].Baseline = true }, `group "runtime.mallocgc" has a second baseline`},
		{func(r *Report) { r.Cases[0].Baseline = false }, "no baseline to have them against"},
		{func(r *Report) { r.Cases[1].Params[Speedup] = math.NaN() }, `parameter "speedup" is NaN`},
		{func(r *Report) { r.Cases[1].Effects["cost"] = Effect{Confidence: 0.95} }, `effect on "cost", which is no metric`},
		{func(r *Report) { r.Cases[1].Effects["throughput"] = Effect{Percent: 3, Low: 1, High: 5} }, "confidence is 0, want a share such as 0.95"},
		{func(r *Report) {
			r.Cases[1].Effects["throughput"] = Effect{Percent: 3, Low: -1, High: 5, Confidence: 0.95, Real: true}
		}, "said to be real, and the interval [-1, 5] contains 0"},
		{func(r *Report) {
			r.Cases[1].Effects["throughput"] = Effect{Percent: math.NaN(), Low: math.NaN(), High: 5, Confidence: 0.95}
		}, "NaN is not inside its interval"},
	} {
		r := profile()
		c.spoil(r)
		err := r.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		for way, show := range map[string]func() error{
			"JSON": func() error { return r.JSON(new(bytes.Buffer)) },
			"Text": func() error { return r.Text(new(bytes.Buffer), TextOptions{}) },
			"HTML": func() error { return r.HTML(new(bytes.Buffer)) },
		} {
			if show() == nil {
				t.Errorf("%s shows a report in which %s", way, c.want)
			}
		}
	}
}

// anyPictures draws plots and tables.
func anyPictures(t *rapid.T, r *Report, word *rapid.Generator[string]) {
	figures := rapid.Float64Range(-1e300, 1e300)
	scales := rapid.SampledFrom([]string{"", "log", "nines"})
	for range rapid.IntRange(0, 2).Draw(t, "plots") {
		p := Plot{Title: word.Draw(t, "title"), X: Axis{"x" + word.Draw(t, "x"), word.Draw(t, "unit"), scales.Draw(t, "scale")}, Y: Axis{Name: "y", Scale: scales.Draw(t, "scale")}}
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			l := Line{Name: word.Draw(t, "line"), Reference: rapid.Bool().Draw(t, "reference")}
			for range rapid.IntRange(0, 30).Draw(t, "points") {
				l.Points = append(l.Points, Point{figures.Draw(t, "x"), figures.Draw(t, "y"), figures.Draw(t, "low"), figures.Draw(t, "high")})
			}
			p.Lines = append(p.Lines, l)
		}
		r.Plots = append(r.Plots, p)
	}
	for range rapid.IntRange(0, 1).Draw(t, "tables") {
		r.Tables = append(r.Tables, Table{Title: word.Draw(t, "title"), Columns: []Column{{word.Draw(t, "column"), ""}}, Rows: []Row{{word.Draw(t, "row"), Figures{figures.Draw(t, "figure")}}}})
	}
}

// anyReport draws reports that pass Validate, with names that try to break out.
func anyReport(t *rapid.T) *Report {
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<script>alert(1)</script>", "a/b.(*T[x/y.Z]).M", "\"'`", "]]>", "\x1b[31m", "]x["}))
	r := &Report{Schema: Schema, Verb: "v" + word.Draw(t, "verb"), Question: word.Draw(t, "q"), Answer: word.Draw(t, "a")}
	for i := range rapid.IntRange(1, 3).Draw(t, "metrics") {
		r.Metrics = append(r.Metrics, Metric{word.Draw(t, "metric") + string(rune('a'+i)), word.Draw(t, "unit"), rapid.SampledFrom([]string{"lower", "higher"}).Draw(t, "better"), rapid.Bool().Draw(t, "minor")})
	}
	grouped := rapid.Bool().Draw(t, "grouped")
	r.Listed = rapid.Bool().Draw(t, "listed")
	anyPictures(t, r, word)
	number := rapid.OneOf(rapid.Float64Range(-200, 200), rapid.SampledFrom([]float64{0, math.Inf(1), math.Inf(-1), 1e300, -1e300, 1e-300}))
	for g := range rapid.IntRange(0, 3).Draw(t, "groups") {
		name := ""
		if grouped {
			name = word.Draw(t, "group") + string(rune('a'+g))
			group := Group{Name: name, Verdict: word.Draw(t, "verdict"), Notes: []string{word.Draw(t, "note")}}
			if rapid.Bool().Draw(t, "source") {
				group.Source = &Source{word.Draw(t, "file"), 7, 6, []string{word.Draw(t, "line"), word.Draw(t, "line")}}
			}
			r.Groups = append(r.Groups, group)
		} else if g > 0 {
			break
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "cases") {
			c := Case{Name: word.Draw(t, "case") + string(rune('a'+i)), Group: name, Baseline: i == 0}
			if rapid.Bool().Draw(t, "speedup") {
				c.Params = map[string]float64{Speedup: rapid.Float64Range(-10, 1e6).Draw(t, "x")}
			}
			for _, m := range r.Metrics {
				low, high := number.Draw(t, "low"), number.Draw(t, "high")
				if low > high {
					low, high = high, low
				}
				if math.IsInf(low, 1) || math.IsInf(high, -1) {
					low, high = -1, 1
				}
				percent := rapid.SampledFrom([]float64{low, high}).Draw(t, "percent")
				if i > 0 && rapid.Bool().Draw(t, "effect") {
					e := Effect{Percent: percent, Low: low, High: high, Confidence: 0.9, N: 3, Real: low > 0 || high < 0}
					if rapid.Bool().Draw(t, "expected") {
						x := rapid.Float64Range(-1e6, 1e6).Draw(t, "classic")
						e.Expected = &x
					}
					if rapid.Bool().Draw(t, "shared") {
						e.Shared = rapid.Float64Range(0, 1e3).Draw(t, "method")
					}
					if c.Effects == nil {
						c.Effects = map[string]Effect{}
					}
					c.Effects[m.Name] = e
				}
				if rapid.Bool().Draw(t, "value") {
					if c.Values == nil {
						c.Values = map[string]Value{}
					}
					c.Values[m.Name] = Value{percent, low, high, 3, ""}
				}
			}
			r.Cases = append(r.Cases, c)
		}
	}
	return r
}

// Whatever passes Validate can be shown, and comes back from JSON and goes there the same.
func TestAnyReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyReport(t)
		var first, second, page bytes.Buffer
		if err := r.JSON(&first); err != nil {
			t.Fatal(err)
		}
		back, err := Parse(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := back.JSON(&second); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Fatalf("not stable:\n%s\n%s", &first, &second)
		}
		for _, o := range []TextOptions{{}, {Width: 1}, {Width: 40, Color: true}, {Width: 120}} {
			if err := r.Text(new(bytes.Buffer), o); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.HTML(&page); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<script>alert", "NaN", "ZgotmplZ"} {
			if strings.Contains(page.String(), bad) {
				t.Fatalf("the page contains %s", bad)
			}
		}
	})
}

// FuzzParse: anything that Parse takes can be shown in all three ways.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 8<<10 {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"schema":1,"verb":"v","metrics":[{"name":"m","better":"lower"}],"groups":[{"name":"g","source":{"file":"f","line":1,"first":1,"lines":["x"]}}],` +
		`"cases":[{"name":"b","group":"g","baseline":true},{"name":"c","group":"g","params":{"speedup":50},"effects":{"m":{"percent":1,"low":null,"high":2,"confidence":0.9,"n":4}}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(bytes.NewReader(b))
		if err != nil {
			return
		}
		for way, show := range map[string]func() error{
			"JSON": func() error { return r.JSON(new(bytes.Buffer)) },
			"Text": func() error { return r.Text(new(bytes.Buffer), TextOptions{Width: 80}) },
			"HTML": func() error { return r.HTML(new(bytes.Buffer)) },
		} {
			if err := show(); err != nil {
				t.Errorf("%s: %v", way, err)
			}
		}
	})
}
