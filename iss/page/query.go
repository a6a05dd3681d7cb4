package page

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// wrong is what is wrong with a request.
type wrong struct{ parameter, text string }

func (e *wrong) Error() string { return e.text }

func refuse(w http.ResponseWriter, r *http.Request, e *wrong) {
	fail(w, r, http.StatusBadRequest, e.parameter, e.text)
}

// query reads parameters and keeps the first that is wrong.
type query struct {
	values url.Values
	read   map[string]bool
	wrong  *wrong
}

func newQuery(r *http.Request) *query {
	q := &query{read: map[string]bool{}}
	var err error
	if q.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		q.bad("", "the query cannot be read: %v", err)
	}
	return q
}

func (q *query) bad(parameter, format string, a ...any) {
	if q.wrong == nil {
		q.wrong = &wrong{parameter, fmt.Sprintf(format, a...)}
	}
}

func (q *query) text(name string) string {
	q.read[name] = true
	if v := q.values[name]; len(v) > 1 {
		q.bad(name, "%s is there %d times; want it once", name, len(v))
	}
	return strings.TrimSpace(q.values.Get(name))
}

// number between two others; whether it is there at all is the second result.
func (q *query) number(name, unit string, low, high, unasked float64) (float64, bool) {
	t := q.text(name)
	if t == "" {
		return unasked, false
	}
	v, err := strconv.ParseFloat(t, 64)
	if err != nil || math.IsNaN(v) || v < low || v > high {
		q.bad(name, "%s is %q; want a number from %g to %g%s", name, clip(t), low, high, unit)
		return unasked, true
	}
	return v, true
}

func (q *query) whole(name string, low, high, unasked int) int {
	t := q.text(name)
	if t == "" {
		return unasked
	}
	v, err := strconv.Atoi(t)
	if err != nil || v < low || v > high {
		q.bad(name, "%s is %q; want a whole number from %d to %d", name, clip(t), low, high)
		return unasked
	}
	return v
}

func (q *query) yes(name string) bool {
	switch t := q.text(name); t {
	case "", "0", "false":
	case "1", "true":
		return true
	default:
		q.bad(name, "%s is %q; want true or false", name, clip(t))
	}
	return false
}

// farthest is how far from now a moment may be: elements are worth nothing by then.
const farthest = 366 * 24 * time.Hour

// moment in RFC 3339 or in seconds since 1970.
func (q *query) moment(name string, now time.Time, unasked time.Time) time.Time {
	t := q.text(name)
	if t == "" {
		return unasked
	}
	// A plus sign in a query is a space.
	v, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(strings.ToUpper(t), " ", "+"))
	if err != nil {
		var s float64
		if s, err = strconv.ParseFloat(t, 64); err == nil && math.Abs(s) < 1e11 {
			whole, part := math.Modf(s)
			v = time.Unix(int64(whole), int64(part*1e9))
		} else {
			q.bad(name, "%s is %q; want a time such as 2026-08-05T12:00:00Z, or seconds since 1970", name, clip(t))
			return unasked
		}
	}
	if v.Sub(now).Abs() > farthest {
		q.bad(name, "%s is %s, which is more than a year from now", name, v.UTC().Format(time.RFC3339))
		return unasked
	}
	return v.UTC()
}

// end refuses parameters that nobody reads: a misspelt one would change nothing and look as if it did.
func (q *query) end() *wrong {
	for name := range q.values {
		if !q.read[name] {
			q.bad(clip(name), "there is no parameter %q here", clip(name))
		}
	}
	return q.wrong
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}
