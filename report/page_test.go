package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func rendered(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageStructure(t *testing.T) {
	for name, r := range samples() {
		s := rendered(t, r)
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(s, -1) {
			if ids[m[1]] {
				t.Errorf("%s: id %s twice", name, m[1])
			}
			ids[m[1]] = true
		}
		for _, m := range regexp.MustCompile(` (?:href="#|for="|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(s, -1) {
			if !ids[m[1]] {
				t.Errorf("%s: no element %s", name, m[1])
			}
		}
		if outside := regexp.MustCompile(`(?:src|href)="(?:https?:)?//|@import|url\(`).FindString(s); outside != "" {
			t.Errorf("%s: the page asks for something outside: %s", name, outside)
		}
		if got := strings.Count(s, "<h1>"); got != 1 {
			t.Errorf("%s: %d h1", name, got)
		}
		if r.Answer == "" || !strings.Contains(strings.ReplaceAll(s, "<wbr>", ""), "<h1>"+strings.ReplaceAll(r.Answer, " %", "\u00a0%")) {
			t.Errorf("%s: the first line is not the answer", name)
		}
		for _, w := range r.Warnings {
			if !strings.Contains(s, "<li>"+w) {
				t.Errorf("%s: warning is missing: %s", name, w)
			}
		}
	}
}

// What was observed, not tried, has neither runs nor a seed, in whatever form.
func TestObserved(t *testing.T) {
	r := &Report{Schema: Schema, Verb: "path pcap", Answer: "It was lost.", Metrics: []Metric{{Name: "lost", Unit: "%", Better: "lower"}, {Name: "stalls", Better: "lower"}},
		Cases: []Case{{Name: "0", Values: map[string]Value{"lost": {Value: 2, Low: 1, High: 3, N: 1383}, "stalls": {Value: 7, N: 1}}}}}
	for _, c := range []struct {
		observed, intervals bool
		page, text          string
	}{
		{false, true, "<dt>Runs</dt><dd>n=1 to 1383</dd> <dt>Seed</dt><dd>0</dd>", "Intervals at 95 %; n=1 to 1383 runs, or parts of one, behind each."},
		{false, false, "<dt>Runs</dt><dd>n=1</dd> <dt>Seed</dt><dd>0</dd>", "One run: no intervals."},
		{true, true, "", "Intervals at 95 %."},
		{true, false, "", "stalls      7"},
	} {
		r.Observed = c.observed
		if !c.intervals {
			r.Cases[0].Values["lost"] = Value{Value: 2, N: 1}
		} else {
			r.Cases[0].Values["lost"] = Value{Value: 2, Low: 1, High: 3, N: 1383}
		}
		if got := strings.Join(regexp.MustCompile(`<dt>(Runs|Seed)</dt><dd>.*?</dd>`).FindAllString(rendered(t, r), -1), " "); got != c.page {
			t.Errorf("%+v: %s", c, got)
		}
		var b bytes.Buffer
		if err := r.Text(&b, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), c.text+"\n") {
			t.Errorf("%+v: %s", c, &b)
		}
	}
	r.Observed = true
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	if again, err := Parse(&b); err != nil || !again.Observed {
		t.Error(err)
	}
}

func TestPageEscapes(t *testing.T) {
	s := rendered(t, profile())
	if strings.Contains(s, "<b>is not bold") || !strings.Contains(s, "&lt;b&gt;is not bold") {
		t.Error("source text is markup")
	}
}

// The leading site comes first, what would make it worse comes last, and nothing that is
// not real carries the colour or the figure of a win.
func TestPageOrder(t *testing.T) {
	rows := profile().view().Rows
	if rows[0].Name != "iss.(*Propagator[…]).Step" || rows[len(rows)-1].Tone != "harm" {
		t.Errorf("first %s, last %s", rows[0].Name, rows[len(rows)-1].Name)
	}
	for _, r := range rows {
		for _, c := range r.Cells {
			if r.Verdict == noEffect && (c.Tone != "none" || c.Text != noEffect) {
				t.Errorf("%s: %q in the tone %s", r.Name, c.Text, c.Tone)
			}
		}
	}
}
