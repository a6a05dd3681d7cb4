package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/path/probe"
	"github.com/headway-lab/headway/stage"
)

// probeFlags is what the command line of path probe says.
type probeFlags struct {
	out                    output
	o                      probe.Options
	try, headers, resolve  []string
	data, protocol, cacert string
	four, six, insecure    bool
}

func newPathProbe() *cobra.Command {
	x := probeFlags{}
	c := &cobra.Command{
		Use:   "probe [flags] URL",
		Short: "Where does the time of an exchange go, and what would change it?",
		Long: `Probe fetches a URL again and again, each time over a new connection and one after
the other, and says how long each step took, from the name to the last byte, with
medians and their intervals; what the kernel knows of the connection (TCP_INFO); and
what limits it, in words and with the evidence.

With --try it compares: each value by turns, and the effect of each against the first.

  --try gzip,identity        what the server may compress with (also br, zstd, deflate)
  --try h1,h2                HTTP/1.1 and HTTP/2
  --try new,keepalive        a connection of its own for each exchange, and one for all
  --try ip4,ip6              families of addresses
  --try tls1.2,tls1.3        versions of TLS
  --try cc=cubic,bbr         this side's congestion control: it counts for uploads

In a download the sender is the server. What only the sender can know, such as its
buffer and its congestion window, this side can not; then the diagnosis says so.
Redirections are not followed, and answers that are errors are measured, too: the
report begins with how many there were.

The exit status is 0 if the measurement is complete, 1 if it failed or was
interrupted, 2 if the command line was wrong.`,
		Example: `  headway path probe https://example.org/
  headway path probe -n 1 http://localhost:8080/
  headway path probe -n 50 --html probe.html https://example.org/large
  headway path probe --try gzip,identity --try new,keepalive https://example.org/
  headway path probe -X PUT -d @large.bin --try cc=cubic,bbr http://localhost:8080/upload
  headway path probe --resolve example.org:443:192.0.2.7 https://example.org/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want one URL, such as http://localhost:8080/, got %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              x.run,
	}
	f := c.Flags()
	f.SortFlags = false
	f.IntVarP(&x.o.N, "number", "n", 20, "`number` of exchanges, of each variant; from 6 on medians have intervals, and --try takes 4")
	f.DurationVar(&x.o.Interval, "interval", 100*time.Millisecond, "`time` between one exchange and the next")
	f.StringArrayVar(&x.try, "try", nil, "`VALUES` to compare, such as gzip,identity; may be repeated")
	f.StringVarP(&x.o.Method, "method", "X", "", "`method` (default GET, or POST with --data)")
	f.StringArrayVarP(&x.headers, "header", "H", nil, "`\"Name: value\"` to send; may be repeated")
	f.StringVarP(&x.data, "data", "d", "", "`body` to send, or @FILE")
	f.Var(newChoice(&x.protocol, "auto", "h1", "h2"), "protocol", "`h1`, h2 (without TLS: h2c), or auto: what the server offers under TLS, and HTTP/1.1 without")
	f.StringArrayVar(&x.resolve, "resolve", nil, "`HOST:PORT:ADDRESS` to connect to instead of asking for the name; may be repeated")
	f.BoolVarP(&x.four, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&x.six, "ipv6", "6", false, "IPv6 only")
	f.StringVar(&x.o.Client.Congestion, "cc", "", "congestion `control` of what this side sends")
	f.DurationVar(&x.o.Client.Timeout, "timeout", 30*time.Second, "`time` after which connecting, or an exchange, has failed")
	f.BoolVarP(&x.insecure, "insecure", "k", false, "accept any certificate")
	f.StringVar(&x.cacert, "cacert", "", "`FILE` with the certificates to trust")
	f.Uint64Var(&x.o.Seed, "seed", 1, "`NUMBER` that decides in which order variants take turns")
	x.out.flags(c)
	x.protocol = "auto"
	c.MarkFlagFilename("cacert", "pem", "crt")
	for name, words := range map[string][]string{
		"try":      {"gzip,identity", "h1,h2", "new,keepalive", "ip4,ip6", "tls1.2,tls1.3", "cc=cubic,bbr"},
		"protocol": {"auto", "h1", "h2"}, "method": {"GET", "HEAD", "POST", "PUT"},
	} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func (x *probeFlags) run(c *cobra.Command, args []string) error {
	if err := x.out.check(); err != nil {
		return err
	}
	x.o.URL = args[0]
	if err := x.options(c); err != nil {
		return usagef("%w", err)
	}
	if err := x.o.Check(); err != nil {
		return usagef("%w", err)
	}
	show := newDisplay(c.ErrOrStderr(), x.out.quiet)
	x.o.Progress = func(p probe.Progress) {
		e := stage.Event{Phase: "probe", Elapsed: p.Elapsed, Text: fmt.Sprintf("%d of %d, %s", p.Done, p.Total, p.Last)}
		e.Total = stage.Expected(p.Elapsed, float64(p.Done)/float64(p.Total))
		show.event(e)
	}
	r, runErr := x.o.Run(c.Context())
	show.close()
	if r == nil {
		return interrupted(c.Context(), runErr, "nothing was measured yet")
	}
	err := x.out.write(r, c.OutOrStdout(), show.say)
	return errors.Join(err, interrupted(c.Context(), runErr, "this is what was measured until then"))
}

// options turns flags into what package probe does.
func (x *probeFlags) options(c *cobra.Command) error {
	given := c.Flags().Changed
	for _, name := range []string{"cacert", "cc"} {
		if given(name) && c.Flag(name).Value.String() == "" {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	if given("timeout") && x.o.Client.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: want more than 0", x.o.Client.Timeout)
	}
	for _, s := range x.try {
		v, err := probe.ParseTry(s)
		if err != nil {
			return fmt.Errorf("--try %w", err)
		}
		for flag, group := range map[string]string{"cc": "congestion control", "protocol": "protocol", "ipv4": "family", "ipv6": "family"} {
			if given(flag) && v[0].Group == group {
				return fmt.Errorf("--%s would be ignored: --try %s says which", flag, s)
			}
		}
		if slices.ContainsFunc(x.o.Try, func(o probe.Variant) bool { return o.Group == v[0].Group }) {
			return fmt.Errorf("--try %s: --try %s is there twice: name all its values at once", s, v[0].Group)
		}
		x.o.Try = append(x.o.Try, v...)
	}
	switch {
	case x.four && x.six:
		return errors.New("--ipv4 and --ipv6 exclude each other; --try ip4,ip6 compares them")
	case x.insecure && given("cacert"):
		return errors.New("--cacert would be ignored: with --insecure any certificate will do")
	}
	if x.four {
		x.o.Client.Family = "4"
	}
	if x.six {
		x.o.Client.Family = "6"
	}
	x.o.Client.Protocol = protocols[x.protocol]
	x.o.Client.TLS = &tls.Config{InsecureSkipVerify: x.insecure}
	if x.cacert != "" {
		pem, err := os.ReadFile(x.cacert)
		if err != nil {
			return fmt.Errorf("--cacert %s: %w", x.cacert, plain(err))
		}
		x.o.Client.TLS.RootCAs = x509.NewCertPool()
		if !x.o.Client.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("--cacert %s: it holds no certificate in PEM", x.cacert)
		}
	}
	if err := x.addresses(); err != nil {
		return err
	}
	return x.request(c)
}

// addresses reads --resolve, as curl has it.
func (x *probeFlags) addresses() error {
	for _, s := range x.resolve {
		host, rest, ok := strings.Cut(s, ":")
		port, address, ok2 := strings.Cut(rest, ":")
		a, err := netip.ParseAddr(strings.Trim(address, "[]"))
		if !ok || !ok2 || host == "" || err != nil {
			return fmt.Errorf("--resolve %s: want HOST:PORT:ADDRESS, such as example.org:443:192.0.2.7", s)
		}
		if x.o.Client.Addresses == nil {
			x.o.Client.Addresses = map[string]netip.Addr{}
		}
		x.o.Client.Addresses[net.JoinHostPort(host, port)] = a
	}
	return nil
}

// request reads what is sent.
func (x *probeFlags) request(c *cobra.Command) error {
	x.o.Header = http.Header{}
	for _, line := range x.headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return fmt.Errorf("--header %q: want \"Name: value\"", line)
		}
		switch http.CanonicalHeaderKey(strings.TrimSpace(name)) {
		case "Content-Length", "Transfer-Encoding":
			return fmt.Errorf("--header %q: the length is that of --data, and nothing else", line)
		}
		x.o.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	x.o.Body = []byte(x.data)
	if name, ok := strings.CutPrefix(x.data, "@"); ok {
		var err error
		if x.o.Body, err = os.ReadFile(name); err != nil {
			return fmt.Errorf("--data %s: %w", x.data, plain(err))
		}
	}
	if x.o.Method == "" && c.Flags().Changed("data") {
		x.o.Method = http.MethodPost
	}
	return nil
}
