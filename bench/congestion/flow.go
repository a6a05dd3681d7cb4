package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/tcpinfo"
)

// flow is what was seen of one endless transfer.
type flow struct {
	rate     float64 // bit/s of payload that the receiver read
	info     tcpinfo.Info
	cc       tcpinfo.Congestion
	lateness histogram.Histogram
	lost, of int64
}

// mss is the payload of a full segment: the MTU less the heads of IP and TCP with its time stamps.
const mss = link.MTU - 20 - 20 - 12

// run sends as much as goes from B to A, and measures what arrives after skip for each.
func (b *bench) one(ctx context.Context, seed uint64, cc string, toB, toA link.Conditions) (*flow, error) {
	l, err := link.NewSeeded(seed, toB, toA)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ln, err := l.B.Listen("tcp4", 80, cc)
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	var sender net.Conn
	accepted := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		c, err := ln.Accept()
		sender = c
		accepted <- err
		if err != nil {
			return
		}
		for page := make([]byte, 1<<17); ; {
			if _, err := c.Write(page); err != nil {
				return
			}
		}
	})
	c, err := l.A.Dial(ctx, "tcp4", 80, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := <-accepted; err != nil {
		return nil, err
	}
	defer sender.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Now()) })()
	read := func(until time.Time) (n int64, err error) {
		c.SetReadDeadline(until)
		n, err = io.Copy(io.Discard, c)
		if e, ok := err.(net.Error); ok && e.Timeout() {
			err = ctx.Err()
		}
		return n, err
	}
	if _, err := read(time.Now().Add(b.skip)); err != nil {
		return nil, err
	}
	_, before := l.Stats()
	begin := time.Now()
	n, err := read(begin.Add(b.each))
	if err != nil {
		return nil, err
	}
	f := &flow{rate: float64(n) * 8 / time.Since(begin).Seconds()}
	_, after := l.Stats()
	f.lost, f.of = after.Lost-before.Lost, after.Subject-before.Subject
	f.lateness.Merge(&after.Late)
	if f.info, err = tcpinfo.Of(sender); err != nil {
		return nil, err
	}
	f.cc, err = tcpinfo.CongestionOf(sender)
	return f, err
}

// all runs the flows of one figure at the same time.
func (b *bench) all(ctx context.Context, cc string, toB, toA link.Conditions) ([]*flow, error) {
	flows := make([]*flow, b.flows)
	errs := make([]error, b.flows)
	var wg sync.WaitGroup
	for i := range flows {
		wg.Go(func() { flows[i], errs[i] = b.one(ctx, b.seed*100+uint64(i), cc, toB, toA) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cc, err)
		}
	}
	return flows, nil
}

// mean of a figure of flows, with its interval.
func mean(flows []*flow, of func(*flow) float64) effect.Estimate {
	x := make([]float64, len(flows))
	for i, f := range flows {
		x[i] = of(f)
	}
	return effect.Of(x, .95, 1)
}

// late is the quantile of how late the link was in all of them, ms.
func late(flows []*flow, q float64) float64 {
	var h histogram.Histogram
	for _, f := range flows {
		h.Merge(&f.lateness)
	}
	return h.Quantile(q) / 1e6
}

func interval(e effect.Estimate, times float64, digits int) string {
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, e.Value*times, digits, e.Low*times, digits, e.High*times)
}
