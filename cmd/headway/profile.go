package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/causal"
)

// runProfile is causal.Run, except in tests.
var runProfile = causal.Run

func newProfile() *cobra.Command {
	var (
		o         = causal.Options{By: causal.ByFunc, Top: 10, Speedups: []int{25, 50, 75, 100}}
		build     []string
		out       = output{html: "headway-profile.html"}
		stayAwake bool
		include   pattern
		exclude   pattern
	)
	c := &cobra.Command{
		Use:   "profile [flags] PACKAGE [-- ARGS]",
		Short: "What if this code were faster?",
		Long: `Profile builds an unmodified Go program, runs it with ARGS, and finds out by
experiment what a faster function, line or call site would be worth: while the
chosen code runs, everything else is held up, so that the code is virtually
faster. The program's progress tells what that changes.

PACKAGE is a directory (of any module), an import path, or path@version. The
program has to have something to do while it is profiled: --load has a shell run
what sends it requests, or it makes its own. It is built and started three times or
so: clients of your own have to connect again.

Progress is what you would like to have more of, or sooner:

  --throughput FUNC         more calls of FUNC a second; FILE:LINE counts a line
  --latency FUNC            less time from FUNC's call to its return
  --latency BEGIN..END      less time from a call of BEGIN to a return of END,
                            which may be on another goroutine
  --latency http            less time a request of net/http, HTTP/1 and HTTP/2

FUNC is written as in a stack trace: main.work, net/http.(*conn).serve. Without
either flag, a program that contains net/http is asked for --latency http. A program
may also mark its progress itself, with the package
github.com/headway-lab/headway/progress.

The table says for each site what each virtual speed-up would change, with the
interval that holds the truth in 95 of 100 cases. Of one that contains 0 only the
ends are shown: no effect was seen, and if there is one it lies between. The same
answer goes to headway-profile.html.

Clients outside the program are taken for ones that wait for an answer before they
ask again (a closed workload: wrk, hey). If they send by a schedule of their own (an
open one: headway load with a rate, wrk2, vegeta), say --open. Each of their connections
has to carry one request at a time, as HTTP/1 does. Clients that send several at a time
on one connection (HTTP/2, gRPC) and think between answer and request make effects
look larger than they are.

Processes of one program differ, most where its goroutines meet often and do little in
between: which thread came to which processor, where its data lies. --runs 4 starts the
program at least four times, so that this averages out, and is in the intervals. Clients outside
have to connect again.

How far to trust it on your program? --placebo runs the same experiments with delays that
everything shares, the chosen code too, which should change nothing: what it shows is the
method's own error, at 25 and 50 % of the time if --speedups does not say otherwise.

Flags for go build follow --build, as many in one argument as you like; quote
what contains blanks; or give --build again:

  --build "-tags=x -race"   --build -tags=x --build "-ldflags='-s -w'"

The results go to standard output, everything else to standard error, the
program's own output with it. Interrupt once to stop and see what was found so
far, twice to quit. The exit status is 0 if the profile is complete, 1 if it
failed or was interrupted, 2 if the command line was wrong.`,
		Example: `  headway profile ./examples/http2
  headway profile --throughput main.handle ./cmd/server -- -listen :8080
  headway profile --load 'wrk -c 8 -d 1h http://localhost:8080/' ./cmd/server
  headway profile --by line --include '^example.org/server' --duration 5m ./cmd/server
  headway profile --open ./cmd/server
  headway profile --runs 4 --throughput main.step --awake ./cmd/pipeline
  headway profile --placebo ./cmd/server
  headway profile --site runtime.newstack --speedups 10,20,40,80 ./examples/http2
  headway profile --test --throughput 'testing.(*B).Loop' ./codec -- -test.run='^$' -test.bench=Decode -test.benchtime=10m
  headway profile --format json --html "" ./cmd/server | jq .answer`,
		Args: func(c *cobra.Command, args []string) error {
			n := c.ArgsLenAtDash()
			if n < 0 {
				n = len(args)
			}
			switch {
			case n == 0:
				return usagef("no package to profile; name one, such as ./cmd/server")
			case n > 1:
				return usagef("one package at a time, not %q and %q; arguments of the program go after --", args[0], args[1])
			}
			return nil
		},
		ValidArgsFunction: completePackage(&o),
		RunE: func(c *cobra.Command, args []string) error {
			o.Package, o.Args = args[0], args[1:]
			o.Include, o.Exclude = include.Regexp, exclude.Regexp
			if o.Placebo && !c.Flags().Changed("speedups") {
				o.Speedups = nil
			}
			if err := checkNumbers(c, o); err != nil {
				return err
			}
			var err error
			if o.BuildFlags, err = splitFlags(build); err != nil {
				return err
			}
			if o.Placebo && out.format == classic {
				return usagef("--format %s has columns for sites, of which --placebo has none; want table or json", classic)
			}
			if err := out.check(); err != nil {
				return err
			}
			if err := checkPackage(c.Context(), &o); err != nil {
				return err
			}
			kept := ""
			if stayAwake {
				k, err := awake.Start()
				if err != nil {
					return fmt.Errorf("--awake: %w", err)
				}
				defer k.Stop()
				kept = k.How()
			}
			show := newDisplay(c.ErrOrStderr(), out.quiet)
			said := make(chan struct{})
			calm := context.AfterFunc(c.Context(), func() {
				show.say("stopping; interrupt again to quit at once")
				close(said)
			})
			o.Events, o.Stdout, o.Stderr = show.event, show.program, show.program
			r, runErr := runProfile(c.Context(), o)
			if !calm() {
				<-said
			}
			show.close()
			if r == nil || len(r.Cases) == 0 {
				return interrupted(c.Context(), runErr, "nothing was found yet")
			}
			if kept != "" {
				r.Environment.More["kept awake"] = kept
			}
			err = out.write(r, c.OutOrStdout(), show.say)
			return errors.Join(err, interrupted(c.Context(), runErr, "this is what was found so far"))
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.Throughput, "throughput", nil, "progress is a call of `FUNC`, or FILE:LINE (repeatable)")
	f.StringArrayVar(&o.Latency, "latency", nil, "progress is less time in `FUNC`, BEGIN..END or http (repeatable)")
	f.Var(newChoice((*string)(&o.By), "func", "line", "callsite"), "by", "what is made faster: `func`, line or callsite")
	f.BoolVar(&o.Cumulative, "cum", false, "a function with all that it calls")
	f.Var(&include, "include", "only sites that match `REGEXP`")
	f.Var(&exclude, "exclude", "no sites that match `REGEXP`")
	f.StringArrayVar(&o.Sites, "site", nil, "try exactly `SITE`, such as main.work or FILE:LINE (repeatable)")
	f.IntVar(&o.Top, "top", o.Top, "try the `N` busiest sites")
	f.IntSliceVar(&o.Speedups, "speedups", o.Speedups, "virtual speed-ups to try, in `PERCENT`")
	f.DurationVar(&o.Duration, "duration", time.Minute, "experiment for `TIME`, after the build")
	f.DurationVar(&o.Window, "window", 0, "one experiment lasts `TIME`; 0 goes by the rate of progress")
	f.IntVar(&o.Runs, "runs", 1, "spread the experiments over `N` processes of the program or more, one after the other")
	f.Uint64Var(&o.Seed, "seed", 1, "`NUMBER` that decides the order of the experiments")
	f.StringVar(&o.Load, "load", "", "a shell `COMMAND` that sends the program its load, started with it and again when it ends")
	f.BoolVar(&o.Open, "open", false, "clients outside send by a schedule of their own, and wait for no answer")
	f.BoolVar(&o.Placebo, "placebo", false, "delay everything evenly, which should change nothing: how far off are effects of this program?")
	f.BoolVar(&stayAwake, "awake", false, "keep idle processors from sleeping: sharper where work is shorter than a wake-up")
	f.BoolVar(&o.Test, "test", false, "profile the package's tests or benchmarks")
	f.StringArrayVar(&build, "build", nil, "`FLAGS` for go build (repeatable)")
	f.StringVar(&o.Go, "go", "", "the go `COMMAND` to build with (default go, from PATH)")
	out.flags(c, classic)
	completeFlags(c)
	return c
}

func checkNumbers(c *cobra.Command, o causal.Options) error {
	switch {
	case o.Top < 1:
		return usagef("--top %d: want at least 1", o.Top)
	case o.Duration <= 0:
		return usagef("--duration %v: want more than 0", o.Duration)
	case o.Runs < 1 || o.Runs > 100:
		return usagef("--runs %d: want 1 to 100", o.Runs)
	case o.Window < 0 || o.Window > o.Duration:
		return usagef("--window %v: want no more than --duration %v", o.Window, o.Duration)
	case len(o.Speedups) == 0 && !o.Placebo:
		return usagef("--speedups: want at least one")
	case o.Placebo && (len(o.Sites) > 0 || c.Flags().Changed("top")):
		return usagef("--placebo delays everything alike: it has no use for --site or --top")
	case len(o.Sites) > 0 && c.Flags().Changed("top"):
		return usagef("--site says which sites to try; --top has nothing to choose")
	}
	for _, s := range o.Speedups {
		if s < 1 || s > 100 {
			return usagef("--speedups %d: want 1 to 100 percent; 0 is always tried as the baseline", s)
		}
		if o.Placebo && s > causal.MostPlacebo {
			return usagef("--speedups %d: with --placebo want %d percent at most, or the program has no time left", s, causal.MostPlacebo)
		}
	}
	return nil
}

// interrupted puts the reason in place of the context's error.
func interrupted(ctx context.Context, err error, found string) error {
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		return errors.New("interrupted: " + found)
	}
	return err
}

// pattern is a regular expression as a flag.
type pattern struct{ *regexp.Regexp }

func (p *pattern) Type() string { return "regexp" }
func (p *pattern) String() string {
	if p.Regexp == nil {
		return ""
	}
	return p.Regexp.String()
}
func (p *pattern) Set(s string) (err error) {
	p.Regexp, err = regexp.Compile(s)
	return err
}
