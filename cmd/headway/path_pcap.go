package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/path/pcap"
	"github.com/headway-lab/headway/stage"
)

// pcapFlags is what the command line of path pcap says.
type pcapFlags struct {
	out                output
	connection, filter string
	top                int
}

func newPathPcap() *cobra.Command {
	x := pcapFlags{}
	c := &cobra.Command{
		Use:   "pcap [flags] FILE...",
		Short: "Say from a capture what limits TCP connections",
		Long: `Pcap reads captures of packets and says of the largest connection, or of the one that
is asked for, what limited it: the round trips, what was lost, sent again and why, the
windows, the stalls, and what its time went to. The other connections are listed, each
with its cause.

It reads pcap and pcapng, also compressed by gzip, bzip2 or zstd, of any size, and "-"
is standard input. Several files are parts of one capture, in order. The capture may be
from the sender's end, the receiver's, or from between; the first 96 bytes of each packet
are enough. A file that is damaged is read up to there.

Connections have the numbers that Wireshark's tcp.stream gives them.

The exit status is 0 if the captures were read, 1 if reading failed or was interrupted,
2 if the command line was wrong.`,
		Example: `  headway path pcap transfer.pcapng
  headway path pcap --html transfer.html transfer.pcapng
  headway path pcap --connection 3 trace.pcap.gz
  headway path pcap --filter 192.0.2.7,443 --top 50 trace-1.pcap trace-2.pcap
  tcpdump -i any -s 96 -w - port 443 | headway path pcap -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("want a capture, such as transfer.pcapng, or - for standard input")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"pcap", "pcapng", "cap", "gz", "zst", "bz2"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: x.run,
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&x.connection, "connection", "", "the connection to look at: its `NUMBER`, or an address, port excluded or not, of which the largest (default the largest of all)")
	f.StringVar(&x.filter, "filter", "", "look only at connections with such an `END`: an address, network, port, or address:port; of several with commas, any")
	f.IntVar(&x.top, "top", 20, "`number` of connections that are listed")
	x.out.flags(c)
	c.RegisterFlagCompletionFunc("connection", cobra.NoFileCompletions)
	c.RegisterFlagCompletionFunc("filter", cobra.NoFileCompletions)
	return c
}

func (x *pcapFlags) run(c *cobra.Command, args []string) error {
	if x.top < 1 {
		return usagef("--top %d: want 1 or more", x.top)
	}
	var o pcap.Options
	if c.Flags().Changed("filter") {
		keep, err := pcap.ParseFilter(x.filter)
		if err != nil {
			return usagef("--filter: %w", err)
		}
		o.Keep = keep
	}
	if c.Flags().Changed("connection") {
		if _, err := new(pcap.Analysis).Find(x.connection); err != nil {
			return usagef("--connection: %w", err)
		}
	}
	if err := x.out.check(); err != nil {
		return err
	}
	show := newDisplay(c.ErrOrStderr(), x.out.quiet)
	defer show.close()
	files := captures{names: args, stdin: c.InOrStdin()}
	begin := time.Now()
	o.Progress = func(packets int64) {
		e := stage.Event{Phase: "read", Text: fmt.Sprintf("%d packets", packets), Elapsed: time.Since(begin)}
		e.Total = stage.Expected(e.Elapsed, files.share())
		show.event(e)
	}
	a := pcap.NewAnalyzer(o)
	readErr := files.read(c.Context(), a)
	show.close()
	if errors.Is(readErr, errNotRead) {
		return usagef("%w", readErr)
	}
	found := a.Finish()
	v := pcap.View{Of: strings.Join(args, ", "), Top: x.top}
	if c.Flags().Changed("connection") {
		var err error
		if v.Connections, err = found.Find(x.connection); err == nil && len(v.Connections) == 0 {
			err = fmt.Errorf("none of the %d connections is meant", len(found.Connections))
		}
		if err != nil {
			return usagef("--connection %s: %w", x.connection, err)
		}
	}
	r := found.Report(v)
	err := x.out.write(r, c.OutOrStdout(), show.say)
	return errors.Join(err, interrupted(c.Context(), readErr, "this is what was read until then"))
}

// errNotRead is that a file is none that can be read: wrong usage.
var errNotRead = errors.New("")

// captures are files that are read one after the other.
type captures struct {
	names       []string
	stdin       io.Reader
	total, done int64 // bytes; a total of 0 is not known
}

// share of all files that was read, 0 if that is not known.
func (f *captures) share() float64 {
	if f.total == 0 {
		return 0
	}
	return float64(f.done) / float64(f.total)
}

func (f *captures) read(ctx context.Context, a *pcap.Analyzer) error {
	for _, name := range f.names { // what is wrong is said before a long run
		if name == "-" {
			f.total = 0
			break
		}
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("%s: %w%w", name, plain(err), errNotRead)
		}
		if info.IsDir() {
			return fmt.Errorf("%s: it is a directory%w", name, errNotRead)
		}
		f.total += info.Size()
	}
	for _, name := range f.names {
		if err := f.readOne(ctx, a, name); err != nil {
			return err
		}
	}
	return nil
}

func (f *captures) readOne(ctx context.Context, a *pcap.Analyzer, name string) error {
	var r io.Reader
	label := name
	if name == "-" {
		label = "standard input"
		// A pipe may stay silent for long: an interrupt must not wait for it.
		from, to := io.Pipe()
		go func() {
			_, err := io.CopyBuffer(to, struct{ io.Reader }{f.stdin}, make([]byte, 1<<18))
			to.CloseWithError(err)
		}()
		defer context.AfterFunc(ctx, func() { from.CloseWithError(context.Cause(ctx)) })()
		r = from
	} else {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%s: %w%w", name, plain(err), errNotRead)
		}
		defer file.Close()
		r = file
	}
	err := a.Read(ctx, label, counted{r, &f.done})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, pcap.ErrNoCapture):
		return fmt.Errorf("%s: %w%w", label, err, errNotRead)
	case err != nil:
		return fmt.Errorf("%s: %w", label, plain(err))
	}
	return nil
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n *int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	*c.n += int64(n)
	return n, err
}
