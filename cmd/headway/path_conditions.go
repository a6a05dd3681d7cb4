package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/quantity"
	"github.com/headway-lab/headway/path/run"
)

// conditionFlags are the conditions of a path on a command line: each for both directions, or for one.
type conditionFlags struct{ both, up, down map[string]*string }

// conditions says what each flag is, and how it is read.
var conditions = []struct {
	name, usage, like string
	read              func(c *link.Conditions, text string) error
}{
	{"delay", "`TIME` that every packet takes, each way", "125ms", asTime(func(c *link.Conditions) *time.Duration { return &c.Delay })},
	{"jitter", "up to so much `TIME` more, in order", "5ms", asTime(func(c *link.Conditions) *time.Duration { return &c.Jitter })},
	{"loss", "`PERCENT` of the packets that are lost", "1%", asShare(func(c *link.Conditions) *float64 { return &c.Loss })},
	{"bursts", "lose packets in bursts of this mean `TIME`", "20ms", asTime(func(c *link.Conditions) *time.Duration { return &c.Bursts })},
	{"loss-on", "`WHICH` can be lost: data, ack or both (default both)", "", asLossOn},
	{"reorder", "`PERCENT` of the packets that are held back behind others", "0.5%", asShare(func(c *link.Conditions) *float64 { return &c.Reorder })},
	{"reorder-by", "`TIME` by which (default an eighth of the delay, and 1 ms at least)", "3ms", asTime(func(c *link.Conditions) *time.Duration { return &c.ReorderBy })},
	{"rate", "`RATE` of the bottleneck", "10mbit", asRate(func(c *link.Conditions) *float64 { return &c.Rate })},
	{"queue", "`SIZE` of the queue before it (default what it sends in 100 ms)", "64KB", asSize(func(c *link.Conditions) *int { return &c.Queue })},
	{"trace", "`FILE` that says when the bottleneck sends, as mahimahi's do", "", asTrace},
	{"police", "`RATE` above which packets are dropped, without a queue", "10mbit", asRate(func(c *link.Conditions) *float64 { return &c.Police })},
	{"bucket", "`SIZE` that may exceed it at once (default 100 ms of it)", "64KB", asSize(func(c *link.Conditions) *int { return &c.Bucket })},
}

func (x *conditionFlags) add(c *cobra.Command) {
	f := c.Flags()
	x.both, x.up, x.down = map[string]*string{}, map[string]*string{}, map[string]*string{}
	for _, d := range conditions {
		usage := d.usage
		if d.like != "" {
			usage += ", as in " + d.like
		}
		x.both[d.name] = f.String(d.name, "", usage)
	}
	for _, d := range conditions {
		for _, way := range []struct {
			name string
			to   map[string]*string
		}{{"up", x.up}, {"down", x.down}} {
			name := way.name + "-" + d.name
			way.to[d.name] = f.String(name, "", "--"+d.name+", "+way.name+" alone: "+d.usage)
			f.MarkHidden(name)
			if d.name == "trace" {
				c.MarkFlagFilename(name)
			}
		}
	}
	c.MarkFlagFilename("trace")
	for _, name := range []string{"loss-on", "up-loss-on", "down-loss-on"} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions([]string{"data", "ack", "both"}, cobra.ShellCompDirectiveNoFileComp))
	}
}

// read turns the words into conditions.
func (x *conditionFlags) read(c *cobra.Command) (up, down link.Conditions, err error) {
	for _, d := range conditions {
		for _, way := range []struct {
			name string
			one  *string
			to   *link.Conditions
		}{{"up-", x.up[d.name], &up}, {"down-", x.down[d.name], &down}} {
			name, text := way.name+d.name, *way.one
			if !c.Flags().Changed(name) {
				if name, text = d.name, *x.both[d.name]; !c.Flags().Changed(name) {
					continue
				}
			}
			if text == "" {
				return up, down, fmt.Errorf("--%s is empty", name)
			}
			if err := d.read(way.to, text); err != nil {
				return up, down, fmt.Errorf("--%s %w", name, err)
			}
		}
	}
	for _, way := range []struct {
		name string
		c    link.Conditions
	}{{"up", up}, {"down", down}} {
		err := way.c.Check()
		switch {
		case err != nil && up == down:
			return up, down, err
		case err != nil:
			return up, down, fmt.Errorf("%s: %w", way.name, err)
		case way.c.Bursts > 0 && way.c.Loss == 0:
			return up, down, fmt.Errorf("--bursts would be ignored: nothing is lost %s; give --loss, too", way.name)
		case way.c.ReorderBy > 0 && way.c.Reorder == 0:
			return up, down, fmt.Errorf("--reorder-by would be ignored: nothing is held back %s; give --reorder, too", way.name)
		}
	}
	return up, down, nil
}

// says is the conditions in a few words: those that were given.
func (x *conditionFlags) says() string {
	var words []string
	for _, way := range []struct {
		name string
		of   map[string]*string
	}{{"", x.both}, {"up ", x.up}, {"down ", x.down}} {
		for _, d := range conditions {
			text := *way.of[d.name]
			if text == "" {
				continue
			}
			if d.name == "loss" {
				text = strings.TrimSuffix(text, "%") + "%"
			}
			words = append(words, way.name+d.name+" "+text)
		}
	}
	if len(words) == 0 {
		return run.AsItIs
	}
	return strings.Join(words, ", ")
}

func asTime(of func(*link.Conditions) *time.Duration) func(*link.Conditions, string) error {
	return func(c *link.Conditions, s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is no time: want a number and ms or s, as in 125ms", s)
		}
		*of(c) = d
		return nil
	}
}

func asShare(of func(*link.Conditions) *float64) func(*link.Conditions, string) error {
	return func(c *link.Conditions, s string) (err error) {
		*of(c), err = quantity.Share(s)
		return err
	}
}

func asRate(of func(*link.Conditions) *float64) func(*link.Conditions, string) error {
	return func(c *link.Conditions, s string) (err error) {
		*of(c), err = quantity.Rate(s)
		return err
	}
}

func asSize(of func(*link.Conditions) *int) func(*link.Conditions, string) error {
	return func(c *link.Conditions, s string) error {
		n, err := quantity.Size(s)
		*of(c) = int(min(n, math.MaxInt32))
		return err
	}
}

func asLossOn(c *link.Conditions, s string) error {
	on, ok := map[string]link.LossOn{"data": link.Data, "ack": link.Acks, "both": link.All}[s]
	if !ok {
		return fmt.Errorf("%q: want data, ack or both", s)
	}
	c.LossOn = on
	return nil
}

// traces are those that have been read: both directions share one.
var traces = map[string]*link.Trace{}

func asTrace(c *link.Conditions, name string) (err error) {
	if c.Trace = traces[name]; c.Trace != nil {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, plain(err))
	}
	defer f.Close()
	// What can be read only once is for the process that needs it, which is not this one yet.
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s: want a file that can be read twice", name))
	}
	c.Trace, err = link.ReadTrace(name, io.Reader(f))
	traces[name] = c.Trace
	return err
}
