// Command iss tells over DNS where the International Space Station is, and Hubble, and
// every other object of the catalogue.
//
//	go run ./cmd/iss
//	dig @127.0.0.1 -p 5353 LOC iss.example.
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
)

// Exit statuses.
const (
	done       = 0
	failed     = 1
	wrongUsage = 2
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
	err := c.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return done
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "iss: %s\n", strings.Join(strings.Fields(err.Error()), " "))
		return wrongUsage
	}
	fmt.Fprintf(stderr, "iss: %s\n", strings.TrimSpace(err.Error()))
	return failed
}

// usageError is a command line that cannot be meant.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}
