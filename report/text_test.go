package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for name, r := range samples() {
		for suffix, o := range map[string]TextOptions{"": {}, "-160": {Width: 160}, "-72": {Width: 72}} {
			var b bytes.Buffer
			if err := r.Text(&b, o); err != nil {
				t.Fatal(err)
			}
			golden(t, name+suffix+".txt", b.Bytes())
			if w := widest(b.String()); o.Width > 0 && w > o.Width {
				t.Errorf("%s: %d columns, asked for %d", name, w, o.Width)
			}
		}
	}
}

func TestTextColor(t *testing.T) {
	var plain, colored bytes.Buffer
	_ = simulation().Text(&plain, TextOptions{})
	_ = simulation().Text(&colored, TextOptions{Color: true})
	s := colored.String()
	for _, code := range ansi {
		s = strings.ReplaceAll(s, code, "")
	}
	if s = strings.ReplaceAll(s, "\x1b[0m", ""); s != plain.String() {
		t.Errorf("colour changes the text:\n%s\n%s", s, &plain)
	}
	if !strings.Contains(colored.String(), "\x1b[32m-74.0 ±0.7\x1b[0m") {
		t.Error("an improvement is not green")
	}
}

// What is not real must not look like a win anywhere.
func TestTextNoEffect(t *testing.T) {
	r := simulation()
	e := r.Cases[2].Effects["latency p95"]
	e.Real = false // as false discovery control would have it
	r.Cases[2].Effects["latency p95"] = e
	var b bytes.Buffer
	if err := r.Text(&b, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "least connections, random ties") && (!strings.Contains(line, noEffect) || strings.Contains(line, "-74")) {
			t.Error(line)
		}
	}
}

func TestShorten(t *testing.T) {
	const generic = "github.com/a/b.(*T[go.shape.struct { github.com/c/d.E }]).Step"
	for _, c := range []struct {
		name  string
		limit int
		want  string
	}{
		{"main.f", 0, "main.f"},
		{"main.f", 6, "main.f"},
		{"github.com/a/b.(*T).Step", 20, "…/b.(*T).Step"},
		{generic, 61, "…/b.(*T[go.shape.struct { github.com/c/d.E }]).Step"},
		{generic, 40, "…/b.(*T[…]).Step"},
		{generic, 8, "…]).Step"},
		{"größer als erlaubt", 8, "…erlaubt"},
	} {
		if got := shorten(c.name, c.limit); got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.name, c.limit, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		signed(-24.24): "-24.2", signed(0.04): "0.0", signed(-0.04): "0.0", signed(3): "+3.0", signed(123.4): "+123",
		figure(631): "631", figure(0.39): "0.39", figure(12480.4): "12\u202f480", figure(1234): "1234", figure(0): "0",
		figure(-1234567): "-1\u202f234\u202f567", figure(0.000123456): "0.0001235", plusMinus(-2, 4): "±3.0",
		fact("share", Value{Value: 24.12}): "24.1 %", fact("calls", Value{Value: 7, Unit: "1/s"}): "7\u00a01/s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// One case without intervals has no empty column for them; a case of a group has its own
// verdict, and the name of the group once.
func TestTextSaysNothingEmpty(t *testing.T) {
	plain := func(v float64) map[string]Value { return map[string]Value{"rate": {Value: v, N: 4}} }
	r := &Report{Schema: Schema, Verb: "mirror", Question: "Is it there?", Metrics: []Metric{{Name: "rate", Unit: "records/min", Better: "higher"}},
		Cases: []Case{{Name: "mirror", Baseline: true, Values: plain(7)}}, Warnings: []string{}}
	var b bytes.Buffer
	if err := r.Text(&b, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "interval\n") || strings.Contains(b.String(), "n=1 run") {
		t.Errorf("%s", &b)
	}
	r.Groups = []Group{{Name: "workers"}}
	r.Cases = []Case{{Name: "workers 4", Group: "workers", Baseline: true, Values: plain(4)},
		{Name: "workers 8", Group: "workers", Values: plain(8), Effects: map[string]Effect{"rate": {Percent: 100, Low: 90, High: 110, Confidence: .95, N: 4, Real: true}}}}
	b.Reset()
	if err := r.Text(&b, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "workers: 4") && !strings.HasSuffix(line, " baseline\n") || strings.HasPrefix(line, "workers: 8") && !strings.HasSuffix(line, " better\n") || strings.Contains(line, "workers: workers") {
			t.Errorf("%q", line)
		}
	}
}

// A case that bears its group's name does not say it twice.
func TestTextSaysNamesOnce(t *testing.T) {
	r := &Report{Schema: Schema, Verb: "profile", Question: "What?", Answer: "Too few.", Metrics: []Metric{{Name: "main.step", Unit: "ns", Better: "lower"}},
		Groups: []Group{{Name: "main.work", Verdict: "too few experiments"}},
		Cases:  []Case{{Name: "main.work, as it is", Group: "main.work", Baseline: true, Values: map[string]Value{"main.step": {Value: 2, Low: 1, High: 3, N: 4}}}}}
	var b bytes.Buffer
	if err := r.Text(&b, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\nmain.work: as it is ") {
		t.Errorf("\n%s", &b)
	}
}
