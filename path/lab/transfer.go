package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/histogram"
	"github.com/headway-lab/headway/path/capture"
	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/usage"
)

// bench is a link with a server at one end, on which transfers are made one after another.
type bench struct {
	link    *link.Link
	servers map[string]*http.Server // by congestion control
	ports   map[string]uint16
	conn    atomic.Pointer[net.TCPConn] // that the server accepted last
	wg      sync.WaitGroup
}

// reason leaves out where something listened: nobody asked for that.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// page is what is sent, again and again: nothing that anybody could compress.
var page = func() []byte {
	b := make([]byte, 1<<16)
	x := uint64(0x9e3779b97f4a7c15)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}()

func newBench(o *Options, seed uint64) (*bench, error) {
	toServer, toClient := o.conditions(0)
	l, err := link.NewSeeded(seed, toServer, toClient)
	if err != nil {
		return nil, err
	}
	if err := l.A.Do(roomy); err != nil {
		l.Close()
		return nil, err
	}
	b := &bench{link: l, servers: map[string]*http.Server{}, ports: map[string]uint16{}}
	for i, cc := range o.CC {
		port := uint16(8000 + i)
		ln, err := l.B.Listen("tcp4", port, cc)
		if err != nil {
			b.close()
			return nil, usage.Errorf("--cc %s: %w", cc, reason(err))
		}
		s := &http.Server{
			Handler: http.HandlerFunc(serve),
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				b.conn.Store(c.(*net.TCPConn))
				return ctx
			},
		}
		b.servers[cc], b.ports[cc] = s, port
		b.wg.Go(func() { s.Serve(ln) })
	}
	return b, nil
}

// roomy lets the buffers of clients begin at 1 MB, not at 128 KB. On a link packets that were sent at once come at
// once; they would fill the smaller one before the client's program gets a processor, and the window that it offers
// would not grow, as it does on paths that spread them.
func roomy() error {
	const setting = "/proc/sys/net/ipv4/tcp_rmem"
	if err := os.WriteFile(setting, []byte("4096 1048576 33554432"), 0); err != nil {
		return fmt.Errorf("the clients' buffers: %w", err)
	}
	return nil
}

func serve(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.URL.Path[1:], 10, 64)
	if err != nil {
		http.Error(w, "want a number of bytes", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	w.Header().Set("Content-Type", "application/octet-stream")
	for n > 0 {
		k, err := w.Write(page[:min(n, int64(len(page)))])
		if err != nil {
			return
		}
		n -= int64(k)
	}
}

func (b *bench) close() {
	for _, s := range b.servers {
		s.Close()
	}
	b.wg.Wait()
	b.link.Close()
}

// transfer is what was seen of one.
type transfer struct {
	connect, first, total time.Duration // since the begin; 0 for what was not reached
	late                  bool          // it was not complete when its time was over
	course                []mark

	segments, again uint32 // that the server sent, and how many of them were not the first
	rtt             time.Duration
	held            float64 // share of the time in which the client's window held the server back
	dropped         int64   // by the queue
	loss            [2]loss
	lateness        histogram.Histogram // of both ways, ns
}

// loss is what one way lost of what it could lose.
type loss struct{ lost, of int64 }

// mark is how many bytes had arrived at a time.
type mark struct {
	at    time.Duration
	bytes int64
}

// transfer makes one.
func (b *bench) transfer(ctx context.Context, o *Options, c cell) (*transfer, error) {
	if err := b.link.Change(o.conditions(c.loss)); err != nil {
		return nil, err
	}
	captured, err := b.capture(o, c)
	if err != nil {
		return nil, err
	}
	beforeB, beforeA := b.link.Stats()
	t, err := b.get(ctx, o, b.ports[c.cc])
	for _, x := range captured {
		err = errors.Join(err, x.Close())
	}
	if err == nil {
		err = b.link.Err()
	}
	if err != nil {
		return nil, err
	}
	afterB, afterA := b.link.Stats()
	for i, s := range [2][2]link.Stats{{beforeB, afterB}, {beforeA, afterA}} {
		t.loss[i] = loss{s[1].Lost - s[0].Lost, s[1].Subject - s[0].Subject}
		t.dropped += s[1].Dropped - s[0].Dropped
		t.lateness.Merge(&s[1].Late)
		t.lateness.MergeTimes(&s[0].Late, -1)
	}
	return t, nil
}

// capture begins one of both ends, if there is none of the cell yet.
func (b *bench) capture(o *Options, c cell) (all []*capture.Capture, err error) {
	if o.Capture == "" {
		return nil, nil
	}
	for _, at := range []struct {
		name string
		end  *link.Namespace
	}{{"server", b.link.B}, {"client", b.link.A}} {
		name := filepath.Join(o.Capture, fmt.Sprintf("%s-%g-%s.pcapng", c.cc, 100*c.loss, at.name))
		if _, taken := o.captured.LoadOrStore(name, true); taken {
			break
		}
		x, err := capture.Start(at.end, name, at.name)
		if err != nil {
			for _, x := range all {
				x.Close()
			}
			return nil, fmt.Errorf("--capture: %w", err)
		}
		all = append(all, x)
	}
	return all, nil
}

// get fetches a page of o.Size.
func (b *bench) get(parent context.Context, o *Options, port uint16) (*transfer, error) {
	ctx, cancel := context.WithTimeout(parent, o.Timeout)
	defer cancel()
	t := &transfer{}
	begin := time.Now()
	var conn net.Conn
	client := &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := b.link.A.Dial(ctx, "tcp4", port, "")
			t.connect, conn = time.Since(begin), c
			return c, err
		},
	}
	// What is left of this transfer is over when the next one begins: no loss, no queue
	// and a round trip of time.
	defer func() {
		client.CloseIdleConnections()
		if conn != nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
		plain := Options{RTT: o.RTT}
		toServer, toClient := plain.conditions(0)
		b.link.Change(toServer, toClient)
		select {
		case <-time.After(o.RTT + o.RTT/2):
		case <-parent.Done():
		}
	}()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://server/"+strconv.FormatInt(o.Size, 10), nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.RoundTrip(r)
	if err == nil {
		t.first = time.Since(begin)
		err = t.read(answer.Body, begin, o.Size)
		answer.Body.Close()
	}
	t.total = time.Since(begin)
	switch {
	case parent.Err() != nil:
		return nil, context.Cause(parent)
	case errors.Is(err, context.DeadlineExceeded):
		t.total, t.late = o.Timeout, true
	case err != nil:
		return nil, fmt.Errorf("a transfer: %w", err)
	}
	return t, t.sender(b.conn.Load())
}

// marks is about how many marks a transfer has.
const marks = 400

// read takes the body, and remembers when how much of it was there.
func (t *transfer) read(body io.Reader, begin time.Time, size int64) error {
	buffer := make([]byte, 1<<16)
	step := max(size/marks, 1)
	got := int64(0)
	for {
		n, err := body.Read(buffer)
		if got += int64(n); n > 0 && (len(t.course) == 0 || got-t.course[len(t.course)-1].bytes >= step || got == size) {
			t.course = append(t.course, mark{time.Since(begin), got})
		}
		if err == io.EOF {
			if got != size {
				return fmt.Errorf("%d of %d bytes came", got, size)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sender asks the kernel what the server's side saw.
func (t *transfer) sender(c *net.TCPConn) error {
	if c == nil {
		return nil // the connection was never made
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var info *unix.TCPInfo
	if e := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); e != nil || err != nil {
		return nil // it is gone: the client gave up
	}
	t.segments, t.again = info.Segs_out, info.Total_retrans
	t.rtt = time.Duration(info.Min_rtt) * time.Microsecond
	if info.Busy_time > 0 {
		t.held = float64(info.Rwnd_limited) / float64(info.Busy_time)
	}
	return nil
}
