// Package accesslog reads when requests came from the logs of web servers.
package accesslog

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/dist"
)

// Entry is a line of a log. What the line does not say is empty.
type Entry struct {
	Time   time.Time
	Method string
	URI    string
	Status int
}

// Parse reads a line in the Common or Combined Log Format of Apache and nginx,
//
//	127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326
//
// or one in which some field, perhaps quoted or in brackets, is a time as RFC 3339 has
// it, such as the logs of HAProxy, Envoy and Caddy can have.
func Parse(line string) (Entry, error) {
	var e Entry
	open, end := strings.IndexByte(line, '['), strings.IndexByte(line, ']')
	if open >= 0 && end > open {
		if t, err := time.Parse("02/Jan/2006:15:04:05 -0700", line[open+1:end]); err == nil {
			e.Time = t
		}
	}
	if e.Time.IsZero() {
		for _, f := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\",;[]{}", r) }) {
			if t, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(f, "ts=")); err == nil {
				e.Time = t
				break
			}
		}
	}
	if e.Time.IsZero() {
		return e, fmt.Errorf("no time such as [10/Oct/2000:13:55:36 -0700] or 2000-10-10T13:55:36-07:00 in %q", clip(line))
	}
	// "METHOD URI PROTOCOL" STATUS
	for rest := line; ; {
		i := strings.IndexByte(rest, '"')
		if i < 0 {
			return e, nil
		}
		j := strings.IndexByte(rest[i+1:], '"')
		if j < 0 {
			return e, nil
		}
		parts := strings.Fields(rest[i+1 : i+1+j])
		rest = rest[i+j+2:]
		if len(parts) == 3 && strings.HasPrefix(parts[2], "HTTP/") {
			e.Method, e.URI = parts[0], parts[1]
			if f := strings.Fields(rest); len(f) > 0 {
				e.Status, _ = strconv.Atoi(f[0])
			}
			return e, nil
		}
	}
}

// Times reads the times of all lines, in ms since the first line. Where all are whole seconds,
// which is what most logs tell, each request is put somewhere in its second, at random but always
// at the same place, as Poisson arrivals would be: bursts within a second cannot be known.
func Times(name string, r io.Reader) ([]float64, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	var stamps []time.Time
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := Parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		stamps = append(stamps, e.Time)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(stamps) == 0 {
		return nil, fmt.Errorf("%s: no line with a time", name)
	}
	return Offsets(stamps), nil
}

// Offsets is what Times returns of such times; there has to be one at least.
func Offsets(stamps []time.Time) []float64 {
	whole := !slices.ContainsFunc(stamps, func(t time.Time) bool { return t.Nanosecond() != 0 })
	all := make([]float64, len(stamps))
	for i, t := range stamps {
		all[i] = float64(t.Sub(stamps[0])) / 1e6
		if whole {
			s := dist.At(uint64(i))
			all[i] += 1000 * s.Float64()
		}
	}
	return all
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
