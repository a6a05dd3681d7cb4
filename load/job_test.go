package load

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/effect"
)

func TestVersusFindsTheSlowerServer(t *testing.T) {
	quick := serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Millisecond) })
	slow := serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(25 * time.Millisecond) })
	j := &Job{Options: to(t, quick.URL), Rounds: 6}
	j.Options.Rate, j.Options.Duration = 100, 1800*time.Millisecond
	if err := j.VersusTargets(to(t, slow.URL).Targets); err != nil {
		t.Fatal(err)
	}
	r, hdr, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := r.Cases[1].Effects[middling]
	if !e.Real || e.N != 6 || e.Percent < 100 {
		t.Errorf("effect on the median: %+v", e)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := hdr(&b); err != nil || b.Len() == 0 {
		t.Errorf("HDR log: %v", err)
	}
}

func TestVersusConnections(t *testing.T) {
	// One at a time: more connections do not help.
	s := serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(4 * time.Millisecond) })
	j := &Job{Options: to(t, s.URL), Rounds: 5}
	j.Options.Closed, j.Options.Rate = true, 0
	j.Options.Duration = time.Second
	if err := j.VersusConnections([]string{"1", "4"}); err != nil {
		t.Fatal(err)
	}
	r, _, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Cases[1].Effects[answers]; !e.Real || e.Percent < 100 {
		t.Errorf("four connections to a server that sleeps: %+v", e)
	}
	if !strings.HasPrefix(r.Answer, "Better than connections 1 in answers a second: connections 4") {
		t.Error(r.Answer)
	}
	for _, bad := range [][]string{{"2"}, {"0", "1"}, {"1.5", "2"}, {"many", "2"}} {
		j := &Job{Options: to(t, s.URL)}
		if err := j.VersusConnections(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// mm1 is a server in virtual time: Poisson arrivals, one worker, exponential service.
func mm1(luck *dist.Stream, rate, service float64, requests int) *Result {
	r := &Result{Duration: time.Duration(float64(requests) / rate * 1e9), Statuses: map[int]int64{}, Faults: map[Fault]int64{}, Examples: map[Fault]error{}}
	wait := 0.0
	for i := range requests + requests/4 {
		s := luck.Exp() * service
		if i >= requests/4 {
			r.Latency.Add(int64((wait + s) * 1e9))
			r.Succeeded++
		}
		wait = max(wait+s-luck.Exp()/rate, 0) // Lindley's recursion
	}
	return r
}

// The latency of M/M/1 is exponential with mean 1 / (mu - lambda), so the rate that keeps
// a bound on a quantile is known: mu - ln(1 / (1 - q)) / bound.
func TestSearchFindsTheRateOfMM1(t *testing.T) {
	o, err := ParseObjective("p90<50ms")
	if err != nil {
		t.Fatal(err)
	}
	const service = .01
	truth := 1/service - math.Log(10)/.05
	held, worst := 0, 0.0
	const searches = 40
	for seed := range searches {
		luck := dist.NewStream(uint64(seed), "server")
		f := &finder{j: &Job{Objective: o}, o: Options{Rate: 5, Duration: time.Nanosecond}, each: 10 * time.Second, began: time.Now()}
		f.send = func(_ context.Context, rate float64, _ string) (*Result, error) {
			return mm1(luck, rate, service, 3000), nil
		}
		low, high, err := f.bracket(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		limits, err := f.rounds(t.Context(), math.Sqrt(low.rate*high.rate))
		if err != nil {
			t.Fatal(err)
		}
		e := effect.Of(logs(limits), 0, 0)
		if math.Exp(e.Low) <= truth && truth <= math.Exp(e.High) {
			held++
		}
		worst = max(worst, math.Abs(math.Exp(e.Value)/truth-1))
	}
	// At 90 % coverage 29 of 40 has a probability below .002.
	if held <= 29 || worst > .12 {
		t.Errorf("%d of %d intervals hold %.4g requests a second; the worst estimate is off by %.3g %%", held, searches, truth, 100*worst)
	}
}

func TestSearchOnAServer(t *testing.T) {
	// Two at a time and 10 ms each: 200 a second at most, less if the machine is busy.
	var two = make(chan struct{}, 2)
	s := serve(t, func(http.ResponseWriter, *http.Request) {
		two <- struct{}{}
		time.Sleep(10 * time.Millisecond)
		<-two
	})
	j := &Job{Options: to(t, s.URL)}
	j.Options.Rate, j.Options.Arrivals, j.Options.Connections = 60, Constant, 32
	j.Options.Duration = 10 * time.Second
	var err error
	if j.Objective, err = ParseObjective("p90<100ms"); err != nil {
		t.Fatal(err)
	}
	r, hdr, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Cases[0].Values["rate"]; v.Value <= 5 || v.Value > 1200 || v.N < 8 || v.Low > v.Value || v.High < v.Value {
		t.Errorf("%+v: %s", v, r.Answer)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := hdr(&b); err != nil || b.Len() == 0 {
		t.Errorf("HDR log: %v", err)
	}
}

func TestSearchSaysWhyNot(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	j := &Job{Options: to(t, s.URL)}
	j.Options.Rate, j.Options.Duration = 100, 10*time.Second
	var err error
	if j.Objective, err = ParseObjective("p99<50ms"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "status 500") {
		t.Errorf("got %v", err)
	}
}

func TestReportsCanBeShown(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, closed := range []bool{false, true} {
		j := &Job{Options: to(t, s.URL)}
		j.Options.Closed = closed
		r, _, err := j.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	}
}
