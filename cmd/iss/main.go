// Command iss tells over DNS where the International Space Station is, and Hubble, and
// every other object of the catalogue.
//
//	go run ./cmd/iss
//	dig @127.0.0.1 -p 5353 LOC iss.example.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/headway-lab/headway/usage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends it at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line args and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := newCommand()
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(stderr)
	return usage.Status(stderr, "iss", c.ExecuteContext(ctx))
}

func usagef(format string, args ...any) error {
	return usage.Errorf(format, args...)
}
