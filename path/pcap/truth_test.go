package pcap

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// analyzed is the connection that the packets are of.
func analyzed(t interface {
	testing.TB
}, packets []captured) *Connection {
	var b bytes.Buffer
	writeCapture(t, &b, packets)
	a, err := Analyze(context.Background(), &b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Connections) != 1 {
		t.Fatalf("%d connections, want 1", len(a.Connections))
	}
	return a.Connections[0]
}

// some loses segments on their first transmissions.
func some(first map[int]int) func(int, int) bool {
	return func(k, times int) bool { return times < first[k] }
}

func TestTruth(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name string
		m    model
	}{
		{"nothing lost", model{}},
		{"one lost", model{lose: some(map[int]int{30: 1})}},
		{"three lost in a window", model{lose: some(map[int]int{60: 1, 63: 1, 64: 1})}},
		{"lost twice", model{lose: some(map[int]int{60: 2})}},
		{"two windows", model{lose: some(map[int]int{20: 1, 180: 1})}},
		{"the first", model{lose: some(map[int]int{0: 1})}},
		{"the last", model{lose: some(map[int]int{199: 1})}},
		{"a whole flight", model{lose: func(k, times int) bool { return times == 0 && k >= 30 && k < 70 }}},
		{"late, less than a round trip", model{hold: func(k, times int) time.Duration {
			if k == 40 || k == 77 {
				return 9 * ms
			}
			return 0
		}}},
		{"so late that it is sent again in vain", model{hold: func(k, times int) time.Duration {
			if k == 40 && times == 0 {
				return 70 * ms
			}
			return 0
		}}},
	}
	for _, test := range tests {
		for _, place := range []float64{0, .5, 1} {
			for _, kind := range []string{"stamps ids", "stamps", "ids", "none", "v6 stamps", "upload stamps ids"} {
				t.Run(fmt.Sprintf("%s/%g/%s", test.name, place, kind), func(t *testing.T) {
					m := test.m
					m.segments, m.mss, m.delay, m.place = 200, 1000, 20*ms, place
					m.lostBefore = place == 1
					m.isn = math.MaxUint32 - 50_000 // it wraps
					m.stamps, m.ids = containsWord(kind, "stamps"), containsWord(kind, "ids")
					m.v6, m.upload = containsWord(kind, "v6"), containsWord(kind, "upload")
					checkTruth(t, &m)
				})
			}
		}
	}
}

func containsWord(s, w string) bool { return bytes.Contains([]byte(s), []byte(w)) }

// checkTruth holds what the analysis says against what the model did.
func checkTruth(t interface {
	testing.TB
}, m *model) {
	c := analyzed(t, m.run())
	f := c.Main()
	same := func(what string, got int64, want int) {
		if got != int64(want) {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	if c.Upload() != m.upload {
		t.Fatalf("upload is %v", c.Upload())
	}
	same("bytes", f.Bytes, (m.segments-1)*m.mss+m.length(m.segments-1))
	// What is lost before the capture and leaves no gap, because nothing comes behind it, only the sender's
	// count of packets tells; what is lost there again, nothing.
	lost, again := m.lost, m.fast+m.timeouts+m.afterTimeout
	if m.lostBefore {
		for _, n := range m.times {
			lost, again = lost-max(n-2, 0), again-max(n-2, 0)
		}
	}
	unseen := m.lostBefore && m.timeouts > 0
	if !unseen || m.ids && !m.v6 {
		same("lost", func() int64 { n, _, _, _ := f.Lost(); return n }(), lost)
		// Without any count or clock it cannot be told which of two came late.
		if m.lost > 0 || m.vain == 0 || !m.lostBefore || m.stamps || m.ids && !m.v6 {
			same("sent again", f.AllResent(), again)
			same("in vain", f.Spurious, m.vain)
		}
	}
	if !m.lostBefore {
		same("timeouts and probes", f.Timeouts+f.Probes, m.timeouts)
		same("fast", f.Resent[Fast], m.fast)
	}
	if m.lost == 0 && m.vain == 0 {
		same("reordered", f.Reordered, m.reordered)
	}
	if got, want := time.Duration(f.MinRTT), 2*m.delay; got < want-2*time.Millisecond || got > want+2*time.Millisecond {
		t.Errorf("the least round trip is %v, want %v", got, want)
	}
	if !f.initialOpen && m.initial <= m.segments/4 && m.lose == nil {
		same("initial window", f.Initial, m.initial*m.mss)
	}
}

// Whatever is lost, and wherever it is captured, what was lost is counted.
func TestLossIsCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lost := rapid.MapOf(rapid.IntRange(0, 250), rapid.IntRange(1, 2)).Draw(rt, "lost")
		m := model{
			segments: 300, mss: rapid.IntRange(200, 1440).Draw(rt, "mss"),
			delay:   time.Duration(rapid.IntRange(2, 200).Draw(rt, "delay")) * time.Millisecond,
			place:   rapid.SampledFrom([]float64{0, .3, 1}).Draw(rt, "place"),
			initial: rapid.IntRange(1, 20).Draw(rt, "initial"),
			isn:     rapid.Uint32().Draw(rt, "isn"),
			stamps:  true, ids: rapid.Bool().Draw(rt, "ids"), upload: rapid.Bool().Draw(rt, "upload"),
			lose: some(lost),
		}
		packets := m.run()
		c := analyzed(t, packets)
		f := c.Main()
		if n, _, _, _ := f.Lost(); n != int64(m.lost) {
			rt.Errorf("%d lost, want %d", n, m.lost)
		}
		if got := f.AllResent(); got != int64(m.fast+m.timeouts+m.afterTimeout) {
			rt.Errorf("%d sent again, want %d fast, %d by the timer and %d after it", got, m.fast, m.timeouts, m.afterTimeout)
		}
		if f.Spurious != int64(m.vain) {
			rt.Errorf("%d in vain, want %d", f.Spurious, m.vain)
		}
		if want := int64((m.segments-1)*m.mss + m.length(m.segments-1)); f.Bytes != want {
			rt.Errorf("%d bytes, want %d", f.Bytes, want)
		}
		// Packets that are captured twice change nothing.
		if m.ids {
			var twice []captured
			for _, p := range packets {
				twice = append(twice, p, captured{p.at + 20e3, p.data})
			}
			d := analyzed(t, twice).Main()
			if d.AllResent() != f.AllResent() || d.Bytes != f.Bytes || d.DupAcks != f.DupAcks {
				rt.Errorf("captured twice: %d sent again, %d bytes, %d duplicate acks; else %d, %d, %d", d.AllResent(), d.Bytes, d.DupAcks, f.AllResent(), f.Bytes, f.DupAcks)
			}
		}
	})
}
