package load

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/accesslog"
	"github.com/headway-lab/headway/wire"
)

// Mix is what all requests have in common.
type Mix struct {
	Method string
	Header http.Header
	Body   []byte
	// Skipped is how many requests of an access log ReadFile left out, because they may change
	// something at the server and a log does not hold their bodies; Garbled how many lines it could not read.
	Skipped, Garbled int
}

// Targets makes a target of each URL. A weight may stand before it, as in 3=http://host/a.
func (m Mix) Targets(urls []string) ([]Target, error) {
	var all []Target
	for _, s := range urls {
		t := Target{}
		if before, after, ok := strings.Cut(s, "="); ok {
			if w, err := strconv.ParseFloat(before, 64); err == nil || !strings.Contains(before, "/") && strings.Contains(after, "://") {
				if err != nil || !(w > 0) || w > 1e9 {
					return nil, fmt.Errorf("%s: want a weight above 0 before the =", s)
				}
				t.Weight, s = w, after
			}
		}
		if !strings.Contains(s, "://") {
			return nil, fmt.Errorf("URL %q: want http:// or https:// at its beginning", s)
		}
		var err error
		if t.Request, err = wire.NewRequest(m.Method, s, m.Header, m.Body); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// maxRequests bounds the lines that are read from a file of requests.
const maxRequests = 5_000_000

// ReadFile fills in the targets of o from a file, and with timed its times, sped up.
// Lines are a path or a URL, or a method and that, or those of an access log;
// empty lines and those that begin with # do not count. Paths are taken from base.
func (m *Mix) ReadFile(o *Options, name, base string, timed bool, speed float64) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, err)
	}
	defer f.Close()
	root, err := wire.ParseURL(base)
	if err != nil {
		return err
	}
	lines, err := m.read(name, f, root)
	if err != nil {
		return err
	}
	o.InOrder = true
	if timed {
		if err := o.replay(lines, speed); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, l := range lines {
		o.Targets = append(o.Targets, Target{Request: l.request})
	}
	return nil
}

// line is a request of a file.
type line struct {
	request *wire.Request
	at      time.Time // that the log says; zero if it is no log
}

// read reads the requests of a file; those of an access log that would change something at the
// server are left out, because a log does not hold their bodies.
func (m *Mix) read(name string, r io.Reader, root *url.URL) ([]line, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	var all []line
	known := map[string]*wire.Request{}
	n, read, isLog := 0, 0, false
	for scan.Scan() {
		n++
		text := strings.TrimSpace(scan.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		method, target, at, ok, err := m.parse(text)
		if err != nil && read > 0 && isLog {
			m.Garbled++ // what attacks a server looks like in its log
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		read++
		isLog = !at.IsZero()
		if !ok {
			m.Skipped++
			continue
		}
		key := method + " " + target
		q := known[key]
		if q == nil {
			u, err := root.Parse(target)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %q is no path or URL", name, n, target)
			}
			body := m.Body
			if method == http.MethodGet || method == http.MethodHead {
				body = nil
			}
			if q, err = wire.NewRequest(method, u.String(), m.Header, body); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			known[key] = q
		}
		if len(all) == maxRequests {
			return nil, fmt.Errorf("%s: more than %d requests", name, maxRequests)
		}
		all = append(all, line{q, at})
	}
	if errors.Is(scan.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: the line is longer than 1 MiB", name, n+1)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if m.Garbled > read {
		return nil, fmt.Errorf("%s: it is no access log: %d of %d lines cannot be read", name, m.Garbled, m.Garbled+read)
	}
	if len(all) == 0 {
		if m.Skipped > 0 {
			return nil, fmt.Errorf("%s: it holds no request to send: none of its %d lines has a GET or HEAD, as the Common Log Format has it", name, m.Skipped)
		}
		return nil, fmt.Errorf("%s: it holds no request to send", name)
	}
	return all, nil
}

// parse reads a line; ok is false if it is one of a log and not to be sent.
func (m *Mix) parse(text string) (method, target string, at time.Time, ok bool, err error) {
	fields := strings.Fields(text)
	address := func(s string) bool { return strings.HasPrefix(s, "/") || strings.Contains(s, "://") }
	switch {
	case len(fields) == 1 && address(fields[0]):
		return orGet(m.Method), fields[0], at, true, nil
	case len(fields) == 2 && address(fields[1]) && strings.ToUpper(fields[0]) == fields[0]:
		return fields[0], fields[1], at, true, nil
	}
	e, err := accesslog.Parse(text)
	if err != nil {
		return "", "", at, false, fmt.Errorf("%q is no path, no URL, no METHOD and path, and no line of an access log", clip(text))
	}
	ok = (e.Method == http.MethodGet || e.Method == http.MethodHead) && address(e.URI)
	return e.Method, e.URI, e.Time, ok, nil
}

func orGet(method string) string {
	if method == "" {
		return http.MethodGet
	}
	return method
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// replay sets the times of the requests, in order of time.
func (o *Options) replay(lines []line, speed float64) error {
	stamps := make([]time.Time, len(lines))
	for i, l := range lines {
		if l.at.IsZero() {
			return fmt.Errorf("%s %s has no time: --replay wants an access log", l.request.Method, l.request.URL)
		}
		stamps[i] = l.at
	}
	at := accesslog.Offsets(stamps)
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	sorted := make([]line, len(lines))
	for i, k := range order {
		sorted[i] = lines[k]
		o.Times = append(o.Times, time.Duration((at[k]-at[order[0]])/speed*1e6))
	}
	copy(lines, sorted)
	if last := o.Times[len(o.Times)-1]; last > 7*24*time.Hour {
		return fmt.Errorf("the log spans %v: want a week at most; --speed makes it shorter", last.Round(time.Hour))
	}
	return nil
}
