// Command headway tells what would make a networked service faster, by
// experiment, before anyone does the work.
//
// Each verb is one file: flags in, one call of the package that does the work,
// report out.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/usage"
)

func main() {
	// The go command calls "headway toolexec TOOL ARGS..." in front of every tool
	// it runs while it builds a program for a profile. This comes before anything
	// else: it happens hundreds of times a build, and the flags are the tool's.
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		os.Exit(instrument.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == awake.Arg {
		os.Exit(awake.Main(os.Args[2:]))
	}
	ctx := interruptible(os.Stderr)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line args and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if code := ended(0); errors.As(err, &code) {
		return int(code)
	}
	return usage.Status(stderr, "headway", err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "headway",
		Short: "What would make it faster, and by how much, before anyone does the work",
		Long: `Headway answers one question for the people who run networked services: what
would make it faster, and by how much, before anyone does the work? Every verb
runs an experiment: a baseline, a change, and the effect of the change with a
confidence interval.`,
		Example: `  headway profile ./cmd/server
  headway sim examples/sim/routers.star
  headway load --rate 500 http://localhost:8080/
  headway mirror --to records mirror.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				return usagef("no verb %q; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return usagef("no verb %q; see headway --help", args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(newProfile(), newSim(), newLoad(), newMirror(), newPath(), newVersion())
	return root
}

// ended is the exit status of another process, which has done the work and told of its errors.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func usagef(format string, args ...any) error {
	return usage.Errorf(format, args...)
}

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that the first interrupt ends, so that what was
// found can be shown. The second one quits.
func interruptible(stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(errInterrupted)
		<-signals
		fmt.Fprintln(stderr, "headway: quit")
		os.Exit(usage.Failed)
	}()
	return ctx
}
