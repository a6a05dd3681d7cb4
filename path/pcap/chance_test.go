package pcap

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/path/diagnosis"
)

// bernoulli loses each segment with the same probability.
func bernoulli(m *model, luck *dist.Stream) {
	p := .005 + .035*luck.Float64()
	m.lose = func(int, int) bool { return luck.Float64() < p }
}

// shortQueue is a bottleneck with a drop-tail queue in front of it that holds less than a round trip carries.
func shortQueue(m *model, luck *dist.Stream) {
	rate := (.5 + 2*luck.Float64()) * 1e6 // bytes/s
	room := (.05 + .2*luck.Float64()) * rate * 2 * m.delay.Seconds()
	room = max(room, 5000)
	busy := int64(0) // until then
	wait := int64(0)
	m.lose = func(int, int) bool {
		wait = max(busy-m.now, 0)
		if float64(wait)/1e9*rate > room {
			return true
		}
		wait += int64(float64(m.mss+52) / rate * 1e9)
		busy = m.now + wait
		return false
	}
	m.hold = func(int, int) time.Duration { return time.Duration(wait) }
}

// policed drops what a token bucket has nothing for.
func policed(m *model, luck *dist.Stream) {
	rate := (.3 + 1*luck.Float64()) * 1e6 // bytes/s
	size := 20e3 + 80e3*luck.Float64()
	tokens, at := size, int64(0)
	m.lose = func(int, int) bool {
		tokens = min(size, tokens+float64(m.now-at)/1e9*rate)
		at = m.now
		if tokens < float64(m.mss+52) {
			return true
		}
		tokens -= float64(m.mss + 52)
		return false
	}
}

// What loses segments is told from both ends' captures, or not clear: chance is no policer, a short queue or a policer no
// chance, and a short queue no policer. The model's TCP and paths know nothing of what is asked of them, nor how busy this machine is.
func TestChanceQueueOrPolicer(t *testing.T) {
	const n = 20
	for _, k := range []struct {
		name  string
		path  func(*model, *dist.Stream)
		named diagnosis.Cause
		least int // of n that are
		other map[diagnosis.Cause]int
	}{
		{"chance", bernoulli, diagnosis.Loss, n * 9 / 10, map[diagnosis.Cause]int{}},
		{"short queue", shortQueue, diagnosis.NotClear, n * 9 / 10, map[diagnosis.Cause]int{diagnosis.Bottleneck: n, diagnosis.Loss: n / 10}},
		{"policer", policed, diagnosis.Policer, n / 4, map[diagnosis.Cause]int{}},
	} {
		for place, end := range []string{"sender", "receiver"} {
			count := map[diagnosis.Cause]int{}
			for seed := range uint64(n) {
				luck := dist.NewStream(seed, "losses: "+k.name)
				m := &model{
					segments: 300 + int(900*luck.Float64()), mss: 1448, stamps: true, ids: true, place: float64(place), lostBefore: place == 1,
					delay: time.Duration((5 + 45*luck.Float64()) * 1e6), delayed: luck.Float64() < .5,
				}
				k.path(m, luck)
				var b bytes.Buffer
				writeCapture(t, &b, m.run())
				a, err := Analyze(context.Background(), &b, Options{})
				if err != nil || len(a.Connections) != 1 {
					t.Fatal(err, len(a.Connections))
				}
				d := diagnosis.Diagnose(a.Connections[0].Evidence())
				count[d.Cause]++
				if _, ok := k.other[d.Cause]; !ok && d.Cause != k.named && d.Cause != diagnosis.NotClear {
					t.Errorf("%s %d, from the %s's end: %s: %s", k.name, seed, end, d.Cause, d.Sentence)
				}
			}
			t.Logf("%s, from the %s's end: %v", k.name, end, count)
			if count[k.named] < k.least {
				t.Errorf("%s, from the %s's end: %v, want %d of %d %q", k.name, end, count, k.least, n, k.named)
			}
			for c, most := range k.other {
				if count[c] > most {
					t.Errorf("%s, from the %s's end: %v", k.name, end, count)
				}
			}
		}
	}
}
