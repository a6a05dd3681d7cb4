// Package lab compares congestion controls over emulated paths: real transfers by the
// kernel's own TCP, from a real HTTP server to a real HTTP client, for every loss and every
// congestion control, by turns.
package lab

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/usage"
)

// Options say what is compared over which paths.
type Options struct {
	RTT  time.Duration // without queueing; half of it on each way
	Loss []float64     // shares from 0 to 1, each a path of its own
	// LossOn says what is lost: "data" (of the server's packets those with payload), "ack" (of the
	// client's those without), or "both" (any packet on either way).
	LossOn string
	CC     []string // of the server; the first is the baseline
	Size   int64    // of what is transferred, in bytes
	N      int      // transfers for each loss and congestion control

	// What else happens to the server's packets; see [link.Conditions].
	Rate    float64 // bit/s, 0 is no bottleneck
	Queue   int     // bytes
	Trace   *link.Trace
	Police  float64 // bit/s, 0 is no policer
	Bucket  int     // bytes
	Bursts  time.Duration
	Jitter  time.Duration
	Reorder float64

	Timeout  time.Duration // of one transfer, which counts with this time then
	Parallel int           // transfers at a time, each over a link of its own; 0 chooses
	Capture  string        // directory for captures of both ends of one transfer of each kind; "" is none
	// Awake keeps idle processors from sleeping meanwhile, see package awake: those of virtual machines wake late.
	Awake    bool
	Seed     uint64
	Progress func(Progress)

	captured *sync.Map // names of files
}

// Progress is how far a lab is.
type Progress struct {
	Done, Total int
	Elapsed     time.Duration
	Left        time.Duration // an estimate; 0 is not known yet
	Last        string        // what was transferred last, in words
}

// most transfers at a time: their links have two threads each, which sleep nearly always.
const most = 60

// check completes the options, or says what is wrong with them.
func (o *Options) check() error {
	switch {
	case o.RTT < 0 || o.RTT > time.Minute:
		return usage.Errorf("--rtt %v: want 0 to 1m", o.RTT)
	case len(o.Loss) == 0:
		return usage.Errorf("--loss is empty: want percents, as in 0,1,2")
	case len(o.CC) == 0:
		return usage.Errorf("--cc is empty: want congestion controls, as in cubic,bbr")
	case o.Size < 1 || o.Size > 1<<40:
		return usage.Errorf("--size %d: want 1 B to 1 TiB", o.Size)
	case o.N < effect.MinN || o.N > 100_000:
		return usage.Errorf("-n %d: want %d to 100000 transfers of each kind; fewer carry no interval", o.N, effect.MinN)
	case o.Timeout <= 0:
		return usage.Errorf("--timeout %v: want more than 0", o.Timeout)
	case o.Parallel < 0 || o.Parallel > 1000:
		return usage.Errorf("--parallel %d: want 1 to 1000, or 0 to choose", o.Parallel)
	}
	if _, ok := lossOn[o.LossOn]; !ok {
		return usage.Errorf("--loss-on %q: want data, ack or both", o.LossOn)
	}
	if twice(o.Loss) {
		return usage.Errorf("--loss names a share twice")
	}
	if twice(o.CC) {
		return usage.Errorf("--cc names a congestion control twice")
	}
	for _, loss := range o.Loss {
		if loss >= 1 {
			return usage.Errorf("--loss 100%%: then nothing arrives")
		}
		toB, toA := o.conditions(loss)
		for _, c := range []link.Conditions{toB, toA} {
			if err := c.Check(); err != nil {
				return &usage.Error{Err: err}
			}
		}
	}
	if o.captured = new(sync.Map); o.Capture != "" {
		if err := os.MkdirAll(o.Capture, 0o777); err != nil {
			return usage.Errorf("--capture: %w", err)
		}
	}
	if o.Parallel == 0 {
		o.Parallel = o.parallel()
	}
	o.Parallel = min(o.Parallel, o.N*len(o.CC)*len(o.Loss))
	return nil
}

func twice[T comparable](all []T) bool {
	for i, x := range all {
		if slices.Contains(all[:i], x) {
			return true
		}
	}
	return false
}

// budget is how much all transfers together may be expected to carry, in bit/s: a tenth of what one
// link can, so that none waits for another's processor.
const budget = 150e6

// parallel chooses how many transfers run at a time.
func (o *Options) parallel() int {
	// Slow start takes seven round trips or so for a page.
	r := float64(o.Size) * 8 / max(7*o.RTT.Seconds(), 1e-3)
	limits := []float64{o.Rate, o.Police}
	if o.Trace != nil {
		limits = append(limits, o.Trace.Rate())
	}
	for _, limit := range limits {
		if limit > 0 {
			r = min(r, limit)
		}
	}
	return min(max(int(budget/r), 1), most)
}

var lossOn = map[string][2]link.LossOn{"data": {link.All, link.Data}, "ack": {link.Acks, link.All}, "both": {link.All, link.All}}

// conditions are those from the client to the server, and back.
func (o *Options) conditions(loss float64) (toServer, toClient link.Conditions) {
	on := lossOn[o.LossOn]
	toServer = link.Conditions{Delay: o.RTT / 2, LossOn: on[0]}
	toClient = link.Conditions{Delay: o.RTT - o.RTT/2, LossOn: on[1], Jitter: o.Jitter, Reorder: o.Reorder, Rate: o.Rate, Queue: o.Queue,
		Trace: o.Trace, Police: o.Police, Bucket: o.Bucket}
	if o.LossOn != "ack" {
		toClient.Loss = loss
	}
	if o.LossOn != "data" {
		toServer.Loss = loss
	}
	if loss > 0 {
		toServer.Bursts, toClient.Bursts = o.Bursts, o.Bursts
	}
	return toServer, toClient
}

// cell is one loss and one congestion control.
type cell struct {
	loss float64
	cc   string
}

func (c cell) String() string { return c.cc + " at " + percent(c.loss) + " loss" }

func percent(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", 100*share), "0"), ".") + " %"
}

// cells in the order of the report: by loss, and in each the congestion controls as they were named.
func (o *Options) cells() []cell {
	var all []cell
	for _, loss := range o.Loss {
		for _, cc := range o.CC {
			all = append(all, cell{loss, cc})
		}
	}
	return all
}

// job is one transfer that is to be made.
type job struct{ cell, round int }

// jobs in the order in which they begin. Congestion controls of one path take turns. Paths with much
// loss take long: they run ahead, so that nobody waits for the last of them alone.
func (o *Options) jobs(shuffle func(n int, swap func(i, j int))) []job {
	rank := slices.Clone(o.Loss)
	slices.Sort(rank)
	type turn struct {
		at    float64
		round int
		loss  int
	}
	var turns []turn
	for i, loss := range o.Loss {
		pace := 1.0
		if len(rank) > 1 {
			pace = 1 - .6*float64(slices.Index(rank, loss))/float64(len(rank)-1)
		}
		for r := range o.N {
			turns = append(turns, turn{float64(r) * pace, r, i})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int {
		if a.at < b.at {
			return -1
		} else if a.at > b.at {
			return 1
		}
		return 0
	})
	var all []job
	for _, t := range turns {
		first := len(all)
		for k := range o.CC {
			all = append(all, job{t.loss*len(o.CC) + k, t.round})
		}
		shuffle(len(o.CC), func(i, j int) { all[first+i], all[first+j] = all[first+j], all[first+i] })
	}
	return all
}

var errNothing = errors.New("no transfer was complete")
