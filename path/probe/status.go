package probe

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// tally is how many answers had which status.
type tally struct {
	of        map[int]int
	n, errors int
	moved     int    // redirections
	location  string // of all of them, "" where they differ
}

func statuses(all []*one) tally {
	t := tally{of: map[int]int{}}
	for _, x := range all {
		t.n++
		t.of[x.Status]++
		switch {
		case x.Status >= 400:
			t.errors++
		case redirects(x.Status):
			if t.moved++; t.moved == 1 {
				t.location = x.location
			} else if t.location != x.location {
				t.location = ""
			}
		}
	}
	return t
}

// redirects is not true of 304, the answer to a condition.
func redirects(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// bad is how many answers are not what was asked for.
func (t tally) bad() int { return t.errors + t.moved }

// named is a status as in "404 Not Found".
func named(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// counted says how many answers had which status, the most frequent first.
func (t tally) counted() string {
	all := slices.SortedFunc(maps.Keys(t.of), func(a, b int) int {
		return cmp.Or(cmp.Compare(t.of[b], t.of[a]), cmp.Compare(a, b))
	})
	if len(all) == 1 {
		switch t.n {
		case 1:
			return "the answer was " + named(all[0])
		case 2:
			return "both answers were " + named(all[0])
		}
		return fmt.Sprintf("all %d answers were %s", t.n, named(all[0]))
	}
	var parts []string
	for _, s := range all {
		parts = append(parts, fmt.Sprintf("%d %s %s", t.of[s], map[bool]string{true: "was", false: "were"}[t.of[s] == 1], named(s)))
	}
	last := len(parts) - 1
	return fmt.Sprintf("of %d answers %s and %s", t.n, strings.Join(parts[:last], ", "), parts[last])
}

// meaning is what the figures are the time of.
func (t tally) meaning() string {
	switch {
	case t.bad() < t.n:
		return "what follows mixes their times"
	case t.moved == 0:
		return "what follows is the time of an error page"
	case t.errors > 0:
		return "what follows is the time of errors and redirections"
	case t.location != "":
		return fmt.Sprintf("what follows is the time of a redirection to %s, which is not followed", short(t.location))
	}
	return "what follows is the time of a redirection, which is not followed"
}

// short keeps a place in a headline readable.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}

// caution is what a reader must know before any figure: that answers are not what was asked for; "" if they are.
func caution(ways []*way) string {
	var all []*one
	var parts []string
	for _, w := range ways {
		all = append(all, w.good()...)
		if t := statuses(w.good()); t.bad() > 0 {
			parts = append(parts, "with "+w.Name+" "+t.counted())
		}
	}
	t := statuses(all)
	switch {
	case t.bad() == 0:
		return ""
	case len(ways) == 1 || len(t.of) == 1:
		return capital(t.counted()) + ": " + t.meaning() + ". "
	}
	return capital(strings.Join(parts, "; ")) + ": what follows compares these, too. "
}

// warnings say of the answers of a way what to do about those that are not what was asked for.
func (t tally) warnings() []string {
	var all []string
	for _, s := range slices.Sorted(maps.Keys(t.of)) {
		answers := fmt.Sprintf("%d answers have", t.of[s])
		if t.of[s] == 1 {
			answers = "1 answer has"
		}
		switch {
		case redirects(s) && t.location != "":
			all = append(all, fmt.Sprintf("%s status %s, a redirection to %s, which is not followed: probe that URL", answers, named(s), t.location))
		case redirects(s):
			all = append(all, fmt.Sprintf("%s status %s, a redirection, which is not followed: probe the URL that it names", answers, named(s)))
		case s >= 400:
			all = append(all, fmt.Sprintf("%s status %s: the time is that of an error", answers, named(s)))
		}
	}
	return all
}
