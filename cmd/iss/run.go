package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/dns"
	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

// run serves until the context ends or something fails, and then stops all of it.
func (s *service) run(ctx context.Context) error {
	s.announce()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, len(s.serve))
	for _, f := range s.serve {
		go func() {
			err := f()
			if err != nil {
				cancel(err)
			}
			ended <- err
		}()
	}
	fetching := make(chan struct{})
	go func() {
		s.keeper.Run(ctx)
		close(fetching)
	}()
	go s.watch(ctx)
	s.pod.SetReady(true)
	notify("READY=1")

	<-ctx.Done()
	notify("STOPPING=1")
	s.pod.SetReady(false)
	s.say("stopping")
	err := s.close(s.flags.drain)
	for range s.serve {
		err = errors.Join(err, <-ended)
	}
	<-fetching
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.warn("some were cut off after %v", s.flags.drain)
		return nil
	}
	return err
}

// close stops what was opened, all at a time.
func (s *service) close(drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	errs := make(chan error, len(s.stop))
	for _, f := range s.stop {
		go func() { errs <- f(ctx) }()
	}
	var all error
	for range s.stop {
		if err := <-errs; err != nil && !errors.Is(err, net.ErrClosed) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// announce says what is known at the start.
func (s *service) announce() {
	for _, line := range s.opened {
		s.say("%s", line)
	}
	if s.flags.zone != defaultZone && (len(s.dns) > 0 || s.flags.powerdns != "") {
		for _, name := range s.unfound {
			s.warn("warning: the name server %s has no address, so resolvers will not find it: say --ns %s=ADDRESS", name, strings.TrimSuffix(name, "."))
		}
	}
	now := time.Now()
	r := s.cat.Report(now)
	objects := "objects"
	if r.Objects == 1 {
		objects = "object"
	}
	s.say("%d %s, %s; elements of %s are %s old", r.Objects, objects, r.Origin, r.Station.Label, sky.Days(r.Age))
	if r.Freshness != sky.Fresh {
		s.warnAge(r)
	}
	switch next := r.Fetch.Next; {
	case len(s.flags.elements) == 0:
		s.say("no newer elements will be fetched (--elements none)")
	case next.IsZero() && r.Fetch.Tried.IsZero():
		s.say("newer elements will be fetched now, and then every %s%s", sky.Days(s.flags.every), s.kept())
	case !next.IsZero():
		s.say("newer elements will be fetched in %s%s", sky.Days(max(next.Sub(now), 0)), s.kept())
	}
}

func (s *service) kept() string {
	if s.flags.dir == "" || s.unkept {
		return ""
	}
	return ", and kept in " + s.flags.dir
}

func (s *service) warnAge(r sky.Report) {
	what := "every answer says so"
	if x := s.flags.refuse; x > 0 && r.Age >= x {
		what = "no position is told (--refuse)"
	}
	why := ""
	if r.Fetch.Problem != "" {
		why = "; " + r.Fetch.Problem
	}
	s.warn("warning: elements of %s are %s old, %s: %s%s", r.Station.Label, sky.Days(r.Age), strings.Replace(r.Station.Doubt(r.Age), "position may", "its position may", 1), what, why)
}

// watch tells once when elements have become old, and then every day.
func (s *service) watch(ctx context.Context) {
	tick := time.NewTicker(10 * time.Minute)
	defer tick.Stop()
	last, told := s.cat.Report(time.Now()).Freshness, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r := s.cat.Report(now)
			switch {
			case r.Freshness == sky.Fresh && last != sky.Fresh:
				s.say("elements of %s are fresh again, %s old", r.Station.Label, sky.Days(r.Age))
			case r.Freshness > last, r.Freshness != sky.Fresh && now.Sub(told) > 24*time.Hour:
				s.warnAge(r)
				told = now
			}
			last = r.Freshness
		}
	}
}

// askSelf asks a server what users ask it: what a liveness probe wants to know. Over UDP, and
// where no answer comes over TCP: a flood from this machine's own network is limited, too,
// and no reason to restart.
func askSelf(ctx context.Context, server *dns.Server, z *zone.Zone, cat *sky.Catalogue) error {
	to := server.Addr()
	if to.Addr().IsUnspecified() {
		local := netip.MustParseAddr("127.0.0.1")
		if to.Addr().Is6() && !to.Addr().Is4In6() {
			local = netip.IPv6Loopback()
		}
		to = netip.AddrPortFrom(local, to.Port())
	}
	q := new(mdns.Msg).SetQuestion(cat.Now().Station().Label+"."+z.Origin, mdns.TypeTXT)
	a, _, err := (&mdns.Client{Timeout: 150 * time.Millisecond}).ExchangeContext(ctx, q, to.String())
	if err != nil {
		a, _, err = (&mdns.Client{Net: "tcp"}).ExchangeContext(ctx, q, to.String())
	}
	if err != nil {
		return fmt.Errorf("no answer to a question of its own: %w", err)
	}
	if a.Rcode != mdns.RcodeSuccess || len(a.Answer) == 0 && !a.Truncated {
		return fmt.Errorf("a wrong answer to a question of its own: %s", mdns.RcodeToString[a.Rcode])
	}
	return nil
}
