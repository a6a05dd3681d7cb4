package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/effect"
)

type bench struct {
	dir     string
	rounds  int
	each    time.Duration
	objects int
	hot     bool
	clients int
	only    []string
	more    []string
	servers []*server
}

func (b *bench) run(ctx context.Context) error {
	if b.rounds < effect.MinN {
		return fmt.Errorf("-rounds %d: want at least %d, for an interval", b.rounds, effect.MinN)
	}
	if _, err := exec.LookPath("dnsperf"); err != nil {
		return errors.New("needs dnsperf (Debian: dnsperf)")
	}
	if err := b.world(); err != nil {
		return err
	}
	defer func() {
		for _, s := range b.servers {
			s.end()
		}
	}()
	if err := b.start(ctx); err != nil {
		return err
	}
	what := fmt.Sprintf("%d objects by chance", b.objects)
	if b.hot {
		what = "one name"
	}
	fmt.Printf("%s, %d rounds of %v each, %d processors, dnsperf with %d sockets\n", what, b.rounds, b.each, runtime.NumCPU(), b.clients)
	for round := range b.rounds {
		for _, i := range rand.Perm(len(b.servers)) {
			s := b.servers[i]
			rate, cpu, backend, err := b.measure(ctx, s)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.samples.rate = append(s.samples.rate, rate)
			s.samples.cpu = append(s.samples.cpu, cpu)
			s.samples.backend = append(s.samples.backend, backend)
		}
		fmt.Fprintf(os.Stderr, "\rround %d of %d", round+1, b.rounds)
	}
	fmt.Fprintln(os.Stderr)
	b.show()
	return nil
}

var (
	perSecond = regexp.MustCompile(`Queries per second:\s+([0-9.]+)`)
	completed = regexp.MustCompile(`Queries completed:\s+(\d+) `)
	rcodes    = regexp.MustCompile(`Response codes:\s+(.*)`)
)

// measure has dnsperf ask a server: answers a second, and processor time of the server an
// answer, microseconds, all of it and of its first part.
func (b *bench) measure(ctx context.Context, s *server) (rate, cpu, backend float64, err error) {
	before, first := processorTime(s.processes()), processorTime(s.processes()[:1])
	out, err := exec.CommandContext(ctx, "dnsperf", "-s", "127.0.0.1", "-p", s.port, "-d", filepath.Join(b.dir, "names"),
		"-l", fmt.Sprintf("%.0f", b.each.Seconds()), "-c", strconv.Itoa(b.clients), "-q", "200", "-T", "1", "-O", "suppress=timeout").CombinedOutput()
	if err != nil {
		return 0, 0, 0, fmt.Errorf("dnsperf: %w\n%s", err, out)
	}
	took, part := processorTime(s.processes())-before, processorTime(s.processes()[:1])-first
	m, n := perSecond.FindSubmatch(out), completed.FindSubmatch(out)
	if m == nil || n == nil {
		return 0, 0, 0, fmt.Errorf("dnsperf said\n%s", out)
	}
	if r := rcodes.FindSubmatch(out); r == nil || !strings.HasPrefix(string(r[1]), "NOERROR") || strings.Contains(string(r[1]), ",") {
		return 0, 0, 0, fmt.Errorf("not all answers are answers:\n%s", out)
	}
	rate, _ = strconv.ParseFloat(string(m[1]), 64)
	count, _ := strconv.ParseFloat(string(n[1]), 64)
	if count == 0 {
		return 0, 0, 0, fmt.Errorf("no answers:\n%s", out)
	}
	s.memory = s.resident()
	return rate, took.Seconds() * 1e6 / count, part.Seconds() * 1e6 / count, nil
}

// processes of a server, with their children: NSD forks.
func (s *server) processes() []int {
	var all []int
	for _, c := range s.parts {
		all = append(all, c.Process.Pid)
	}
	for i := 0; i < len(all); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, t := range tasks {
			text, _ := os.ReadFile(t)
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

// processorTime of processes since their start, in user and in system mode.
func processorTime(pids []int) time.Duration {
	var ticks int64
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 12 {
			u, _ := strconv.ParseInt(f[11], 10, 64)
			k, _ := strconv.ParseInt(f[12], 10, 64)
			ticks += u + k
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
}

// resident memory in MB: what a process has for itself, so that what forked processes
// share is counted once.
func (s *server) resident() float64 {
	kb := 0.
	for _, pid := range s.processes() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
				n, _ := strconv.ParseFloat(f[1], 64)
				kb += n
			}
		}
	}
	return kb / 1024
}

func (b *bench) show() {
	base := b.servers[0]
	fmt.Printf("%-30s %26s %26s %22s %22s %8s\n", "", "answers/s", "server's us an answer", "answers/s, ratio to "+base.name, "time an answer, ratio", "MB")
	for _, s := range b.servers {
		r, c := effect.Of(s.samples.rate, .95, 1), effect.Of(s.samples.cpu, .95, 1)
		line := fmt.Sprintf("%-30s %9.0f [%6.0f, %6.0f] %9.2f [%5.2f, %5.2f]", s.name, r.Value, r.Low, r.High, c.Value, c.Low, c.High)
		if s != base {
			x, y := effect.Paired(base.samples.rate, s.samples.rate, .95, 1), effect.Paired(base.samples.cpu, s.samples.cpu, .95, 1)
			line += fmt.Sprintf(" %8.2f [%.2f, %.2f] %8.2f [%.2f, %.2f]", 1+x.Percent/100, 1+x.Low/100, 1+x.High/100, 1+y.Percent/100, 1+y.Low/100, 1+y.High/100)
		} else {
			line += fmt.Sprintf("%23s%23s", "", "")
		}
		fmt.Printf("%s %8.1f\n", line, s.memory)
		if len(s.parts) > 1 {
			own := effect.Of(s.samples.backend, .95, 1)
			fmt.Printf("  of it iss %56.2f [%5.2f, %5.2f]\n", own.Value, own.Low, own.High)
		}
	}
}
