package causal

import (
	"testing"
	"time"
)

// Each process has its share of the time, and of the experiments that an interval needs if that is all.
func TestProcessTurns(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	for _, c := range []struct {
		name    string
		u       turns
		batches int
		now     float64
		over    bool
	}{
		{"one only", turns{runs: 1, share: time.Second, least: 1, now: 1, begun: at(0)}, 100, 50, false},
		{"begun", turns{runs: 4, share: 10 * time.Second, now: 1, begun: at(5)}, 100, 14.9, false},
		{"its time is over", turns{runs: 4, share: 10 * time.Second, now: 1, begun: at(5)}, 100, 15, true},
		{"experiments to come", turns{runs: 4, share: 10 * time.Second, least: 2, now: 2, batch: 2, begun: at(5)}, 3, 6, false},
		{"enough of them", turns{runs: 4, share: 10 * time.Second, least: 2, now: 2, batch: 2, begun: at(5)}, 4, 6, true},
		{"the last goes on", turns{runs: 4, share: 10 * time.Second, least: 2, now: 4, batch: 6, begun: at(5)}, 20, 6, false},
		{"until its time is over", turns{runs: 4, share: 10 * time.Second, least: 2, now: 4, batch: 6, begun: at(5)}, 20, 16, true},
		{"too late for another", turns{runs: 4, share: 10 * time.Second, now: 3, begun: at(80)}, 20, 96, false},
	} {
		c.u.end = at(100)
		if got := c.u.over(c.batches, at(c.now)); got != c.over {
			t.Errorf("%s: over %v", c.name, got)
		}
	}
	r := &runner{o: &Options{Runs: 3, Sites: []string{"a", "b"}}, sites: make([]*site, 2), deadline: time.Now().Add(time.Minute)}
	u := r.turns()
	if u.all() || u.least != 6 || u.share > 20*time.Second || u.share < 19*time.Second {
		t.Errorf("%+v", u)
	}
	for want := 2; want <= 3; want++ {
		if u.next(want, time.Now()); u.now != want || u.batch != want || u.all() != (want == 3) {
			t.Errorf("number %d: %+v", want, u)
		}
	}
}
