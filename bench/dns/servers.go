package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/powerdns"
)

// server is a name server under test.
type server struct {
	name    string
	port    string
	parts   []*exec.Cmd // all that take part in an answer
	samples struct{ rate, cpu, backend []float64 }
	memory  float64 // MB, of parts together
}

func (b *bench) wanted(name string) bool {
	return len(b.only) == 0 || slices.Contains(b.only, name)
}

// servers starts all that are wanted and there.
func (b *bench) start(ctx context.Context) error {
	iss := filepath.Join(b.dir, "iss")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", iss, "github.com/headway-lab/headway/cmd/iss").CombinedOutput(); err != nil {
		return fmt.Errorf("building iss: %w\n%s", err, out)
	}
	sets := filepath.Join(b.dir, "sets.tle")
	issArgs := []string{"--elements", sets, "--http", "none", "--rate-limit", "0"}
	cpus := fmt.Sprint(runtime.NumCPU())
	type program struct {
		name, needs string
		args        func(port, dir string) [][]string // commands, the one that answers last
	}
	file := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	remote := func(connector, cache string) func(port, dir string) [][]string {
		return func(port, dir string) [][]string {
			where, connection := filepath.Join(dir, "s"), "unix:path="+filepath.Join(dir, "s")
			backend := "unix:" + where
			if connector == "http" {
				p := freePort()
				backend, connection = "127.0.0.1:"+p, "http:url=http://127.0.0.1:"+p+"/dns"
			}
			// Of both caches.
			text := strings.ReplaceAll(powerdns.Settings(connection, false), "cache-ttl=1\n", "cache-ttl="+cache+"\n")
			file(filepath.Join(dir, "pdns.conf"), text+fmt.Sprintf("socket-dir=%s\nlocal-address=127.0.0.1\nlocal-port=%s\nreceiver-threads=%s\n", dir, port, cpus))
			return [][]string{
				append([]string{iss, "--dns", "none", "--powerdns", backend}, issArgs...),
				{"pdns_server", "--config-dir=" + dir, "--guardian=no", "--daemon=no", "--disable-syslog", "--write-pid=no", "--loglevel=3"},
			}
		}
	}
	programs := []program{
		{"nsd", "nsd", func(port, dir string) [][]string {
			file(filepath.Join(dir, "nsd.conf"), fmt.Sprintf(`server:
	ip-address: 127.0.0.1@%s
	server-count: %s
	reuseport: yes
	username: ""
	chroot: ""
	zonesdir: %q
	database: ""
	pidfile: %q
	xfrdfile: %q
	xfrdir: %q
	zonelistfile: %q
	rrl-ratelimit: 0
	rrl-whitelist-ratelimit: 0
remote-control:
	control-enable: no
zone:
	name: example
	zonefile: example.zone
`, port, cpus, b.dir, dir+"/pid", dir+"/xfrd", dir, dir+"/zones"))
			return [][]string{{"nsd", "-d", "-c", filepath.Join(dir, "nsd.conf")}}
		}},
		{"knot", "knotd", func(port, dir string) [][]string {
			file(filepath.Join(dir, "knot.conf"), fmt.Sprintf(`server:
  listen: 127.0.0.1@%s
  rundir: %q
  udp-workers: %s
  user: root:root
database:
  storage: %q
zone:
  - domain: example.
    storage: %q
    file: example.zone
    zonefile-load: whole
    zonefile-sync: -1
    journal-content: none
`, port, dir, cpus, dir, b.dir))
			return [][]string{{"knotd", "-c", filepath.Join(dir, "knot.conf")}}
		}},
		{"iss", iss, func(port, _ string) [][]string {
			return [][]string{append([]string{iss, "--dns", "127.0.0.1:" + port}, issArgs...)}
		}},
		{"powerdns+iss-http", "pdns_server", remote("http", "0")},
		{"powerdns+iss-unix", "pdns_server", remote("unix", "0")},
		{"powerdns+iss-http-1s", "pdns_server", remote("http", "1")},
		{"powerdns+iss-unix-1s", "pdns_server", remote("unix", "1")},
	}
	for _, m := range b.more {
		name, path, _ := strings.Cut(m, "=")
		programs = append(programs, program{name, path, func(port, _ string) [][]string {
			return [][]string{append([]string{path, "--dns", "127.0.0.1:" + port}, issArgs...)}
		}})
	}
	for _, p := range programs {
		if !b.wanted(p.name) {
			continue
		}
		if _, err := exec.LookPath(p.needs); err != nil {
			fmt.Printf("%s is not there and is left out\n", p.needs)
			continue
		}
		if err := b.launch(ctx, p.name, iss, p.args); err != nil {
			fmt.Printf("%s is left out: %v\n", p.name, err)
		}
	}
	if len(b.servers) == 0 {
		return fmt.Errorf("no server to measure")
	}
	return nil
}

func (b *bench) launch(ctx context.Context, name, iss string, args func(port, dir string) [][]string) error {
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return err
	}
	s := &server{name: name, port: freePort()}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	for _, a := range args(s.port, dir) {
		c := exec.CommandContext(ctx, a[0], a[1:]...)
		c.Stdout, c.Stderr, c.Dir = log, log, dir
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = 5 * time.Second
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir)
		if err := c.Start(); err != nil {
			return err
		}
		s.parts = append(s.parts, c)
		// A backend has to be there before who asks it, which else ends.
		for range 300 {
			if said, _ := os.ReadFile(filepath.Join(dir, "log")); a[0] != iss || strings.Contains(string(said), " objects, ") {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	// What does not give the answer is not measured.
	var last error
	for range 100 {
		m, _, err := (&dns.Client{Timeout: time.Second}).Exchange(new(dns.Msg).SetQuestion("iss.example.", dns.TypeLOC), "127.0.0.1:"+s.port)
		switch {
		case err != nil:
			last = err
		case len(m.Answer) != 1 || m.Answer[0].Header().Rrtype != dns.TypeLOC:
			last = fmt.Errorf("the answer is not LOC: %v", m)
		default:
			b.servers = append(b.servers, s)
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.end()
	said, _ := os.ReadFile(filepath.Join(dir, "log"))
	return fmt.Errorf("%w\n%s", last, said)
}

func (s *server) end() {
	for _, c := range s.parts {
		c.Process.Signal(syscall.SIGTERM)
		c.Wait()
	}
}

func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
