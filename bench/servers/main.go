// Command servers asks headway about servers that others wrote, and compares with what a change of them really does.
//
// Of each server some functions are edited to do their own work some times over: a line of the log, a system call, a compression.
// So that work can be taken out in quarters, and what it costs in the server, with its locks, its system calls and its garbage, goes with it. The
// server as it is and the changed ones are processes that have turns of a window each; then the first is profiled.
//
//	go run ./bench/servers                          caddy, CoreDNS and nats-server, half an hour and their builds
//	go run ./bench/servers -server caddy -procs 2   with two processors, which the clients use, too
//
// The servers are fetched as modules, so the first run needs the network. Their clients are wrk and dnsperf, which Debian has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/causal/instrument"
	"github.com/headway-lab/headway/limits"
)

type options struct {
	server, site *regexp.Regexp
	speedups     []int
	procs        int
	rounds       int
	starts, runs int
	window       time.Duration
	duration     time.Duration
	awake        bool
	verbose      bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("servers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	server := fs.String("server", "", "only servers whose name matches this regular expression")
	site := fs.String("site", "", "only sites whose name matches this regular expression")
	speedups := fs.String("speedups", "25,50,75", "percent of the work that is left out: 25, 50 and 75")
	fs.IntVar(&o.procs, "procs", 1, "GOMAXPROCS of the servers; the clients are on the same machine")
	fs.IntVar(&o.rounds, "rounds", 40, "how many windows each has, about half of them before the profile")
	fs.IntVar(&o.starts, "starts", 8, "in how many processes one after the other that is: where one comes to lie in memory makes it some percent faster or slower for as long as it lives")
	fs.IntVar(&o.runs, "runs", 4, "over how many processes a profile is spread")
	fs.DurationVar(&o.window, "window", 250*time.Millisecond, "how long a window is")
	fs.DurationVar(&o.duration, "duration", 90*time.Second, "how long a server is profiled; 0: not at all")
	fs.BoolVar(&o.awake, "awake", true, "keep processors from sleeping")
	fs.BoolVar(&o.verbose, "v", false, "show how each profile proceeds")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.server, err = regexp.Compile(*server); err != nil {
		return o, fmt.Errorf("-server: %w", err)
	}
	if o.site, err = regexp.Compile(*site); err != nil {
		return o, fmt.Errorf("-site: %w", err)
	}
	for f := range strings.SplitSeq(*speedups, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || n != 25 && n != 50 && n != 75 {
			return o, fmt.Errorf("-speedups: %q is not 25, 50 or 75: work is left out in quarters", f)
		}
		o.speedups = append(o.speedups, n)
	}
	switch {
	case o.procs < 1:
		return o, fmt.Errorf("-procs %d must be at least 1", o.procs)
	case o.starts < 4 || o.starts > o.rounds:
		return o, fmt.Errorf("-starts %d: 4, for an interval, to -rounds, %d", o.starts, o.rounds)
	case o.runs < 1 || o.runs > 100:
		return o, fmt.Errorf("-runs %d must be 1 to 100", o.runs)
	case o.window <= 0:
		return o, fmt.Errorf("-window %v must be positive", o.window)
	case o.duration < 0:
		return o, fmt.Errorf("-duration %v must not be negative", o.duration)
	case len(o.plan()) == 0:
		return o, fmt.Errorf("no site matches -server %s -site %s", *server, *site)
	}
	return o, nil
}

// plan is the servers with the sites that were asked for.
func (o options) plan() (chosen []Server) {
	for _, s := range servers {
		var sites []Site
		for _, site := range s.Sites {
			if o.site.MatchString(site.Name) {
				sites = append(sites, site)
			}
		}
		if s.Sites = sites; o.server.MatchString(s.Name) && len(sites) > 0 {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "toolexec": // the go command, building a server for a profile
			os.Exit(instrument.Main(os.Args[2:]))
		case awake.Arg:
			os.Exit(awake.Main(os.Args[2:]))
		case "publish": // the clients of nats-server
			if len(os.Args) != 3 {
				fmt.Fprintln(os.Stderr, "servers: publish PORT")
				os.Exit(2)
			}
			fmt.Fprintln(os.Stderr, "servers: publish:", publish(os.Args[2]))
			os.Exit(1)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "servers:", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "servers-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = all(ctx, o, dir, stdout, stderr)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "servers: interrupted; these are the rows that were done")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "servers:", err)
		return 1
	}
	return 0
}

func all(ctx context.Context, o options, dir string, stdout, stderr io.Writer) error {
	if o.awake {
		keeper, err := awake.Start()
		if err != nil {
			return err
		}
		defer keeper.Stop()
	}
	machine := fmt.Sprintf("%d processors, the servers have %d", runtime.NumCPU(), o.procs)
	if i, err := limits.Interrupted(time.Second); err == nil {
		machine += fmt.Sprintf("; %v", i)
	}
	fmt.Fprintf(stdout, "%s. Effects in percent of the time per operation.\n", machine)
	fmt.Fprintf(stdout, "%-12s %-32s %5s %9s  %-22s %-22s %7s\n", "server", "site", "less", "us/op", "really", "said", "error")
	var failed error
	for _, s := range o.plan() {
		if s.Needs != "" {
			if _, err := exec.LookPath(s.Needs); err != nil {
				fmt.Fprintf(stderr, "servers: %s left out: its clients need %s (apt-get install %s)\n", s.Name, s.Needs, s.Needs)
				continue
			}
		}
		h, err := prepare(ctx, s, o, filepath.Join(dir, s.Name), stderr)
		if err == nil {
			err = h.measure(ctx, stdout)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return failed
}
