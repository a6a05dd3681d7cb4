package load

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/headway-lab/headway/histogram"
)

// WriteHDR writes the latencies of the requests that succeeded as an HDR histogram log,
// in ns, an interval for each part of the run: what other tools draw, and what a
// simulation takes as an empirical distribution.
func (r *Result) WriteHDR(w io.Writer) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	if err := log.OutputLogFormatVersion(); err != nil {
		return err
	}
	if err := log.OutputComment("[Latencies in ns, from when a request was due until its last byte]"); err != nil {
		return err
	}
	if err := log.OutputStartTime(r.Begun.UnixMilli()); err != nil {
		return err
	}
	if err := log.OutputLegend(); err != nil {
		return err
	}
	log.SetBaseTime(0)
	parts := r.joined()
	if len(parts) == 0 {
		parts = []Piece{{End: r.Duration, Latency: &r.Latency}}
	}
	for _, p := range parts {
		if err := hdrInterval(log, r.Begun, p.Begin, p.End, p.Latency); err != nil {
			return err
		}
	}
	return nil
}

func hdrInterval(log *hdrhistogram.HistogramLogWriter, started time.Time, begin, end time.Duration, h *histogram.Histogram) error {
	// Three digits from .5 us to what there is.
	out := hdrhistogram.New(1000, max(h.Max(), 2000)*2, 3)
	out.SetStartTimeMs(started.Add(begin).UnixMilli())
	out.SetEndTimeMs(started.Add(end).UnixMilli())
	var err error
	h.Each(func(t float64, n int64) {
		if e := out.RecordValues(int64(math.Round(t)), n); e != nil && err == nil {
			err = fmt.Errorf("%g ns: %w", t, e)
		}
	})
	if err != nil {
		return err
	}
	return log.OutputIntervalHistogramWithLogOptions(out, nil)
}
