package mirror

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/headway-lab/headway/mirror/store"
)

// Result is what a run did.
type Result struct {
	Counts
	Progress Progress
	Slowest  []Slow
	Failures []Failure // the first ones
	Dir      string
	Median   time.Duration // of a record
	P99      time.Duration
	Max      time.Duration
	Warnings []string
	Total    int64  // that the list said it has, -1 if it did not
	OnDisk   int64  // records that the journal knows, of all runs
	More     string // why there are records that the list has not shown, "" if nothing says so
	Err      error  // with which the run ended

	config  *Config
	begin   time.Time
	workers int
	moving  bool // the list has changed while it was read
}

// Failure is a record that is not on disk.
type Failure struct{ Path, Kind, Error string }

func (r *run) result(pending int64) *Result {
	p := r.progress()
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Rate = float64(r.n.Stored) / p.Elapsed.Minutes()
	p.Pending = pending
	x := &Result{Counts: p.Counts, Progress: p, Slowest: r.slowest, Dir: r.Dir, config: r.c, begin: r.begin, workers: p.Workers,
		Total: r.total, OnDisk: r.had, Warnings: slices.Clone(r.notes)}
	for _, f := range r.failures.named {
		x.Failures = append(x.Failures, Failure{r.c.redact(f.Path), f.Kind, f.Error})
	}
	if r.times.N() > 0 {
		x.Median, x.P99, x.Max = time.Duration(r.times.Quantile(.5)), time.Duration(r.times.Quantile(.99)), time.Duration(r.times.Max())
	}
	if x.Complete {
		r.judge(x)
	}
	if x.Sizes > 0 {
		warning := "%s not as long as record.size says"
		if r.c.Check == "size" {
			warning += ": check: size fetches %s again in every run"
			x.warn(warning, are(x.Sizes), them(x.Sizes))
		} else {
			x.warn(warning, are(x.Sizes))
		}
	}
	if x.Gone > 0 {
		x.warn("%s failed in an earlier run, left the list since, and cannot be had any more: no failure now", have(x.Gone))
	}
	if r.fresh && x.There > 0 {
		x.warn("%s there before the first run, and taken %s (check: %s)", was(x.There), as(x.There), r.c.Check)
	}
	return x
}

func (x *Result) warn(format string, args ...any) {
	x.Warnings = append(x.Warnings, fmt.Sprintf(format, args...))
}

func was(n int64) string {
	if n == 1 {
		return "1 record was"
	}
	return grouped(n) + " records were"
}

func as(n int64) string {
	if n == 1 {
		return "as it is"
	}
	return "as they are"
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return grouped(n) + " times"
}

func them(n int64) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func are(n int64) string {
	if n == 1 {
		return "1 record is"
	}
	return grouped(n) + " records are"
}

func have(n int64) string {
	if n == 1 {
		return "1 record has"
	}
	return grouped(n) + " records have"
}

// evidence is what the lister knows about the list when it has come to its end.
func (r *run) evidence(l *lister) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = evidence{pages: l.pages, most: l.most, full: l.full, linked: l.linked, documents: l.documents}
}

type evidence struct {
	pages, most, full int
	linked            bool
	documents         int64
}

// judge says what a list that was read to its end may be trusted with: whether it has shown all that it says
// it has, and whether it has changed meanwhile. It is called with mu held.
func (r *run) judge(x *Result) {
	shown := x.Listed - x.Duplicates
	x.moving = r.first >= 0 && r.first != r.total && !(r.total > r.first && shown >= r.total && x.Duplicates == 0)
	g := r.c.List.Page
	switch {
	case shown == 0:
		x.More = r.empty()
	case r.total > shown && r.first >= 0 && shown >= r.first:
		// All that it had in the beginning, so this is no fault of the config.
		x.moving = true
		x.warn("the list has %s more than when it was begun: another run finds them", counted(r.total-r.first))
	case r.total > shown:
		x.More = fmt.Sprintf("the list says that it has %s, and showed %s: %s", counted(r.total), grouped(shown), r.hint(x, shown))
	case r.seen.linked && !r.c.noLink:
		x.More = "the list has a next page (Link: rel=\"next\"), and the config does not follow it: say list.link: true, or false for this page alone"
	case x.moving:
		x.warn("the list changed while it was read: it said %s, and then %s. It may have hidden some: another run finds them", counted(r.first), grouped(r.total))
	}
	switch d := x.Duplicates; {
	case d == 0:
	case r.seen.pages <= 1 && r.earlier == nil:
		x.warn("the list shows records again, %s in all: each record was pulled once", times(d))
	case g != nil && g.Step == 1 && d > x.Listed/2:
		x.warn("the pages of the list overlap, and records were shown again %s: if %s counts records, list.page.step has to be the number of records of a page", times(d), g.Parameter)
	default:
		x.moving = true
		x.warn("the list showed records again, %s in all: if it changed while it was read, it may have hidden others, and another run finds them", times(d))
	}
}

// empty says whether a list without records is to be believed.
func (r *run) empty() string {
	switch {
	case r.total == 0 && r.c.read.total != nil:
		return ""
	case r.c.List.File != "" && r.seen.documents == 0:
		return ""
	}
	what := fmt.Sprintf("list.records, %s, finds no records", r.c.List.Records)
	if r.had > 0 {
		what += fmt.Sprintf(", where there were %s before", grouped(r.had))
	}
	return what + ": is it right? Where a list may be empty, list.total says that it is, with 0"
}

// hint says why a list may show less than it says it has.
func (r *run) hint(x *Result, shown int64) string {
	g, e := r.c.List.Page, r.seen
	lack := r.total - shown
	switch {
	case r.first >= 0 && r.first != r.total, x.Duplicates > 0 && r.c.List.File == "":
		return "it changed while it was read; another run finds the others"
	case g == nil && r.c.List.Cursor == nil && !r.c.List.Link:
		return "it may have pages: see list.page, list.cursor and list.link"
	case g != nil && g.Step > 1 && e.most > 0 && e.most < g.Step:
		return fmt.Sprintf("its pages have %d records, and %s grows by %d: list.page.step skips those between", e.most, g.Parameter, g.Step)
	case g != nil && g.Step == 1 && g.Start > 0 && lack == int64(e.most):
		return fmt.Sprintf("that is a page: does the first one have the number %d (list.page.start)?", g.Start-1)
	case g != nil && g.Last == "":
		return "it has an empty page before its end: say which page is the last one with list.page.last, or leave list.total out if it counts others"
	}
	return "leave list.total out if it counts others"
}

// answer is what became of the mirror, in a sentence.
func (x *Result) answer() string {
	if !x.Complete {
		s := fmt.Sprintf("%s in %s; the list is not done", are(x.OnDisk), x.Dir)
		if x.Stored > 0 && x.Stored < x.OnDisk {
			s = fmt.Sprintf("%s in %s, %s of them new; the list is not done", are(x.OnDisk), x.Dir, grouped(x.Stored))
		}
		if n := x.failed(); n > 0 {
			s += fmt.Sprintf(", and %s failed", grouped(n))
		}
		return s
	}
	shown := x.Listed - x.Duplicates
	there := shown - (x.failed() - x.Unlisted)
	fresh := ""
	if shown > 0 && x.Stored == 0 {
		fresh = "; none of them is new"
	} else if x.Stored < there {
		fresh = fmt.Sprintf(", %s of them new", grouped(x.Stored))
	}
	switch {
	case shown == 0 && x.More == "":
		return "The list is empty"
	case shown == 0:
		return "The list showed no records"
	case x.Total > shown && x.More != "":
		s := fmt.Sprintf("%s of the list's %s are in %s%s", grouped(there), counted(x.Total), x.Dir, fresh)
		if n := x.failed(); n > 0 {
			s += fmt.Sprintf("; %s failed", grouped(n))
		}
		return s
	case x.failed() > 0:
		if fresh == "" {
			return fmt.Sprintf("%s in %s, %s failed", are(there), x.Dir, grouped(x.failed()))
		}
		return fmt.Sprintf("%s in %s%s; %s failed", are(there), x.Dir, fresh, grouped(x.failed()))
	case x.More != "":
		return fmt.Sprintf("%s in %s%s; the list has others", are(there), x.Dir, fresh)
	case x.moving:
		return fmt.Sprintf("All %s that the list showed are in %s%s; it changed meanwhile", counted(there), x.Dir, fresh)
	case there == 1:
		return fmt.Sprintf("The one record is in %s%s", x.Dir, fresh)
	}
	return fmt.Sprintf("All %s are in %s%s", counted(there), x.Dir, fresh)
}

// failed is how many records are not on disk and have failed, in this run or before.
func (x *Result) failed() int64 { return x.Failed + x.Pending }

// someFailed says how many, and where they are named.
func (x *Result) someFailed() string {
	return fmt.Sprintf("%s, named in %s; run it again to try them again", grouped(x.failed()), path.Join(x.Dir, store.Own, failedName))
}

func (x *Result) warnings() []string {
	all := []string{}
	all = append(all, x.Warnings...)
	for _, f := range x.Failures {
		what := f.Path
		if what == "" {
			what = "a record"
		}
		all = append(all, fmt.Sprintf("failed: %s: %s", what, f.Error))
	}
	if more := x.failed() - int64(len(x.Failures)); more > 0 && len(x.Failures) > 0 {
		all = append(all, fmt.Sprintf("and %s more failed: all are in %s", grouped(more), path.Join(x.Dir, store.Own, failedName)))
	}
	return all
}
