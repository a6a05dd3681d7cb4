package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/mirror"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/stage"
)

func newMirror() *cobra.Command {
	var (
		out     output
		to      string
		dry     int
		try     []string
		t       mirror.Try
		o       mirror.Options
		metrics string
		seed    uint64
		set     mirrorFlags
	)
	c := &cobra.Command{
		Use:   "mirror [flags] CONFIG.yaml",
		Short: "Pull every record of a service to disk; what if it had more workers?",
		Long: `Mirror reads the list of a REST service and pulls each record into a file of its
own, under a path made of the record's fields. A file is whole or absent. A run
that ends early, by a signal, a fault or kill -9, goes on where it was; what fails
is named in .headway-mirror/failed.ndjson, and tried again by the next run.

With --try it stores nothing, and measures what other settings would bring on the
real service, in short trials that take turns.

The exit status is 0 if every record that the list has is on disk, 1 if some failed,
the list says that it has more than it showed, or the run was interrupted, 2 if the
command line or the config was wrong.`,
		Example: `  headway mirror examples/records/mirror.yaml --to records
  headway mirror examples/records/mirror.yaml --dry-run 5
  headway mirror examples/records/mirror.yaml --try workers=4,8,16 --try idle=16,2
  headway mirror examples/records/mirror.yaml --to records --auto --metrics :9100`,
		Args: func(c *cobra.Command, args []string) error {
			if _, _, ok := dryCount(c, args); !ok && len(args) != 1 {
				return usagef("want one config, such as examples/records/mirror.yaml; got %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if n, file, ok := dryCount(c, args); ok {
				dry, args = n, []string{file}
			}
			if err := set.sense(c); err != nil {
				return err
			}
			config, err := mirror.Read(args[0], os.LookupEnv)
			if err != nil {
				return usagef("%w", err)
			}
			if err := set.apply(c, config); err != nil {
				return usagef("%w", err)
			}
			if c.Flags().Changed("dry-run") {
				if dry < 1 {
					return usagef("--dry-run %d: want the number of records to show", dry)
				}
				return mirror.DryRun(c.Context(), config, dry, c.OutOrStdout())
			}
			if to == "" && len(try) == 0 {
				return usagef("--to is missing: want the directory for the records")
			}
			for _, s := range try {
				k, err := mirror.ParseKnob(s)
				if err != nil {
					return usagef("--try %w", err)
				}
				t.Knobs = append(t.Knobs, k)
			}
			if err := t.Check(); len(try) > 0 && err != nil {
				return usagef("%w", err)
			}
			show := newDisplay(c.ErrOrStderr(), out.quiet)
			defer show.close()
			var r *report.Report
			var runErr error
			if len(try) > 0 {
				t.Config, t.Dir, t.Seed = config, to, seed
				t.Progress = func(text string, done, total int, elapsed time.Duration) {
					show.event(stage.Event{Phase: "try", Text: text, Elapsed: elapsed, Total: stage.Expected(elapsed, float64(done)/float64(total))})
				}
				r, runErr = t.Run(c.Context())
			} else {
				o.Config, o.Dir = config, to
				o.Warn = func(s string) { show.event(stage.Event{Warning: true, Text: s}) }
				o.Say = show.say
				o.Progress = func(p mirror.Progress) {
					e := stage.Event{Phase: "mirror", Text: p.Line(), Elapsed: p.Elapsed}
					if p.Left > 0 {
						e.Total = p.Elapsed + p.Left
					}
					show.event(e)
				}
				if metrics != "" {
					m, err := mirror.ServeMetrics(metrics)
					if err != nil {
						return usagef("--metrics %s: %w", metrics, err)
					}
					defer m.Close()
					show.say("metrics at http://" + m.Addr().String() + "/metrics")
					progress := o.Progress
					o.Progress = func(p mirror.Progress) { m.Show(p); progress(p) }
				}
				result, err := mirror.Run(c.Context(), o)
				if runErr = err; result != nil {
					r = result.Report(seed)
				}
			}
			show.close()
			var wrong *mirror.ConfigError
			if errors.As(runErr, &wrong) {
				return usagef("%w", runErr)
			}
			if r == nil {
				return interrupted(c.Context(), runErr, "nothing was found yet")
			}
			err = out.write(r, c.OutOrStdout(), show.say)
			return errors.Join(err, interrupted(c.Context(), runErr, "run the same command again, and it goes on from here"))
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&to, "to", "", "the `DIR`ectory that the records go to; with --try the one whose disk has its part")
	f.IntVar(&dry, "dry-run", 20, "show where the first `N` records would go, 20 if not said, and ask for none")
	f.Lookup("dry-run").NoOptDefVal = "20"
	set.add(c)
	f.BoolVar(&o.Auto, "auto", false, "find the number of workers and idle connections by trying, up to 256")
	f.StringArrayVar(&try, "try", nil, "measure `KNOB=A,B,...` instead of mirroring; may be repeated: workers, idle, request, dial, rate, protocol, transport=shared,per-call")
	f.IntVar(&t.Rounds, "rounds", 6, "with --try: measure each value `N` times")
	f.DurationVar(&t.Time, "trial", time.Second, "with --try: the `TIME` of one measurement")
	f.StringVar(&metrics, "metrics", "", "serve the progress for Prometheus at `ADDRESS`, such as :9100")
	f.Uint64Var(&seed, "seed", 1, "`NUMBER` that decides the order of trials")
	out.flags(c)
	c.MarkFlagDirname("to")
	for name, words := range map[string][]string{
		"check": {"presence", "size", "etag"}, "protocol": {"auto", "h1", "h2"},
		"try":     {"workers=16,4,64", "idle=16,2", "request=10s,1s", "dial=30s,1s", "rate=0,100", "protocol=h1,h2", "transport=shared,per-call"},
		"dry-run": {"5", "20", "100"}, "workers": {"4", "16", "64"}, "metrics": {":9100"},
	} {
		c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], cobra.ShellCompRequestCmd) {
		// A shell shows the text as it is, with the quotes that mark a value's name in --help.
		for _, name := range []string{"to", "dry-run", "workers", "idle", "rate", "protocol", "attempts", "check", "try", "rounds", "trial", "metrics", "seed", "format", "json", "html"} {
			f.Lookup(name).Usage = strings.ReplaceAll(f.Lookup(name).Usage, "`", "")
		}
	}
	return c
}

// dryCount finds the number in "--dry-run 5", which to pflag is an argument.
func dryCount(c *cobra.Command, args []string) (n int, file string, ok bool) {
	if len(args) != 2 || !c.Flags().Changed("dry-run") {
		return 0, "", false
	}
	for i, a := range args {
		if n, err := strconv.Atoi(a); err == nil {
			return n, args[1-i], true
		}
	}
	return 0, "", false
}

// sense refuses flags that would have no part in what is asked for.
func (m *mirrorFlags) sense(c *cobra.Command) error {
	said := c.Flags().Changed
	for _, x := range []struct{ flag, with, why string }{
		{"rounds", "", "it is for --try"},
		{"trial", "", "it is for --try"},
		{"try", "dry-run", "--dry-run fetches nothing"},
		{"auto", "dry-run", "--dry-run fetches nothing"},
		{"metrics", "dry-run", "--dry-run fetches nothing"},
		{"json", "dry-run", "--dry-run makes no report"},
		{"html", "dry-run", "--dry-run makes no report"},
		{"format", "dry-run", "--dry-run makes no report"},
		{"auto", "try", "--auto is for a mirror, --try compares settings"},
		{"metrics", "try", "it is for a mirror"},
		{"durable", "try", "--try stores nothing"},
		{"check", "try", "--try fetches every record"},
		{"workers", "auto", "--auto finds the number of workers"},
		{"idle", "auto", "--auto keeps as many connections as there are workers"},
	} {
		if said(x.flag) && (x.with != "" && said(x.with) || x.with == "" && !said("try")) {
			with := "with --" + x.with
			if x.with == "" {
				with = "without --try"
			}
			return usagef("--%s has no part %s: %s", x.flag, with, x.why)
		}
	}
	return nil
}

// mirrorFlags say otherwise than the config.
type mirrorFlags struct {
	workers, idle, attempts int
	rate                    float64
	protocol, check         string
	dial, tls, request      time.Duration
	durable                 bool
}

func (m *mirrorFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&m.workers, "workers", 16, "fetch `N` records at a time")
	f.IntVar(&m.idle, "idle", -1, "keep `N` idle connections; -1 is as many as workers")
	f.Float64Var(&m.rate, "rate", 0, "send at most `N` requests a second; 0 is no bound")
	f.StringVar(&m.protocol, "protocol", "auto", "speak `auto`, h1 or h2")
	f.DurationVar(&m.dial, "dial", 30*time.Second, "wait so long for a connection; 0 is no bound")
	f.DurationVar(&m.tls, "tls", 30*time.Second, "wait so long for a TLS handshake; 0 is no bound")
	f.DurationVar(&m.request, "request", 10*time.Second, "end an exchange in which nothing comes for so long; 0 is no bound")
	f.IntVar(&m.attempts, "attempts", 5, "ask `N` times at most")
	f.StringVar(&m.check, "check", "presence", "take a file that is there for the record by its `presence`, size or etag")
	f.BoolVar(&m.durable, "durable", false, "make files outlive a power cut")
}

func (m *mirrorFlags) apply(c *cobra.Command, to *mirror.Config) error {
	said := c.Flags().Changed
	for flag, set := range map[string]func(){
		"workers":  func() { to.HTTP.Workers = m.workers },
		"idle":     func() { to.HTTP.Idle = m.idle },
		"rate":     func() { to.HTTP.Rate = m.rate },
		"protocol": func() { to.HTTP.Protocol = m.protocol },
		"dial":     func() { to.HTTP.Dial = m.dial },
		"tls":      func() { to.HTTP.TLS = m.tls },
		"request":  func() { to.HTTP.Request = m.request },
		"attempts": func() { to.Retry.Attempts = m.attempts },
		"check":    func() { to.Check = m.check },
		"durable":  func() { to.Durable = m.durable },
	} {
		if said(flag) {
			set()
		}
	}
	if err := to.Validate(); err != nil {
		// The config names it by its section, the command line does not.
		name, rest, _ := strings.Cut(err.Error(), ": ")
		return fmt.Errorf("--%s: %s", name[strings.LastIndexByte(name, '.')+1:], rest)
	}
	return nil
}
