package mirror

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Counts is what a run has done.
type Counts struct {
	Stored     int64 // records fetched and written
	There      int64 // that were on disk before
	Failed     int64
	Pending    int64 // that failed in an earlier run, and were not tried again
	Gone       int64 // that failed before, have left the list, and cannot be had any more
	Unlisted   int64 // of Failed and Pending, that the list does not show any more
	Duplicates int64 // that the list had more than once, in this pass
	Sizes      int64 // of Stored, that are not as long as record.size says
	Bytes      int64 // of the records stored
	Pages      int64 // of the list that were read
	Listed     int64 // records of the list up to where it was read, earlier runs of the pass included
	Kinds      map[string]int64
	Resumed    bool // the run has gone on where an earlier one ended
	Complete   bool // the list was read to its end, and all of it is on disk or has failed
}

// kind counts a failure.
func (n *Counts) kind(k string) {
	if n.Kinds == nil {
		n.Kinds = map[string]int64{}
	}
	n.Kinds[k]++
}

// Slow is a record that took long, retries included.
type Slow struct {
	Path string
	Took time.Duration
}

// slow keeps the slowest records, the slowest first.
func (r *run) slow(path string, took time.Duration) {
	i, _ := slices.BinarySearchFunc(r.slowest, took, func(s Slow, d time.Duration) int { return cmp.Compare(d, s.Took) })
	r.slowest = slices.Insert(r.slowest, i, Slow{path, took})
	if len(r.slowest) > mostNamed {
		r.slowest = r.slowest[:mostNamed]
	}
}

// Progress is how far a run is.
type Progress struct {
	Counts
	Elapsed time.Duration
	Left    time.Duration // until the end of the list, 0 if the list does not say how long it is
	Total   int64         // records of the list, -1 if it does not say
	Rate    float64       // records a minute, over the last seconds
	Workers int
	Retries int64
	Slowed  int64         // how often the server asked for patience
	Held    time.Duration // for how long it holds requests back from now on
	Open    int64         // connections
	Dialed  int64         // connections made
	Reused  int64         // exchanges on a connection that had had one before
}

// Line is the progress in one line for a person.
func (p Progress) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s new", counted(p.Stored))
	if p.There > 0 {
		fmt.Fprintf(&b, ", %s there", grouped(p.There))
	}
	fmt.Fprintf(&b, ", %s a minute, %s", grouped(int64(p.Rate)), size(p.Bytes))
	if p.Failed > 0 {
		fmt.Fprintf(&b, ", %s failed", grouped(p.Failed))
	}
	if p.Retries > 0 {
		fmt.Fprintf(&b, ", %s retries", grouped(p.Retries))
	}
	if p.Held >= time.Second {
		fmt.Fprintf(&b, ", held back by the server for %v", p.Held.Round(time.Second))
	} else if p.Left > 0 {
		fmt.Fprintf(&b, ", %v left", p.Left.Round(time.Second))
	}
	return b.String()
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted is a number of records.
func counted(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return grouped(n) + " records"
}

// size writes bytes with a unit.
func size(n int64) string {
	for _, u := range []struct {
		unit string
		per  float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.per {
			return fmt.Sprintf("%.3g %s", float64(n)/u.per, u.unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

func (r *run) progress() Progress {
	c := r.f.t.Counts()
	r.mu.Lock()
	p := Progress{Counts: r.n, Elapsed: time.Since(r.begin), Total: r.total}
	r.mu.Unlock()
	p.Kinds = maps.Clone(p.Kinds)
	p.Workers = int(r.workers.Load())
	p.Retries, p.Slowed = r.f.retries.Load(), r.f.slowed.Load()
	p.Held = r.f.held()
	p.Open, p.Dialed, p.Reused = c.Open, c.Dialed, c.Reused
	return p
}

// reporter tells the progress.
func (r *run) reporter(quiet chan struct{}) {
	if r.Progress == nil {
		return
	}
	t := time.NewTicker(r.Every)
	defer t.Stop()
	type point struct {
		at   time.Duration
		done int64
	}
	var window []point // the last ten
	for {
		select {
		case <-quiet:
			return
		case <-t.C:
		}
		p := r.progress()
		done := p.Stored + p.There + p.Failed
		before := int64(0) // records of this pass that earlier runs have done
		r.mu.Lock()
		if r.earlier != nil {
			before = r.earlier.Listed
		}
		r.mu.Unlock()
		window = append(window, point{p.Elapsed, done})
		if len(window) > 10 {
			window = window[1:]
		}
		if first := window[0]; p.Elapsed > first.at {
			p.Rate = float64(done-first.done) / (p.Elapsed - first.at).Minutes()
		} else {
			p.Rate = float64(done) / p.Elapsed.Minutes()
		}
		if left := p.Total - before - done; p.Total > 0 && left > 0 && p.Rate > 0 {
			p.Left = time.Duration(float64(left) / p.Rate * float64(time.Minute))
		}
		r.Progress(p)
	}
}
