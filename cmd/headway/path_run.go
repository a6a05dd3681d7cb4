package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/run"
)

// runFlags is what the command line of path run and path shell says.
type runFlags struct {
	conditions conditionFlags
	o          run.Options
	devices    string
	local      bool
	json       string
	quiet      bool
}

// The exit statuses of a command that was not run, as env and nice have them.
const (
	notRunnable = 126
	notFound    = 127
)

func newPathRun() *cobra.Command {
	x := runFlags{}
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS...]",
		Short: "Run a command over an emulated path",
		Long: `Run runs a command in a network of its own, whose only way out is an emulated link with
the conditions that are asked for. What it says over the link is the kernel's own TCP.

  --delay, --jitter and the others are for each direction: --delay 125ms makes a round
  trip of 250 ms. With --up- before its name a condition is for what the command sends
  alone, and with --down- for what comes to it: --rate 10mbit --up-rate 1mbit.

  Services of this machine that listen on its loopback are there under the name
  host.headway, and everything else under its own name and address, over IPv4. At the
  far end of the link a relay ends every connection and makes one of its own to the
  server: over the link it is the relay that sends, with the congestion control of --cc,
  whatever the server's would be.

  A path run inside another adds its conditions to those of the outer one:
  headway path run --loss 1% -- headway path run --delay 20ms -- COMMAND

It needs no root where user namespaces are allowed. The command runs as the user who
called, with every capability over its own network: tcpdump, ip and ping work. What it
leaves running in the background ends with it.

The exit status is that of the command, or 128 and the number of the signal that ended
it; 127 if there is no such command and 126 if it cannot be run; 1 if there can be no
path, and 2 if the command line was wrong.`,
		Example: `  headway path run --delay 125ms --loss 1% -- curl -so /dev/null -w '%{time_total}\n' http://host.headway:8080/
  headway path run --delay 20ms --rate 10mbit --queue 64KB -- ping -c 5 host.headway
  headway path run --cc cubic --delay 40ms --down-loss 2% -- wget -O /dev/null https://example.org/
  headway path run --trace Verizon-LTE-driving.down -- chromium
  headway path shell --delay 100ms`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("want a command, as in headway path run --delay 125ms -- curl http://host.headway:8080/; for a shell: headway path shell")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return x.run(c, args) },
	}
	x.flags(c)
	return c
}

// flags are those that run and shell share.
func (x *runFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.SetInterspersed(false) // what comes after COMMAND is its own
	x.conditions.add(c)
	f.StringVar(&x.o.Congestion, "cc", "", "`NAME` of the congestion control of connections that ask for none, at both ends, as in bbr (default the system's)")
	f.Uint64Var(&x.o.Seed, "seed", 1, "`NUMBER` that decides what is lost, held back or jittered")
	f.BoolVar(&x.local, "local", false, "only this machine can be reached, as host.headway")
	f.Var(newChoice(&x.devices, "any", "tun", "veth"), "devices", "`KIND` of network device to use: any, tun or veth")
	f.BoolVar(&x.o.Awake, "awake", false, "keep idle processors from sleeping meanwhile: those of virtual machines wake milliseconds late, and packets with them; for measurements")
	f.StringVar(&x.json, "json", "", "write what the link did as JSON to `FILE`")
	f.BoolVar(&x.quiet, "quiet", false, "do not say on standard error what the link did")
	x.devices = "any"
	c.MarkFlagFilename("json", "json")
	for name, words := range map[string][]string{"cc": link.Available(), "devices": {"any", "tun", "veth"}} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

func (x *runFlags) run(c *cobra.Command, command []string) (err error) {
	if x.o.Up, x.o.Down, err = x.conditions.read(c); err != nil {
		return usagef("%w", err)
	}
	if err := writable(x.json); err != nil {
		return usagef("--json %s cannot be written: %w", x.json, plain(err))
	}
	if err := link.CheckCongestion(x.o.Congestion); err != nil {
		return usagef("--cc %s: %w", x.o.Congestion, err)
	}
	path, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		fmt.Fprintf(c.ErrOrStderr(), "headway: %s: %v\n", command[0], reason(err))
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return ended(notFound)
		}
		return ended(notRunnable)
	}
	signals := make(chan os.Signal, 16)
	restore := run.Terminal()
	outside, code, err := link.Entry{Always: true, Processes: true, Signals: run.Signals, To: signals}.Enter(c.Context())
	if err != nil {
		return err
	}
	if outside {
		restore()
		return ended(code)
	}
	x.o.Devices = map[string]link.Devices{"any": link.AnyDevices, "tun": link.TUN, "veth": link.Veth}[x.devices]
	x.o.Outside = !x.local
	x.o.Says = x.conditions.says()
	x.o.Path, x.o.Command = path, command
	x.o.Warn = func(err error) { fmt.Fprintf(c.ErrOrStderr(), "headway: warning: %v\n", err) }
	r, err := run.Run(x.o, signals)
	if r == nil {
		if errors.Is(err, fs.ErrPermission) && errors.As(err, new(*fs.PathError)) {
			fmt.Fprintf(c.ErrOrStderr(), "headway: %v\n", err)
			return ended(notRunnable)
		}
		return err
	}
	if !x.quiet {
		r.Text(c.ErrOrStderr(), x.o)
	}
	if x.json != "" {
		p := r.Report(x.o)
		p.Command = commandLine()
		if e := writeFile(x.json, p.JSON); e != nil {
			err = errors.Join(err, fmt.Errorf("--json %s: %w", x.json, plain(e)))
		}
	}
	if err != nil {
		return err
	}
	if r.Signal != 0 {
		link.EndBy(r.Signal)
	}
	return ended(r.Code)
}

// reason is what is wrong with a command, without its name.
func reason(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return plain(e.Err)
	}
	return plain(err)
}
