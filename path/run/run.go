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

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/path/link"
)

// Options say what to run, and where.
type Options struct {
	Up, Down   link.Conditions // of what the command sends, and of what comes to it
	Seed       uint64
	Devices    link.Devices
	Congestion string   // of connections over the link that ask for none; "" is the system's
	Outside    bool     // more than the host can be reached
	Awake      bool     // idle processors are kept from sleeping meanwhile, see package awake
	Says       string   // the conditions in a few words
	Path       string   // of the program
	Command    []string // its name, as it was called, and arguments
	Env        []string // more than this process's
	Warn       func(error)

	divert func(to netip.AddrPort) netip.AddrPort // what stands for the outside in tests; nil is the outside
}

// Result is what became of it.
type Result struct {
	Code     int         // of the command, 128 and more for signals as shells have it
	Signal   unix.Signal // that ended the command, if one did
	Up, Down link.Stats
	Took     time.Duration
	Devices  link.Devices
}

// AsItIs is what [Options].Says says of a path without conditions.
const AsItIs = "as it is"

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
	p, err := o.open(outer)
	if err != nil {
		return nil, err
	}
	defer p.close()
	l := p.link
	if err := forwarding(l.A); err != nil {
		o.Warn(fmt.Errorf("a path inside this one will not work: %w", err))
	}

	cmd := &exec.Cmd{Path: o.Path, Args: o.Command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	says := strings.TrimPrefix(outer.says+" | "+o.Says, " | ")
	cmd.Env = append(os.Environ(), envBlock+"="+l.Block.String(), envHost+"="+p.host.String(), envSays+"="+says)
	cmd.Env = append(cmd.Env, o.Env...)
	var keeper awake.Keeper
	if o.Awake {
		k, err := awake.Start()
		if err != nil {
			return nil, fmt.Errorf("--awake: %w", err)
		}
		keeper = *k
	}
	defer keeper.Stop()
	begin := time.Now()
	if err := l.A.Start(cmd); err != nil {
		return nil, err
	}
	status := attend(cmd.Process.Pid, signals)
	x := &Result{Took: time.Since(begin), Devices: l.Devices()}
	keeper.Stop() // before all that is left is asked to end, which idle processes on a busy machine are slow to do
	bury()
	if p.relay != nil {
		if err := p.relay.close(); err != nil {
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

// path is a link and what is at its far end.
type path struct {
	link  *link.Link
	relay *relay // nil where the far end is another path
	host  netip.Addr
}

func (p *path) close() {
	if p.relay != nil {
		p.relay.close()
	}
	p.link.Close()
}

// open makes the path, behind the outer one if there is one.
func (o *Options) open(outer outside) (_ *path, err error) {
	c := link.Config{ToB: o.Up, ToA: o.Down, Seed: o.Seed, Devices: o.Devices, Behind: outer.block}
	p := &path{host: outer.host}
	if outer.block.IsValid() {
		if p.link, err = c.Join(); err != nil {
			return nil, fmt.Errorf("beginning a path inside another, as %s in the environment says: %w", envBlock, err)
		}
	} else {
		_, p.host = link.Ends(link.Root)
		server, err := names(p.host, o.Outside)
		if err != nil {
			o.Warn(err)
		}
		p.relay = newRelay(targets(p.host, server, o.Outside, o.divert))
		c.Gate = p.relay.gate
		if p.link, err = c.Join(); err != nil {
			return nil, err
		}
	}
	if err := p.prepare(o); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// prepare sets up the two ends.
func (p *path) prepare(o *Options) error {
	if p.relay != nil {
		if err := everywhere(p.link, o.Outside); err != nil {
			return fmt.Errorf("the far end of the link: %w", err)
		}
		if err := p.link.B.Default(o.Congestion); err != nil {
			return err
		}
		if !o.Outside {
			if err := alone(p.link); err != nil {
				return fmt.Errorf("the near end of the link: %w", err)
			}
		}
		p.relay.start(p.link)
	}
	return p.link.A.Default(o.Congestion)
}

// outside is the path in which this process runs, if it does in one.
type outside struct {
	block netip.Prefix
	host  netip.Addr
	says  string
}

func outerPath() (p outside, err error) {
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
