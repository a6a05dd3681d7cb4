package link

import (
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
	gate    func([]byte) bool // sees packets before the device does

	mu      sync.Mutex
	c       Conditions
	stats   Stats
	err     error
	stopped bool

	// Of the thread alone.
	held   hold
	free   int64 // when the bottleneck has sent all that it has taken
	police police
	last   int64 // when the packet before is due: order is kept
	bad    bool  // a burst of losses is under way
	until  int64 // then
	traced traced
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

// holding is how many packets are held.
func (l *lane) holding() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held.len()
}

func (l *lane) now() int64 { return int64(time.Since(l.begin)) }

// batch is how many packets are read, or written, before it is seen to that others are not late.
const batch = 64

// run carries packets until stop.
func (l *lane) run() {
	runtime.LockOSThread() // and never unlocked: the thread's timer slack goes with it
	prompt()
	for {
		next, more := l.turn()
		if !more && !l.wait(next) {
			return
		}
	}
}

// prompt makes the thread run as soon as it has something to do, as far as it is allowed to. What fails here
// costs accuracy, which is measured, and nothing else.
func prompt() {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil || a.Policy != unix.SCHED_NORMAL {
		return
	}
	// Linux 6.12 and later: who asks for short turns gets the next one sooner, and anybody may. Before
	// that the kernel takes no notice.
	a.Runtime = uint64(100 * time.Microsecond)
	unix.SchedSetAttr(0, a, 0)
	// Where this is allowed, which takes root, others do not come first.
	a.Nice = -15
	unix.SchedSetAttr(0, a, 0)
}

// turn lets go of what is due and takes what has come. It returns when the next packet is due, -1 if none is held, and
// whether there is more to do at once.
func (l *lane) turn() (next int64, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return -1, false
	}
	now := l.now()
	sent := l.deliver(now)
	came := l.collect()
	return l.held.due(), sent == batch || came > 0
}

// wait returns when a packet has come or one is due, at next (-1: none is held); false when it is over.
func (l *lane) wait(next int64) bool {
	fds := [2]unix.PollFd{{Fd: int32(l.in.fd), Events: unix.POLLIN}, {Fd: int32(l.wake), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	var t unix.Timespec
	if next >= 0 {
		t = unix.NsecToTimespec(max(next-l.now(), 0))
		timeout = &t
	}
	_, err := unix.Ppoll(fds[:], timeout, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return false
	case err != nil && err != unix.EINTR:
		l.err = fmt.Errorf("waiting for packets: %w", err)
		return false
	case err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0:
		l.err = fmt.Errorf("the device of the link is gone")
		return false
	}
	return true
}

// collect takes packets that have come, and returns how many.
func (l *lane) collect() int {
	for n := 0; n < batch; {
		k, err := l.in.read(l.buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || k <= 0 {
			return n
		}
		n++
		// Each at its own time: reading a batch takes as long as many a packet on the wire.
		l.admit(l.buffer[:k], l.now())
	}
	return batch
}

// deliver lets go of what is due at now, and returns how many packets that were.
func (l *lane) deliver(now int64) int {
	for n := range batch {
		due := l.held.due()
		if due < 0 || due > now {
			return n
		}
		p := l.held.take()
		if l.gate != nil && l.gate(p.bytes) {
			l.stats.Sent++
		} else if l.out.write(p.bytes) != nil {
			l.stats.Refused++
		} else {
			l.stats.Sent++
			l.stats.Late.Add(now - p.due)
		}
		l.held.done(p.bytes)
		now = l.now()
	}
	return batch
}
