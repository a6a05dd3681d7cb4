// Command http2 is the published study of the Go HTTP/2 server in one program: a
// server that answers every request with a search engine's home page over TLS,
// and a client that keeps ten requests in flight over one connection.
//
// The client is a process of its own, so that what is learned about the program
// is learned about the server. It ends when the server ends, however that ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

type config struct {
	inFlight    int
	connections int
	lasts       time.Duration
	inProcess   bool
	gzip        bool
	verbose     bool
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == clientVerb {
		if err := clientMain(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "http2 client:", err)
			os.Exit(1)
		}
		return
	}
	c, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2) // parse has said why
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	if err := run(ctx, c, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "http2:", err)
		os.Exit(1)
	}
}

func parse(args []string, w io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet("http2", flag.ContinueOnError)
	f.SetOutput(w)
	f.IntVar(&c.inFlight, "requests-in-flight", 10, "how many requests the client keeps in flight")
	f.IntVar(&c.connections, "connections", 1, "over how many HTTP/2 connections")
	f.DurationVar(&c.lasts, "for", 0, "how long; 0 is until interrupted")
	f.BoolVar(&c.inProcess, "in-process", false, "run the client in the server's process")
	f.BoolVar(&c.gzip, "gzip", false, "send the page compressed to clients that take it so")
	f.BoolVar(&c.verbose, "v", false, "print the requests served in each second to stderr")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	case c.connections < 1:
		err = errors.New("-connections must be at least 1")
	case c.inFlight < c.connections:
		err = errors.New("-requests-in-flight must be at least -connections")
	case c.lasts < 0:
		err = errors.New("-for must not be negative")
	}
	if err != nil {
		fmt.Fprintln(w, "http2:", err)
	}
	return c, err
}

// operations is where bench/overhead finds how much is served.
var operations atomic.Pointer[atomic.Int64]

// run serves and asks until ctx is cancelled or c.lasts has passed, and prints
// to out how much was served.
func run(ctx context.Context, c config, out, log io.Writer) (err error) {
	s, err := listen(c)
	if err != nil {
		return err
	}
	operations.Store(&s.served)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	clientErr := make(chan error, 1)
	t := target{Address: s.address(), Certificate: s.certificate, InFlight: c.inFlight, Connections: c.connections}
	if c.inProcess {
		go func() { clientErr <- ask(ctx, t) }()
	} else {
		go func() { clientErr <- clientProcess(ctx, t) }()
	}
	defer func() {
		cancel()
		// The client goes first: no request is then under way when the server stops.
		err = errors.Join(err, <-clientErr, s.stop())
	}()

	// The clock starts with the first request, not with the child process.
	select {
	case <-s.first:
	case <-ctx.Done():
		return nil
	case err := <-clientErr:
		clientErr <- nil
		return err
	case err := <-s.failed:
		s.failed <- nil
		return err
	}
	begin, served := time.Now(), s.served.Load()
	defer func() {
		n, d := s.served.Load()-served, time.Since(begin).Seconds()
		fmt.Fprintf(out, "%d requests in %.3f s: %.0f requests/s\n", n, d, float64(n)/d)
	}()
	var end, second <-chan time.Time
	if c.lasts > 0 {
		end = time.After(c.lasts)
	}
	if c.verbose {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		second = tick.C
	}
	last, lastAt := served, begin
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return nil
		case err := <-clientErr:
			clientErr <- nil
			if err == nil {
				err = errors.New("the client ended early")
			}
			return err
		case err := <-s.failed:
			s.failed <- nil
			return err
		case now := <-second:
			n := s.served.Load()
			fmt.Fprintf(log, "%.0f requests/s\n", float64(n-last)/now.Sub(lastAt).Seconds())
			last, lastAt = n, now
		}
	}
}
