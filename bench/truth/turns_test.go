package main

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
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

// A program whose answer is known has turns, and the effect of the experiment is that of the edit, if not exactly so.
func TestTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	var stdout, stderr bytes.Buffer
	args := "-turns 4 -edit-for 100ms -awake=false -program ^seq-2-1$ -site A -step 1ms -speedups 50"
	if code := run(t.Context(), strings.Fields(args), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	line := regexp.MustCompile(`(?m)^seq-2-1 .*$`).FindString(stdout.String())
	effects := regexp.MustCompile(`([-+]\d+\.\d) \[`).FindAllStringSubmatch(line, -1)
	if len(effects) != 4 {
		t.Fatalf("%d effects in\n%s", len(effects), &stdout)
	}
	for i, name := range []string{"the edit", "the same with accounts", "the experiment"} {
		// Without delays, or with twice as many, it were 0 or beyond -60.
		if x, _ := strconv.ParseFloat(effects[i][1], 64); x > -15 || x < -50 {
			t.Errorf("%s: %+.1f where -33 is true, in\n%s", name, x, &stdout)
		}
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
	code := run(ctx, strings.Fields("-turns 10000 -edit-for 20ms -awake=false -program ^seq-2-1$ -site A -step 50us -speedups 50"), out, &stderr, nil)
	if code != 130 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
