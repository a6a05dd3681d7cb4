package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/path/tcpinfo"
	"github.com/headway-lab/headway/report"
	"github.com/headway-lab/headway/wire"
)

// Options is what is measured, and how often.
type Options struct {
	URL      string
	Method   string
	Header   http.Header
	Body     []byte
	Client   Client
	N        int           // exchanges of each variant
	Interval time.Duration // between exchanges
	Try      []Variant     // none: as it is
	Seed     uint64        // of the order in which variants take turns
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Done, Total int
	Elapsed     time.Duration
	Last        string
}

const (
	most    = 100_000
	longest = time.Hour
)

// Check says what is wrong with the options, in words for the one who wrote them.
func (o *Options) Check() error {
	switch {
	case o.N < 1 || o.N > most:
		return fmt.Errorf("-n %d: want 1 to %d", o.N, most)
	case len(o.Try) > 0 && o.N < effect.MinN:
		return fmt.Errorf("-n %d: --try compares pairs, of which an interval takes %d: want %d to %d", o.N, effect.MinN, effect.MinN, most)
	case o.Interval < 0 || o.Interval > longest:
		return fmt.Errorf("--interval %v: want 0 to %v", o.Interval, longest)
	case o.Client.Timeout < 0 || o.Client.Timeout > longest:
		return fmt.Errorf("--timeout %v: want more than 0, and at most %v", o.Client.Timeout, longest)
	}
	if o.Client.Congestion != "" {
		if err := known(o.Client.Congestion); err != nil {
			return err
		}
	}
	if _, err := wire.NewRequest(o.Method, o.URL, o.Header, nil); err != nil {
		return err
	}
	u, _ := wire.ParseURL(o.URL)
	for _, v := range o.Try {
		if v.Group == "tls" && u.Scheme != "https" {
			return fmt.Errorf("--try %s: there is no TLS under http", v.Name)
		}
	}
	return nil
}

// one is what came of one exchange.
type one struct {
	*Answer
	conn     *Conn
	course   []tcpinfo.Sample // of this exchange
	evidence diagnosis.Evidence

	encoding, location string // headers, which are gone with the connection
}

// way is a variant at work.
type way struct {
	Variant
	client  Client
	request *wire.Request
	kept    *Conn
	runs    []*one // by round; nil failed
	fault   error  // the last one
	failed  int
}

// Run makes the exchanges, one after the other, variants by turns in an order drawn anew each round, and says
// what they took and why. When ctx ends, it reports what was measured until then, with the cause as error.
func (o *Options) Run(ctx context.Context) (*report.Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	begin := time.Now()
	ways, err := o.ways()
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, w := range ways {
			w.drop()
		}
	}()
	luck := dist.NewStream(o.Seed, "order of exchanges")
	order := make([]int, len(ways))
	for i := range order {
		order[i] = i
	}
	done := 0
	for round := range o.N {
		for i := len(order) - 1; i > 0; i-- {
			j := luck.IntN(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		for _, i := range order {
			if done > 0 && !sleep(ctx, o.Interval) {
				return o.report(ways, round, begin), context.Cause(ctx)
			}
			x, err := ways[i].exchange(ctx)
			if ctx.Err() != nil {
				return o.report(ways, round, begin), context.Cause(ctx)
			}
			if err != nil && round == 0 {
				// What fails at once will go on to: say so now.
				return nil, fmt.Errorf("%s: %w", o.of(ways[i]), ways[i].compared(ways[i].client.guess(err, ways[i].request.URL)))
			}
			ways[i].keepRun(x, err)
			done++
			o.progress(ways[i], x, err, done, len(ways)*o.N, begin)
		}
	}
	return o.report(ways, o.N, begin), nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (o *Options) of(w *way) string {
	u, _ := wire.ParseURL(o.URL)
	if w.Name == "" {
		return u.Redacted()
	}
	return w.Name + ", " + u.Redacted()
}

func (o *Options) progress(w *way, x *one, err error, done, total int, begin time.Time) {
	if o.Progress == nil {
		return
	}
	p := Progress{Done: done, Total: total, Elapsed: time.Since(begin)}
	switch {
	case err != nil:
		p.Last = err.Error()
	default:
		p.Last = x.Phases.Total().Round(10 * time.Microsecond).String()
	}
	if w.Name != "" {
		p.Last = w.Name + ": " + p.Last
	}
	o.Progress(p)
}

// ways makes the variants ready.
func (o *Options) ways() ([]*way, error) {
	try := o.Try
	if len(try) == 0 {
		try = []Variant{{}}
	}
	var all []*way
	for _, v := range try {
		w := &way{Variant: v, client: o.Client}
		h := maps.Clone(o.Header)
		if h == nil {
			h = http.Header{}
		}
		if v.set != nil {
			v.set(&w.client, h)
		}
		var err error
		if w.request, err = wire.NewRequest(o.Method, o.URL, h, bytes.Clone(o.Body)); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// exchange makes one, on a connection of its own unless the variant keeps them.
func (w *way) exchange(ctx context.Context) (*one, error) {
	if w.keep && w.kept == nil {
		// The first exchange on a connection is no other than that without keepalive: it does not count.
		c, err := w.client.Connect(ctx, w.request.URL)
		if err != nil {
			return nil, err
		}
		w.kept = c
		if _, err := c.Do(ctx, w.request); err != nil {
			w.drop()
			return nil, err
		}
	}
	c := w.kept
	if c == nil || !c.Reusable() {
		w.drop()
		var err error
		if c, err = w.client.Connect(ctx, w.request.URL); err != nil {
			return nil, err
		}
		if w.keep {
			w.kept = c
		} else {
			defer c.Close()
		}
	}
	if w.keep {
		if err := c.Again(); err != nil {
			w.drop()
			return nil, err
		}
	}
	ready := time.Now()
	a, err := c.Do(ctx, w.request)
	if err != nil {
		w.drop()
		return nil, err
	}
	end := time.Now()
	x := &one{Answer: a, conn: c, encoding: a.Header("Content-Encoding"), location: a.Header("Location"), course: diagnosis.Between(c.Course(), ready, end)}
	x.evidence = w.evidence(x)
	return x, nil
}

// evidence is what this side can know: it sends in an upload, and receives in a download.
func (w *way) evidence(x *one) diagnosis.Evidence {
	upload := int64(len(w.request.Body)) > max(x.Body, 16<<10)
	from := diagnosis.FromReceiver
	if upload {
		from = diagnosis.FromSender
	}
	e := from(x.course)
	e.Upload = upload
	x.Phases.Into(&e, x.conn.TLS)
	return e
}

func (w *way) drop() {
	if w.kept != nil {
		w.kept.Close()
		w.kept = nil
	}
}

func (w *way) keepRun(x *one, err error) {
	w.runs = append(w.runs, x)
	if err != nil {
		w.failed++
		w.fault = err
	}
}

// good are the exchanges that succeeded.
func (w *way) good() []*one {
	return slices.DeleteFunc(slices.Clone(w.runs), func(x *one) bool { return x == nil })
}

// over picks a figure of all exchanges.
func over(all []*one, f func(*one) float64) []float64 {
	x := make([]float64, len(all))
	for i, o := range all {
		x[i] = math.NaN()
		if o != nil {
			x[i] = f(o)
		}
	}
	return x
}

// ErrNothing is that no exchange was complete.
var ErrNothing = errors.New("nothing was measured yet")
