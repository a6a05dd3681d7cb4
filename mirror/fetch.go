package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/headway-lab/headway/mirror/store"
	"github.com/headway-lab/headway/wire"
)

// fetcher asks for what the config names, with all its rules: redirects, credentials, retries,
// the pace that servers ask for.
type fetcher struct {
	c        *Config
	t        *wire.Transport
	perCall  func() *wire.Transport // for a trial: a transport for every call
	limit    limiter
	mu       sync.Mutex
	gates    map[string]*gate // by origin
	requests atomic.Int64
	retries  atomic.Int64
	slowed   atomic.Int64 // how often a server asked for patience
}

func newFetcher(ctx context.Context, c *Config, idle int) *fetcher {
	f := &fetcher{c: c, gates: map[string]*gate{}}
	f.t = wire.NewTransport(ctx, transportConfig(c, idle))
	f.limit.every(c.HTTP.Rate)
	return f
}

func transportConfig(c *Config, idle int) wire.Config {
	return wire.Config{
		Dialer:      wire.Dialer{ConnectTimeout: c.HTTP.Dial, TLSTimeout: c.HTTP.TLS, Protocol: c.read.protocol},
		IdlePerHost: idle, IdleTime: 90 * time.Second, Timeout: c.HTTP.Longest, Stall: c.HTTP.Request,
	}
}

func (f *fetcher) close() { f.t.Close() }

// gate holds back all requests to an origin that has asked for patience.
type gate struct{ until atomic.Int64 } // Unix nanoseconds

func (g *gate) shut(d time.Duration) {
	until := time.Now().Add(d).UnixNano()
	for {
		old := g.until.Load()
		if old >= until || g.until.CompareAndSwap(old, until) {
			return
		}
	}
}

func (g *gate) wait(ctx context.Context) error {
	for {
		until := g.until.Load()
		if until == 0 {
			return nil
		}
		d := time.Duration(until - time.Now().UnixNano())
		if d <= 0 {
			g.until.CompareAndSwap(until, 0)
			return nil
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// held is for how long the server that has asked for most patience holds requests back.
func (f *fetcher) held() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := time.Duration(0)
	for _, g := range f.gates {
		if until := g.until.Load(); until != 0 {
			most = max(most, time.Until(time.Unix(0, until)))
		}
	}
	return most
}

func (f *fetcher) gate(u *url.URL) *gate {
	key := origin(u)
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.gates[key]
	if g == nil {
		g = &gate{}
		f.gates[key] = g
	}
	return g
}

// origin is what credentials belong to: scheme, host and port.
func origin(u *url.URL) string { return u.Scheme + "://" + wire.Address(u) }

// limiter spaces requests evenly.
type limiter struct {
	gap  time.Duration // 0 is none
	mu   sync.Mutex
	next time.Time
}

func (l *limiter) every(rate float64) {
	if rate > 0 {
		l.gap = time.Duration(float64(time.Second) / rate)
	}
}

func (l *limiter) wait(ctx context.Context) error {
	if l.gap == 0 {
		return nil
	}
	l.mu.Lock()
	now := time.Now()
	if slack := now.Add(-10 * l.gap); l.next.Before(slack) {
		l.next = slack // no more than ten at once after a pause
	}
	at := l.next
	l.next = at.Add(l.gap)
	l.mu.Unlock()
	return sleep(ctx, at.Sub(now))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// StatusError is an answer that is no record.
type StatusError struct {
	Status int
	After  time.Duration // that the server asks for, 0 if none
}

func (e *StatusError) Error() string {
	s := "status " + strconv.Itoa(e.Status)
	if text := http.StatusText(e.Status); text != "" {
		s += " (" + text + ")"
	}
	return s
}

// A refusal is an answer that must not be stored; asking again brings the same.
type refusal struct{ kind, text string }

func (e *refusal) Error() string { return e.text }

// errSame says that what is there is still what the server has.
var errSame = errors.New("not modified")

const maxRedirects = 10

// do sends a request and follows redirects. What it returns has status 200 and a body whose
// end can be told. With ETag, an answer that the record is the same is errSame.
func (f *fetcher) do(ctx context.Context, r *wire.Request, g *gate, t *wire.Transport) (*wire.Exchange, error) {
	home := ""
	for hop := 0; ; hop++ {
		if err := g.wait(ctx); err != nil {
			return nil, err
		}
		if err := f.limit.wait(ctx); err != nil {
			return nil, err
		}
		f.requests.Add(1)
		x, err := t.Do(r)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		if x.Status == http.StatusOK {
			if err := f.sound(x.Response); err != nil {
				x.Close()
				return nil, err
			}
			return x, nil
		}
		status, location := x.Status, x.Header("Location")
		after := retryAfter(x.Header("Retry-After"), f.c.Retry.Most)
		x.Close()
		switch status {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		case http.StatusNotModified:
			if r.Header.Get("If-None-Match") != "" {
				return nil, errSame
			}
			return nil, &StatusError{status, 0}
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			if after > 0 {
				f.slowed.Add(1)
				g.shut(after)
			}
			return nil, &StatusError{status, after}
		default:
			return nil, &StatusError{status, after}
		}
		if hop == maxRedirects {
			return nil, &refusal{"redirect", fmt.Sprintf("more than %d redirects", maxRedirects)}
		}
		to, err := r.URL.Parse(location)
		if location == "" || err != nil {
			return nil, &refusal{"redirect", fmt.Sprintf("status %d with the Location %.200q, which leads nowhere", status, location)}
		}
		if home == "" {
			home = origin(r.URL)
		}
		header := r.Header
		if origin(to) != home {
			header = f.public(header)
			home = "nowhere" // what was left behind stays behind
		}
		if r, err = wire.NewRequest("", to.String(), header, nil); err != nil {
			return nil, &refusal{"redirect", fmt.Sprintf("status %d leads to what is no HTTP address: %v", status, err)}
		}
		g = f.gate(r.URL)
	}
}

// public are the headers that anyone may see: what says which form an answer shall have, unless it came
// from the environment. Any other may be a credential.
func (f *fetcher) public(h http.Header) http.Header {
	open := http.Header{}
	for _, k := range []string{"Accept", "Accept-Language", "User-Agent"} {
		if v, ok := h[k]; ok && !f.c.private[k] {
			open[k] = v
		}
	}
	return open
}

// sound refuses what cannot be told from a broken or another answer.
func (f *fetcher) sound(r *wire.Response) error {
	if !r.Delimited && !f.c.AllowUndelimited {
		return &refusal{"undelimited", "the body has no length and ends with its connection, so nobody can say whether it is whole; allow_undelimited: true takes it all the same"}
	}
	if coding := r.Header("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return &refusal{"encoding", fmt.Sprintf("the body is coded as %.40q, which nobody asked for", coding)}
	}
	return nil
}

// retryAfter reads the header, in seconds or as a date, and bounds it.
func retryAfter(s string, most time.Duration) time.Duration {
	if s == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
		d = time.Duration(min(max(n, 0), int64(most/time.Second)+1)) * time.Second
	} else if t, err := http.ParseTime(s); err == nil {
		d = time.Until(t)
	}
	return min(max(d, 0), most)
}

// again says of a status that asking again may help.
func again(status int) bool {
	switch status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// kind names a fault for those who count, and says whether asking again may help.
func kind(err error) (string, bool) {
	var status *StatusError
	if errors.As(err, &status) {
		return "status " + strconv.Itoa(status.Status), again(status.Status)
	}
	var r *refusal
	if errors.As(err, &r) {
		return r.kind, false
	}
	if ranOut(err) {
		return "ran out", true
	}
	var timeout interface{ Timeout() bool }
	late := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
	var dial *wire.DialError
	switch {
	case errors.As(err, &dial) && late:
		return "connect timeout", true
	case errors.As(err, &dial):
		return dial.Step, true
	case late:
		return "timeout", true
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated", true
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, wire.ErrNoResponse):
		return "reset", true
	}
	return "protocol", true
}

// ranOut says that this machine has no more of something that comes back.
func ranOut(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// free is how many retries the budget allows whatever the number of requests.
const free = 100

// retry does once until it succeeds, cannot, or was tried often enough.
func (f *fetcher) retry(ctx context.Context, once func() error) error {
	for n := 1; ; n++ {
		begin := time.Now()
		err := f.told(once(), begin)
		if err == nil || ctx.Err() != nil || err == errSame || err == errHeld || errors.Is(err, store.ErrExists) {
			return err
		}
		var fatal *fatalError
		if errors.As(err, &fatal) {
			return err
		}
		if _, again := kind(err); !again || n >= f.c.Retry.Attempts {
			if again && n > 1 {
				err = fmt.Errorf("%w, %d times", err, n)
			}
			return err
		}
		if float64(f.retries.Load()) >= free+f.c.Retry.Budget*float64(f.requests.Load()) {
			return fmt.Errorf("%w; not tried again, because retries are %.0f %% of all requests", err, 100*f.c.Retry.Budget)
		}
		f.retries.Add(1)
		if err := sleep(ctx, f.backoff(n, err)); err != nil {
			return err
		}
	}
}

// noHTTP2 is what package http2 says when another protocol comes back. The last is when the server had ended the connection
// before the first request was sent.
var noHTTP2 = []string{"frame too large", "HTTP/1", "client conn could not be established"}

// told says in the words of the config what an error means that the network words its own way.
func (f *fetcher) told(err error, begin time.Time) error {
	if err == nil {
		return nil
	}
	h := &f.c.HTTP
	switch k, _ := kind(err); {
	case k == "timeout" && h.Longest > 0 && time.Since(begin) >= h.Longest:
		return &lateError{fmt.Sprintf("it took longer than %v (http.longest)", h.Longest), err}
	case k == "timeout" && h.Request > 0:
		return &lateError{fmt.Sprintf("nothing came for %v (http.request)", h.Request), err}
	case k == "protocol" && f.c.read.protocol == wire.HTTP2 && slices.ContainsFunc(noHTTP2, func(words string) bool { return strings.Contains(err.Error(), words) }):
		return fmt.Errorf("the server does not answer in HTTP/2; take auto or h1 for http.protocol (%w)", err)
	}
	return err
}

// lateError has words of its own for what happened.
type lateError struct {
	text string
	err  error
}

func (e *lateError) Error() string { return e.text }
func (e *lateError) Unwrap() error { return e.err }

// backoff is how long to wait after n failures: any time up to a bound that doubles, and
// no less than the server asks for.
func (f *fetcher) backoff(n int, err error) time.Duration {
	bound := f.c.Retry.Most
	if n < 30 {
		bound = min(bound, f.c.Retry.First<<(n-1))
	}
	d := time.Duration(0)
	if bound > 0 {
		d = rand.N(bound)
	}
	var status *StatusError
	if errors.As(err, &status) && status.After > 0 {
		// Not all at the same moment.
		d = status.After + min(d, status.After/4)
	}
	return d
}
