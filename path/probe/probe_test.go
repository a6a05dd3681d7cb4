package probe

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/wire"
)

func TestMain(m *testing.M) {
	link.EnterOrExit()
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// The ranks are those of the published table of W. J. Conover, "Practical Nonparametric Statistics", A3, by the binomial: for n
// samples the k-th smallest and largest.
func TestMedian(t *testing.T) {
	for n, want := range map[int]int{4: 0, 5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 50: 18, 100: 40} {
		if got := rank(n); got != want {
			t.Errorf("n = %d: rank %d, want %d", n, got, want)
		}
	}
	v := medianOf([]float64{5, 1, math.NaN(), 4, 2, 3, 6})
	if v.Value != 3.5 || v.Low != 1 || v.High != 6 || v.N != 6 {
		t.Errorf("%+v", v)
	}
	if rank(fewest) != 1 || rank(fewest-1) != 0 {
		t.Errorf("%d are not the fewest", fewest)
	}
	if v := medianOf([]float64{math.NaN(), 3}); v != (report.Value{Value: 3, N: 1}) {
		t.Errorf("one sample: %+v", v)
	}
	if v := medianOf([]float64{1, 2, 3}); v.Value != 2 || !math.IsInf(v.High, 1) {
		t.Errorf("%+v", v)
	}
	if v := medianOf(nil); !math.IsNaN(v.Value) || v.N != 0 {
		t.Errorf("%+v", v)
	}
	// The interval holds the median of 1 in at least 95 % of all cases, less four standard deviations.
	luck := dist.NewStream(1, "median")
	const runs = 2000
	held := 0
	for range runs {
		x := make([]float64, 20)
		for i := range x {
			x[i] = luck.Exp() / math.Ln2
		}
		if v := medianOf(x); v.Low <= 1 && 1 <= v.High {
			held++
		}
	}
	if share := float64(held) / runs; share < .95-4*math.Sqrt(.05*.95/runs) {
		t.Errorf("the interval held the median in %.3f of all cases", share)
	}
}

// site is a server with known delays.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	text := bytes.Repeat([]byte("the same again and again. "), 20_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/think":
			time.Sleep(60 * time.Millisecond)
		case "/text":
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				z.Write(text)
				z.Close()
				return
			}
			w.Write(text)
		case "/moved":
			http.Redirect(w, r, "/text", http.StatusFound)
		case "/hang":
			<-r.Context().Done()
		default:
			io.Copy(io.Discard, r.Body)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func probed(t *testing.T, o Options) *report.Report {
	t.Helper()
	r, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	return r
}

// What the server takes is found, named, and added up.
func TestThinking(t *testing.T) {
	r := probed(t, Options{URL: site(t).URL + "/think", N: 6})
	v := r.Cases[0].Values
	if total := v["total"].Value; total < 60 || v["wait"].Value < 60 || v["wait"].Value > total || v["first byte"].Value > total {
		t.Errorf("%+v", v)
	}
	if v["tls"].Value != 0 || v["dns"].Value != 0 || v["total"].N != 6 {
		t.Errorf("%+v", v)
	}
	if !strings.Contains(r.Answer, ": server think time, ") || !strings.Contains(r.Question, "6 of 6 exchanges") {
		t.Error(r.Answer)
	}
}

// Variants differ in what they are about, and in nothing else.
func TestTry(t *testing.T) {
	s := site(t)
	encodings, err := ParseTry("identity,gzip")
	if err != nil {
		t.Fatal(err)
	}
	connections, err := ParseTry("new,keepalive")
	if err != nil {
		t.Fatal(err)
	}
	r := probed(t, Options{URL: s.URL + "/text", N: 6, Try: append(encodings, connections...)})
	got := map[string]map[string]report.Value{}
	for _, c := range r.Cases {
		got[c.Name] = c.Values
	}
	if a, b := got["identity"]["body"].Value, got["gzip"]["body"].Value; a != 520_000 || b > a/50 {
		t.Errorf("%g and %g bytes", a, b)
	}
	if a, b := got["new"]["connect"].Value, got["keepalive"]["connect"].Value; a <= 0 || b != 0 {
		t.Errorf("connecting took %g and %g", a, b)
	}
	if len(r.Groups) != 2 || len(r.Cases) != 4 || r.Cases[1].Effects["total"].N != 6 {
		t.Errorf("%d groups, %+v", len(r.Groups), r.Cases)
	}
	for _, w := range r.Warnings {
		t.Errorf("warning: %s", w)
	}
}

func TestWarnings(t *testing.T) {
	s := site(t)
	r := probed(t, Options{URL: s.URL + "/moved", N: 4})
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1], "302 Found, a redirection to /text") {
		t.Errorf("%q", r.Warnings)
	}
	try, err := ParseTry("cc=reno,cubic")
	if err != nil {
		t.Skip(err)
	}
	r = probed(t, Options{URL: s.URL + "/text", N: 6, Try: try})
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "the download's is the server's") {
		t.Errorf("%q", r.Warnings)
	}
	// For an upload it is this side's, and nothing is to be said.
	r = probed(t, Options{URL: s.URL + "/", Method: "PUT", Body: make([]byte, 1<<20), N: 6, Try: try})
	if len(r.Warnings) != 0 {
		t.Errorf("%q", r.Warnings)
	}
}

// What fails now and then is counted; what fails at once, or hangs, is an error that says which step it was.
func TestFailures(t *testing.T) {
	s := site(t)
	o := Options{URL: s.URL + "/hang", N: 4, Client: Client{Timeout: 50 * time.Millisecond}}
	if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Error(err)
	}
	o = Options{URL: "http://127.0.0.1:1/", N: 4}
	var step *StepError
	if _, err := o.Run(t.Context()); !errors.As(err, &step) || step.Step != "connect" {
		t.Error(err)
	}
	w := &way{Variant: Variant{}}
	w.keepRun(nil, errors.New("gone"))
	if w.failed != 1 || len(w.good()) != 0 {
		t.Errorf("%+v", w)
	}
}

// Interrupted, it reports what it has.
func TestInterrupted(t *testing.T) {
	s := site(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	o := Options{URL: s.URL + "/", N: 1000, Progress: func(p Progress) {
		if p.Done == 7 {
			cancel(why)
		}
	}}
	r, err := o.Run(ctx)
	if !errors.Is(err, why) || r == nil || r.Cases[0].Values["total"].N != 7 {
		t.Fatalf("%v, %+v", err, r)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

func TestProtocols(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 100_000)) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	try, err := ParseTry("h1,h2")
	if err != nil {
		t.Fatal(err)
	}
	versions, err := ParseTry("tls1.2,tls1.3")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{URL: s.URL, N: 4, Try: append(try, versions...)}
	o.Client.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	r := probed(t, o)
	for _, c := range r.Cases {
		if c.Values["body"].Value != 100_000 || c.Values["tls"].Value <= 0 {
			t.Errorf("%s: %+v", c.Name, c.Values)
		}
	}
	// A certificate that nobody vouches for is the step's fault.
	o.Client.TLS = nil
	var step *StepError
	if _, err := o.Run(t.Context()); !errors.As(err, &step) || step.Step != "TLS" {
		t.Error(err)
	}
}

func TestAddresses(t *testing.T) {
	s := site(t)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(u.Host)
	o := Options{URL: "http://elsewhere.test:" + u.Port() + "/", N: 4}
	o.Client.Addresses = map[string]netip.Addr{"elsewhere.test:" + u.Port(): at.Addr()}
	if r := probed(t, o); r.Cases[0].Values["dns"].Value != 0 {
		t.Error("a name was looked up")
	}
	if _, err := wire.ParseURL(o.URL); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	for _, o := range []Options{
		{URL: "http://h/", N: 0}, {URL: "http://h/", N: 3, Try: []Variant{{Name: "a"}, {Name: "b"}}}, {URL: "nonsense", N: 4}, {URL: "http://h/", N: 4, Interval: -1},
		{URL: "http://h/", N: 4, Client: Client{Congestion: "none-such"}}, {URL: "http://h/", N: 4, Method: "G T"},
	} {
		if o.Check() == nil {
			t.Errorf("%+v passes", o)
		}
	}
	for _, s := range []string{"", "gzip", "gzip,gzip", "gzip,h1", "nothing,identity", "x=1,2", "cc=", "cc=cubic", "cc=cubic,", "cc=cubic,none-such"} {
		if v, err := ParseTry(s); err == nil {
			t.Errorf("%q passes: %v", s, v)
		}
	}
}

func TestReportShows(t *testing.T) {
	r := probed(t, Options{URL: site(t).URL + "/think", N: 6})
	var page, text bytes.Buffer
	if err := errors.Join(r.HTML(&page), r.Text(&text, report.TextOptions{Width: 100})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"time_starttransfer", "least round trip", "What the time went for"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(page.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
}
