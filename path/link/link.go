// Package link joins two network namespaces by an emulated link: packets of the real
// kernel's TCP, delayed, lost, queued, paced and reordered in user space. It needs no
// netem, which many kernels lack, and where user namespaces are allowed no privilege.
//
//	l, err := link.New(link.Conditions{Delay: 125 * time.Millisecond, Loss: .01}, link.Conditions{Delay: 125 * time.Millisecond})
//	defer l.Close()
//	ln, err := l.B.Listen("tcp", 80)        // a server at one end
//	c, err := l.A.Dial(ctx, "tcp", 80)      // a client at the other
//
// Each direction is a lane of its own, with one thread that waits in ppoll until a packet
// comes or is due: the kernel's high-resolution timers wake it, not the Go runtime's, which
// round to milliseconds. What the lane did, and by how much it was late, is in [Stats].
//
// Packets are what leaves the kernel: at most the MTU long, because the devices offer no
// offloading. Loss is by packet, as on a wire.
package link

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/headway-lab/headway/dist"
)

// Conditions are those of one direction.
type Conditions struct {
	Delay  time.Duration // of every packet, after it has left the queue
	Jitter time.Duration // up to this much more, uniform; order is kept
	// Loss is the share of packets that are lost, 0 to 1: independent of each other, or with
	// Bursts all those in stretches of time of that mean length (exponential, as is the time
	// between), so that the same share is lost in the long run.
	Loss   float64
	Bursts time.Duration
	// LossOn says which packets can be lost.
	LossOn LossOn
	// Reorder is the share of packets that are held back by ReorderBy, so that later ones
	// overtake them; 0 is an eighth of the delay, and at least 1 ms.
	Reorder   float64
	ReorderBy time.Duration
	// Rate of the bottleneck in bit/s, 0 is none, and its queue in bytes, in front of it; 0 is what
	// it sends in a tenth of a second. A packet that does not fit is dropped.
	Rate  float64
	Queue int
	// Trace, if not nil, is a bottleneck whose rate changes, instead of Rate. Queue is in front of it; 0 is 64 MiB.
	Trace *Trace
	// Police is the rate in bit/s that a policer in front of all that allows: with a bucket of
	// so many bytes (0 is what it allows in a tenth of a second), and nothing waits. 0 is none.
	Police float64
	Bucket int
}

// LossOn says which packets can be lost.
type LossOn int

const (
	All  LossOn = iota
	Data        // TCP segments with payload, and what is not TCP
	Acks        // TCP segments without
)

// Check says what is wrong with conditions, in words for the one who wrote them.
func (c Conditions) Check() error {
	switch {
	case c.Delay < 0 || c.Delay > time.Minute:
		return fmt.Errorf("delay %v: want 0 to 1m", c.Delay)
	case c.Jitter < 0 || c.Jitter > time.Minute:
		return fmt.Errorf("jitter %v: want 0 to 1m", c.Jitter)
	case !(c.Loss >= 0 && c.Loss <= 1):
		return fmt.Errorf("loss %g: want a share from 0 to 1", c.Loss)
	case c.Bursts < 0 || c.Bursts > time.Minute:
		return fmt.Errorf("bursts of %v: want 0 to 1m", c.Bursts)
	case c.Bursts > 0 && c.Loss == 1:
		return errors.New("bursts without an end: loss 1 is lost anyway")
	case !(c.Reorder >= 0 && c.Reorder <= 1) || c.ReorderBy < 0 || c.ReorderBy > time.Minute:
		return fmt.Errorf("reordering of %g by %v: want a share from 0 to 1, by up to 1m", c.Reorder, c.ReorderBy)
	case c.Rate < 0 || math.IsNaN(c.Rate) || c.Rate > 0 && c.Rate < 1000 || c.Rate > 1e12:
		return fmt.Errorf("rate %g bit/s: want 1000 to 1e12, or 0 for no bottleneck", c.Rate)
	case c.Queue < 0 || c.Queue > 1<<30:
		return fmt.Errorf("queue of %d bytes: want 0 to 1 GiB", c.Queue)
	case c.Trace != nil && c.Rate > 0:
		return errors.New("a rate and a trace: a bottleneck has one of them")
	case c.Queue > 0 && c.Rate == 0 && c.Trace == nil:
		return errors.New("a queue needs a rate: without one nothing waits")
	case c.Queue > 0 && c.Queue < MTU:
		return fmt.Errorf("queue of %d bytes: not one packet of %d fits", c.Queue, MTU)
	}
	return c.checkPolice()
}

// MTU of both devices in bytes.
const MTU = 1500

// Link joins two namespaces until it is closed.
type Link struct {
	A, B  *Namespace
	Block netip.Prefix // its addresses, and those of links behind it

	lanes [2]*lane // from A to B, from B to A
	wg    sync.WaitGroup
	once  sync.Once
}

// New makes two namespaces and joins them. It needs the right to make them: root, or a user namespace of
// its own, see [Enter].
func New(toB, toA Conditions) (*Link, error) { return NewSeeded(1, toB, toA) }

// NewSeeded is New with another luck for what is lost, held back or jittered.
func NewSeeded(seed uint64, toB, toA Conditions) (*Link, error) {
	return Config{ToB: toB, ToA: toA, Seed: seed}.Join()
}

// Config is all that a link can be told before it is made.
type Config struct {
	ToB, ToA Conditions
	Seed     uint64 // of what is lost, held back or jittered
	Devices  Devices
	// Behind, if not zero, makes the namespace of the caller end B, instead of a new one: it is end A of
	// a link that has this block, see [Root].
	Behind netip.Prefix
	// Gate, if set, sees every packet that is about to reach end B, on the thread that delivers them, which it must not
	// keep. It returns true to take a packet, and may let a copy through later, with Pass.
	Gate func(packet []byte) bool
}

// Join makes the link.
func (c Config) Join() (_ *Link, err error) {
	for _, x := range []Conditions{c.ToB, c.ToA} {
		if err := x.Check(); err != nil {
			return nil, err
		}
	}
	l := &Link{}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	l.Block = Root
	if c.Behind.IsValid() {
		if l.B, l.Block, err = newNamespaceHere(c.Behind, c.Devices); err != nil {
			return nil, err
		}
	}
	a, b := Ends(l.Block)
	if l.A, err = newNamespace(a, b, c.Devices); err != nil {
		return nil, err
	}
	if l.B == nil {
		if l.B, err = newNamespace(b, a, c.Devices); err != nil {
			return nil, err
		}
	}
	if l.lanes[0], err = newLane(l.A.port, l.B.port, c.ToB, dist.NewStream(c.Seed, "to B")); err != nil {
		return nil, err
	}
	if l.lanes[1], err = newLane(l.B.port, l.A.port, c.ToA, dist.NewStream(c.Seed, "to A")); err != nil {
		return nil, err
	}
	l.lanes[0].gate = c.Gate
	for _, x := range l.lanes {
		l.wg.Go(x.run)
	}
	return l, nil
}

// Devices says of what kind they are.
func (l *Link) Devices() Devices { return l.A.devices }

// Pass lets a packet through to end B that Gate has taken.
func (l *Link) Pass(packet []byte) error { return l.lanes[0].out.write(packet) }

// Change sets other conditions for packets that come from now on.
func (l *Link) Change(toB, toA Conditions) error {
	for i, c := range []Conditions{toB, toA} {
		if err := c.Check(); err != nil {
			return err
		}
		l.lanes[i].change(c)
	}
	return nil
}

// Stats returns what the two directions have done so far.
func (l *Link) Stats() (toB, toA Stats) { return l.lanes[0].snapshot(), l.lanes[1].snapshot() }

// Err is what stopped a lane before Close; nil while both work.
func (l *Link) Err() error { return errors.Join(l.lanes[0].failure(), l.lanes[1].failure()) }

// Close ends the link. The namespaces go with their last process and socket.
func (l *Link) Close() error {
	l.once.Do(func() {
		for _, x := range l.lanes {
			if x != nil {
				x.stop()
			}
		}
		l.wg.Wait()
		for _, x := range l.lanes {
			if x != nil {
				x.close()
			}
		}
		for _, n := range []*Namespace{l.A, l.B} {
			if n != nil {
				n.close()
			}
		}
	})
	return nil
}
