package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// However many connections there are, no more than wanted are kept, the largest, and none is forgotten in the count.
func TestConnectionsAreBounded(t *testing.T) {
	const most, all = 100, 5000
	var packets []captured
	at := modelBegin
	put := func(port int, down bool, s segment) {
		at += 1e6
		s.src, s.dst = endpoint{modelReceiver.Addr().As16(), uint16(port)}, endpointOf(modelSender)
		if down {
			s.src, s.dst = s.dst, s.src
		}
		packets = append(packets, captured{at, encode(s, false)})
	}
	for i := range all {
		size := 10
		if i%200 == 7 {
			size = 1000 // 25 large ones
		}
		put(1024+i, false, segment{flags: flagSYN, seq: 1, scale: -1})
		put(1024+i, true, segment{flags: flagSYN | flagACK, seq: 1, ack: 2, scale: -1})
		put(1024+i, true, segment{flags: flagACK | flagFIN, seq: 2, ack: 2, length: size, scale: -1})
		put(1024+i, false, segment{flags: flagACK | flagFIN, seq: 2, ack: 3 + uint32(size), scale: -1})
	}
	var b bytes.Buffer
	writeCapture(t, &b, packets)
	a, err := Analyze(context.Background(), &b, Options{Connections: most})
	if err != nil {
		t.Fatal(err)
	}
	large := 0
	bytes := a.LeftBytes
	for _, c := range a.Connections {
		bytes += c.size()
		if c.size() == 1000 {
			large++
		}
	}
	if len(a.Connections) > most || int64(len(a.Connections))+a.LeftOut != all || large != all/200 {
		t.Errorf("%d are kept, %d of them large, and %d left out", len(a.Connections), large, a.LeftOut)
	}
	if want := int64(all/200*990 + all*10); bytes != want {
		t.Errorf("%d bytes in all, want %d", bytes, want)
	}
}

// The same ports again are another connection.
func TestPortsAreReused(t *testing.T) {
	m := model{segments: 20, mss: 500, delay: 5 * time.Millisecond, isn: 1000, stamps: true}
	first := m.run()
	n := model{segments: 30, mss: 500, delay: 5 * time.Millisecond, isn: 77_000, stamps: true}
	second := n.run()
	for i := range second {
		second[i].at += 10e9
		// The client's numbers must be others as well: they begin a connection.
		d := second[i].data
		if p := d[20:]; binary.BigEndian.Uint16(p) == modelReceiver.Port() {
			binary.BigEndian.PutUint32(p[4:], binary.BigEndian.Uint32(p[4:])+9)
		} else {
			binary.BigEndian.PutUint32(p[8:], binary.BigEndian.Uint32(p[8:])+9)
		}
	}
	var b bytes.Buffer
	writeCapture(t, &b, append(first, second...))
	a, err := Analyze(context.Background(), &b, Options{})
	if err != nil || len(a.Connections) != 2 || a.Connections[0].Down().Bytes != 19*500+250 || a.Connections[1].Down().Bytes != 29*500+250 {
		t.Fatalf("%v, %d connections", err, len(a.Connections))
	}
}

// A capture that begins in the middle, or comes in parts.
func TestBegunBefore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := model{
			segments: 200, mss: 1000, delay: time.Duration(rapid.IntRange(2, 80).Draw(rt, "delay")) * time.Millisecond,
			place: rapid.SampledFrom([]float64{0, .5, 1}).Draw(rt, "place"), isn: rapid.Uint32().Draw(rt, "isn"),
			stamps: rapid.Bool().Draw(rt, "stamps"), ids: rapid.Bool().Draw(rt, "ids"), window: rapid.IntRange(4, 100).Draw(rt, "window"),
		}
		packets := m.run()
		k := rapid.IntRange(3, len(packets)-4).Draw(rt, "first")
		c := analyzed(t, packets[k:])
		for _, f := range []*Flow{c.Up(), c.Down()} {
			if f.AllResent() != 0 || f.Reordered != 0 || f.Restarts != 0 {
				rt.Errorf("nothing was sent again, and %d segments are said to be, %d late", f.AllResent(), f.Reordered)
			}
		}
		if m.ids || m.stamps {
			if got := len(c.doubts()); got == 0 {
				rt.Error("nothing says that the beginning is missing")
			}
		}
		// In two parts it is the same as in one.
		whole := analyzed(t, packets)
		a := NewAnalyzer(Options{})
		for _, part := range [][]captured{packets[:k], packets[k:]} {
			var b bytes.Buffer
			writeCapture(t, &b, part)
			if err := a.Read(context.Background(), "part", &b); err != nil {
				rt.Fatal(err)
			}
		}
		x, y := whole.Main(), a.Finish().Connections[0].Main()
		if x.Bytes != y.Bytes || x.DupAcks != y.DupAcks || x.MinRTT != y.MinRTT || x.RTTCount != y.RTTCount {
			rt.Errorf("in two parts %d bytes, in one %d", y.Bytes, x.Bytes)
		}
	})
}

func TestFilter(t *testing.T) {
	client, server := netip.MustParseAddrPort("10.1.2.3:40000"), netip.MustParseAddrPort("[2001:db8::1]:443")
	for s, want := range map[string]bool{
		"443": true, "80": false, "10.0.0.0/8": true, "2001:db8::/32": true, "10.1.2.3": true, "10.1.2.4": false,
		"10.1.2.3:40000": true, "10.1.2.3:443": false, "[2001:db8::1]:443": true, "[2001:db8::1]": true, "80, 443": true,
	} {
		keep, err := ParseFilter(s)
		if err != nil || keep(client, server) != want {
			t.Errorf("%s: %v, want %v", s, err, want)
		}
	}
	for _, s := range []string{"", "x", "70000", "10.0.0.0/33", "443,", "host.example"} {
		if _, err := ParseFilter(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}

// However much is added, a series stays within its bounds, and its ends stay.
func TestSeries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40_000).Draw(rt, "n")
		b := budget{rapid.IntRange(0, 1000).Draw(rt, "budget")}
		s := series{merge: func(a, b float64) float64 { return max(a, b) }}
		for i := range n {
			s.add(int64(i), float64(i), &b)
		}
		if len(s.all) > seriesMost || s.all[0].at != 0 || s.all[len(s.all)-1].v != float64(n-1) {
			rt.Fatalf("%d points, from %v to %v", len(s.all), s.all[0], s.all[len(s.all)-1])
		}
		for i := range s.all[1:] {
			if s.all[i].at >= s.all[i+1].at || s.all[i].v >= s.all[i+1].v {
				rt.Fatalf("%v before %v", s.all[i], s.all[i+1])
			}
		}
		if b.left < -2048 {
			rt.Fatalf("the budget is overdrawn by %d", -b.left)
		}
	})
}

// A kernel with several processors stamps packets out of turn by microseconds; a clock that was set is another matter.
func TestTimesStepBack(t *testing.T) {
	for _, x := range []struct {
		back int64
		want string
	}{{0, ""}, {9e5, ""}, {31e5, "1 packets bear a time before that of the one before them, by up to 3.1ms; they count as simultaneous"}} {
		m := model{segments: 50, mss: 1000, delay: 20 * time.Millisecond, window: 10}
		packets := m.run()
		k := len(packets) / 2
		packets[k].at = packets[k-1].at - x.back
		var b bytes.Buffer
		writeCapture(t, &b, packets)
		a, err := Analyze(t.Context(), &b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Warnings, "; "); got != x.want {
			t.Errorf("back by %d ns: %q, want %q", x.back, got, x.want)
		}
		if c := a.Connections[0]; c.StepBack != x.back || c.OutOfTime != b2i(x.back > 0) {
			t.Errorf("%d of %d ns, want %d ns", c.OutOfTime, c.StepBack, x.back)
		}
	}
}
