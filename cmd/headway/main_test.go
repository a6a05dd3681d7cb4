package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"pgregory.net/rapid"

	"github.com/headway-lab/headway/causal"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/stage"
	"github.com/headway-lab/headway/usage"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"headway": main,
		// The command with a profile that is played, not measured: for what the
		// command itself does with flags, answers and signals.
		"headway-played": func() {
			runProfile = played
			main()
		},
	})
}

func TestScripts(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(cache))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close) // after the scripts, which run in parallel
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GOCACHE", dirs[0])
			e.Setenv("GOMODCACHE", dirs[1])
			e.Setenv("GOTOOLCHAIN", "local")
			e.Setenv("SERVER", server.URL)
			e.Setenv("GOFLAGS", "-buildvcs=false")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			if name == "links" {
				return links(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// links says whether this user may make network namespaces, as root or in a user namespace.
func links() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	return cmd.Run() == nil
}

// status N COMMAND ARGS... runs a command that must end with exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// played answers as causal.Run does. A program argument makes it fail, or interrupts it.
func played(ctx context.Context, o causal.Options) (*report.Report, error) {
	o.Events(stage.Event{Phase: "build", Text: fmt.Sprintf("go build %q", o.BuildFlags)})
	o.Events(stage.Event{Phase: "start", Text: fmt.Sprintf("latency %q throughput %q", o.Latency, o.Throughput)})
	o.Events(stage.Event{Phase: "start", Text: "the same phase again is not worth a line"})
	o.Events(stage.Event{Phase: "sample", Text: "the clock is coarse", Warning: true})
	fmt.Fprintln(o.Stdout, "the program speaks")
	r := answer()
	switch arg := strings.Join(o.Args, " "); arg {
	case "":
	case "usage":
		return nil, &usage.Error{Err: errors.New("no function main.nope;\nnear: main.note")}
	case "nothing":
		return &report.Report{}, errors.New("the program ended after 12ms: exit status 1")
	case "ends":
		return r, errors.New("the program ended after 12s: exit status 1")
	case "interrupted", "interrupted early", "interrupted twice":
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return nil, err
		}
		self.Signal(os.Interrupt)
		<-ctx.Done()
		if arg == "interrupted twice" {
			self.Signal(os.Interrupt)
			select {}
		}
		if arg == "interrupted early" {
			r = &report.Report{}
		}
		return r, fmt.Errorf("experiment 7: %w", ctx.Err())
	default:
		return nil, fmt.Errorf("unexpected arguments %q", o.Args)
	}
	o.Events(stage.Event{Phase: "done", Elapsed: time.Minute, Total: time.Minute})
	return r, nil
}

// answer is a site of the published study, in the form of a report.
func answer() *report.Report {
	const site = "runtime.copystack runtime/stack.go:881"
	r := &report.Report{
		Schema: report.Schema, Verb: "profile",
		Question:    "What would make ./srv faster?",
		Answer:      "Making runtime.copystack faster is worth it.",
		Started:     time.Date(2019, 3, 7, 15, 0, 0, 0, time.UTC),
		Environment: report.Environment{Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2, Seed: 1},
		Metrics: []report.Metric{
			{Name: "latency http", Unit: "ns", Better: "lower"},
			{Name: "rate", Unit: "requests/s", Better: "higher"},
			{Name: "heap", Unit: "MB", Better: "lower"}, // has no ns/op
		},
		Groups: []report.Group{{Name: site, Verdict: "worth it", Values: map[string]report.Value{"share": {Value: 14.5, Low: 14, High: 15, N: 9000}}}},
	}
	value := func(x float64) report.Value { return report.Value{Value: x, Low: x * 0.99, High: x * 1.01, N: 12} }
	for _, c := range []struct{ speedup, ns, percent float64 }{{0, 2650250, 0}, {15, 2526251, -4.68}, {45, 2434132, -8.15}} {
		k := report.Case{
			Name: fmt.Sprintf("%g %%", c.speedup), Group: site, Baseline: c.speedup == 0,
			Params: map[string]float64{report.Speedup: c.speedup},
			Values: map[string]report.Value{"latency http": value(c.ns), "rate": value(1e9 / c.ns), "heap": value(7)},
		}
		if !k.Baseline {
			e := func(percent float64) report.Effect {
				return report.Effect{Percent: percent, Low: percent - 1, High: percent + 1, Confidence: 0.95, N: 12, Real: true}
			}
			k.Effects = map[string]report.Effect{"latency http": e(c.percent), "rate": e(100 * (1/(1+c.percent/100) - 1)), "heap": e(-2)}
		}
		r.Cases = append(r.Cases, k)
	}
	return r
}

func TestSplitFlags(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want []string
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"-race"}, []string{"-race"}},
		{[]string{" -tags=x  -race "}, []string{"-tags=x", "-race"}},
		{[]string{"-tags=x", "-race"}, []string{"-tags=x", "-race"}},
		{[]string{`-ldflags="-s -w" '-gcflags=all=-N -l'`}, []string{"-ldflags=-s -w", "-gcflags=all=-N -l"}},
		{[]string{`-ldflags ''`}, []string{"-ldflags", ""}},
		{[]string{`-ldflags="-X 'a=b c'"`}, []string{"-ldflags=-X 'a=b c'"}},
	} {
		got, err := splitFlags(c.in)
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("splitFlags(%q) = %q, %v, want %q", c.in, got, err, c.want)
		}
	}
	var wrong *usage.Error
	if _, err := splitFlags([]string{`-ldflags="-s`}); !errors.As(err, &wrong) {
		t.Errorf("an open quote gives %v", err)
	}
}

// Flags that are quoted one by one come back as they were.
func TestSplitFlagsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flags := rapid.SliceOf(rapid.StringMatching(`[^"]*`)).Draw(t, "flags")
		var quoted []string
		for _, f := range flags {
			quoted = append(quoted, `"`+f+`"`)
		}
		got, err := splitFlags([]string{strings.Join(quoted, " ")})
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", flags) {
			t.Fatalf("%q gives %q, %v", quoted, got, err)
		}
	})
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "a.json"), filepath.Join(dir, "link.json")
	say := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := writeFile(name, say("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.json", link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, say("two")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	// A writer that fails leaves the old content, and nothing else.
	broken := errors.New("broken")
	if err := writeFile(name, func(w io.Writer) error { io.WriteString(w, "th"); return broken }); !errors.Is(err, broken) {
		t.Errorf("a failing writer gives %v", err)
	}
	if err := writable(name); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "two" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := writable(dir); err == nil {
		t.Error("a directory is taken for a file")
	}
	if err := writable(os.DevNull); err != nil {
		t.Error(err)
	}
	if err := writeFile(os.DevNull, say("gone")); err != nil {
		t.Error(err)
	}
}

func TestClassicWithoutAnything(t *testing.T) {
	r := answer()
	r.Cases = nil
	var b bytes.Buffer
	if err := writeClassic(r, &b); err != nil || b.Len() > 0 {
		t.Errorf("no cases print %q, %v", b.String(), err)
	}
}
