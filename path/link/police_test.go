package link

import (
	"testing"
	"time"
)

// A policer lets pass its bucket and then its rate, drops the rest, and delays nothing.
func TestPolice(t *testing.T) {
	// 8 Mbit/s are 1000 bytes a ms; 1000 bytes come every 0.5 ms: a bucket of 20000 lasts for 38 to 40 of them, for it fills
	// meanwhile, and then every second one passes.
	const n = 240
	_, due := draws(Conditions{Delay: 3 * time.Millisecond, Police: 8e6, Bucket: 20_000}, 1, n, time.Millisecond/2, 1000)
	passed, first := 0, -1
	for i, d := range due {
		if d < 0 {
			if first < 0 {
				first = i
			}
			continue
		}
		passed++
		if want := int64(i)*int64(time.Millisecond/2) + int64(3*time.Millisecond); d != want {
			t.Fatalf("packet %d is due at %v, want %v", i, time.Duration(d), time.Duration(want))
		}
	}
	// 20 at first, and one a ms.
	if want := 20 + n/2; passed < want-1 || passed > want+1 || first < 38 || first > 41 {
		t.Errorf("%d passed, the first drop is of packet %d", passed, first)
	}
	for _, c := range []Conditions{{Police: -1}, {Police: 5}, {Bucket: 5000}, {Police: 1e6, Bucket: 100}} {
		if c.Check() == nil {
			t.Errorf("%+v passes", c)
		}
	}
}
