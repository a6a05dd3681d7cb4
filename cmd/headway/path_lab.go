package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/path/lab"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/quantity"
	"github.com/headway-lab/headway/stage"
)

// labFlags is what the command line of path lab says.
type labFlags struct {
	out                                output
	o                                  lab.Options
	loss                               []string
	size, rate, queue, reorder, lossOn string
	trace, police, bucket              string
}

func newPathLab() *cobra.Command {
	x := labFlags{out: output{html: "headway-lab.html"}}
	c := &cobra.Command{
		Use:   "lab [flags]",
		Short: "Compare congestion controls over emulated paths",
		Long: `Lab transfers a page, again and again, from an HTTP server to a client over a path
that it emulates, for every loss and every congestion control, by turns. The TCP is the
kernel's. It reports how long connecting, the first byte and the whole page took, what
each congestion control changes against the first one, and beside it what the emulator
really did: where that is not what was asked for, the figures are marked unreliable.

It needs no root where user namespaces are allowed.

The exit status is 0 if all transfers were made, 1 if it failed or was interrupted,
2 if the command line was wrong.`,
		Example: `  headway path lab
  headway path lab --rtt 80ms --loss 0,1 --cc cubic,bbr --size 2MB --html lab.html
  headway path lab --rate 10mbit --queue 64KB --loss 0 --size 5MB -n 10
  headway path lab --loss 2 --bursts 20ms --loss-on both`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("path lab takes no %q: it has a server and a client of its own; path run takes a command", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              x.run,
	}
	f := c.Flags()
	f.SortFlags = false
	f.DurationVar(&x.o.RTT, "rtt", 250*time.Millisecond, "round-trip `time` of the path, without queueing")
	f.StringSliceVar(&x.loss, "loss", []string{"0", "0.5", "1", "2", "3", "10"}, "`PERCENTS` of the packets that are lost; each is a path of its own")
	f.StringSliceVar(&x.o.CC, "cc", []string{"cubic", "bbr", "reno"}, "`CONGESTION` controls of the server; the first is the baseline")
	f.StringVar(&x.size, "size", "710KB", "`SIZE` of the page")
	f.IntVarP(&x.o.N, "transfers", "n", 30, "`number` of transfers for each loss and congestion control")
	f.StringVar(&x.rate, "rate", "", "`RATE` of the bottleneck from the server, as in 10mbit (default none)")
	f.StringVar(&x.queue, "queue", "", "`SIZE` of the queue before it (default what it sends in 100 ms)")
	f.StringVar(&x.trace, "trace", "", "`FILE` that says when the bottleneck sends, as mahimahi's do: milliseconds, a packet each line")
	f.StringVar(&x.police, "police", "", "`RATE` above which packets are dropped, without a queue, as in 10mbit")
	f.StringVar(&x.bucket, "bucket", "", "`SIZE` that may exceed it at once (default 100 ms of it)")
	f.Var(newChoice(&x.lossOn, "data", "ack", "both"), "loss-on", "what is lost: `data` of the server, ack of the client, or both, any packet on both ways")
	f.DurationVar(&x.o.Bursts, "bursts", 0, "lose packets in bursts of this mean `time`")
	f.DurationVar(&x.o.Jitter, "jitter", 0, "delay the server's packets by up to this `time` more, in order")
	f.StringVar(&x.reorder, "reorder", "", "`PERCENT` of the server's packets that come late, behind others")
	f.DurationVar(&x.o.Timeout, "timeout", 2*time.Minute, "`time` after which a transfer is given up, and counts with it")
	f.IntVar(&x.o.Parallel, "parallel", 0, "`number` of transfers at a time, each over a path of its own (default as many as do not disturb each other, at most 60)")
	f.BoolVar(&x.o.Awake, "awake", true, "keep idle processors from sleeping meanwhile: those of virtual machines wake late, and packets with them")
	f.StringVar(&x.o.Capture, "capture", "", "`DIR`ectory for captures (pcapng) of one transfer of each kind, at the server and at the client")
	f.Uint64Var(&x.o.Seed, "seed", 1, "`NUMBER` that decides the order and what is lost; what TCP makes of it varies")
	x.out.flags(c)
	x.lossOn = "data"
	c.MarkFlagFilename("trace")
	c.MarkFlagDirname("capture")
	for name, words := range map[string][]string{
		"loss-on": {"data", "ack", "both"}, "cc": {"cubic", "bbr", "reno"},
	} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func (x *labFlags) run(c *cobra.Command, _ []string) error {
	if err := x.read(); err != nil {
		return usagef("%w", err)
	}
	if err := x.out.check(); err != nil {
		return err
	}
	if done, code, err := link.Enter(c.Context()); err != nil {
		return err
	} else if done {
		return ended(code)
	}
	show := newDisplay(c.ErrOrStderr(), x.out.quiet)
	defer show.close()
	x.o.Progress = func(p lab.Progress) {
		e := stage.Event{Phase: "transfer", Text: fmt.Sprintf("%d of %d; %s", p.Done, p.Total, p.Last), Elapsed: p.Elapsed}
		if p.Left > 0 {
			e.Total = p.Elapsed + p.Left
		}
		show.event(e)
	}
	r, runErr := lab.Run(c.Context(), x.o)
	show.close()
	if r == nil {
		return interrupted(c.Context(), runErr, "nothing was measured yet")
	}
	err := x.out.write(r, c.OutOrStdout(), show.say)
	return errors.Join(err, interrupted(c.Context(), runErr, "this is what was measured until then"))
}

// read turns words into options.
func (x *labFlags) read() (err error) {
	x.o.LossOn = x.lossOn
	for _, s := range x.loss {
		p, err := quantity.Share(s)
		if err != nil {
			return fmt.Errorf("--loss %w", err)
		}
		x.o.Loss = append(x.o.Loss, p)
	}
	if x.o.Size, err = quantity.Size(x.size); err != nil {
		return fmt.Errorf("--size %w", err)
	}
	for _, f := range []struct {
		name, text string
		to         *float64
	}{{"rate", x.rate, &x.o.Rate}, {"police", x.police, &x.o.Police}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = quantity.Rate(f.text); err != nil {
			return fmt.Errorf("--%s %w", f.name, err)
		}
	}
	for _, f := range []struct {
		name, text string
		to         *int
	}{{"queue", x.queue, &x.o.Queue}, {"bucket", x.bucket, &x.o.Bucket}} {
		if f.text == "" {
			continue
		}
		n, err := quantity.Size(f.text)
		if err != nil {
			return fmt.Errorf("--%s %w", f.name, err)
		}
		*f.to = int(min(n, math.MaxInt32))
	}
	if x.trace != "" {
		file, err := os.Open(x.trace)
		if err != nil {
			return fmt.Errorf("--trace %s: %w", x.trace, plain(err))
		}
		defer file.Close()
		if x.o.Trace, err = link.ReadTrace(x.trace, file); err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
	}
	if x.reorder != "" {
		if x.o.Reorder, err = quantity.Share(x.reorder); err != nil {
			return fmt.Errorf("--reorder %w", err)
		}
	}
	return nil
}
