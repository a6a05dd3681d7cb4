// Package load sends requests to a server on a schedule, whatever the server does, and
// says how long each took from the moment it was due.
//
// That moment matters. A generator that waits for an answer before it sends the next
// request stops sending when the server stalls, and measures one slow request where a
// thousand users would have waited: G. Tene called it coordinated omission. Here
// arrivals are those of users who do not know of each other, and the time that a request
// had to wait for a free connection is part of its latency. The closed loop can be had,
// too, for those who want to know how much a server can do.
//
//	r, err := load.Run(ctx, load.Options{Targets: targets, Rate: 500, Duration: 10 * time.Second})
//	fmt.Println(r.Latency.Quantile(.99))
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headway-lab/headway/wire"
)

// Target is a request that is sent again and again.
type Target struct {
	Name    string // in reports; "" is method and URL
	Request *wire.Request
	Weight  float64 // its share among all targets; 0 is 1
}

// Arrivals says when open-loop requests are due.
type Arrivals int

const (
	// Poisson arrivals are those of many users who do not know of each other.
	Poisson Arrivals = iota
	// Constant arrivals have equal gaps.
	Constant
)

// Options says what to send, when and how. Zero values are the defaults named.
type Options struct {
	Targets []Target
	// InOrder sends the targets one after another, round and round, instead of drawing
	// them by weight.
	InOrder bool

	// Rate of requests in 1/s, all connections together. With Closed there is none: every
	// connection sends its next request when it has the answer to the last.
	Rate     float64
	Arrivals Arrivals
	Closed   bool
	// Times replays: when the requests are due, in order, from the beginning; Rate does not count.
	Times []time.Duration

	Duration time.Duration // during which requests count
	Warmup   time.Duration // before it, during which they are sent and do not count

	Connections int // 64, or 4 over HTTP/2
	Streams     int // requests at a time on a connection over HTTP/2: 16
	// NewConnections makes a connection for every request.
	NewConnections bool
	Timeout        time.Duration // of a request from its departure: 10 s

	Dialer wire.Dialer
	Seed   uint64

	// Progress is called a few times a second; nil is allowed.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Elapsed, Total time.Duration
	Sent, Failed   int64
	Busy           int     // connections or streams that wait for an answer
	Rate           float64 // answers a second, lately
	P99            time.Duration
}

const (
	defaultConnections = 64
	defaultMuxes       = 4
	defaultStreams     = 16
	defaultTimeout     = 10 * time.Second
	maxConnections     = 200_000
	maxRate            = 10_000_000
)

// Check says what is wrong with the options, in words for the one who wrote them.
func (o Options) Check() error {
	switch {
	case len(o.Targets) == 0:
		return errors.New("no URL to send requests to")
	case o.Closed && o.Times != nil:
		return errors.New("a closed loop has no times to replay")
	case !o.Closed && o.Times == nil && !(o.Rate > 0 && o.Rate <= maxRate):
		return fmt.Errorf("rate %g: want more than 0 and at most %d requests a second", o.Rate, maxRate)
	case o.Duration <= 0 || o.Warmup < 0:
		return fmt.Errorf("duration %v after a warm-up of %v: want times above 0", o.Duration, o.Warmup)
	case o.Duration+o.Warmup > 7*24*time.Hour:
		return fmt.Errorf("duration %v: want a week at most", o.Duration)
	case o.Connections < 0 || o.Streams < 0 || o.Connections > maxConnections || max(o.Connections, 1)*max(o.Streams, 1) > maxConnections:
		return fmt.Errorf("%d connections of %d streams: want 1 to %d in all", o.Connections, max(o.Streams, 1), maxConnections)
	case o.Timeout < 0:
		return fmt.Errorf("timeout %v: want one above 0", o.Timeout)
	}
	for _, t := range o.Targets {
		if t.Weight < 0 || math.IsNaN(t.Weight) || math.IsInf(t.Weight, 0) {
			return fmt.Errorf("weight %g of %s: want a number above 0", t.Weight, t.name())
		}
	}
	return nil
}

func (t Target) name() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Request.Method + " " + t.Request.URL.Redacted()
}

// Run sends requests until the duration is over, ctx ends, or the server cannot be reached
// at all. When ctx ends it returns what was measured until then, and the cause.
func Run(ctx context.Context, o Options) (*Result, error) {
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.run(ctx, o)
}
