package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/headway-lab/headway/stage"
)

// display shows on standard error how far the work is: a bar on a terminal, lines
// elsewhere, warnings only if it is to be quiet.
type display struct {
	w       io.Writer
	quiet   bool
	program io.Writer // for what the profiled program prints

	bars *mpb.Progress // nil without a terminal
	bar  *mpb.Bar
	now  atomic.Pointer[stage.Event]

	last      stage.Event
	lastShown time.Duration
}

// between is how long a display without a bar says nothing new about the same phase, silent how long it says
// nothing where there is nothing new.
const (
	between = 5 * time.Second
	silent  = 30 * time.Second
)

func newDisplay(w io.Writer, quiet bool) *display {
	d := &display{w: w, quiet: quiet, program: w}
	d.now.Store(&stage.Event{})
	f, ok := w.(*os.File)
	if quiet || !ok || !cwriter.IsTerminal(int(f.Fd())) {
		return d
	}
	begin := time.Now()
	d.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(30))
	d.bar = d.bars.New(1, mpb.BarStyle(), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return fmt.Sprintf("%-10s ", d.now.Load().Phase) })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			e, elapsed := d.now.Load(), time.Since(begin).Round(time.Second)
			if e.Total > 0 {
				return fmt.Sprintf(" %v of %v  %s", elapsed, e.Total.Round(time.Second), e.Text)
			}
			return fmt.Sprintf(" %v  %s", elapsed, e.Text)
		})))
	d.program = above{d}
	return d
}

// event shows how far the work is.
func (d *display) event(e stage.Event) {
	if e.Warning {
		d.print("headway: warning: " + e.Text)
		return
	}
	if d.quiet {
		return
	}
	if d.bars != nil {
		d.now.Store(&e)
		if e.Total > 0 {
			d.bar.SetTotal(int64(e.Total)+1, false) // it completes in close
			d.bar.SetCurrent(min(int64(e.Elapsed), int64(e.Total)))
		}
		return
	}
	same := e.Phase == d.last.Phase
	if same && (e.Elapsed < d.lastShown+between || e.Text == d.last.Text && e.Elapsed < d.lastShown+silent) {
		return
	}
	d.last, d.lastShown = e, e.Elapsed
	d.print(fmt.Sprintf("%5s  %-10s  %s", e.Elapsed.Round(time.Second), e.Phase, e.Text))
}

// say prints a line for a person, unless it is to be quiet.
func (d *display) say(line string) {
	if !d.quiet {
		d.print("headway: " + line)
	}
}

func (d *display) print(line string) {
	if d.bars != nil {
		if _, err := fmt.Fprintln(d.bars, line); err == nil {
			return
		}
	}
	fmt.Fprintln(d.w, line)
}

// close takes the bar away.
func (d *display) close() {
	if d.bars != nil {
		d.bar.Abort(true)
		d.bars.Wait()
	}
}

// above prints above the bar.
type above struct{ d *display }

func (a above) Write(b []byte) (int, error) {
	if _, err := a.d.bars.Write(b); err != nil {
		return a.d.w.Write(b)
	}
	return len(b), nil
}
