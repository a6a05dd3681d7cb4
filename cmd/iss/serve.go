package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/health"
	"github.com/headway-lab/headway/iss/dns"
	"github.com/headway-lab/headway/iss/elements"
	"github.com/headway-lab/headway/iss/page"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// service is what runs.
type service struct {
	flags *flags
	say   func(format string, args ...any) // unless --quiet
	warn  func(format string, args ...any)

	cat     *sky.Catalogue
	zone    *zone.Zone
	keeper  *elements.Keeper
	pod     *health.Pod
	metrics []func(io.Writer)
	dns     []*dns.Server
	opened  []string // what is served where, to be said once all of it is
	unfound []string // name servers without an address
	unkept  bool     // the directory cannot be written

	serve []func() error                // block until what they serve is stopped
	stop  []func(context.Context) error // in this order
}

func (x *flags) run(c *cobra.Command, _ []string) error {
	if err := x.check(c); err != nil {
		return err
	}
	var mu sync.Mutex
	warn := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(c.ErrOrStderr(), "iss: "+format+"\n", args...)
	}
	s := &service{flags: x, warn: warn, say: warn}
	if x.quiet {
		s.say = func(string, ...any) {}
	}
	if err := s.open(); err != nil {
		s.close(0)
		return err
	}
	return s.run(c.Context())
}

// open prepares everything that can fail, before anything is served.
func (s *service) open() error {
	x := s.flags
	config, err := x.zoneConfig()
	if err != nil {
		return err
	}
	s.unfound = unfound(config)
	s.cat = sky.NewCatalogue(sky.BuiltIn())
	if s.zone, err = zone.New(config, s.cat); err != nil {
		return usagef("--zone, --ns or --contact: %w", trim(err))
	}
	s.metrics = append(s.metrics, s.zone.Metrics)
	o := elements.Options{From: x.elements, Dir: x.dir, Every: x.every, Log: func(m string) { s.say("%s", m) }}
	if s.keeper, err = elements.New(o, s.cat); err != nil && !x.dirChosen && x.dir != "" && !x.dnssec {
		// A machine without a writable home: remember nothing, rather than not start.
		var again error
		o.Dir = ""
		if s.keeper, again = elements.New(o, s.cat); again == nil {
			s.warn("%v: nothing is kept over a restart; choose a place with --dir", trim(err))
			x.dir, err = "", nil
		}
	}
	if err != nil {
		return usagef("--elements or --dir: %w", trim(err))
	}
	if x.dir != "" && len(x.elements) > 0 {
		if err := elements.Writable(x.dir); err != nil {
			s.unkept = true
			s.warn("warning: --dir cannot be written, so elements are fetched again after each restart: %v", err)
		}
	}
	s.pod = s.newPod()
	if err := s.openDNS(); err != nil {
		return err
	}
	if err := s.openPowerDNS(); err != nil {
		return err
	}
	return s.openHTTP()
}

// trim takes away which package said it: the flag says more.
func trim(err error) error {
	text := err.Error()
	for _, p := range []string{"zone: ", "elements: ", "dns: ", "powerdns: ", "page: "} {
		text = strings.TrimPrefix(text, p)
	}
	return errors.New(text)
}

// newPod compares with other pods if there are any, and asks itself.
func (s *service) newPod() *health.Pod {
	var o health.Options
	if host, port, err := net.SplitHostPort(s.flags.peers); err == nil {
		o.Others = health.Peers(nil, health.Headless(host, port, "/served"))
	}
	o.Check, o.CheckServed = func(ctx context.Context) error {
		if len(s.dns) == 0 {
			return nil
		}
		return askSelf(ctx, s.dns[0], s.zone, s.cat)
	}, 1
	return health.New(o)
}

func (s *service) openDNS() error {
	if len(s.flags.dns) == 0 {
		return nil
	}
	r := dns.NewResponder(dns.Options{Zone: s.zone, Rate: s.flags.rate, Served: s.pod.Served})
	s.metrics = append(s.metrics, r.Metrics)
	for _, a := range s.flags.dns {
		list, optional := both(a)
		var opened *dns.Server
		for _, address := range list {
			if opened != nil && strings.HasSuffix(a, ":0") { // the same for both, whatever it is
				address = net.JoinHostPort("::1", fmt.Sprint(opened.Addr().Port()))
			}
			server, err := dns.Listen(address, r)
			if err != nil {
				if address == optional || strings.HasPrefix(address, "[::1]") && optional != "" {
					if !errors.Is(err, syscall.EADDRINUSE) {
						continue // a machine without IPv6
					}
				}
				return explain("--dns", address, err)
			}
			opened = server
			s.dns = append(s.dns, server)
			s.serve = append(s.serve, server.Serve)
			s.stop = append(s.stop, server.Shutdown)
			s.tell("DNS on %s, UDP and TCP: %s", server.Addr(), s.dig(server))
		}
	}
	return nil
}

// dig is the command that asks a server for the station.
func (s *service) dig(server *dns.Server) string {
	return fmt.Sprintf("dig %s LOC %s.%s", digAt(server), s.cat.Now().Station().Label, s.zone.Origin)
}

func digAt(server *dns.Server) string {
	a := server.Addr()
	host := a.Addr().Unmap().String()
	if a.Addr().IsUnspecified() {
		host = "127.0.0.1"
	}
	if a.Port() == 53 {
		return "@" + host
	}
	return fmt.Sprintf("@%s -p %d", host, a.Port())
}

func (s *service) openHTTP() error {
	if len(s.flags.http) == 0 {
		return nil
	}
	o := page.Options{Catalogue: s.cat, Zone: s.zone, Pod: s.pod, Metrics: func(w io.Writer) {
		for _, m := range s.metrics {
			m(w)
		}
	}}
	if len(s.dns) > 0 {
		o.Dig = digAt(s.dns[0])
		if s.dns[0].Addr().Port() == 53 && !s.dns[0].Addr().Addr().IsLoopback() {
			o.Dig = "" // a server for the world: the zone is delegated to it
		}
	}
	site, err := page.New(o)
	if err != nil {
		return err
	}
	list, optional := both(s.flags.http[0])
	first := ""
	for _, address := range list {
		if first != "" && strings.HasSuffix(address, ":0") {
			_, port, _ := net.SplitHostPort(first)
			address = net.JoinHostPort("::1", port)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			if optional != "" && first != "" && !errors.Is(err, syscall.EADDRINUSE) {
				continue
			}
			return explain("--http", address, err)
		}
		s.addHTTP(l, site, site.Close)
		if first == "" {
			first = l.Addr().String()
			s.tell("page and API on http://%s/", first)
		}
	}
	return nil
}

func (s *service) addHTTP(l net.Listener, h http.Handler, atStop func()) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	if atStop != nil {
		server.RegisterOnShutdown(atStop)
	}
	s.serve = append(s.serve, func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	s.stop = append(s.stop, func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			server.Close()
		}
		l.Close() // also if it was never served
		return err
	})
}

func (s *service) tell(format string, args ...any) {
	s.opened = append(s.opened, fmt.Sprintf(format, args...))
}

// explain says what to do about an address that cannot be had.
func explain(flag, address string, err error) error {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && port == "":
		return fmt.Errorf("%s unix:%s is in use by another process; choose another path", flag, address)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s %s is in use by another process (ss -lntup 'sport = :%s' says which); stop that, or choose another with %s", flag, address, port, flag)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s %s: not permitted; ports below 1024 want root, or AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit", flag, address)
	}
	return fmt.Errorf("%s: %w", flag, trim(err))
}
