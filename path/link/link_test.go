package link

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"io"
	"math"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
)

func TestMain(m *testing.M) {
	runProgram()
	EnterOrExit()
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

func seedOf(seed uint64) *dist.Stream { return dist.NewStream(seed, "lane") }

func joined(t *testing.T, toB, toA Conditions) *Link {
	t.Helper()
	return joinedBy(t, Config{ToB: toB, ToA: toA, Seed: 1})
}

func joinedBy(t *testing.T, c Config) *Link {
	t.Helper()
	l, err := c.Join()
	if errors.Is(err, ErrForbidden) || errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// datagrams sends n numbered datagrams from A to B, spaced by gap, and returns how long each
// took, in order of number, -1 for those that did not come, and the numbers in the order in which they came.
func datagrams(t *testing.T, l *Link, n, size int, gap time.Duration) (took []time.Duration, order []int) {
	t.Helper()
	var to, from net.PacketConn
	open := func(ns *Namespace) (c net.PacketConn) {
		if err := ns.Do(func() (err error) {
			c, err = net.ListenPacket("udp4", ns.Addr.String()+":0")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		c.(*net.UDPConn).SetReadBuffer(8 << 20)
		return c
	}
	to, from = open(l.B), open(l.A)
	defer to.Close()
	defer from.Close()
	took = make([]time.Duration, n)
	for i := range took {
		took[i] = -1
	}
	begin := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for range n {
			k, _, err := to.ReadFrom(b)
			if err != nil || k < 16 {
				return
			}
			i := int(binary.BigEndian.Uint64(b))
			took[i] = time.Since(begin) - time.Duration(binary.BigEndian.Uint64(b[8:]))
			order = append(order, i)
		}
	}()
	b := make([]byte, size)
	for i := range n {
		binary.BigEndian.PutUint64(b, uint64(i))
		binary.BigEndian.PutUint64(b[8:], uint64(time.Since(begin)))
		if _, err := from.WriteTo(b, to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if gap > 0 {
			time.Sleep(gap)
		}
	}
	to.SetReadDeadline(time.Now().Add(3 * time.Second))
	<-done
	return took, order
}

// No packet comes before its time, all come, in order, and none much later than said by the lane itself.
func TestDelay(t *testing.T) {
	const delay = 50 * time.Millisecond
	l := joined(t, Conditions{Delay: delay}, Conditions{})
	took, order := datagrams(t, l, 300, 100, time.Millisecond)
	var h histogram.Histogram
	for i, d := range took {
		if d < delay {
			t.Errorf("datagram %d took %v", i, d)
		}
		h.Add(int64(d - delay))
	}
	for i, k := range order {
		if i != k {
			t.Fatalf("datagram %d came as number %d", k, i)
		}
	}
	s, _ := l.Stats()
	if s.Packets != 300 || s.Sent != 300 || s.Lost+s.Dropped+s.Refused != 0 {
		t.Errorf("%v", s)
	}
	t.Logf("too late, by the sockets: median %v, p99 %v; by the lane: median %v, p99 %v", time.Duration(h.Quantile(.5)), time.Duration(h.Quantile(.99)),
		time.Duration(s.Late.Quantile(.5)), time.Duration(s.Late.Quantile(.99)))
}

// The share that is lost lies within four standard deviations of a binomial.
func TestLoss(t *testing.T) {
	const n, p = 4000, .1
	l := joined(t, Conditions{Loss: p}, Conditions{})
	took, _ := datagrams(t, l, n, 100, 0)
	s, _ := l.Stats()
	lost := 0
	for _, d := range took {
		if d < 0 {
			lost++
		}
	}
	if d := math.Abs(float64(s.Lost) - p*n); d > 4*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%d of %d lost, want about %g", s.Lost, n, p*n)
	}
	if int64(lost) != s.Lost || s.Packets != n || s.Subject != n {
		t.Errorf("%d did not come; the lane says %v", lost, s)
	}
}

// draws asks a lane about packets at equal gaps, without any kernel.
func draws(c Conditions, seed uint64, n int, gap time.Duration, size int) (l *lane, due []int64) {
	l, err := newLane(nil, nil, c, seedOf(seed))
	if err != nil {
		panic(err)
	}
	defer l.close()
	b := make([]byte, size)
	for i := range n {
		l.admit(b, int64(i)*int64(gap))
		if l.held.len() == 0 {
			due = append(due, -1)
			continue
		}
		due = append(due, l.held.take().due)
	}
	return l, due
}

// Bursts lose the same share in the long run, in stretches of the length that was asked for.
func TestBursts(t *testing.T) {
	const n, gap, p, burst = 2_000_000, 100 * time.Microsecond, .05, 5 * time.Millisecond
	_, due := draws(Conditions{Loss: p, Bursts: burst}, 1, n, gap, 100)
	lost, runs := 0, 0
	for i, d := range due {
		if d < 0 {
			lost++
			if i == 0 || due[i-1] >= 0 {
				runs++
			}
		}
	}
	// There are n x gap / (burst / p) = 2000 bursts, each as long as an exponential draw: the share has a
	// relative standard deviation of about the root of 2 / 2000.
	if share := float64(lost) / n; math.Abs(share/p-1) > 4*math.Sqrt(2./2000) {
		t.Errorf("share %g, want %g", share, p)
	}
	// A burst shorter than the gap may meet no packet: P = exp(-gap / burst) of one that begins at
	// random, so a run that is seen has a mean of gap / (1 - exp(-gap / burst)).
	want := gap.Seconds() / (1 - math.Exp(-gap.Seconds()/burst.Seconds()))
	if mean := float64(lost) / float64(runs) * gap.Seconds(); math.Abs(mean/want-1) > .12 {
		t.Errorf("bursts of %g s, want %g", mean, want)
	}
}

// The bottleneck sends at its rate, holds what fits and drops the rest.
func TestBottleneck(t *testing.T) {
	// 1000 bytes at 8 Mbit/s take 1 ms; ten come at once every 20 ms, five fit.
	c := Conditions{Rate: 8e6, Queue: 5000, Delay: 7 * time.Millisecond}
	l, err := newLane(nil, nil, c, seedOf(1))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for burst := range 3 {
		at := int64(burst) * int64(20*time.Millisecond)
		for range 10 {
			l.admit(make([]byte, 1000), at)
		}
		for i := range 5 {
			if p := l.held.take(); p.due != at+int64(time.Duration(i+1)*time.Millisecond+c.Delay) {
				t.Errorf("burst %d, packet %d is due at %v", burst, i, time.Duration(p.due))
			}
		}
	}
	if l.stats.Dropped != 15 || l.stats.Longest != 5000 || l.held.len() != 0 {
		t.Errorf("%v", l.stats)
	}
}

func TestJitterKeepsOrderAndReorderingDoesNot(t *testing.T) {
	const gap = 100 * time.Microsecond
	_, due := draws(Conditions{Delay: 10 * time.Millisecond, Jitter: 5 * time.Millisecond}, 1, 10_000, gap, 100)
	for i := 1; i < len(due); i++ {
		if d := due[i] - int64(i)*int64(gap); due[i] < due[i-1] || d < int64(10*time.Millisecond) || d > int64(15*time.Millisecond)+1 {
			t.Fatalf("packet %d is due after %v", i, time.Duration(d))
		}
	}
	_, due = draws(Conditions{Delay: 10 * time.Millisecond, Reorder: .05, ReorderBy: 2 * time.Millisecond}, 1, 10_000, gap, 100)
	late := 0
	for i, d := range due {
		if d -= int64(i) * int64(gap); d == int64(12*time.Millisecond) {
			late++
		} else if d != int64(10*time.Millisecond) {
			t.Fatalf("packet %d is due after %v", i, time.Duration(d))
		}
	}
	if math.Abs(float64(late)-500) > 4*math.Sqrt(10_000*.05*.95) {
		t.Errorf("%d of 10000 held back, want about 500", late)
	}
}

// Segments with payload, those without, and what is not TCP are told apart.
func TestSubject(t *testing.T) {
	segment := func(payload int) []byte {
		b := make([]byte, 52+payload)
		b[0], b[9] = 0x45, unix.IPPROTO_TCP
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		b[20+12] = 8 << 4 // 32 bytes of TCP header
		return b
	}
	udp := make([]byte, 28)
	udp[0], udp[9] = 0x45, unix.IPPROTO_UDP
	for _, c := range []struct {
		name       string
		b          []byte
		data, acks bool
	}{{"data", segment(10), true, false}, {"ack", segment(0), false, true}, {"udp", udp, true, false}, {"cut", segment(10)[:30], true, false}, {"nothing", nil, true, false}} {
		if subject(c.b, Data) != c.data || subject(c.b, Acks) != c.acks || !subject(c.b, All) {
			t.Errorf("%s: data %v, acks %v", c.name, subject(c.b, Data), subject(c.b, Acks))
		}
	}
}

// Real TCP, whole and unharmed, through a bottleneck: the rate is that of the link, headers off.
func TestTransfer(t *testing.T) {
	for _, d := range []Devices{TUN, Veth} {
		t.Run(d.String(), func(t *testing.T) { transfers(t, d) })
	}
}

func transfers(t *testing.T, d Devices) {
	const rate, size = 50e6, 4 << 20
	l := joinedBy(t, Config{ToB: Conditions{Delay: 5 * time.Millisecond}, ToA: Conditions{Delay: 5 * time.Millisecond, Rate: rate, Queue: 256 << 10}, Devices: d})
	if l.Devices() != d {
		t.Errorf("%v devices, want %v", l.Devices(), d)
	}
	for _, congestion := range []string{"cubic", "reno", "bbr"} {
		ln, err := l.B.Listen("tcp", 80, congestion)
		if err != nil {
			t.Logf("%s: %v", congestion, err)
			continue
		}
		body := bytes.Repeat([]byte("headway!"), size/8)
		go func() {
			c, err := ln.Accept()
			if err == nil {
				c.Write(body)
				c.Close()
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		c, err := l.A.Dial(ctx, "tcp", 80, "")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		got, err := io.ReadAll(c)
		took := time.Since(begin)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%s: %d of %d bytes, %v", congestion, len(got), len(body), err)
		}
		c.Close()
		ln.Close()
		cancel()
		if least := time.Duration(size * 8 / rate * 1e9); took < least {
			t.Errorf("%s: %v for what takes %v at least", congestion, took, least)
		} else {
			t.Logf("%s: %v, %.0f %% of the bottleneck", congestion, took, 100*least.Seconds()/took.Seconds())
		}
	}
	_, s := l.Stats()
	if err := l.Err(); err != nil || s.Refused > 0 {
		t.Errorf("%v, %v", err, s)
	}
}

// Closing leaves no descriptor, and through goleak no goroutine.
func TestCloseLeavesNothing(t *testing.T) {
	count := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(d)
	}
	joined(t, Conditions{}, Conditions{}).Close() // what is made once
	before := count()
	for range 5 {
		l := joined(t, Conditions{Delay: time.Second}, Conditions{})
		datagrams(t, l, 0, 100, 0)
		l.Close()
	}
	runtime.GC()
	if after := count(); after > before {
		t.Errorf("%d descriptors more", after-before)
	}
}

func TestConditionsAreChecked(t *testing.T) {
	for _, c := range []Conditions{
		{Delay: -1}, {Loss: 1.5}, {Loss: math.NaN()}, {Jitter: time.Hour}, {Rate: 10}, {Rate: math.NaN()}, {Queue: 1 << 20},
		{Rate: 1e6, Queue: 100}, {Reorder: -1}, {Bursts: -1}, {Loss: 1, Bursts: 1},
	} {
		if _, err := New(c, Conditions{}); err == nil {
			t.Errorf("%+v passes", c)
		}
	}

}
