package causal

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		a, b, c float64
		steady  bool
	}{
		{100, 100, 100, true},
		{102, 100, 98, true},    // next to nothing
		{110, 100, 105, true},   // to and fro
		{100, 115, 95, true},    // to and fro
		{115, 107, 100, false},  // still becomes faster
		{100, 107, 115, false},  // still becomes slower
		{100, 100, 80, false},   // as yet
		{100, 140, 90, false},   // has hardly begun
		{100, 0, 100, false},    // a pause
		{0, 0, 0, false},        // nothing
		{1000, 100, 100, false}, // a jump
	} {
		if got := steady(c.a, c.b, c.c); got != c.steady {
			t.Errorf("%v, %v, %v: %v", c.a, c.b, c.c, got)
		}
	}
}

// What to do when there is no progress, or a benchmark ends too soon.
func TestNoProgress(t *testing.T) {
	r := running(t)
	r.metrics = []*metric{{name: benchmarkLoop}}
	broken := &errEnded{exec.Command("false").Run()}
	for _, c := range []struct {
		test    bool
		load    string
		err     func() error
		has     string
		without string
	}{
		{false, "", func() error { return r.noProgress(time.Second) }, "(a server needs clients: see --load)? Otherwise name", "b.N"},
		{false, "wrk", func() error { return r.noProgress(time.Second) }, "(a server needs clients)? Otherwise name", "--load"},
		{true, "", func() error { return r.noProgress(time.Second) }, "Otherwise, or if the benchmark counts to b.N, name", "benchtime"},
		{true, "", func() error { return r.tooShort(&errEnded{}) }, "-test.benchtime=10m), and one that counts to b.N does not call testing.(*B).Loop", "--load"},
		{false, "", func() error { return r.tooShort(&errEnded{}) }, "ended by itself", "benchtime"},
		{true, "", func() error { return r.tooShort(broken) }, "ended with status 1", "benchtime"},
	} {
		r.o.Test, r.o.Load = c.test, c.load
		if err := c.err(); !strings.Contains(err.Error(), c.has) || strings.Contains(err.Error(), c.without) {
			t.Errorf("%q, want %q in it and not %q", err, c.has, c.without)
		}
	}
	if err := errors.New("else"); r.tooShort(err) != err || r.tooShort(nil) != nil {
		t.Error("another error is changed")
	}
}
