package link

import (
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/histogram"
)

func TestTooLate(t *testing.T) {
	for _, test := range []struct {
		in, late int
		by, rtt  time.Duration
		want     string
	}{
		{in: 0},
		{in: 5, late: 1, by: 10 * time.Millisecond},
		{in: 5, late: 3, by: 10 * time.Millisecond, want: "half of the packets were late by more than 10.0 ms; 3 of 5 packets were late by more than 3.0 ms"},
		{in: 1000, late: 10, by: 10 * time.Millisecond},
		{in: 1000, late: 11, by: 10 * time.Millisecond, want: "11 of 1000 packets were late by more than 3.0 ms"},
		{in: 1000, late: 11, by: 10 * time.Millisecond, rtt: time.Second},
		{in: 1000, late: 11, by: 30 * time.Millisecond, rtt: time.Second, want: "11 of 1000 packets were late by more than 20.0 ms"},
		{in: 1000, late: 600, by: 600 * time.Microsecond, want: "half of the packets were late by more than 0.6 ms"},
	} {
		var h histogram.Histogram
		for i := range test.in {
			by := 50 * time.Microsecond
			if i < test.late {
				by = test.by
			}
			h.Add(int64(by))
		}
		if got := strings.Join(TooLate(&h, test.rtt), "; "); got != test.want {
			t.Errorf("%d of %d by %v: %q, want %q", test.late, test.in, test.by, got, test.want)
		}
	}
}
