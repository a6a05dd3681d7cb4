package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/headway-lab/headway/iss/powerdns"
)

func (s *service) openPowerDNS() error {
	x := s.flags
	if x.powerdns == "" {
		return nil
	}
	var keys *powerdns.Keys
	if x.dnssec {
		var err error
		if keys, err = powerdns.OpenKeys(filepath.Join(x.dir, "keys.json"), s.zone.Origin); err != nil {
			return fmt.Errorf("--dnssec: %w", trim(err))
		}
		for _, ds := range keys.DS() {
			s.tell("for the parent zone: %s", ds)
		}
	}
	b := powerdns.New(s.zone, keys)
	b.OnLookup(s.pod.Served)
	s.metrics = append(s.metrics, b.Metrics)
	path, unix := strings.CutPrefix(x.powerdns, "unix:")
	if unix {
		l, err := powerdns.ListenUnix(path)
		if err != nil {
			return explain("--powerdns", path, err)
		}
		s.serve = append(s.serve, func() error { return b.ServeUnix(l) })
		s.stop = append(s.stop, func(context.Context) error { return l.Close() })
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		s.tell("PowerDNS's remote backend: pdns_server %s", settings("unix:path="+path, x.dnssec))
		return nil
	}
	l, err := net.Listen("tcp", x.powerdns)
	if err != nil {
		return explain("--powerdns", x.powerdns, err)
	}
	if a := l.Addr().(*net.TCPAddr); !a.IP.IsLoopback() && x.dnssec {
		s.warn("warning: --powerdns %s can be reached by others than this machine, and gives away the keys of the zone", x.powerdns)
	}
	s.addHTTP(l, b, nil)
	s.tell("PowerDNS's remote backend: pdns_server %s", settings("http:url=http://"+l.Addr().String()+"/dns", x.dnssec))
	return nil
}

// settings of PowerDNS as its command line has them; pdns.conf has them without --, a line each.
func settings(connection string, dnssec bool) string {
	var out []string
	for line := range strings.Lines(powerdns.Settings(connection, dnssec)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			out = append(out, "--"+line)
		}
	}
	return strings.Join(out, " ")
}
