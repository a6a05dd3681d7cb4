package health

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet is pods that know each other, on one clock.
type fleet struct {
	pods []*Pod
	now  time.Time
}

func newFleet(n int, o Options) *fleet {
	f := &fleet{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Now = func() time.Time { return f.now }
	o.Others = func(context.Context) ([]Tally, error) {
		var all []Tally
		for _, p := range f.pods {
			all = append(all, p.Tally())
		}
		return all, nil
	}
	for range n {
		f.pods = append(f.pods, New(o))
	}
	// So that who is first is known.
	for i, p := range f.pods {
		p.instance = string(rune('a' + i))
		p.SetReady(true)
	}
	return f
}

func (f *fleet) pass(d time.Duration) { f.now = f.now.Add(d) }

func (f *fleet) serve(counts ...int) {
	for i, n := range counts {
		for range n {
			f.pods[i].Served()
		}
	}
}

func (f *fleet) judge() []Verdict {
	var all []Verdict
	for _, p := range f.pods {
		all = append(all, p.Judge(context.Background()))
	}
	return all
}

// alive is a letter for each pod: a for alive, d for dead.
func alive(all []Verdict) string {
	s := ""
	for _, v := range all {
		if v.Alive {
			s += "a"
		} else {
			s += "d"
		}
	}
	return s
}

func TestWhoIsAlive(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int
		want   string
		why    string // of the first pod
	}{
		{"all serve", []int{500, 480, 510}, "aaa", "served 500 of 1490 requests of 3 pods"},
		{"nobody asks", []int{0, 0, 0}, "aaa", "0 requests in all; 408 are needed to tell"},
		{"few ask", []int{0, 200, 150}, "aaa", "350 requests in all; 408 are needed to tell"},
		{"one is short", []int{0, 300, 310}, "daa", "served 0 of 610 requests of 3 pods; the chance of so few is 1e-09"},
		{"one is slow but fair enough", []int{40, 400, 400}, "aaa", "served 40 of 840 requests of 3 pods"},
		{"one serves a little, of much", []int{40, 4000, 4000}, "daa", "served 40 of 8040 requests of 3 pods; the chance of so few is 2.8e-69"},
		{"two of five: one at a time", []int{300, 0, 400, 0, 400}, "adaaa", "served 300 of 1100 requests of 5 pods"},
		{"one client, one connection, one pod", []int{0, 0, 0, 9000}, "aaaa", "served 0 of 9000 requests of 4 pods; but 3 pods got few: the traffic is uneven"},
		{"two pods", []int{0, 600}, "da", "served 0 of 600 requests of 2 pods; the chance of so few is 4.3e-14"},
		{"alone", []int{0}, "a", "there is nobody to compare with"},
	} {
		f := newFleet(len(c.counts), Options{})
		f.pass(2 * time.Minute)
		if got := alive(f.judge()); strings.Contains(got, "d") {
			t.Errorf("%s: %s before the window", c.name, got)
		}
		f.pass(10 * time.Second)
		f.serve(c.counts...)
		all := f.judge()
		if got := alive(all); got != c.want || all[0].Reason != c.why {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, got, all[0].Reason, c.want, c.why)
		}
	}
}

// Requests that come slowly are added up over many probes, and the verdict then stands until there is a better one.
func TestSlowTraffic(t *testing.T) {
	f := newFleet(2, Options{})
	f.pass(2 * time.Minute)
	f.judge()
	probes := 0
	for ; probes < 100 && alive(f.judge()) == "aa"; probes++ {
		f.pass(10 * time.Second)
		f.serve(0, 10)
	}
	if enough := int(Enough(.05, 1e-6)); probes != (enough+9)/10 {
		t.Errorf("dead after %d probes of 10 requests; %d requests are enough", probes, enough)
	}
	for range 5 { // three failures in a row is what a kubelet waits for
		f.pass(10 * time.Second)
		if got := alive(f.judge()); got != "da" {
			t.Fatalf("%s before there is anything new", got)
		}
	}
	f.serve(400, 400)
	f.pass(10 * time.Second)
	if got := alive(f.judge()); got != "aa" {
		t.Errorf("%s after it served again", got)
	}
}

func TestWindowEnds(t *testing.T) {
	f := newFleet(2, Options{Longest: time.Minute})
	f.pass(2 * time.Minute)
	f.judge()
	f.serve(0, 250)
	f.pass(2 * time.Minute)
	if v := f.judge()[0]; v.Reason != "too few requests to tell" {
		t.Error(v.Reason)
	}
	f.serve(0, 250) // with those before it would be enough
	f.pass(30 * time.Second)
	if got := alive(f.judge()); got != "aa" {
		t.Error("requests of a window that is over still count")
	}
}

func TestYoungAndUnready(t *testing.T) {
	f := newFleet(3, Options{})
	f.pods[0].SetReady(false)
	f.pass(2 * time.Minute)
	f.judge()
	f.pass(10 * time.Second)
	f.serve(0, 500, 500)
	if v := f.judge()[0]; !v.Alive || v.Reason != "too young to be compared, or not ready" {
		t.Errorf("not ready: %+v", v)
	}
	f.pods[0].SetReady(true)
	f.pass(30 * time.Second)
	f.serve(0, 500, 500)
	if v := f.judge()[0]; !v.Alive {
		t.Errorf("young: %+v", v)
	}
	f.pods[0].SetReady(true) // again: it is no younger for it
	f.pass(40 * time.Second)
	f.judge() // now its window begins
	f.serve(0, 500, 500)
	f.pass(10 * time.Second)
	if v := f.judge()[0]; v.Alive || v.Pods != 3 {
		t.Errorf("grown up: %+v", v)
	}
}

// A pod that is new, or was restarted, changes nothing for the others.
func TestPodsComeAndGo(t *testing.T) {
	f := newFleet(3, Options{})
	f.pass(2 * time.Minute)
	f.judge()
	f.serve(300, 300, 5000)
	f.pods[2].instance = "other" // restarted: it counts from 0, and what it served is unknown
	f.pods[2].served.Store(10)
	f.pass(10 * time.Second)
	if v := f.judge()[0]; !v.Alive || v.Pods != 2 || v.Total != 600 {
		t.Errorf("%+v", v)
	}
}

func TestProbesInBetween(t *testing.T) {
	f := newFleet(2, Options{})
	asked := 0
	others := f.pods[0].o.Others
	f.pods[0].o.Others = func(ctx context.Context) ([]Tally, error) { asked++; return others(ctx) }
	f.pass(2 * time.Minute)
	for range 10 {
		f.judge()
		f.pass(time.Second)
	}
	if asked != 2 {
		t.Errorf("the others were asked %d times in ten seconds", asked)
	}
}

func TestClump(t *testing.T) {
	f := newFleet(2, Options{Clump: 100})
	f.pass(2 * time.Minute)
	f.judge()
	f.serve(0, 20000) // 200 connections
	f.pass(10 * time.Second)
	if v := f.judge()[0]; !v.Alive {
		t.Errorf("%+v", v)
	}
	f.serve(0, 20000)
	f.pass(10 * time.Second)
	if v := f.judge()[0]; v.Alive || v.Total != 400 {
		t.Errorf("%+v", v)
	}
}

func TestCheck(t *testing.T) {
	fault := error(nil)
	var f *fleet
	f = newFleet(2, Options{CheckServed: 1, Check: func(context.Context) error { f.pods[0].Served(); return fault }})
	f.pods[1].o.Check = nil
	f.pass(2 * time.Minute)
	for range 100 {
		f.pass(10 * time.Second)
		f.serve(0, 10)
		if got := alive(f.judge()); got != "aa" {
			return // short of requests, for all that it asked itself
		}
		fault = errors.New("no answer")
		f.pass(10 * time.Second)
		if v := f.judge()[0]; v.Alive || v.Reason != "its own request fails: no answer" {
			t.Fatalf("%+v", v)
		}
		f.pass(time.Second)
		if v := f.judge()[0]; v.Alive {
			t.Fatal("a probe in between forgets that the request fails")
		}
		fault = nil
	}
	t.Error("its own requests hide that it gets no others")
}

func TestOthersOutOfReach(t *testing.T) {
	f := newFleet(2, Options{})
	f.pass(2 * time.Minute)
	f.judge()
	f.serve(0, 1000)
	f.pods[0].o.Others = func(context.Context) ([]Tally, error) { return nil, errors.New("no route") }
	f.pass(10 * time.Second)
	if v := f.judge()[0]; !v.Alive || v.Reason != "the others cannot be asked: no route" {
		t.Errorf("%+v", v)
	}
}

// Others that never answer cost half of the time; a second prober does not wait for ever.
func TestSlowOthers(t *testing.T) {
	p := New(Options{Timeout: 50 * time.Millisecond, Others: func(ctx context.Context) ([]Tally, error) { <-ctx.Done(); return nil, ctx.Err() },
		Check: func(ctx context.Context) error { return ctx.Err() }})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if v := p.Judge(context.Background()); !v.Alive {
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
}

func TestPeersOverHTTP(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	var pods []*Pod
	var urls []string
	addresses := func(context.Context) ([]string, error) { return urls, nil }
	for range 2 {
		p := New(Options{Others: Peers(nil, addresses), Timeout: 20 * time.Second, Now: clock})
		p.SetReady(true)
		mux := http.NewServeMux()
		mux.Handle("/", p.Count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })))
		mux.HandleFunc("GET /served", p.Tell)
		mux.HandleFunc("GET /livez", p.Live)
		mux.HandleFunc("GET /readyz", p.Ready)
		s := httptest.NewServer(mux)
		defer s.Close()
		pods, urls = append(pods, p), append(urls, s.URL+"/served")
	}
	// One that lies, one that is no pod, one that is down.
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(map[string]string{"/a": "<html>", "/b": "{}", "/c": strings.Repeat(" ", 1<<20)}[r.URL.Path]))
	}))
	defer wrong.Close()
	good := urls
	urls = append([]string{wrong.URL + "/a", wrong.URL + "/b", wrong.URL + "/c", "http://127.0.0.1:1/served", "::"}, good...)

	get := func(i int, path string, v any) int {
		t.Helper()
		r, err := http.Get(strings.TrimSuffix(good[i], "/served") + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if v != nil {
			if err := json.NewDecoder(r.Body).Decode(v); err != nil {
				t.Fatal(err)
			}
		}
		return r.StatusCode
	}
	now = now.Add(2 * time.Minute)
	get(0, "/livez", nil)
	for range 600 {
		get(1, "/", nil)
	}
	now = now.Add(10 * time.Second)
	var v Verdict
	if status := get(0, "/livez", &v); status != 503 || v.Alive || v.Total != 600 || v.Pods != 2 {
		t.Errorf("status %d, %+v", status, v)
	}
	if status := get(0, "/readyz", nil); status != 200 {
		t.Errorf("readyz: %d", status)
	}
	pods[0].SetReady(false)
	if status := get(0, "/readyz", nil); status != 503 {
		t.Errorf("readyz: %d", status)
	}
	http.DefaultClient.CloseIdleConnections()

	urls = urls[:5]
	if _, err := Peers(nil, addresses)(context.Background()); err == nil || !strings.Contains(err.Error(), "none of 5 pods answers") {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestCount(t *testing.T) {
	p := New(Options{})
	for _, c := range []struct {
		name string
		want uint64
		h    http.HandlerFunc
	}{
		{"nothing written", 1, func(http.ResponseWriter, *http.Request) {}},
		{"body alone", 1, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("x")); w.WriteHeader(500) }},
		{"not found", 1, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }},
		{"error", 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); w.WriteHeader(200) }},
		{"hint, then error", 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(503) }},
		{"panic", 0, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"flushed, then error", 1, func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			w.WriteHeader(500)
		}},
	} {
		before := p.Tally().Served
		func() {
			defer func() { recover() }()
			p.Count(c.h).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}()
		if got := p.Tally().Served - before; got != c.want {
			t.Errorf("%s: counted %d, want %d", c.name, got, c.want)
		}
	}
}

type nothing struct{}

func (nothing) Header() http.Header         { return nil }
func (nothing) Write(b []byte) (int, error) { return len(b), nil }
func (nothing) WriteHeader(int)             {}

func TestCountingAllocatesNothing(t *testing.T) {
	p := New(Options{})
	h := p.Count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
	r := httptest.NewRequest("GET", "/", nil)
	var w http.ResponseWriter = nothing{}
	if n := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); n >= 1 { // the collector may empty the pool now and then
		t.Errorf("%g allocations a request", n)
	}
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []Options{{Share: 1}, {Share: -1}, {Alarm: 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: no panic", o)
				}
			}()
			New(o)
		}()
	}
}

func BenchmarkCount(b *testing.B) {
	p := New(Options{})
	h := p.Count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
	r := httptest.NewRequest("GET", "/", nil)
	b.ReportAllocs()
	var w http.ResponseWriter = nothing{}
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
