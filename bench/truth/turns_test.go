package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What is printed is each column against its own baseline.
func TestTurnsPrint(t *testing.T) {
	twice := func(x float64) []float64 { return []float64{x, x} }
	var out bytes.Buffer
	turns{plain: twice(1000), shortp: twice(500), kept: twice(1100), short: twice(660), sped: twice(770)}.print(&out, Cell{Programs[0], Programs[0].Sites[0], ms1}, 50)
	got := regexp.MustCompile(`[-+]?\d+\.\d+ \[|\d+\.\d\d`).FindAllString(out.String(), -1)
	if want := "1.00 -50.0 [ -40.0 [ -30.0 [ +10.0 ["; strings.Join(got, " ") != want {
		t.Errorf("%q of %s, want %s", got, &out, want)
	}
}

// A program has its turns, and each window some operations. How large effects are is not asked: other tests use the machine, too.
func TestTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	var stdout, stderr bytes.Buffer
	args := "-turns 4 -edit-for 300ms -awake=false -program ^forkjoin-2-1$ -site A -step 1ms -speedups 50"
	if code := run(t.Context(), strings.Fields(args), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	if !regexp.MustCompile(`(?m)^forkjoin-2-1 +1ms +main\.siteA +50% +\d+\.\d\d( +[-+]\d+\.\d \[[-+]\d+\.\d, [-+]\d+\.\d\]){4}$`).MatchString(stdout.String()) {
		t.Errorf("not a row with four effects:\n%s", &stdout)
	}
}

func TestTurnsInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := make(chan struct{})
	out := writer(func(b []byte) {
		if bytes.HasPrefix(b, []byte("program")) {
			close(began)
		}
	})
	go func() {
		select {
		case <-began:
			time.Sleep(time.Second)
			cancel()
		case <-ctx.Done():
		}
	}()
	var stderr bytes.Buffer
	code := run(ctx, strings.Fields("-turns 10000 -edit-for 200ms -awake=false -program ^seq-2-1$ -site A -step 50us -speedups 50"), out, &stderr, nil)
	if code != 130 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
