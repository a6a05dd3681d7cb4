package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/report"
)

// What examples/load does at /mm1. A service is long beside the tenths of a millisecond in which processors wake
// that serve other virtual machines, too.
const (
	service = 10 * time.Millisecond
	load    = .7
	lasts   = 160 * time.Second
	seeds   = 3
)

// truth compares what generators say with what is so.
func (b *bench) truth(ctx context.Context) error {
	b.server = filepath.Join(b.dir, "server")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.server, "github.com/headway-lab/headway/examples/load").CombinedOutput(); err != nil {
		return fmt.Errorf("building examples/load: %w\n%s", err, out)
	}
	wrk := installed("wrk", "wrk")
	hey := b.module(ctx, "github.com/rakyll/hey@latest")
	if b.wrk2 == "" {
		fmt.Println("wrk2 is left out: -wrk2 PATH says where it is (github.com/giltene/wrk2, make)")
	}

	for _, part := range []struct {
		name string
		run  func(ctx context.Context, wrk, hey string) error
	}{{"stall", b.stall}, {"mm1", b.mm1}, {"slow", b.slow}, {"drop", b.drop}} {
		if b.only != "" && b.only != part.name {
			continue
		}
		if err := part.run(ctx, wrk, hey); err != nil {
			return err
		}
	}
	return nil
}

// serve starts the server and returns its address.
func (b *bench) serve(seed uint64) (base string, stop func(), err error) {
	cmd := exec.Command(b.server, "-listen", "127.0.0.1:0", "-service", service.String(), "-seed", fmt.Sprint(seed))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the server says no address: %w", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "listening on ")), stop, nil
}

// stall is a server that stops for a second of every ten.
func (b *bench) stall(ctx context.Context, wrk, hey string) error {
	base, stop, err := b.serve(1)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("\nA server that stalls for 1 s of every 10 s, 60 s of 200 requests a second\n")
	fmt.Printf("(who comes in a stall, one of ten, waits for what is left of it: P(latency > x) = (1 s - x) / 10 s)\n\n")
	stalled := func(q float64) float64 { return max(1000*(1-(1-q)/.1), 0) }
	t := newTable("truth", stalled(.5), stalled(.95), stalled(.99), stalled(.999))
	t.headway(ctx, b, base+"/stall", 200, time.Minute, "poisson")
	t.wrk2(ctx, b.wrk2, base+"/stall", 200, time.Minute)
	t.wrk(ctx, wrk, base+"/stall", time.Minute)
	t.hey(ctx, hey, base+"/stall", time.Minute)
	if err := t.print(); err != nil {
		return err
	}
	return nil
}

// mm1 is the textbooks' queue, with Poisson arrivals and with equal gaps.
func (b *bench) mm1(ctx context.Context, wrk, hey string) error {
	rate := load / service.Seconds()
	fmt.Printf("\nM/M/1: exponential service of %v, Poisson arrivals of %.0f a second, %v, with %d seeds\n", service, rate, lasts, seeds)
	fmt.Printf("(latency is exponential with mean %.4g ms; the draws of a seed in virtual time are what a run of this length has in store)\n\n", service.Seconds()*1e3/(1-load))
	mm1 := func(q float64) float64 { return -math.Log(1-q) * service.Seconds() * 1e3 / (1 - load) }
	t := newTable("theory", mm1(.5), mm1(.95), mm1(.99), mm1(.999))
	for seed := range uint64(seeds) {
		if err := b.queue(ctx, t, rate, seed+1, "poisson"); err != nil {
			return err
		}
	}
	base, stop, err := b.serve(1)
	if err != nil {
		return err
	}
	defer stop()
	t.wrk(ctx, wrk, base+"/mm1", 20*time.Second)
	if err := t.print(); err != nil {
		return err
	}
	fmt.Printf("\nThe same with arrivals at equal gaps (D/M/1), %v\n", lasts)
	sigma := dm1(load)
	fmt.Printf("(latency is exponential with mean %.4g ms)\n\n", service.Seconds()*1e3/(1-sigma))
	law := func(q float64) float64 { return -math.Log(1-q) * service.Seconds() * 1e3 / (1 - sigma) }
	t = newTable("theory", law(.5), law(.95), law(.99), law(.999))
	if err := b.queue(ctx, t, rate, 1, "constant"); err != nil {
		return err
	}
	return t.print()
}

// queue adds what a run against /mm1 has in store, what headway says of it, and what the server saw.
func (b *bench) queue(ctx context.Context, t *table, rate float64, seed uint64, arrivals string) error {
	base, stop, err := b.serve(seed)
	if err != nil {
		return err
	}
	defer stop()
	t.add(fmt.Sprintf("draws of seed %d, in virtual time", seed), virtual(rate, seed, arrivals)...)
	t.headway(ctx, b, base+"/mm1", rate, lasts, arrivals, "--seed", fmt.Sprint(seed))
	t.seen(ctx, base)
	return nil
}

// slow is a server that takes as long for every request.
func (b *bench) slow(ctx context.Context, wrk, hey string) error {
	base, stop, err := b.serve(1)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("\nA server that takes 20 ms, 30 s of 500 requests a second at equal gaps, beside a second open-loop tool\n\n")
	t := newTable("truth", 20, 20, 20, 20)
	t.headway(ctx, b, base+"/slow", 500, 30*time.Second, "constant")
	t.wrk2(ctx, b.wrk2, base+"/slow", 500, 30*time.Second)
	if err := t.print(); err != nil {
		return err
	}
	return nil
}

// drop is a server that ends connections.
func (b *bench) drop(ctx context.Context, wrk, hey string) error {
	base, stop, err := b.serve(1)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("\nA server that drops a tenth of all requests, 20 s of 1,000 a second\n\n")
	r, err := b.report(ctx, base+"/drop", 1000, 20*time.Second, "poisson")
	if err != nil {
		return err
	}
	fmt.Printf("headway load: %.2f %% succeed [%.2f, %.2f]; truth 90; it says: %s\n", r.Cases[0].Values["succeeded"].Value,
		r.Cases[0].Values["succeeded"].Low, r.Cases[0].Values["succeeded"].High, r.Answer)
	return nil
}

// virtual is what the server and the generator draw with a seed, put together without either,
// by Lindley's recursion: what a run of finite length has in store.
func virtual(rate float64, seed uint64, arrivals string) []float64 {
	luck, services := dist.NewStream(seed, "arrivals"), dist.NewStream(seed, "service")
	var h histogram.Histogram
	warm := warmup.Seconds()
	for at, free := 0.0, 0.0; ; {
		if at >= warm+lasts.Seconds() {
			break
		}
		gap := 1 / rate
		if arrivals == "poisson" {
			gap = luck.Exp() / rate
		}
		at += gap
		free = max(free, at) + services.Exp()*service.Seconds()
		if at >= warm {
			h.Add(int64((free - at) * 1e9))
		}
	}
	var told []float64
	for _, q := range []float64{.5, .95, .99, .999} {
		told = append(told, h.Quantile(q)/1e6)
	}
	return told
}

// warmup of headway's runs.
const warmup = 3 * time.Second

// dm1 solves sigma = exp(-(1 - sigma) / load), on which the latency of D/M/1 rests
// (L. Kleinrock, Queueing Systems I, 1975, 6.4).
func dm1(load float64) float64 {
	s := .5
	for range 200 {
		s = math.Exp(-(1 - s) / load)
	}
	return s
}

// table is quantiles as several tell them, in ms.
type table struct {
	rows [][]string
	err  error
}

func newTable(name string, q ...float64) *table {
	t := &table{}
	t.add(name, q...)
	return t
}

func (t *table) add(name string, q ...float64) {
	row := []string{name}
	for _, v := range q {
		row = append(row, fmt.Sprintf("%.4g", v))
	}
	t.rows = append(t.rows, row)
}

func (t *table) print() error {
	if t.err != nil {
		return t.err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ms\tmedian\tp95\tp99\tp99.9\t")
	for _, r := range t.rows {
		fmt.Fprintln(w, strings.Join(r, "\t")+"\t")
	}
	return w.Flush()
}

func (b *bench) report(ctx context.Context, url string, rate float64, d time.Duration, arrivals string, more ...string) (*report.Report, error) {
	args := []string{"load", "--rate", fmt.Sprint(rate), "--duration", d.String(), "--warmup", warmup.String(),
		"--arrivals", arrivals, "--connections", "128", "--quiet", "--format", "json"}
	out, err := exec.CommandContext(ctx, b.headway, append(append(args, more...), url)...).Output()
	if err != nil {
		return nil, fmt.Errorf("headway load: %w", err)
	}
	return report.Parse(bytes.NewReader(out))
}

func (t *table) headway(ctx context.Context, b *bench, url string, rate float64, d time.Duration, arrivals string, more ...string) {
	r, err := b.report(ctx, url, rate, d, arrivals, more...)
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	row := []string{"headway load"}
	for _, m := range []string{"latency.median", "latency.p95", "latency.p99", "latency.p99.9"} {
		v := r.Cases[0].Values[m]
		row = append(row, fmt.Sprintf("%.4g [%.4g, %.4g]", v.Value, v.Low, v.High))
	}
	t.rows = append(t.rows, row)
}

// wrk2 is open loop: each connection has a schedule of its own with equal gaps. It
// calibrates itself in the first ten seconds, which do not count.
func (t *table) wrk2(ctx context.Context, path, url string, rate float64, d time.Duration) {
	if path == "" {
		return
	}
	out, err := exec.CommandContext(ctx, path, "-t1", "-c64", "--latency", fmt.Sprintf("-R%g", rate), fmt.Sprintf("-d%gs", d.Seconds()+10), url).Output()
	if err != nil {
		t.err = errors.Join(t.err, fmt.Errorf("wrk2: %w", err))
		return
	}
	t.rows = append(t.rows, []string{"wrk2", told(out, "50.000"), "", told(out, "99.000"), told(out, "99.900")})
}

// told is a quantile that wrk or wrk2 prints, in ms.
func told(out []byte, q string) string {
	m := regexp.MustCompile(`\s` + regexp.QuoteMeta(q) + `%\s+([\d.]+)(us|ms|s|m)\s`).FindSubmatch(out)
	if m == nil {
		return ""
	}
	d, err := time.ParseDuration(string(m[1]) + string(m[2]))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.4g", d.Seconds()*1e3)
}

// seen asks the server what it saw itself: times from a request's arrival there to its
// answer, since it was asked last.
func (t *table) seen(ctx context.Context, base string) {
	r, err := http.Get(base + "/seen")
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	defer r.Body.Close()
	var q [4]float64
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	t.add("the server itself", q[:]...)
}

// hey is closed loop, and corrects nothing.
func (t *table) hey(ctx context.Context, path, url string, d time.Duration) {
	if path == "" {
		return
	}
	out, err := exec.CommandContext(ctx, path, "-c", "4", "-z", fmt.Sprintf("%gs", d.Seconds()), url).Output()
	if err != nil {
		t.err = errors.Join(t.err, fmt.Errorf("hey: %w", err))
		return
	}
	at := func(q string) string {
		m := regexp.MustCompile(`\s` + q + `%+ in ([\d.]+) secs`).FindSubmatch(out)
		if m == nil {
			return ""
		}
		s, _ := strconv.ParseFloat(string(m[1]), 64)
		return fmt.Sprintf("%.4g", 1000*s)
	}
	t.rows = append(t.rows, []string{"hey (closed loop, 4)", at("50"), at("95"), at("99"), ""})
}

// wrk is closed loop, and puts in, afterwards, requests that it thinks it would have sent.
func (t *table) wrk(ctx context.Context, path, url string, d time.Duration) {
	if path == "" {
		return
	}
	out, err := exec.CommandContext(ctx, path, "-t1", "-c4", "--latency", "-d"+fmt.Sprintf("%gs", d.Seconds()), url).Output()
	if err != nil {
		t.err = errors.Join(t.err, fmt.Errorf("wrk: %w", err))
		return
	}
	t.rows = append(t.rows, []string{"wrk (closed loop, 4)", told(out, "50"), "", told(out, "99"), ""})
}
