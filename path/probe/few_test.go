package probe

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headway-lab/headway/report"
)

// One exchange has figures and no intervals, which is said once; a few have wide ones, which is warned of.
func TestFewExchanges(t *testing.T) {
	s := site(t)
	try, err := ParseTry("new,keepalive")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n        int
		try      []Variant
		warnings []string
	}{
		{1, nil, nil},
		{2, nil, []string{"a median of 2 exchanges has no interval"}},
		{5, nil, []string{"a median of 5 exchanges has no interval"}},
		{6, nil, nil},
		{4, try, []string{"a median of 4 exchanges has no interval", "effects of 4 pairs have wide intervals"}},
		{6, try, nil},
	} {
		r := probed(t, Options{URL: s.URL + "/", N: c.n, Try: c.try})
		if len(r.Warnings) != len(c.warnings) {
			t.Errorf("%d: %q", c.n, r.Warnings)
			continue
		}
		for i, want := range c.warnings {
			if !strings.Contains(r.Warnings[i], want) {
				t.Errorf("%d: %q, want %q", c.n, r.Warnings[i], want)
			}
		}
		v := r.Cases[0].Values["total"]
		if v.N != c.n || v.Value <= 0 {
			t.Errorf("%d: %+v", c.n, v)
		}
		if plain, bounded := v.Low == 0 && v.High == 0, v.High > 0 && !math.IsInf(v.High, 0); plain != (c.n == 1) || bounded != (c.n >= fewest) {
			t.Errorf("%d: %+v", c.n, v)
		}
		if columns := len(r.Tables[1].Columns); c.try == nil && columns != map[bool]int{true: 3, false: 1}[c.n >= fewest] {
			t.Errorf("%d: %d columns", c.n, columns)
		}
	}
	r := probed(t, Options{URL: s.URL + "/think", N: 1})
	var text, page bytes.Buffer
	if err := r.Text(&text, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	said := text.String()
	if strings.Count(said, "interval") != 1 || !strings.Contains(said, "\nOne run: no intervals.\n") || !strings.Contains(r.Answer, " ms (one exchange): server think time") ||
		strings.Contains(said, "by themselves") || strings.Contains(said, "median") || !strings.Contains(said, "value") {
		t.Errorf("%s", said)
	}
	if strings.Contains(page.String(), "not known") || strings.Contains(page.String(), "Exchanges one after the other") {
		t.Error("the page has intervals, or a line through one point")
	}
}

// The first words of the answer are that answers are none of what was asked for, if so.
func TestStatusComesFirst(t *testing.T) {
	answers := func(location string, statuses ...int) *way {
		w := &way{}
		for _, s := range statuses {
			w.runs = append(w.runs, &one{Answer: &Answer{Status: s}, location: map[bool]string{true: location}[redirects(s)]})
		}
		return w
	}
	named := func(name string, w *way) *way {
		w.Name = name
		return w
	}
	long := "https://example.org/" + strings.Repeat("x", 100)
	for _, c := range []struct {
		ways []*way
		want string
	}{
		{[]*way{answers("", 200, 204, 206)}, ""},
		{[]*way{answers("", 304, 304)}, ""},
		{[]*way{answers("", 404)}, "The answer was 404 Not Found: what follows is the time of an error page. "},
		{[]*way{answers("", 500, 500)}, "Both answers were 500 Internal Server Error: what follows is the time of an error page. "},
		{[]*way{answers("", 599, 599, 599)}, "All 3 answers were 599: what follows is the time of an error page. "},
		{[]*way{answers("", 404, 500, 404)}, "Of 3 answers 2 were 404 Not Found and 1 was 500 Internal Server Error: what follows is the time of an error page. "},
		{[]*way{answers("", 503, 200, 503, 429, 200, 200)}, "Of 6 answers 3 were 200 OK, 2 were 503 Service Unavailable and 1 was 429 Too Many Requests: what follows mixes their times. "},
		{[]*way{answers("/b", 301, 301, 301)}, "All 3 answers were 301 Moved Permanently: what follows is the time of a redirection to /b, which is not followed. "},
		{[]*way{answers(long, 302, 302, 302)}, "All 3 answers were 302 Found: what follows is the time of a redirection to " + long[:59] + "…, which is not followed. "},
		{[]*way{answers("", 300, 300, 300)}, "All 3 answers were 300 Multiple Choices: what follows is the time of a redirection, which is not followed. "},
		{[]*way{answers("/b", 301, 404)}, "Of 2 answers 1 was 301 Moved Permanently and 1 was 404 Not Found: what follows is the time of errors and redirections. "},
		{[]*way{named("h1", answers("", 404, 404)), named("h2", answers("", 404, 404))}, "All 4 answers were 404 Not Found: what follows is the time of an error page. "},
		{[]*way{named("gzip", answers("", 200, 200, 200)), named("br", answers("", 406, 406, 406)), named("zstd", answers("", 406, 200, 200))},
			"With br all 3 answers were 406 Not Acceptable; with zstd of 3 answers 2 were 200 OK and 1 was 406 Not Acceptable: what follows compares these, too. "},
	} {
		if got := caution(c.ways); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
	if got := fmt.Sprint(statuses(answers("/b", 503, 301, 200, 503, 304).good()).warnings()); got !=
		"[1 answer has status 301 Moved Permanently, a redirection to /b, which is not followed: probe that URL 2 answers have status 503 Service Unavailable: the time is that of an error]" {
		t.Error(got)
	}
	r := probed(t, Options{URL: site(t).URL + "/moved", N: 6})
	const want = "All 6 answers were 302 Found: what follows is the time of a redirection to /text, which is not followed. http://"
	var text, page bytes.Buffer
	if err := r.Text(&text, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.Answer, want) || !strings.HasPrefix(text.String(), want) ||
		!strings.Contains(strings.ReplaceAll(page.String(), "<wbr>", ""), "<h1>"+want) {
		t.Errorf("%s\n%s", r.Answer, &text)
	}
}
