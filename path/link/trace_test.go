package link

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func trace(t interface{ Fatal(...any) }, text string) *Trace {
	x, err := ReadTrace("trace", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// One packet of full size goes at each time, and those for which nobody waits are lost; small ones share
// a time, large ones need several.
func TestTrace(t *testing.T) {
	x := trace(t, "2\n2\n5\n\n10\n")
	ms := int64(time.Millisecond)
	for _, c := range []struct {
		name  string
		comes []int64 // ms
		bytes int
		sent  []int64
	}{
		{"one a time", []int64{0, 0, 0, 0, 0, 0}, 1500, []int64{2, 2, 5, 10, 12, 12}},
		{"unused times are lost", []int64{0, 4, 11, 20}, 1500, []int64{2, 5, 12, 20}},
		{"at the very time", []int64{2, 2, 2, 10, 10}, 1500, []int64{2, 2, 5, 10, 12}},
		{"small ones share", []int64{0, 0, 0, 0, 0}, 748, []int64{2, 2, 2, 2, 5}},
		{"large ones go in parts", []int64{0, 0}, 3004, []int64{2, 10}},
		{"much later", []int64{1000, 1000, 100_000_003}, 1500, []int64{1000, 1002, 100_000_005}},
		{"what is left of a time is lost with it", []int64{0, 3}, 700, []int64{2, 5}},
	} {
		var q cursor
		for i, at := range c.comes {
			if got := q.send(x, c.bytes, at*ms); got != c.sent[i]*ms {
				t.Errorf("%s: packet %d is sent at %v, want %d ms", c.name, i, time.Duration(got), c.sent[i])
			}
		}
	}
	if want := 4 * 1504 * 8 / .010; math.Abs(x.Rate()-want) > 1e-6 {
		t.Errorf("rate %g, want %g", x.Rate(), want)
	}
}

// Against the definition, played through time by time: packets wait in line, and each time sends
// up to 1504 bytes of those that are there.
func TestTraceByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		at := 0
		for range rapid.IntRange(1, 8).Draw(t, "lines") {
			at += rapid.IntRange(0, 4).Draw(t, "gap")
			fmt.Fprintln(&text, at)
		}
		fmt.Fprintln(&text, at+1)
		x := trace(t, text.String())
		var come []int64
		var size []int
		now := int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "packets") {
			now += int64(rapid.IntRange(0, 6).Draw(t, "after")) * int64(time.Millisecond) / 2
			come, size = append(come, now), append(size, rapid.IntRange(20, 1500).Draw(t, "size"))
		}
		want := make([]int64, len(come))
		head, done := 0, 0 // bytes of the first in line that are sent
		for round := int64(0); head < len(come); round++ {
			for _, a := range x.at {
				a += round * x.period()
				for left := opportunity; head < len(come) && come[head] <= a && left > 0; {
					n := min(left, size[head]+header-done)
					left -= n
					if done += n; done == size[head]+header {
						want[head] = a
						head, done = head+1, 0
					}
				}
			}
		}
		var q cursor
		for i := range come {
			if got := q.send(x, size[i], come[i]); got != want[i] {
				t.Fatalf("packet %d is sent at %v, want %v", i, time.Duration(got), time.Duration(want[i]))
			}
		}
	})
}

func TestTracedQueueDropsWhatDoesNotFit(t *testing.T) {
	c := Conditions{Trace: trace(t, "10\n"), Queue: 3000}
	l, _ := newLane(nil, nil, c, seedOf(1))
	defer l.close()
	for range 5 {
		l.admit(make([]byte, 1500), 0)
	}
	l.admit(make([]byte, 1500), int64(11*time.Millisecond)) // one has gone
	if s := l.snapshot(); s.Dropped != 3 || s.Longest != 3000 || l.holding() != 3 {
		t.Errorf("%v, %d held", s, l.holding())
	}
}

func TestBadTraces(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "no times",
		"\n\n":                      "no times",
		"0\n0\n":                    "ends at 0 ms",
		"1\nx\n":                    "trace:2",
		"5\n4\n":                    "before the line above",
		"-1\n":                      "no time in ms",
		"99999999999999999":         "no time in ms",
		strings.Repeat("x", 100000): "no link trace",
	} {
		if _, err := ReadTrace("trace", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	for _, s := range []string{"1\n2\n", "0\n", "9223372036854\n", "1\n1\n1\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadTrace("trace", bytes.NewReader(b))
		if err != nil {
			return
		}
		if !(x.Rate() > 0) {
			t.Errorf("rate %g", x.Rate())
		}
		var c cursor
		last := int64(0)
		for now := int64(0); now < 100; now += 7 {
			sent := c.send(x, 1500, now)
			if sent < now || sent < last {
				t.Fatalf("sent at %d, came at %d, the one before was sent at %d", sent, now, last)
			}
			last = sent
		}
	})
}
