package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/sim"
	"github.com/headway-lab/headway/sim/scenario"
	"github.com/headway-lab/headway/stage"
)

func newSim() *cobra.Command {
	var (
		out          output
		seed         uint64
		replications int
		requests     int
		trace        int
		traceFile    string
	)
	c := &cobra.Command{
		Use:   "sim [flags] FILE.star",
		Short: "What if requests went another way?",
		Long: `Sim runs networks of servers, queues and balancers in virtual time, and compares
them: the latencies and losses of each case, and the effect against the baseline.

FILE.star is written in Starlark, a small dialect of Python. Networks are
compositions of nodes; times are in milliseconds:

  dyno = lambda: cable(2, queue(delay(20, exponential(100, server("rails")))))

  simulate(arrivals = poisson(1.5), requests = 100000)
  case("random", random(pool(250, dyno)), baseline = True)
  case("least connections", least_connections(pool(250, dyno)))

Every case is run many times, with the same luck for all of them, until its
median and p99 are known to one percent. The figures depend on the file and the
seed alone: not on the machine, and not on the number of processors.

The exit status is 0 if the simulation is complete, 1 if it failed or was
interrupted, 2 if the command line or the file was wrong.`,
		Example: `  headway sim examples/sim/bamboo.star
  headway sim --seed 7 --replications 30 --html bamboo.html examples/sim/bamboo.star
  headway sim --trace 3 --trace-file tied.json examples/sim/tied.star
  headway sim --format json examples/sim/routers.star | jq .answer`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want one scenario file, such as examples/sim/bamboo.star; got %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			src, err := os.ReadFile(args[0])
			if err != nil {
				return usagef("%s cannot be read: %w", args[0], plain(err))
			}
			x, err := scenario.Read(args[0], src)
			if err != nil {
				return usagef("%w", err)
			}
			x.Seed = seed
			if c.Flags().Changed("replications") {
				if replications < 4 {
					return usagef("--replications %d: want at least 4, for an interval", replications)
				}
				x.Least, x.Most = replications, replications
			}
			if c.Flags().Changed("requests") {
				if requests < 8 {
					return usagef("--requests %d: want 8 or more", requests)
				}
				for i := range x.Cases {
					x.Cases[i].Config.Requests = requests
				}
			}
			if trace < 0 || trace > 100_000 {
				return usagef("--trace %d: want 0 to 100000 requests", trace)
			}
			if traceFile != "" && trace == 0 {
				trace = 100
			}
			if err := writable(traceFile); err != nil {
				return usagef("--trace-file %s cannot be written: %w", traceFile, plain(err))
			}
			show := newDisplay(c.ErrOrStderr(), out.quiet)
			begin := time.Now()
			var lock sync.Mutex
			x.Progress = func(done, most int, requests int64) {
				lock.Lock()
				defer lock.Unlock()
				e := stage.Event{Phase: "simulate", Elapsed: time.Since(begin)}
				e.Text = fmt.Sprintf("%d runs, %.3g million requests a second", done, float64(requests)/1e6/max(e.Elapsed.Seconds(), 1e-3))
				e.Total = stage.Expected(e.Elapsed, float64(done)/float64(most))
				show.event(e)
			}
			r, runErr := x.Run(c.Context())
			show.close()
			if r == nil {
				if c.Context().Err() != nil {
					return interrupted(c.Context(), runErr, "nothing was found yet")
				}
				return usagef("%s: %w", args[0], runErr)
			}
			err = out.write(r, c.OutOrStdout(), show.say)
			if trace > 0 && runErr == nil {
				err = errors.Join(err, histories(x, trace, traceFile, out.format == table, c.OutOrStdout(), show.say))
			}
			return errors.Join(err, interrupted(c.Context(), runErr, "these are the replications that were complete"))
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.Uint64Var(&seed, "seed", 1, "`NUMBER` that decides all luck")
	f.IntVar(&replications, "replications", 0, "run every case `N` times; 0 until it is known to 1 %")
	f.IntVar(&requests, "requests", 0, "send `N` requests a run, whatever the file says")
	f.IntVar(&trace, "trace", 0, "print the histories of `N` requests of every case")
	f.StringVar(&traceFile, "trace-file", "", "write histories (of 100, or --trace) for chrome://tracing and Perfetto to `FILE`")
	out.flags(c)
	c.MarkFlagFilename("trace-file", "json")
	return c
}

// histories prints the ways of some requests, and writes them to a file if one is named.
func histories(x sim.Experiment, n int, file string, print bool, w io.Writer, say func(string)) error {
	var all []sim.History
	for _, c := range x.Cases {
		spans, err := x.Trace(c, n)
		if err != nil {
			return fmt.Errorf("--trace: %s: %w", c.Name, err)
		}
		all = append(all, sim.History{Name: c.Name, Spans: spans})
	}
	if file == "" {
		if !print {
			return nil
		}
		for _, h := range all {
			if _, err := fmt.Fprintf(w, "\n%s\n", h.Name); err != nil {
				return err
			}
			if err := sim.PrintTrace(w, h.Spans); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--trace-file: %w", err)
	}
	if err := errors.Join(sim.WriteTrace(f, all), f.Close()); err != nil {
		return fmt.Errorf("--trace-file: %w", err)
	}
	say("wrote " + file)
	return nil
}
