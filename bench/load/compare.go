package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/report"
)

// program is a generator: how it is called and what it says.
type program struct {
	name     string
	args     []string
	requests func(output []byte, wall time.Duration) (float64, error)
	rate     []float64 // requests a second, by round
	cpu      []float64 // microseconds of processor time a request
	memory   float64   // MB at most
}

// compare measures processor time a request in a closed loop.
func (b *bench) compare(ctx context.Context) error {
	if b.rounds < effect.MinN {
		return fmt.Errorf("-rounds %d: want at least %d, for an interval", b.rounds, effect.MinN)
	}
	url, stop, err := b.nginx(ctx)
	if err != nil {
		return err
	}
	defer stop()
	programs := b.programs(ctx, url)
	if len(programs) < 2 {
		return errors.New("nothing to compare with")
	}
	fmt.Printf("%d connections to nginx with one worker, a page of 1 KB, closed loop, one thread, %d rounds of %v\n\n", b.connections, b.rounds, b.each)
	for range b.rounds {
		for _, i := range rand.Perm(len(programs)) {
			if err := programs[i].run(ctx); err != nil {
				return err
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "generator\trequests/s\tus CPU/request\ttimes wrk's CPU\tMB\t")
	for _, p := range programs {
		ratio := ""
		if p.name != programs[0].name {
			e := effect.Paired(programs[0].cpu, p.cpu, .95, 1)
			ratio = fmt.Sprintf("%.2f [%.2f, %.2f]", 1+e.Percent/100, 1+e.Low/100, 1+e.High/100)
		}
		r, c := effect.Of(p.rate, .95, 1), effect.Of(p.cpu, .95, 1)
		fmt.Fprintf(w, "%s\t%.0f ± %.0f\t%.2f ± %.2f\t%s\t%.0f\t\n", p.name, r.Value, (r.High-r.Low)/2, c.Value, (c.High-c.Low)/2, ratio, p.memory)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.schedules(ctx, url)
}

// programs are those that can be had; the first is the baseline.
func (b *bench) programs(ctx context.Context, url string) []*program {
	c, seconds := strconv.Itoa(b.connections), fmt.Sprintf("%gs", b.each.Seconds())
	var all []*program
	if path := installed("wrk", "wrk"); path != "" {
		all = append(all, &program{name: "wrk", args: []string{path, "-t1", "-c" + c, "-d" + seconds, url}, requests: found(`(\d+) requests in`)})
	}
	all = append(all, &program{name: "headway load", requests: reported,
		args: []string{b.headway, "load", "--closed", "--threads", "1", "--connections", c, "--duration", seconds, "--warmup", "0s", "--quiet", "--format", "json", url}})
	if path := installed("h2load", "nghttp2-client"); path != "" {
		all = append(all, &program{name: "h2load", args: []string{path, "--h1", "-t1", "-c" + c, "-D", fmt.Sprint(b.each.Seconds()), url}, requests: found(`(\d+) succeeded`)})
	}
	if path := b.module(ctx, "github.com/rakyll/hey@latest"); path != "" {
		all = append(all, &program{name: "hey", args: []string{path, "-cpus", "1", "-c", c, "-z", seconds, url}, requests: found(`\[200\]\s+(\d+) responses`)})
	}
	return all
}

func found(pattern string) func([]byte, time.Duration) (float64, error) {
	re := regexp.MustCompile(pattern)
	return func(out []byte, _ time.Duration) (float64, error) {
		m := re.FindSubmatch(out)
		if m == nil {
			return 0, fmt.Errorf("it does not say how many requests there were: %.500s", out)
		}
		return strconv.ParseFloat(string(m[1]), 64)
	}
}

func reported(out []byte, _ time.Duration) (float64, error) {
	r, err := report.Parse(bytes.NewReader(out))
	if err != nil {
		return 0, err
	}
	c := r.Cases[0]
	return c.Values["answers"].Value * c.Params["duration"], nil
}

// run runs a program once.
func (p *program) run(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begin := time.Now()
	out, err := cmd.Output()
	wall := time.Since(begin)
	if err != nil {
		return fmt.Errorf("%s: %w: %.500s", p.name, err, errs.Bytes())
	}
	n, err := p.requests(out, wall)
	if err != nil || n == 0 {
		return fmt.Errorf("%s: no requests: %w", p.name, err)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	p.rate = append(p.rate, n/wall.Seconds())
	p.cpu = append(p.cpu, cpu.Seconds()*1e6/n)
	p.memory = max(p.memory, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)
	return nil
}

// schedules asks the generators for more than they can send: which of them say so?
func (b *bench) schedules(ctx context.Context, url string) error {
	fmt.Printf("\nAsked for an open loop of 20,000 and of 200,000 requests a second:\n\n")
	for _, rate := range []int{20_000, 200_000} {
		args := []string{"load", "--rate", strconv.Itoa(rate), "--arrivals", "constant", "--connections", strconv.Itoa(b.connections),
			"--duration", "3s", "--warmup", "500ms", "--quiet", "--format", "json", url}
		out, err := exec.CommandContext(ctx, b.headway, args...).Output()
		if err != nil {
			return fmt.Errorf("headway %s: %w", strings.Join(args, " "), err)
		}
		r, err := report.Parse(bytes.NewReader(out))
		if err != nil {
			return err
		}
		fmt.Printf("headway load: %.0f answers a second; it says: %s\n", r.Cases[0].Values["answers"].Value, said(r.Warnings))
	}
	if path := filepath.Join(b.dir, "hey"); exists(path) {
		for _, rate := range []int{20_000, 200_000} {
			each := rate / b.connections
			out, err := exec.CommandContext(ctx, path, "-c", strconv.Itoa(b.connections), "-q", strconv.Itoa(each), "-z", "3s", url).Output()
			if err != nil {
				return fmt.Errorf("hey: %w", err)
			}
			n, err := found(`Requests/sec:\s+([\d.]+)`)(out, 0)
			if err != nil {
				return err
			}
			fmt.Printf("hey -q %d: %.0f answers a second; it says nothing of that\n", each, n)
		}
	}
	return nil
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func said(warnings []string) string {
	if len(warnings) == 0 {
		return "nothing; all left on time"
	}
	return strings.Join(warnings, "; ")
}

// nginx starts a server with one worker, and waits until it answers.
func (b *bench) nginx(ctx context.Context) (url string, stop func(), err error) {
	path := installed("nginx", "nginx-light")
	if path == "" {
		return "", nil, errors.New("no nginx")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := l.Addr().String()
	l.Close()
	www := filepath.Join(b.dir, "www")
	if err := os.MkdirAll(www, 0o755); err != nil {
		return "", nil, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return "", nil, err
	}
	if err := os.WriteFile(filepath.Join(www, "index.html"), bytes.Repeat([]byte("<p>headway</p>\r\n"), 64), 0o644); err != nil {
		return "", nil, err
	}
	conf := filepath.Join(b.dir, "nginx.conf")
	text := fmt.Sprintf(`worker_processes 1; daemon off; pid %[1]s/pid; error_log stderr;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000000;
client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen %[2]s; root %[3]s; } }
`, b.dir, address, www)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	var errs bytes.Buffer
	cmd := exec.Command(path, "-c", conf, "-e", "stderr")
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	url = "http://" + address + "/"
	for range 50 {
		if r, err := http.Get(url); err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			if err == nil && r.StatusCode == http.StatusOK {
				return url, stop, nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("nginx does not answer: %s", errs.String())
}
