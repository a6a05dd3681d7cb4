package sim

import "slices"

// Order says which of those who wait is next.
type Order int

// The orders of a queue.
const (
	FIFO     Order = iota // first come, first served
	LIFO                  // last come, first served
	Priority              // the class of the highest priority, of equals the first
	Shortest              // the smallest request, of equals the first
)

// line is where requests wait. Anyone may leave it, not only those in front.
type line struct {
	order Order
	rank  func(*request) float64 // of Priority and Shortest: the least is next
	items []*request             // FIFO and LIFO; nil: has left
	head  int
	base  int64          // slot of items[0]
	ranks heap[*request] // nil: has left
	next  int64
	live  int
}

func (l *line) len() int { return l.live }

func (l *line) push(r *request) {
	l.live++
	r.line = l
	if l.rank != nil {
		l.next++
		r.slot = l.next
		l.ranks.push(order(l.rank(r)), r.slot, r)
		return
	}
	if l.live == 1 { // nobody but those who have left
		l.base += int64(len(l.items))
		l.items, l.head = l.items[:0], 0
	}
	r.slot = l.base + int64(len(l.items))
	l.items = append(l.items, r)
}

// front is who is next; nil if there is nobody.
func (l *line) front() *request {
	switch {
	case l.live == 0:
		return nil
	case l.rank != nil:
		for l.ranks[0].x == nil {
			l.ranks.pop()
		}
		return l.ranks[0].x
	case l.order == LIFO:
		for l.items[len(l.items)-1] == nil {
			l.items = l.items[:len(l.items)-1]
		}
		return l.items[len(l.items)-1]
	}
	for l.items[l.head] == nil {
		l.head++
	}
	return l.items[l.head]
}

// pop takes who is next.
func (l *line) pop() *request {
	r := l.front()
	l.live--
	r.line = nil
	switch {
	case l.rank != nil:
		l.ranks.pop()
	case l.order == LIFO:
		l.items = l.items[:len(l.items)-1]
	default:
		l.items[l.head] = nil
		l.head++
		if l.head > 64 && 2*l.head > len(l.items) {
			l.base += int64(l.head)
			l.items = slices.Delete(l.items, 0, l.head)
			l.head = 0
		}
	}
	return r
}

// remove lets one leave who is not next.
func (l *line) remove(r *request) {
	l.live--
	r.line = nil
	if l.rank == nil {
		l.items[r.slot-l.base] = nil
		return
	}
	for i := range l.ranks {
		if l.ranks[i].tie == r.slot {
			l.ranks[i].x = nil
			return
		}
	}
}
