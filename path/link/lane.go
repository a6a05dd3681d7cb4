package link

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
)

// lane carries the packets of one direction.
type lane struct {
	in, out *port
	wake    int // an event that ends the wait
	luck    *dist.Stream
	begin   time.Time

	mu      sync.Mutex
	c       Conditions
	stats   Stats
	err     error
	stopped bool

	// Of the thread alone.
	held   packets
	spare  [][]byte
	seq    uint64
	free   int64 // when the bottleneck has sent all that it has taken
	police police
	last   int64 // when the packet before is due: order is kept
	bad    bool  // a burst of losses is under way
	turn   int64 // until then
	buffer []byte
}

// Stats is what a lane has done since it was made.
type Stats struct {
	Packets, Bytes int64 // that came
	Sent           int64 // that left at the other end
	Lost           int64 // on purpose
	Subject        int64 // of Packets, those that could be lost, by LossOn
	Dropped        int64 // because the queue was full, or the policer's bucket empty
	Refused        int64 // that the other end's device did not take
	// Late is by how much packets left later than they were due, in ns.
	Late histogram.Histogram
	// Longest is the greatest length of the queue in bytes.
	Longest int
}

func (s Stats) String() string {
	return fmt.Sprintf("%d packets came, %d left, %d lost, %d dropped, %d refused; late: %v", s.Packets, s.Sent, s.Lost, s.Dropped, s.Refused, &s.Late)
}

func newLane(in, out *port, c Conditions, luck *dist.Stream) (*lane, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an event: %w", err)
	}
	return &lane{in: in, out: out, wake: wake, luck: luck, begin: time.Now(), c: c, buffer: make([]byte, 1<<16)}, nil
}

func (l *lane) change(c Conditions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c = c
}

func (l *lane) snapshot() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Late = histogram.Histogram{}
	s.Late.Merge(&l.stats.Late)
	return s
}

func (l *lane) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lane) stop() {
	l.mu.Lock()
	l.stopped = true
	l.mu.Unlock()
	one := [8]byte{1}
	unix.Write(l.wake, one[:])
}

func (l *lane) close() { unix.Close(l.wake) }

func (l *lane) now() int64 { return int64(time.Since(l.begin)) }

// batch is how many packets are read before those that are due are looked at again.
const batch = 64

// run carries packets until stop.
func (l *lane) run() {
	runtime.LockOSThread() // and never unlocked: the thread's timer slack goes with it
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for {
		next := l.deliver()
		if !l.wait(next) {
			return
		}
		l.collect()
	}
}

// wait returns when a packet has come or one is due, at next (-1: none is held); false when it is over.
func (l *lane) wait(next int64) bool {
	fds := []unix.PollFd{{Fd: int32(l.in.fd), Events: unix.POLLIN}, {Fd: int32(l.wake), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if next >= 0 {
		t := unix.NsecToTimespec(max(next-l.now(), 0))
		timeout = &t
	}
	_, err := unix.Ppoll(fds, timeout, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return false
	case err != nil && err != unix.EINTR:
		l.err = fmt.Errorf("waiting for packets: %w", err)
		return false
	case fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0:
		l.err = fmt.Errorf("the device of the link is gone")
		return false
	}
	return true
}

// collect takes the packets that have come.
func (l *lane) collect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range batch {
		n, err := l.in.read(l.buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		l.admit(l.buffer[:n], l.now())
	}
}

// admit decides what becomes of a packet that came at now.
func (l *lane) admit(b []byte, now int64) {
	c, s := &l.c, &l.stats
	s.Packets++
	s.Bytes += int64(len(b))
	if l.police.drops(c, len(b), now) {
		s.Dropped++
		return
	}
	if c.Rate > 0 {
		queue := c.Queue
		if queue == 0 {
			queue = max(int(c.Rate/8/10), MTU)
		}
		l.free = max(l.free, now)
		waiting := int(float64(l.free-now) * c.Rate / 8e9)
		if waiting+len(b) > queue {
			s.Dropped++
			return
		}
		s.Longest = max(s.Longest, waiting+len(b))
		l.free += int64(float64(len(b)) * 8e9 / c.Rate)
		now = l.free
	}
	if subject(b, c.LossOn) {
		s.Subject++
		// The wire comes behind the queue: what is lost has taken its room there.
		if l.loses(now) {
			s.Lost++
			return
		}
	}
	due := now + int64(c.Delay)
	if c.Jitter > 0 {
		due += int64(l.luck.Float64() * float64(c.Jitter))
	}
	if c.Reorder > 0 && l.luck.Float64() < c.Reorder {
		by := c.ReorderBy
		if by == 0 {
			by = max(c.Delay/8, time.Millisecond)
		}
		due += int64(by)
	} else {
		due = max(due, l.last)
		l.last = due
	}
	var p []byte
	if n := len(l.spare); n > 0 && cap(l.spare[n-1]) >= len(b) {
		p, l.spare = l.spare[n-1][:len(b)], l.spare[:n-1]
	} else {
		p = make([]byte, len(b), max(len(b), MTU))
	}
	copy(p, b)
	l.seq++
	l.held.push(packet{due, l.seq, p})
}

// loses draws whether a packet is lost.
func (l *lane) loses(now int64) bool {
	c := &l.c
	if c.Loss == 0 || c.Bursts == 0 {
		return c.Loss > 0 && l.luck.Float64() < c.Loss
	}
	// Good and bad times take turns, each as long as its exponential draw, whether packets
	// come or not.
	length := func() int64 {
		mean := float64(c.Bursts)
		if !l.bad {
			mean *= (1 - c.Loss) / c.Loss
		}
		return int64(l.luck.Exp()*mean) + 1
	}
	if l.turn == 0 {
		l.bad = l.luck.Float64() < c.Loss
		l.turn = now + length()
	}
	for l.turn <= now {
		l.bad = !l.bad
		l.turn += length()
	}
	return l.bad
}

// subject says whether a packet is one of those that can be lost.
func subject(b []byte, on LossOn) bool {
	if on == All {
		return true
	}
	payload, tcp := tcpPayload(b)
	if !tcp {
		return on == Data
	}
	return (payload > 0) == (on == Data)
}

// tcpPayload returns the length of a TCP segment's payload over IPv4.
func tcpPayload(b []byte) (n int, tcp bool) {
	if len(b) < 20 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return 0, false
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || total > len(b) || total < head+20 {
		return 0, false
	}
	return total - head - int(b[head+12]>>4)*4, true
}

// deliver lets go of what is due, and returns when the next one is, -1 if none is held.
func (l *lane) deliver() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.held) > 0 {
		now := l.now()
		if l.held[0].due > now {
			return l.held[0].due
		}
		p := l.held.pop()
		if l.out.write(p.bytes) != nil {
			l.stats.Refused++
		} else {
			l.stats.Sent++
			l.stats.Late.Add(now - p.due)
		}
		l.spare = append(l.spare, p.bytes)
	}
	return -1
}

// packet is one that is held until it is due.
type packet struct {
	due   int64
	seq   uint64
	bytes []byte
}

// packets is a heap by due time, and by order of arrival among equals.
type packets []packet

func (h packets) before(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].seq < h[j].seq
}

func (h *packets) push(p packet) {
	*h = append(*h, p)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			return
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

func (h *packets) pop() packet {
	a := *h
	top, n := a[0], len(a)-1
	a[0] = a[n]
	a[n] = packet{}
	a = a[:n]
	*h = a
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && a.before(c+1, c) {
			c++
		}
		if !a.before(c, i) {
			return top
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
}
