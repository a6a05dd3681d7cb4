package tcpinfo

import (
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Sample is the state of a connection at a time.
type Sample struct {
	At time.Time
	Info
}

// Sampling says how a connection is recorded.
type Sampling struct {
	Every time.Duration // 0 is 2 ms
	// Most samples that are kept, 0 is 4096: when there are more, every second one is forgotten and the interval
	// doubled, so that the whole time stays covered.
	Most int
}

// Recorder samples a connection until it is stopped, or the connection closed.
type Recorder struct {
	rc    syscall.RawConn
	every time.Duration
	most  int
	end   chan struct{}
	once  sync.Once
	wg    sync.WaitGroup

	mu     sync.Mutex
	course []Sample
}

// Record begins to sample a connection, with a first sample at once.
func Record(c net.Conn, o Sampling) (*Recorder, error) {
	rc, err := raw(c)
	if err != nil {
		return nil, err
	}
	r := &Recorder{rc: rc, every: o.Every, most: max(o.Most, 0), end: make(chan struct{})}
	if r.every <= 0 {
		r.every = 2 * time.Millisecond
	}
	if r.most == 0 {
		r.most = 4096
	}
	r.most = max(r.most, 4)
	if err := r.sample(); err != nil {
		return nil, err
	}
	r.wg.Go(r.run)
	return r, nil
}

func (r *Recorder) run() {
	every := r.every
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-r.end:
			return
		case <-tick.C:
		}
		if r.sample() != nil {
			return // closed
		}
		if now := r.interval(); now != every {
			every = now
			tick.Reset(every)
		}
	}
}

func (r *Recorder) sample() error {
	i, err := FromRaw(r.rc)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.course = append(r.course, Sample{time.Now(), i})
	if len(r.course) >= r.most {
		n := 0
		for i := 0; i < len(r.course); i += 2 {
			r.course[n] = r.course[i]
			n++
		}
		r.course = r.course[:n]
		r.every *= 2
	}
	return nil
}

func (r *Recorder) interval() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.every
}

// Stop takes a last sample, if the connection is still open, and returns all that are kept. It may
// be called again, and then returns the same.
func (r *Recorder) Stop() []Sample {
	r.once.Do(func() {
		close(r.end)
		r.wg.Wait()
		r.sample()
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.course
}

// Course takes a sample now and returns all that are kept so far; the recorder goes on.
func (r *Recorder) Course() []Sample {
	select {
	case <-r.end:
	default:
		r.sample()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.course)
}

// Recorded makes a listener that records every connection that it accepts. When one is
// closed, done gets what was recorded until just before.
func Recorded(l net.Listener, o Sampling, done func(c net.Conn, course []Sample)) net.Listener {
	return &listener{l, o, done}
}

type listener struct {
	net.Listener
	o    Sampling
	done func(net.Conn, []Sample)
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c, nil
	}
	r, err := Record(tcp, l.o)
	if err != nil {
		return c, nil // gone already
	}
	return &recorded{TCPConn: tcp, r: r, done: l.done}, nil
}

// recorded is a connection with all that a TCPConn can do.
type recorded struct {
	*net.TCPConn
	r    *Recorder
	done func(net.Conn, []Sample)
	once sync.Once
}

func (c *recorded) Close() error {
	c.once.Do(func() { c.done(c.TCPConn, c.r.Stop()) })
	return c.TCPConn.Close()
}
