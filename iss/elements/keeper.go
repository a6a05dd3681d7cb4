package elements

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// CelesTrak has all active satellites, the stations and Hubble among them, in one file of
// some 3 MB. Other groups are at celestrak.org/NORAD/elements.
const CelesTrak = "https://celestrak.org/NORAD/elements/gp.php?GROUP=active&FORMAT=csv"

// Options of a keeper.
type Options struct {
	From  []string      // URLs, or one file or several
	Dir   string        // where to keep what was fetched; empty: nowhere
	Every time.Duration // time from one fetch to the next: a day if 0, two hours at least
	Agent string        // User-Agent

	Client *http.Client     // a careful one if nil
	Now    func() time.Time // time.Now if nil
	Log    func(string)     // told what happens; nothing is if nil
}

// Keeper gets element sets into a catalogue.
type Keeper struct {
	o       Options
	cat     *sky.Catalogue
	client  *http.Client
	sources []*source
	served  string // what is in the catalogue, to know when it changes
}

// source is one URL or file.
type source struct {
	url   string // or path
	file  bool
	sets  []orbit.Elements // the last good ones
	bad   Bad              // those that came with them
	state state
	seen  fileStamp
}

type fileStamp struct {
	size int64
	time time.Time
}

// New makes a keeper, and serves what is there already: files, and what was fetched
// before. An error tells what is wrong with the options, a file that cannot be used
// first of all.
func New(o Options, cat *sky.Catalogue) (*Keeper, error) {
	if o.Every == 0 {
		o.Every = day
	}
	if o.Every < polite {
		return nil, fmt.Errorf("elements: every %v is too often: servers have news every two hours at most", o.Every)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Agent == "" {
		o.Agent = "headway-iss (+https://github.com/headway-lab/headway)"
	}
	k := &Keeper{o: o, cat: cat, client: o.Client}
	if k.client == nil {
		k.client = &http.Client{}
	}
	c := *k.client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	k.client = &c
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return nil, fmt.Errorf("elements: %w", err)
		}
	}
	for _, from := range o.From {
		s := &source{url: from}
		u, err := url.Parse(from)
		switch {
		case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
			if u.Host == "" {
				return nil, fmt.Errorf("elements: %q has no host", from)
			}
			if o.Dir != "" {
				if err := s.load(o.Dir); err != nil {
					o.Log(err.Error())
				} else if s.bad.Sets > 0 {
					o.Log(s.got())
				}
				if s.state.Next.Sub(o.Now()) > week+day { // a clock was wrong then, or is now
					s.state.Next = time.Time{}
				}
			}
		case err == nil && strings.Contains(from, "://"):
			return nil, fmt.Errorf("elements: %q: want a URL with http or https, or a file", from)
		default:
			s.file = true
			if _, err := k.readFile(s); err != nil {
				return nil, fmt.Errorf("elements: %w", err)
			}
			if s.bad.Sets > 0 {
				o.Log(s.got())
			}
		}
		k.sources = append(k.sources, s)
	}
	if err := k.publish(); err != nil {
		return nil, err
	}
	return k, nil
}

// Run gets newer sets when they are due, until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		next, ok := k.next()
		if !ok {
			<-ctx.Done()
			return
		}
		wait := time.NewTimer(max(next.Sub(k.o.Now()), time.Second))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		k.Step(ctx)
	}
}

// fileEvery is how often files are looked at.
const fileEvery = time.Minute

func (k *Keeper) next() (next time.Time, ok bool) {
	for _, s := range k.sources {
		if !ok || s.state.Next.Before(next) {
			next, ok = s.state.Next, true
		}
	}
	return next, ok
}

// Step gets what is due now. What fails is told in the catalogue and in the log.
func (k *Keeper) Step(ctx context.Context) {
	for _, s := range k.sources {
		if now := k.o.Now(); s.state.Next.After(now) || ctx.Err() != nil {
			continue
		}
		if s.file {
			changed, err := k.readFile(s)
			if err != nil && err.Error() != s.state.Problem {
				k.o.Log(err.Error() + "; going on with what there is")
			} else if changed {
				k.o.Log(s.got())
			}
			s.fail(err)
			continue
		}
		k.fetch(ctx, s)
	}
	if err := k.publish(); err != nil {
		k.o.Log(err.Error())
	}
}

func (s *source) fail(err error) {
	if err == nil {
		s.state.Failures, s.state.Problem = 0, ""
		return
	}
	s.state.Failures++
	s.state.Problem = err.Error()
}

// readFile reads a file if it has changed.
func (k *Keeper) readFile(s *source) (changed bool, err error) {
	now := k.o.Now()
	s.state.Tried, s.state.Next = now, now.Add(fileEvery)
	info, err := os.Stat(s.url)
	if err != nil {
		return false, err
	}
	stamp := fileStamp{info.Size(), info.ModTime()}
	if stamp == s.seen {
		return false, nil
	}
	if info.Size() > fetchMost {
		return false, fmt.Errorf("%s is longer than %d MB", s.url, fetchMost>>20)
	}
	body, err := os.ReadFile(s.url)
	if err != nil {
		return false, err
	}
	sets, bad, err := Parse(body)
	if err == nil && bad.Sets > len(sets) {
		err = fmt.Errorf("%d of %d element sets are not right, the first: %w", bad.Sets, bad.Sets+len(sets), bad.First)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", s.url, err)
	}
	s.sets, s.bad, s.seen = sets, bad, stamp
	s.state.Fetched, s.state.Current = info.ModTime(), now
	return true, nil
}

// fetch makes a request and takes what comes of it, if it is right.
func (k *Keeper) fetch(ctx context.Context, s *source) {
	now := k.o.Now()
	// First of all, on disk: not again at once, whatever becomes of this process.
	s.state.URL, s.state.Tried = s.url, now
	s.state.Next = now.Add(10 * time.Minute)
	s.keep(k, nil)
	got, err := k.get(ctx, s)
	if ctx.Err() != nil {
		return
	}
	var kept []byte
	if err == nil && got.body != nil {
		err = s.take(got, now)
		kept = got.body
	}
	s.fail(err)
	if err != nil {
		wait := pause(err, s.state.Failures)
		s.state.Next = now.Add(spread(wait))
		k.o.Log(fmt.Sprintf("no new elements from %s: %s; going on with what there is, next try in %s", s.url, clip(err.Error()), sky.Days(s.state.Next.Sub(now))))
		s.keep(k, nil)
		return
	}
	s.state.Current = now
	s.state.Next = now.Add(max(spread(k.o.Every), polite))
	if got.body == nil {
		k.o.Log(fmt.Sprintf("%s has nothing new", s.url))
		s.keep(k, nil)
		return
	}
	k.o.Log(s.got())
	s.keep(k, kept)
}

// got says what came of a source.
func (s *source) got() string {
	text := fmt.Sprintf("%s from %s", plural(len(s.sets), "element set", "element sets"), s.url)
	if s.bad.Sets > 0 {
		text += "; " + clip(s.bad.String())
	}
	return text
}

// take takes a new body if it is believed. The kept file is the server's own octets, also
// where an older set of an object was preferred to them.
func (s *source) take(got result, now time.Time) error {
	sets, bad, err := Parse(got.body)
	if err == nil {
		if err = check(sets, bad.Sets, s.sets, now); err != nil && bad.Sets > 0 {
			err = fmt.Errorf("%w (%v)", err, bad)
		}
	}
	if err != nil {
		return refuse(polite, day, "what came is not used: %w", err)
	}
	s.sets, s.bad = merge(sets, s.sets, now), bad
	s.state.Fetched, s.state.SHA256 = now, sum(got.body)
	s.state.ETag, s.state.LastModified = got.etag, got.lastModified
	return nil
}

func (s *source) keep(k *Keeper, body []byte) {
	if k.o.Dir == "" {
		return
	}
	if err := s.save(k.o.Dir, body); err != nil {
		k.o.Log(fmt.Sprintf("elements of %s cannot be kept: %v", s.url, err))
	}
}

// spread adds up to a tenth by chance: else all who started with a release would ask at
// once.
func spread(d time.Duration) time.Duration {
	return d + rand.N(d/10+1)
}
