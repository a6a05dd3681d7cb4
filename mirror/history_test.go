package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever happens to a service between and within runs, a run that comes to its end over a list that rests has
// every record of it on disk, or names it, and says which of both.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(t, rapid.IntRange(0, 60).Draw(rt, "records"))
		defer s.Close()
		list := rapid.SampledFrom([]string{byPage, byPages, byCursor, `/p404", total: .total, page: {parameter: page, end: 404}`}).Draw(rt, "list")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		c := s.config(t, list, "")
		c.Retry.GiveUp = rapid.SampledFrom([]int{5, 100}).Draw(rt, "give up")
		broken := map[int]int{} // statuses
		s.set(func() {
			s.one = func(w http.ResponseWriter, id int) bool {
				s.mu.Lock()
				code := broken[id]
				s.mu.Unlock()
				return code != 0 && status(w, code)
			}
		})
		next := 1000
		for range rapid.IntRange(1, 7).Draw(rt, "steps") {
			s.run(t, c, dir, rapid.IntRange(0, 40).Draw(rt, "interrupt"))
			n := rapid.IntRange(1, 25).Draw(rt, "n")
			at := rapid.IntRange(0, len(s.ids)).Draw(rt, "at")
			what := rapid.SampledFrom([]string{"grow", "shrink", "break", "mend", "expire", "rest"}).Draw(rt, "what")
			s.set(func() {
				switch what {
				case "grow":
					s.ids = slices.Insert(slices.Clone(s.ids), at, upTo(next, next+n)...)
					next += n
				case "shrink":
					s.ids = slices.Delete(slices.Clone(s.ids), at, min(at+n, len(s.ids)))
				case "break":
					for _, id := range s.ids[at:min(at+n, len(s.ids))] {
						broken[id] = []int{403, 404, 500}[id%3]
					}
				case "mend":
					clear(broken)
				case "expire":
					s.epoch++
				}
			})
		}
		if len(s.ids) == 0 {
			s.set(func() { s.ids = []int{5000} }) // no record at all is another story
		}
		// Where a run gives up after a row of failures, the next goes on from there.
		var x *Result
		for range 8 {
			if x, _, err = s.run(t, c, dir, 0); x.Complete {
				break
			}
		}
		if !x.Complete {
			rt.Fatalf("the list is not done: %v", err)
		}
		var bad []int
		for _, id := range s.ids {
			if broken[id] != 0 && len(missing(t, dir, []int{id})) > 0 {
				bad = append(bad, id)
			}
		}
		slices.Sort(bad)
		gone := missing(t, dir, s.ids)
		slices.Sort(gone)
		if fmt.Sprint(gone) != fmt.Sprint(bad) {
			rt.Fatalf("missing: %v, of which are broken: %v; %s", gone, bad, x.answer())
		}
		names := named(t, dir, failedName)
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			rt.Fatalf("named more than once: %v", names)
		}
		for _, id := range gone {
			if !slices.Contains(names, id) {
				rt.Fatalf("%d is neither there nor named: %v", id, names)
			}
		}
		for _, id := range names {
			if len(missing(t, dir, []int{id})) == 0 {
				rt.Fatalf("%d is there, and named", id)
			}
		}
		if int(x.failed()) != len(names) || errors.Is(err, ErrSome) != (len(names) > 0) {
			rt.Fatalf("%d failed and %d before, %d are named: %v", x.Failed, x.Pending, len(names), err)
		}
		s.set(func() { clear(broken) })
		x, said, err := s.run(t, c, dir, 0)
		if gone := missing(t, dir, s.ids); len(gone) > 0 || err != nil {
			rt.Fatalf("at rest: %v, %s, missing %v", err, x.answer(), gone)
		}
		if want := fmt.Sprintf("All %d records are in %s", len(s.ids), dir); len(s.ids) > 1 && (len(x.answer()) < len(want) || x.answer()[:len(want)] != want) {
			rt.Fatalf("%s, %q; want %s", x.answer(), said, want)
		}
	})
}

// A run that goes on from an earlier one, and gives up while it tries again what failed there, counts as missing what it
// has not tried.
func TestGaveUpOnOldFailures(t *testing.T) {
	pending := int64(0)
	for range 10 { // how far the first run comes before its interrupt is not settled
		s := newShelf(t, 60)
		dir := t.TempDir()
		c := s.config(t, byCursor, "")
		c.Retry.GiveUp = 5
		s.run(t, c, dir, 10)
		s.set(func() {
			s.one = func(w http.ResponseWriter, id int) bool { return id >= 38 && status(w, []int{403, 404, 500}[id%3]) }
		})
		var x *Result
		var err error
		for range 8 {
			if x, _, err = s.run(t, c, dir, 0); x.Complete {
				break
			}
		}
		gone := len(missing(t, dir, s.ids))
		s.Close()
		if !x.Complete || !errors.Is(err, ErrSome) || int(x.failed()) != gone {
			t.Fatalf("%+v: %v; %d are missing", x.Counts, err, gone)
		}
		if want := fmt.Sprintf("%d records are in %s", len(s.ids)-gone, dir); !strings.HasPrefix(x.answer(), want) {
			t.Fatalf("%s; want %s", x.answer(), want)
		}
		pending = max(pending, x.Pending)
	}
	if pending == 0 {
		t.Skip("no run gave up over old failures")
	}
}
