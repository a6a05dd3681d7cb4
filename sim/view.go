package sim

import (
	"math"
	"time"

	"github.com/headway-lab/headway/balance"
	"github.com/headway-lab/headway/dist"
)

// board is a view at work: counts of the requests of a pool, as they were a while ago.
// As what is stale is stale for all by the same time, news come in their order.
type board struct {
	policy balance.Counter
	stale  int64
	size   int
	news   []news
	head   int
}

type news struct {
	t   int64
	who int32
	by  int32
}

// view makes the router use the board that its routing names.
func (n *router) view(b *builder, s *routerSpec) {
	v := b.boards[s.View]
	if v == nil {
		if !b.check("view: stale", dist.Fixed(s.View.Stale)) {
			return
		}
		c, ok := n.policy.(balance.Counter)
		if !ok {
			b.fail("%s: a view is only for policies that count requests, such as least connections", s.Name)
			return
		}
		v = &board{policy: c, stale: int64(math.Round(s.View.Stale * ms)), size: len(s.backends)}
		b.boards[s.View] = v
	}
	if v.size != len(s.backends) {
		b.fail("%s: routers with one view have %d and %d backends", s.Name, v.size, len(s.backends))
	}
	n.board = v
}

func (v *board) pick(now int64, key uint64) int {
	for v.head < len(v.news) && v.news[v.head].t <= now {
		x := v.news[v.head]
		v.policy.Count(int(x.who), int(x.by))
		v.head++
	}
	if v.head > 64 && 2*v.head > len(v.news) {
		v.news = v.news[:copy(v.news, v.news[v.head:])]
		v.head = 0
	}
	b := v.policy.Peek(time.Duration(now), key)
	if b != balance.None {
		v.tell(now, b, 1)
	}
	return b
}

func (v *board) done(now int64, b int) { v.tell(now, b, -1) }

func (v *board) tell(now int64, b int, by int32) {
	v.news = append(v.news, news{now + v.stale, int32(b), by})
}
