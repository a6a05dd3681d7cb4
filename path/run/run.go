// Package run runs a command inside an emulated path: what it sends to anybody goes over a
// link with the conditions that were asked for, and so does what comes back.
//
// The command has a network namespace of its own, whose only way out is the link. At the far end a relay
// ends each connection and goes on from the host's namespace with another: what the command
// speaks over the link is the real TCP of the kernel, from its end to the far end. The
// host's own loopback services are there under the name of [Host].
//
// Run inside another, the far end is the outer one's inside, and packets go on over its link: the connection is one,
// through both.
package run

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/path/link"
)

// Options say what to run, and where.
type Options struct {
	Up, Down   link.Conditions // of what the command sends, and of what comes to it
	Seed       uint64
	Devices    link.Devices
	Congestion string   // of connections over the link that ask for none; "" is the system's
	Outside    bool     // more than the host can be reached
	Says       string   // the conditions in a few words
	Path       string   // of the program
	Command    []string // its name, as it was called, and arguments
	Env        []string // more than this process's
	Warn       func(error)
}

// Result is what became of it.
type Result struct {
	Code     int         // of the command, 128 and more for signals as shells have it
	Signal   unix.Signal // that ended the command, if one did
	Up, Down link.Stats
	Took     time.Duration
	Devices  link.Devices
}

// What a command finds in its environment.
const (
	envBlock = "HEADWAY_PATH"            // the addresses of its namespace, for paths that begin there
	envHost  = "HEADWAY_HOST"            // the address of the host
	envSays  = "HEADWAY_PATH_CONDITIONS" // in a few words, those of the outer ones first
)

// Signals are those that are for the command.
var Signals = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// Run runs the command in the path until it ends. The process must be one that [link.Entry] has made, with a
// process and a mount namespace of its own; signals are what came for the command but to the outer process alone.
func Run(o Options, signals <-chan os.Signal) (*Result, error) {
	outer, err := outerPath()
	if err != nil {
		return nil, err
	}
	if err := link.CheckCongestion(o.Congestion); err != nil {
		return nil, err
	}
	c := link.Config{ToB: o.Up, ToA: o.Down, Seed: o.Seed, Devices: o.Devices, Behind: outer.block}
	var server netip.Addr
	host := outer.host
	_, far := link.Ends(link.Root)
	if !outer.block.IsValid() {
		host = far
		if server, err = names(host, o.Outside); err != nil {
			o.Warn(err)
		}
	}
	var r *relay
	if !outer.block.IsValid() {
		r = newRelay(targets(host, server, o.Outside))
		c.Gate = r.gate
	}
	l, err := c.Join()
	if err != nil && outer.block.IsValid() {
		return nil, fmt.Errorf("beginning a path inside that of %s: %w; it takes the capabilities that path run gives to its command", envBlock, err)
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if r != nil {
		defer r.close()
		if err := everywhere(l, o.Outside); err != nil {
			return nil, fmt.Errorf("the far end of the link: %w", err)
		}
		if err := l.B.Default(o.Congestion); err != nil {
			return nil, err
		}
		if !o.Outside {
			if err := alone(l); err != nil {
				return nil, fmt.Errorf("the near end of the link: %w", err)
			}
		}
		r.start(l)
	}
	if err := l.A.Default(o.Congestion); err != nil {
		return nil, err
	}
	if err := forwarding(l.A); err != nil {
		o.Warn(fmt.Errorf("a path inside this one will not work: %w", err))
	}

	cmd := &exec.Cmd{Path: o.Path, Args: o.Command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	says := strings.TrimPrefix(outer.says+" | "+o.Says, " | ")
	cmd.Env = append(os.Environ(), envBlock+"="+l.Block.String(), envHost+"="+host.String(), envSays+"="+says)
	cmd.Env = append(cmd.Env, o.Env...)
	begin := time.Now()
	if err := l.A.Start(cmd); err != nil {
		return nil, err
	}
	status := attend(cmd.Process.Pid, signals)
	x := &Result{Took: time.Since(begin), Devices: l.Devices()}
	bury()
	if r != nil {
		if err := r.close(); err != nil {
			o.Warn(err)
		}
	}
	x.Up, x.Down = l.Stats()
	if x.Code = status.ExitStatus(); status.Signaled() {
		x.Signal = status.Signal()
		x.Code = 128 + int(x.Signal)
	}
	return x, l.Err()
}

// outerPath is the path in which this process runs, if it does in one.
func outerPath() (p struct {
	block netip.Prefix
	host  netip.Addr
	says  string
}, err error) {
	text := os.Getenv(envBlock)
	if text == "" {
		return p, nil
	}
	if p.block, err = netip.ParsePrefix(text); err == nil {
		p.host, err = netip.ParseAddr(os.Getenv(envHost))
	}
	if err != nil {
		return p, fmt.Errorf("%s=%q %s=%q in the environment are not those of a path: %w; unset them", envBlock, text, envHost, os.Getenv(envHost), err)
	}
	p.says = os.Getenv(envSays)
	return p, nil
}
