package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Coz gets as far as its experiments. What it says is not asked. With its handler on the
// stacks of goroutines this program crashed within a second.
func TestCoz(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	if _, err := exec.LookPath("coz"); err != nil {
		t.Skip("there is no coz command (Debian's coz-profiler)")
	}
	var stdout, stderr bytes.Buffer
	args := "-predict=false -rounds 0 -coz on -awake=false -program ^serial-parallel$ -site A -step 50us -speedups 50"
	if code := run(t.Context(), strings.Fields(args), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	if strings.Contains(strings.ToLower(stdout.String()), "perf") {
		t.Skipf("the kernel forbids Coz perf_event:\n%s", &stdout)
	}
	if !regexp.MustCompile(`(?m)^serial-parallel +50µs +main\.siteA +50 .* ([-+]\d+\.\d|too few experiments.*|more than Coz's viewer shows)$`).MatchString(stdout.String()) {
		t.Errorf("not a row with Coz's effect:\n%s", &stdout)
	}
}

func TestLastLine(t *testing.T) {
	for said, want := range map[string]string{
		"":                                      "",
		"a\nb\n":                                "b",
		"starting\nfault at 1\n 0: f\n  1: g\n": "fault at 1",
		"a\n\n":                                 "a",
	} {
		if got := lastLine(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
