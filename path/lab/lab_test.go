package lab

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/model"
	"github.com/headway-lab/headway/usage"
)

func TestMain(m *testing.M) {
	link.EnterOrExit()
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

func options() Options {
	return Options{RTT: 40 * time.Millisecond, Loss: []float64{0, .02}, CC: []string{"cubic", "reno"}, Size: 200_000, N: 4,
		LossOn: "data", Timeout: time.Minute, Seed: 1}
}

func able(t *testing.T) {
	t.Helper()
	l, err := link.New(link.Conditions{}, link.Conditions{})
	if errors.Is(err, link.ErrForbidden) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestLab(t *testing.T) {
	able(t)
	o := options()
	calls := 0
	o.Progress = func(p Progress) { calls++ }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 4 || calls != 16 || r.Answer == "" {
		t.Fatalf("%d cases, %d calls, answer %q", len(r.Cases), calls, r.Answer)
	}
	for _, c := range r.Cases {
		v := c.Values["total"]
		if v.N != 4 || c.Values["connect"].Value < .04 || c.Values["first byte"].Value < .08 || v.Value < c.Values["first byte"].Value {
			t.Errorf("%s %s: %+v", c.Group, c.Name, c.Values)
		}
		if c.Baseline != strings.HasPrefix(c.Name, "cubic") {
			t.Errorf("%s: baseline is %v", c.Name, c.Baseline)
		}
	}
	// What was lost was sent again, and nothing else.
	for i, again := range []bool{false, false, true, true} {
		if v := r.Cases[i].Values["sent again"]; (v.Value > 0) != again {
			t.Errorf("%s %s: %g %% sent again", r.Cases[i].Group, r.Cases[i].Name, v.Value)
		}
	}
	if n := len(r.Plots); n != 3 {
		t.Errorf("%d plots, want one over loss and two of single transfers", n)
	}
	for _, p := range r.Plots[1:] {
		for _, l := range p.Lines {
			if last := l.Points[len(l.Points)-1]; last.Y != 200 {
				t.Errorf("%s, %s: ends with %g KB", p.Title, l.Name, last.Y)
			}
		}
	}
}

// Without loss every round trip doubles what is sent: the number of round trips is exact.
func TestSlowStart(t *testing.T) {
	able(t)
	o := options()
	o.RTT, o.Loss, o.CC = 100*time.Millisecond, []float64{0}, []string{"reno"}
	b, err := newBench(&o, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	const mss = 1448
	for _, segments := range []int64{9, 11, 29, 31, 69, 71, 309, 500} {
		o.Size = segments * mss
		// The head of the answer takes room, too: at most one segment more.
		want := float64(model.SlowStart(segments+1, 10))
		least := math.Inf(1) // a busy machine can only make it longer
		for try := 0; try < 20 && math.Floor(least) > want; try++ {
			x, err := b.transfer(t.Context(), &o, cell{0, "reno"})
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, (x.total-x.connect).Seconds()/.1)
		}
		if math.Floor(least) != want {
			t.Errorf("%d segments took %.2f round trips, want %g", segments, least, want)
		}
	}
}

// What an end of the run leaves is what was measured until then.
func TestInterrupted(t *testing.T) {
	able(t)
	o := options()
	o.N, o.Parallel = 50, 4
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	o.Progress = func(p Progress) {
		if p.Done == 12 {
			cancel(stop)
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, stop) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	n := 0
	for _, c := range r.Cases {
		n += c.Values["total"].N
	}
	if n < 12 || n > 16 || !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "ended early") }) {
		t.Errorf("%d transfers; %v", n, r.Warnings)
	}
}

// Of each kind one transfer is captured, at both ends.
func TestCaptured(t *testing.T) {
	able(t)
	o := options()
	o.Capture = filepath.Join(t.TempDir(), "captures")
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(o.Capture)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		names = append(names, f.Name())
		if i, err := f.Info(); err != nil || i.Size() < o.Size {
			t.Errorf("%s: %v, %v", f.Name(), i, err)
		}
	}
	want := []string{"cubic-0-client.pcapng", "cubic-0-server.pcapng", "cubic-2-client.pcapng", "cubic-2-server.pcapng",
		"reno-0-client.pcapng", "reno-0-server.pcapng", "reno-2-client.pcapng", "reno-2-server.pcapng"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// A transfer that never ends counts with its time, and is told of.
func TestTimeout(t *testing.T) {
	able(t)
	o := options()
	o.Loss, o.CC, o.Timeout = []float64{.9}, []string{"reno"}, 300*time.Millisecond
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Cases[0].Values["total"]; v.Value != .3 {
		t.Errorf("total %v", v)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "not complete in 300ms") }) {
		t.Errorf("%v", r.Warnings)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.RTT = -1 }, "--rtt"}, {func(o *Options) { o.Loss = nil }, "--loss"}, {func(o *Options) { o.CC = nil }, "--cc"},
		{func(o *Options) { o.Size = 0 }, "--size"}, {func(o *Options) { o.N = 3 }, "-n 3"}, {func(o *Options) { o.Timeout = 0 }, "--timeout"},
		{func(o *Options) { o.Parallel = -1 }, "--parallel"}, {func(o *Options) { o.LossOn = "dat" }, "--loss-on"}, {func(o *Options) { o.Loss = []float64{0, 0} }, "twice"},
		{func(o *Options) { o.CC = []string{"bbr", "bbr"} }, "twice"}, {func(o *Options) { o.Loss = []float64{1} }, "nothing arrives"}, {func(o *Options) { o.Rate = 1 }, "rate"},
		{func(o *Options) { o.Queue = 1e6 }, "rate"}, {func(o *Options) { o.CC = []string{"no such thing"} }, "no such thing"},
	} {
		o := options()
		c.change(&o)
		_, err := Run(t.Context(), o)
		if errors.Is(err, link.ErrForbidden) {
			continue
		}
		var wrong *usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}

// Every transfer is made once; those of one path and round follow each other.
func TestJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options()
		o.Loss = rapid.SliceOfNDistinct(rapid.Float64Range(0, .5), 1, 6, rapid.ID).Draw(t, "loss")
		o.CC = []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "cc")]
		o.N = rapid.IntRange(4, 20).Draw(t, "n")
		all := o.jobs(func(n int, swap func(i, j int)) {
			if n > 1 {
				swap(0, n-1)
			}
		})
		seen := map[job]bool{}
		for i, j := range all {
			if seen[j] {
				t.Fatalf("%v twice", j)
			}
			seen[j] = true
			if first := all[i-i%len(o.CC)]; first.round != j.round || first.cell/len(o.CC) != j.cell/len(o.CC) {
				t.Fatalf("%v among those of %v", j, first)
			}
		}
		if len(all) != o.N*len(o.CC)*len(o.Loss) {
			t.Fatalf("%d transfers", len(all))
		}
	})
}
