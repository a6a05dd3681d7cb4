package elements

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How long a server may take, and how much it may send. The full catalogue is some 30 MB
// of JSON.
const (
	fetchTime = 2 * time.Minute
	fetchMost = 100 << 20
)

// result of a request.
type result struct {
	body               []byte // nil if what we have is up to date
	etag, lastModified string
}

// refusal is an answer that is no element sets, or none that are believed.
type refusal struct {
	err   error
	least time.Duration // before the next request
	most  time.Duration // to which that grows
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(least, most time.Duration, format string, args ...any) error {
	return &refusal{fmt.Errorf(format, args...), least, most}
}

const (
	polite = 2 * time.Hour // the shortest time between two requests that a server sees
	day    = 24 * time.Hour
	week   = 7 * day
)

// get makes one request.
func (k *Keeper) get(ctx context.Context, s *source) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return result{}, refuse(day, week, "%w", err)
	}
	req.Close = true // the next one is tomorrow's
	req.Header.Set("User-Agent", k.o.Agent)
	if s.sets != nil { // else 304 would leave us with nothing
		if s.state.ETag != "" {
			req.Header.Set("If-None-Match", s.state.ETag)
		}
		if s.state.LastModified != "" {
			req.Header.Set("If-Modified-Since", s.state.LastModified)
		}
	}
	resp, err := k.client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address, which is said anyway
		}
		// The server may not have noticed: a machine without network may try again soon.
		return result{}, refuse(10*time.Minute, 6*time.Hour, "%w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, fetchMost+1))
	said := clip(plain(string(body[:min(len(body), 2000)])))
	switch code := resp.StatusCode; {
	case code == http.StatusNotModified && s.sets != nil:
		return result{}, nil
	case code == http.StatusForbidden && s.sets != nil && strings.Contains(said, "has not updated since your last"):
		// What CelesTrak says to those who have its latest, in place of 304.
		return result{}, nil
	case code == http.StatusForbidden:
		return result{}, refuse(day, week, "the server forbids it (403), perhaps for too many requests from this address%s", colon(said))
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return result{}, refuse(retryAfter(resp.Header.Get("Retry-After"), k.o.Now()), week, "the server is busy (%d)%s", code, colon(said))
	case code >= 300 && code < 400:
		return result{}, refuse(day, week, "the server has moved (%d) to %s; if that is right, say so with --elements", code, clip(resp.Header.Get("Location")))
	case code >= 500:
		return result{}, refuse(polite, day, "the server has a problem (%d)%s", code, colon(said))
	case code != http.StatusOK:
		return result{}, refuse(day, week, "the server answers %d%s", code, colon(said))
	case err != nil:
		return result{}, refuse(polite, day, "the answer broke off: %w", err)
	case len(body) > fetchMost:
		return result{}, refuse(day, week, "the answer is longer than %d MB", fetchMost>>20)
	}
	return result{body, resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")}, nil
}

// colon goes before what a server said, if it said anything.
func colon(said string) string {
	if said == "" {
		return ""
	}
	return ": " + said
}

// retryAfter reads how long a server wants to be left alone.
func retryAfter(h string, now time.Time) time.Duration {
	d := polite
	if n, err := strconv.Atoi(h); err == nil {
		d = time.Duration(min(max(n, 0), int(week/time.Second))) * time.Second
	} else if t, err := http.ParseTime(h); err == nil {
		d = t.Sub(now)
	}
	return min(max(d, polite), week)
}

// pause is how long to wait after so many failures in a row: twice as long each time.
func pause(err error, failures int) time.Duration {
	least, most := polite, day
	if r := (*refusal)(nil); errors.As(err, &r) {
		least, most = r.least, r.most
	}
	for ; failures > 1 && least < most; failures-- {
		least *= 2
	}
	return min(least, most)
}
