package causal

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/report"
)

func TestPlaceboWords(t *testing.T) {
	metrics := []*metric{{name: "main.step"}}
	at := func(d, percent, low, high float64, real bool) report.Case {
		return report.Case{Params: map[string]float64{"delayed": d}, Effects: map[string]report.Effect{"main.step": {Percent: percent, Low: low, High: high, Real: real}}}
	}
	for _, c := range []struct {
		cases []report.Case
		want  string
	}{
		{nil, "Too few experiments"},
		{[]report.Case{at(25, .5, -1, 2, false), at(50, -1, -3.25, 1.5, false)}, "change nothing, as it should be: an effect of more than 3.2%"},
		{[]report.Case{at(25, .5, -1, 2, false), at(50, 50, 8, 130, false)}, "up to 130% would have stayed hidden"},
		{[]report.Case{at(25, 3, 1, 5, true), at(50, -7, -9, -5, true)}, "with 50% of the time time per main.step is 7.0% (5.0 to 9.0) shorter"},
		{[]report.Case{at(25, 3, 1, 5, true), at(50, -7, -19, 5, false)}, "with 25% of the time time per main.step is 3.0% (1.0 to 5.0) longer"},
	} {
		if got := placeboWords(&report.Report{Cases: c.cases}, metrics); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q in it", got, c.want)
		}
	}
}

// Delays that everything shares are paid, and not noticed.
func TestPlacebo(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds and profiles a program")
	}
	// Not beside others: threads that have no processor at times cannot be paid for in virtual time. Other packages' tests
	// may still take them for a while, so it has three goes; delays that are not paid are so in all.
	var off []string
	for range 3 {
		rep := profile(t, Options{Dir: "loop", Throughput: []string{"main.step"}, Placebo: true, Duration: 9 * time.Second})
		if len(rep.Groups) != 1 || rep.Groups[0].Name != "placebo" || rep.Environment.More["placebo"] == "" || !strings.HasPrefix(rep.Question, "Do delays alone") {
			t.Errorf("%q: groups %+v", rep.Question, rep.Groups)
		}
		var n int
		var seconds float64
		if _, err := fmt.Sscanf(rep.Environment.More["delays"], "%d, together %f s", &n, &seconds); err != nil || seconds < .2 {
			t.Errorf("delayed %q: %v", rep.Environment.More["delays"], err)
		}
		if len(rep.Cases) == 0 {
			t.Fatal("no case")
		}
		off = nil
		for _, c := range rep.Cases {
			for _, e := range c.Effects {
				if c.Params["delayed"] != 50 || e.Shared != 0 {
					t.Errorf("%s: %+v", c.Name, e)
				}
				if e.Percent < -20 || e.Percent > 20 {
					off = append(off, fmt.Sprintf("%s: %+v", c.Name, e))
				}
			}
		}
		if len(off) == 0 {
			return
		}
		t.Log(off)
	}
	t.Errorf("three times out of three: %q", off)
}

func TestPlaceboOptions(t *testing.T) {
	o := defaults(Options{Package: ".", Placebo: true})
	if err := check(&o); err != nil || o.Top != 1 || len(o.Speedups) != 2 {
		t.Errorf("%v: %+v", err, o)
	}
	o.Sites = []string{"main.a", "main.b"}
	if err := check(&o); err == nil || !strings.Contains(err.Error(), "--site") {
		t.Errorf("two sites give %v", err)
	}
	o.Sites, o.Speedups = nil, []int{25, 95}
	if err := check(&o); err == nil || !strings.Contains(err.Error(), "95") {
		t.Errorf("95 %% gives %v", err)
	}
}
