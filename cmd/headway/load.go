package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/load"
	"github.com/headway-lab/headway/stage"
	"github.com/headway-lab/headway/wire"
)

// loadFlags is what the command line of load says.
type loadFlags struct {
	out                              output
	o                                load.Options
	method, data, arrivals, protocol string
	headers                          []string
	requests, times                  string
	speed                            float64
	insecure                         bool
	roots, at                        string
	find, vs                         string
	vsConnections, vsRates           []string
	vsProtocols                      []string
	rounds                           int
	hdr                              string
	threads                          int
	maxRate                          float64
}

func newLoad() *cobra.Command {
	x := loadFlags{}
	c := &cobra.Command{
		Use:   "load [flags] URL...",
		Short: "What if there were more traffic?",
		Long: `Load sends requests to a server and says how long they take, from the moment each
was due. Requests leave on a schedule, whatever the server does: when it stalls,
those that were due meanwhile have waited, as users would have. With --closed each
connection waits for its answer before it sends again, as wrk does, which tells how
much a server can do and hides how long users wait.

A URL may have a weight before it, as in 3=http://localhost/a: then three of four
requests go there, if the other has none.

  --find 'p99<50ms'          the highest rate that keeps an objective
  --vs URL                   two servers, by turns, and the effect
  --vs-connections 2,100     the client's own settings, by turns, and the effect

The exit status is 0 if the measurement is complete, 1 if it failed or was
interrupted, 2 if the command line was wrong.`,
		Example: `  headway load http://localhost:8080/
  headway load --rate 2000 --duration 30s --html load.html https://localhost:8443/a
  headway load --closed --connections 64 http://localhost:8080/
  headway load --find 'p99<50ms,failed<0.1%' http://localhost:8080/
  headway load --rate 500 --vs http://localhost:8081/ http://localhost:8080/
  headway load --replay access.log --speed 2 http://localhost:8080`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("want a URL, such as http://localhost:8080/")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              x.run,
	}
	f := c.Flags()
	f.SortFlags = false
	f.Float64VarP(&x.o.Rate, "rate", "r", 100, "requests a `second`, all together; with --find, to begin with")
	f.DurationVar(&x.o.Duration, "duration", 10*time.Second, "`time` that counts; of all trials together for each variant")
	f.DurationVar(&x.o.Warmup, "warmup", time.Second, "`time` before it, which does not count")
	f.IntVarP(&x.o.Connections, "connections", "c", 0, "`number` of connections (default 64, or 4 over HTTP/2)")
	f.IntVar(&x.o.Streams, "streams", 0, "`number` of requests at a time on each connection over HTTP/2 (default 16)")
	f.BoolVar(&x.o.Closed, "closed", false, "closed loop: no schedule, each connection sends when it has its answer")
	f.Var(newChoice(&x.arrivals, "poisson", "constant"), "arrivals", "`poisson`, as independent users come, or constant")
	f.DurationVar(&x.o.Timeout, "timeout", 10*time.Second, "`time` after which a request has failed")
	f.Var(newChoice(&x.protocol, "auto", "h1", "h2"), "protocol", "`h1`, h2 (without TLS: h2c), or auto, what the server offers")
	f.BoolVar(&x.o.NewConnections, "no-keepalive", false, "a new connection for every request")
	f.StringVarP(&x.method, "method", "X", "", "`method` (default GET, or POST with --data)")
	f.StringArrayVarP(&x.headers, "header", "H", nil, "`\"Name: value\"` to send; may be repeated")
	f.StringVarP(&x.data, "data", "d", "", "`body` to send, or @FILE")
	f.StringVar(&x.requests, "requests", "", "`FILE` with the requests to send, in order: a path or URL a line, or METHOD and that, or an access log")
	f.StringVar(&x.times, "replay", "", "access log `FILE`: send its requests, at its times")
	f.Float64Var(&x.speed, "speed", 1, "with --replay: `times` as fast")
	f.BoolVarP(&x.insecure, "insecure", "k", false, "accept any certificate")
	f.StringVar(&x.roots, "cacert", "", "`FILE` with the certificates to trust")
	f.StringVar(&x.at, "connect-to", "", "`HOST:PORT` to connect to, whatever the URL says")
	f.StringVar(&x.find, "find", "", "search the highest rate that keeps an `OBJECTIVE`, such as p99<50ms or p95<20ms,failed<1%")
	f.Float64Var(&x.maxRate, "max-rate", 0, "with --find: no more than so many requests a `second`")
	f.StringVar(&x.vs, "vs", "", "compare with another `URL`, by turns")
	f.StringSliceVar(&x.vsConnections, "vs-connections", nil, "compare `NUMBERS` of connections, by turns; the first is the baseline")
	f.StringSliceVar(&x.vsRates, "vs-rate", nil, "compare `RATES`, by turns; the first is the baseline")
	f.StringSliceVar(&x.vsProtocols, "vs-protocol", nil, "compare `PROTOCOLS`, by turns, as in h1,h2")
	f.IntVar(&x.rounds, "rounds", 10, "`number` of turns of each variant")
	f.IntVar(&x.threads, "threads", 0, "`number` of processors to use (default all)")
	f.Uint64Var(&x.o.Seed, "seed", 1, "`NUMBER` that decides arrivals and order")
	f.StringVar(&x.hdr, "hdr", "", "write the latencies as HDR histogram log, in ns, to `FILE`")
	x.out.flags(c)
	x.arrivals, x.protocol = "poisson", "auto"
	for _, name := range []string{"requests", "replay"} {
		c.MarkFlagFilename(name)
	}
	c.MarkFlagFilename("cacert", "pem", "crt")
	c.MarkFlagFilename("hdr", "hlog", "hdr")
	for name, words := range map[string][]string{
		"arrivals": {"poisson", "constant"}, "protocol": {"auto", "h1", "h2"},
		"find": {"p99<50ms", "p95<20ms,failed<1%"}, "method": {"GET", "HEAD", "POST", "PUT", "DELETE"},
	} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func (x *loadFlags) run(c *cobra.Command, args []string) error {
	if err := x.out.check(); err != nil {
		return err
	}
	if err := writable(x.hdr); err != nil {
		return usagef("--hdr %s cannot be written: %w", x.hdr, plain(err))
	}
	if err := x.sense(c); err != nil {
		return usagef("%w", err)
	}
	if x.threads < 0 || x.threads > 1024 {
		return usagef("--threads %d: want 1 to 1024, or 0 for all processors", x.threads)
	}
	if x.threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(x.threads))
	}
	job, err := x.job(c, args)
	if err != nil {
		return usagef("%w", err)
	}
	show := newDisplay(c.ErrOrStderr(), x.out.quiet)
	job.Progress = func(phase string, p load.Progress) {
		e := stage.Event{Phase: phase, Elapsed: p.Elapsed, Total: p.Total}
		e.Text = fmt.Sprintf("%.0f answers/s, p99 %v, %d busy", p.Rate, p.P99.Round(10*time.Microsecond), p.Busy)
		if p.Failed > 0 {
			e.Text += fmt.Sprintf(", %d failed", p.Failed)
		}
		show.event(e)
	}
	r, hdr, runErr := job.Run(c.Context())
	show.close()
	if r == nil {
		return interrupted(c.Context(), runErr, "nothing was measured yet")
	}
	err = x.out.write(r, c.OutOrStdout(), show.say)
	if x.hdr != "" {
		if e := writeFile(x.hdr, hdr); e != nil {
			err = errors.Join(err, fmt.Errorf("--hdr %s: %w", x.hdr, plain(e)))
		} else {
			show.say("wrote " + x.hdr)
		}
	}
	return errors.Join(err, interrupted(c.Context(), runErr, "this is what was measured until then"))
}

// sense refuses flags that are empty, or would be ignored.
func (x *loadFlags) sense(c *cobra.Command) error {
	given := c.Flags().Changed
	for _, name := range []string{"find", "vs", "replay", "requests", "cacert", "connect-to"} {
		if given(name) && c.Flag(name).Value.String() == "" {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	for _, name := range []string{"connections", "streams", "threads", "timeout"} {
		if v := c.Flag(name).Value.String(); given(name) && (v == "0" || v == "0s") {
			return fmt.Errorf("--%s %s: want more than 0", name, v)
		}
	}
	turns := given("vs") || given("vs-connections") || given("vs-rate") || given("vs-protocol")
	for _, f := range []struct {
		flag    string
		useless bool
		why     string
	}{
		{"speed", !given("replay"), "it is for --replay"},
		{"rounds", !turns, "it is for --vs and its like"},
		{"max-rate", !given("find"), "it is for --find"},
		{"streams", x.protocol == "h1", "HTTP/1.1 has none"},
		{"arrivals", x.o.Closed || given("replay"), "there is no schedule to draw"},
		{"connections", given("vs-connections"), "--vs-connections says how many"},
		{"rate", given("vs-rate"), "--vs-rate says which"},
		{"method", given("replay"), "the log has the methods"},
		{"data", given("replay"), "a log has requests without bodies"},
		{"cacert", x.insecure, "with --insecure any certificate will do"},
	} {
		if given(f.flag) && f.useless {
			return fmt.Errorf("--%s would be ignored: %s", f.flag, f.why)
		}
	}
	if x.at != "" {
		if _, _, err := net.SplitHostPort(x.at); err != nil {
			return fmt.Errorf("--connect-to %s: want HOST:PORT", x.at)
		}
	}
	return nil
}

// job turns flags into what package load does.
func (x *loadFlags) job(c *cobra.Command, args []string) (*load.Job, error) {
	o := x.o
	if x.arrivals == "constant" {
		o.Arrivals = load.Constant
	}
	o.Dialer.Protocol = protocols[x.protocol]
	o.Dialer.At = x.at
	o.Dialer.TLS = &tls.Config{InsecureSkipVerify: x.insecure}
	if x.roots != "" {
		pem, err := os.ReadFile(x.roots)
		if err != nil {
			return nil, fmt.Errorf("--cacert %s: %w", x.roots, plain(err))
		}
		o.Dialer.TLS.RootCAs = x509.NewCertPool()
		if !o.Dialer.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--cacert %s: it holds no certificate in PEM", x.roots)
		}
	}
	h := http.Header{}
	for _, line := range x.headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q: want \"Name: value\"", line)
		}
		switch http.CanonicalHeaderKey(strings.TrimSpace(name)) {
		case "Content-Length", "Transfer-Encoding":
			return nil, fmt.Errorf("--header %q: the length is that of --data, and nothing else", line)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	body := []byte(x.data)
	if name, ok := strings.CutPrefix(x.data, "@"); ok {
		var err error
		if body, err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("--data %s: %w", x.data, plain(err))
		}
	}
	method := x.method
	if method == "" && c.Flags().Changed("data") {
		method = http.MethodPost
	}
	mix := load.Mix{Method: method, Header: h, Body: body}
	if o.Closed && c.Flags().Changed("rate") {
		return nil, errors.New("--closed sends as fast as answers come: it has no --rate")
	}
	if x.requests != "" && x.times != "" {
		return nil, errors.New("--requests and --replay both say what to send: want one of them")
	}
	var err error
	var notes []string
	if file := x.requests + x.times; file != "" {
		if len(args) > 1 {
			return nil, fmt.Errorf("a file of requests goes to one server: want one URL, got %d", len(args))
		}
		if !(x.speed > 0) {
			return nil, fmt.Errorf("--speed %g: want more than 0", x.speed)
		}
		err = mix.ReadFile(&o, file, args[0], x.times != "", x.speed)
		if err == nil && x.times != "" {
			if c.Flags().Changed("rate") || o.Closed {
				return nil, errors.New("--replay has its own times: leave out --rate and --closed")
			}
			notes, err = x.span(c, &o)
		}
	} else {
		o.Targets, err = mix.Targets(args)
	}
	if err != nil {
		return nil, err
	}
	j := &load.Job{Options: o, Rounds: x.rounds}
	j.Notes = notes
	if mix.Garbled > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d lines of the log could not be read and are left out", mix.Garbled))
	}
	if mix.Skipped > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d requests of the log are left out: only GET and HEAD are sent again, for a log holds no bodies", mix.Skipped))
	}
	if x.find != "" {
		if j.Objective, err = load.ParseObjective(x.find); err != nil {
			return nil, fmt.Errorf("--find %s: %w", x.find, err)
		}
		if c.Flags().Changed("max-rate") && !(x.maxRate > 0) {
			return nil, fmt.Errorf("--max-rate %g: want more than 0", x.maxRate)
		}
		j.MaxRate = x.maxRate
		if !c.Flags().Changed("duration") {
			j.Options.Duration = time.Minute
		}
		if !c.Flags().Changed("warmup") {
			j.Options.Warmup = 0
		}
	}
	return j, x.variants(j, &mix)
}

// span sets the duration of a replay: that of the log, unless less is asked for.
func (x *loadFlags) span(c *cobra.Command, o *load.Options) (notes []string, err error) {
	if !c.Flags().Changed("warmup") {
		o.Warmup = 0
	}
	last := o.Times[len(o.Times)-1] + time.Millisecond
	if o.Warmup >= last {
		return nil, fmt.Errorf("--warmup %v: the log is over after %v", o.Warmup, last.Round(time.Millisecond))
	}
	if !c.Flags().Changed("duration") || o.Warmup+o.Duration > last {
		o.Duration = last - o.Warmup
	}
	sent, _ := slices.BinarySearch(o.Times, o.Warmup+o.Duration)
	if rest := len(o.Times) - sent; rest > 0 {
		notes = append(notes, fmt.Sprintf("%d of the log's %d requests come after --duration %v and were not sent", rest, len(o.Times), o.Duration))
	}
	return notes, nil
}

var protocols = map[string]wire.Protocol{"auto": wire.Auto, "h1": wire.HTTP1, "h2": wire.HTTP2}

// variants are what is compared by turns.
func (x *loadFlags) variants(j *load.Job, mix *load.Mix) error {
	asked := 0
	for _, given := range []bool{x.vs != "", len(x.vsConnections) > 0, len(x.vsRates) > 0, len(x.vsProtocols) > 0, x.find != ""} {
		if given {
			asked++
		}
	}
	if asked > 1 {
		return errors.New("want one of --find, --vs, --vs-connections, --vs-rate and --vs-protocol at a time")
	}
	if x.vs != "" {
		targets, err := mix.Targets([]string{x.vs})
		if err != nil {
			return fmt.Errorf("--vs: %w", err)
		}
		return j.VersusTargets(targets)
	}
	for flag, v := range map[string]struct {
		words []string
		add   func([]string) error
	}{
		"vs-connections": {x.vsConnections, j.VersusConnections},
		"vs-rate":        {x.vsRates, j.VersusRates},
		"vs-protocol":    {x.vsProtocols, j.VersusProtocols},
	} {
		if len(v.words) > 0 {
			if err := v.add(v.words); err != nil {
				return fmt.Errorf("--%s %s: %w", flag, strings.Join(v.words, ","), err)
			}
		}
	}
	return nil
}
