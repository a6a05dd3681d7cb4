package limits

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestProcessors(t *testing.T) {
	for line, want := range map[string][2]time.Duration{
		"cpu  100 20 3 4000 500 6 7 8 90 10": {1240 * time.Millisecond, 46440 * time.Millisecond},
		"cpu  1 2 3 4":                       {40 * time.Millisecond, 100 * time.Millisecond},
		"cpu  1 x":                           {},
		"cpu":                                {},
		"":                                   {},
	} {
		if busy, total := processors(line); busy != want[0] || total != want[1] {
			t.Errorf("%q: %v of %v, want %v of %v", line, busy, total, want[0], want[1])
		}
	}
	if _, err := os.Stat("/proc/stat"); err != nil {
		t.Skip(err)
	}
	busy, total := Processors()
	begin := time.Now()
	for time.Since(begin) < 300*time.Millisecond {
	}
	b, a := Processors()
	if b -= busy; b < 100*time.Millisecond {
		t.Errorf("a third of a second of work is %v", b)
	}
	if a -= total; a < b || a > 4*time.Duration(runtime.NumCPU())*time.Since(begin) {
		t.Errorf("%v of %v busy", b, a)
	}
}

func TestUsable(t *testing.T) {
	most := runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(most + 3))
	if n := Usable(); n < 1 || n > most {
		t.Errorf("%d of %d processors", n, most)
	}
	if n := runtime.GOMAXPROCS(0); n != most+3 {
		t.Errorf("GOMAXPROCS is %d now, it was %d", n, most+3)
	}
}
