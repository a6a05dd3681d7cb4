package accesslog

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	at := time.Date(2000, 10, 10, 20, 55, 36, 0, time.UTC)
	for line, want := range map[string]Entry{
		// The example of Apache's documentation.
		`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`:       {at, "GET", "/apache_pb.gif", 200},
		`127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 226 "-" "-"`:                   {at, "", "", 0},
		`h - - [10/Oct/2000:13:55:36 -0700] "POST /a HTTP/2.0" 503 0 "http://x/" "Mozilla/5.0 (X11)"`: {at, "POST", "/a", 503},
		`[2000-10-10T20:55:36.000Z] "GET /b HTTP/1.1" 200 - 0 5 "-" "curl"`:                           {at, "GET", "/b", 200},
		`{"level":"info","ts":"2000-10-10T13:55:36-07:00","request":"x"}`:                             {Time: at},
		`2000-10-10T20:55:36Z`: {Time: at},
	} {
		e, err := Parse(line)
		if err != nil || !e.Time.Equal(want.Time) || e.Method != want.Method || e.URI != want.URI || e.Status != want.Status {
			t.Errorf("%s\n  gives %+v, %v", line, e, err)
		}
	}
	for _, line := range []string{"", "hello", "[10/Foo/2000:13:55:36 -0700]", `"GET / HTTP/1.1" 200`} {
		if e, err := Parse(line); err == nil {
			t.Errorf("%q gives %+v", line, e)
		}
	}
}

func TestTimes(t *testing.T) {
	got, err := Times("log", strings.NewReader("[10/Oct/2000:13:55:36 -0700]\n\n[10/Oct/2000:13:55:36 -0700]\n[10/Oct/2000:13:55:38 -0700]\n"))
	if err != nil || len(got) != 3 || math.Floor(got[0]/1000) != 0 || math.Floor(got[1]/1000) != 0 || math.Floor(got[2]/1000) != 2 || got[0] == got[1] {
		t.Errorf("%v, %v: each somewhere in its second", got, err)
	}
	got, err = Times("log", strings.NewReader("2000-10-10T20:55:36.25Z\n2000-10-10T20:55:36.25Z\n2000-10-10T20:55:36.5Z\n"))
	if err != nil || !slices.Equal(got, []float64{0, 0, 250}) {
		t.Errorf("%v, %v: finer times stay as they are", got, err)
	}
	if _, err := Times("log", strings.NewReader("2000-10-10T20:55:36Z\nnothing\n")); err == nil || !strings.HasPrefix(err.Error(), "log:2: ") {
		t.Errorf("%v: want the line", err)
	}
	if _, err := Times("log", strings.NewReader("# nothing\n")); err == nil {
		t.Error("an empty log passes")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`)
	f.Add(`]["" [2000-10-10T20:55:36Z] "`)
	f.Fuzz(func(t *testing.T, line string) {
		if e, err := Parse(line); err == nil && e.Time.IsZero() {
			t.Errorf("%q: neither a time nor an error", line)
		}
	})
}
