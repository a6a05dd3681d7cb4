package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/model"
)

// loss holds Reno and CUBIC under random loss against the models.
func (b *bench) loss(ctx context.Context) error {
	const rtt = 40 * time.Millisecond
	fmt.Printf("Random loss of data packets, round trip %v, no bottleneck; %d flows of %v each\n", rtt, b.flows, b.each)
	fmt.Println("Mbit/s of payload. Mathis: sqrt(3/2) and, for random loss, 1.31 segments / (rtt sqrt(p)); PFTK with a first timeout of rtt + 200 ms.")
	fmt.Println("The round trip in the models is the smoothed one that the sender measured.")
	fmt.Println()
	fmt.Printf("%8s %-6s %22s %14s %8s %8s %8s %20s %10s %8s\n", "loss", "", "measured", "round trip, ms", "Mathis", "random", "PFTK", "of Mathis, random", "of PFTK", "late p99")
	for _, p := range []float64{.001, .003, .01, .03} {
		for _, cc := range []string{"reno", "cubic"} {
			flows, err := b.all(ctx, cc, link.Conditions{Delay: rtt / 2}, link.Conditions{Delay: rtt / 2, Loss: p, LossOn: link.Data})
			if err != nil {
				return err
			}
			seen := mean(flows, func(f *flow) float64 { return f.info.RTT.Seconds() }).Value
			rate := mean(flows, func(f *flow) float64 { return f.rate })
			mbit := func(segments float64) float64 { return segments * (1 - p) * mss * 8 / 1e6 }
			mathis, random := mbit(model.Mathis(seen, p)), mbit(model.MathisRandom(seen, p))
			pftk := mbit(model.PFTK(seen, p, seen+.2))
			fmt.Printf("%6.1f %% %-6s %22s %14.2f %8.3f %8.3f %8.3f %20s %10.2f %8.2f\n", 100*p, cc, interval(rate, 1e-6, 3), 1e3*seen, mathis, random, pftk,
				interval(rate, 1e-6/random, 2), rate.Value/1e6/pftk, late(flows, .99))
		}
	}
	return nil
}

// bottleneck holds BBR and CUBIC before one against its rate, and BBR's model of the path
// against the path.
func (b *bench) bottleneck(ctx context.Context) error {
	const rtt, rate = 40 * time.Millisecond, 10e6
	bdp := rate * rtt.Seconds() / 8
	fmt.Printf("A bottleneck of 10 Mbit/s, round trip %v, queue of two bandwidth-delay products; %d flows of %v, each alone\n", rtt, b.flows, b.each)
	fmt.Printf("Payload is at most %.1f %% of what a packet takes on the wire.\n\n", 100*mss/float64(link.MTU))
	fmt.Printf("%-6s %8s %24s %26s %26s %20s %8s\n", "", "loss", "filled, % of payload", "BBR's bandwidth, % of it", "BBR's least rtt, ms", "window / BDP", "late p99")
	for _, c := range []struct {
		cc   string
		loss float64
	}{{"cubic", 0}, {"reno", 0}, {"bbr", 0}, {"bbr", .01}, {"bbr", .03}, {"cubic", .01}} {
		flows, err := b.all(ctx, c.cc, link.Conditions{Delay: rtt / 2},
			link.Conditions{Delay: rtt / 2, Rate: rate, Queue: int(2 * bdp), Loss: c.loss, LossOn: link.Data})
		if err != nil {
			return err
		}
		full := rate * mss / link.MTU * (1 - c.loss)
		filled := mean(flows, func(f *flow) float64 { return f.rate / full })
		bandwidth, least := "", ""
		if flows[0].cc.BBR != nil {
			// The kernel counts what segments carry.
			bandwidth = interval(mean(flows, func(f *flow) float64 { return f.cc.BBR.Bandwidth / (rate * mss / link.MTU) }), 100, 1)
			least = interval(mean(flows, func(f *flow) float64 { return f.cc.BBR.MinRTT.Seconds() }), 1e3, 2)
		}
		window := mean(flows, func(f *flow) float64 { return float64(f.info.CongestionWindow) * link.MTU / bdp })
		fmt.Printf("%-6s %6.1f %% %24s %26s %26s %20s %8.2f\n", c.cc, 100*c.loss, interval(filled, 100, 1), bandwidth, least, interval(window, 1, 2), late(flows, .99))
	}
	return nil
}

// start counts the round trips of slow start.
func (b *bench) start(ctx context.Context) error {
	const rtt = 100 * time.Millisecond
	fmt.Printf("Slow start without loss, round trip %v: round trips from the request to the last byte, 12 transfers each\n\n", rtt)
	fmt.Printf("%10s %8s %8s %20s\n", "segments", "theory", "median", "least to greatest")
	l, err := link.New(link.Conditions{Delay: rtt / 2}, link.Conditions{Delay: rtt / 2})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.A.Do(roomy); err != nil {
		return err
	}
	ln, err := l.B.Listen("tcp4", 80, "reno")
	if err != nil {
		return err
	}
	defer ln.Close()
	for _, segments := range []int64{10, 11, 30, 31, 70, 71, 150, 151, 310, 311, 630, 631, 1270} {
		page := make([]byte, segments*mss)
		var took []float64
		for range 12 {
			x, err := b.fetch(ctx, l, ln, page)
			if err != nil {
				return err
			}
			took = append(took, x/rtt.Seconds())
		}
		fmt.Printf("%10d %8d %8.2f %9.2f to %.2f\n", segments, model.SlowStart(segments, 10), quantile(took, .5), quantile(took, 0), quantile(took, 1))
	}
	return nil
}

// roomy lets the client's buffer begin at 1 MB, as the lab does, so that a client that is late to read does not close its window.
func roomy() error {
	return os.WriteFile("/proc/sys/net/ipv4/tcp_rmem", []byte("4096 1048576 33554432"), 0)
}

// fetch asks for a page, and returns how long it took in seconds.
func (b *bench) fetch(ctx context.Context, l *link.Link, ln net.Listener, page []byte) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			c.Write(page)
		}
	})
	c, err := l.A.Dial(ctx, "tcp4", 80, "")
	if err != nil {
		return 0, err
	}
	defer c.Close()
	begin := time.Now()
	if _, err := c.Write([]byte("?")); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(c, make([]byte, len(page)))
	return time.Since(begin).Seconds(), err
}

func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(math.Round(q*float64(len(x)-1)))]
}
