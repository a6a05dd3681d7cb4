package main

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/iss/elements"
	"github.com/headway-lab/headway/iss/zone"
)

// flags is what the command line says.
type flags struct {
	zone      string
	dns, http []string
	powerdns  string
	elements  []string
	every     time.Duration
	dir       string
	ns        []string
	contact   string
	home      []string
	ttl       uint32
	rate      float64
	refuse    time.Duration
	precision string
	dnssec    bool
	peers     string
	drain     time.Duration
	quiet     bool
	dirChosen bool
}

const (
	none        = "none"
	defaultZone = "example."
)

func newCommand() *cobra.Command {
	x := flags{}
	c := &cobra.Command{
		Use:   "iss [flags]",
		Short: "Where the space station is, over DNS",
		Long: `iss is a name server whose records move: it answers LOC for the International Space
Station, and for any object of the catalogue, with where that is now. It has a page with
a map, too.

  dig @127.0.0.1 -p 5353 LOC iss.example.                  where the station is
  dig @127.0.0.1 -p 5353 LOC hubble.example.               and Hubble, or 20580.example.
  dig @127.0.0.1 -p 5353 TXT iss.example.                  how old its elements are
  dig @127.0.0.1 -p 5353 TXT vienna.pass.iss.example.      its next pass over Vienna
  dig @127.0.0.1 -p 5353 TXT 48.2n-16.4e.pass.iss.example. or over any place

Without network it answers from elements that are built in, and says how old those are.
The exit status is 0 after an interrupt or SIGTERM, 1 if it failed, 2 if the command line
was wrong.`,
		Example: `  iss
  iss --zone sky.example.org --dns :53 --ns ns1.sky.example.org=192.0.2.1,2001:db8::1
  iss --dns none --powerdns 127.0.0.1:8053 --dnssec --dir /var/lib/iss
  iss --powerdns unix:/run/iss/powerdns.sock
  iss --elements 'https://celestrak.org/NORAD/elements/gp.php?GROUP=stations&FORMAT=json'
  iss --elements sets.tle --http none`,
		Version: version(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%q: iss takes flags only; see iss --help", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceErrors:     true,
		SilenceUsage:      true,
		RunE:              x.run,
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // how it is read is nobody's concern
		return usagef("%s; see iss --help", text)
	})
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&x.zone, "zone", defaultZone, "the `ZONE` to answer for")
	f.StringSliceVar(&x.dns, "dns", []string{"localhost:5353"}, "`HOST:PORT` for DNS over UDP and TCP; may be repeated; none: no name server")
	f.StringSliceVar(&x.http, "http", []string{"localhost:8080"}, "`HOST:PORT` for the page and the API; none: neither")
	f.StringVar(&x.powerdns, "powerdns", "", "`HOST:PORT` or unix:PATH for PowerDNS's remote backend")
	f.BoolVar(&x.dnssec, "dnssec", false, "with --powerdns: have it sign the zone, with keys in --dir")
	f.StringArrayVar(&x.elements, "elements", []string{elements.CelesTrak}, "`URL` or file with element sets; may be repeated; none: what is built in")
	f.DurationVar(&x.every, "every", 24*time.Hour, "`time` between fetches, two hours at least")
	f.StringVar(&x.dir, "dir", "", "`DIRECTORY` to keep element sets and keys in (default: the system's for caches, without keys)")
	f.StringArrayVar(&x.ns, "ns", nil, "`NAME=ADDRESS,...` of a name server of the zone; may be repeated (default ns.ZONE without addresses)")
	f.StringVar(&x.contact, "contact", "", "`MAILBOX` of who is responsible (default hostmaster@ZONE)")
	f.StringSliceVar(&x.home, "home", nil, "`ADDRESSES` of the zone's own name, for who opens it as a page")
	f.Uint32Var(&x.ttl, "ttl", 4, "`seconds` that a position may be kept")
	f.Float64Var(&x.rate, "rate-limit", 200, "answers a second over UDP to a network that shows no cookie; 0: any `number`")
	f.DurationVar(&x.refuse, "refuse", 0, "no positions from elements of this `age` on, such as 720h; 0: always, with a warning")
	f.StringVar(&x.precision, "precision", "honest", "in LOC: `honest`, what the elements are worth, or 1m, as first published")
	f.StringVar(&x.peers, "peers", "", "`HOST:PORT` that resolves to all pods: the liveness probe compares what they served")
	f.DurationVar(&x.drain, "drain", 5*time.Second, "`time` to finish what was begun when it has to stop")
	f.BoolVar(&x.quiet, "quiet", false, "say nothing but errors and warnings")
	for _, name := range []string{"dns", "http", "zone", "ns", "contact", "home", "peers"} {
		c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	c.RegisterFlagCompletionFunc("precision", cobra.FixedCompletions([]string{"honest", "1m"}, cobra.ShellCompDirectiveNoFileComp))
	c.MarkFlagDirname("dir")
	c.CompletionOptions.HiddenDefaultCmd = true
	return c
}

// check finds out what cannot be meant, and fills in what depends on others.
func (x *flags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	for _, f := range []struct {
		name string
		list *[]string
	}{{"dns", &x.dns}, {"http", &x.http}, {"elements", &x.elements}} {
		if slices.Contains(*f.list, none) {
			if len(*f.list) > 1 {
				return usagef("--%s none and other --%s contradict each other: leave one out", f.name, f.name)
			}
			*f.list = nil
		}
	}
	for _, a := range append(append([]string{}, x.dns...), x.http...) {
		if err := checkAddress(a); err != nil {
			return err
		}
	}
	if len(x.http) > 1 {
		return usagef("--http %s: one address", strings.Join(x.http, ","))
	}
	switch path, unix := strings.CutPrefix(x.powerdns, "unix:"); {
	case given("powerdns") && x.powerdns == "", unix && path == "":
		return usagef("--powerdns %q: want HOST:PORT or unix:PATH", x.powerdns)
	case x.powerdns != "" && !unix:
		if err := checkAddress(x.powerdns); err != nil {
			return usagef("--powerdns %w", errors.Unwrap(err))
		}
	}
	switch {
	case len(x.dns) == 0 && len(x.http) == 0 && x.powerdns == "":
		return usagef("nothing to serve: with --dns none and --http none, say --powerdns")
	case x.dnssec && x.powerdns == "":
		return usagef("--dnssec is for --powerdns: it is PowerDNS that signs")
	case x.precision != "honest" && x.precision != "1m":
		return usagef("--precision %q: want honest or 1m", x.precision)
	case x.rate < 0 || x.rate > 1e9 || x.rate != x.rate:
		return usagef("--rate-limit %v: want answers a second, or 0 for any number", x.rate)
	case x.refuse < 0:
		return usagef("--refuse %v: want an age, or 0", x.refuse)
	case x.ttl > 604800:
		return usagef("--ttl %d: want seconds, at most a week", x.ttl)
	case x.ttl == 0:
		return usagef("--ttl 0: resolvers would ask for every client anew; want 1 or more")
	case x.drain < 0:
		return usagef("--drain %v: want a time", x.drain)
	case x.every < 2*time.Hour:
		return usagef("--every %v: servers have news every two hours at most, and shut out who asks more often", x.every)
	}
	if given("peers") {
		if err := checkPeers(x.peers); err != nil {
			return err
		}
	}
	var err error
	if x.zone, err = ascii("zone", x.zone); err != nil {
		return err
	}
	if x.dir == "" {
		if given("dir") {
			return usagef("--dir is empty")
		}
		if x.dnssec { // caches are cleared, and then the zone would be bogus
			return usagef("--dnssec keeps its keys in --dir: say where")
		}
		if cache, err := os.UserCacheDir(); err == nil {
			x.dir = filepath.Join(cache, "headway-iss")
		}
	}
	x.dirChosen = given("dir")
	return nil
}

func checkAddress(a string) error {
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		return usagef("%q: want HOST:PORT, such as 127.0.0.1:5353, :53 or [::1]:5353", a)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return usagef("%q: a port is a number up to 65535", a)
	}
	if strings.ContainsAny(host, " /") {
		return usagef("%q: %q is no host", a, host)
	}
	return nil
}

// zoneConfig is the zone that the flags describe.
func (x *flags) zoneConfig() (zone.Config, error) {
	z := zone.Config{Origin: x.zone, TTL: x.ttl, Refuse: x.refuse, Exact: x.precision == "1m"}
	for _, s := range x.ns {
		h, err := x.server(s)
		if err != nil {
			return z, err
		}
		z.Servers = append(z.Servers, h)
	}
	var err error
	if z.Home, err = parseAddresses("home", x.home); err != nil {
		return z, err
	}
	if x.contact != "" {
		z.Contact, err = mailbox(x.contact)
	}
	return z, err
}

func parseAddresses(flag string, list []string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, s := range list {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return nil, usagef("--%s: %q is no address", flag, s)
		}
		out = append(out, a)
	}
	return out, nil
}

// addresses of a flag: localhost is both of its addresses.
func both(address string) (list []string, optional string) {
	host, port, _ := net.SplitHostPort(address)
	if host != "localhost" {
		return []string{address}, ""
	}
	v6 := net.JoinHostPort("::1", port)
	return []string{net.JoinHostPort("127.0.0.1", port), v6}, v6
}
