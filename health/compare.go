package health

import (
	"context"
	"fmt"
	"time"
)

// compare looks at what each pod served since the window began, and judges when that is enough.
func (p *Pod) compare(ctx context.Context, now time.Time) Verdict {
	if p.o.Others == nil {
		return Verdict{Alive: true, Reason: "there is nobody to compare with", At: now}
	}
	tallies, err := p.o.Others(ctx)
	if err != nil {
		// The window stays: a pod that can be asked again later has counted meanwhile.
		return p.stands("the others cannot be asked: " + err.Error())
	}
	own := p.Tally()
	own.Served -= min(p.checked, own.Served)
	counts := map[string]uint64{}
	for _, t := range append(tallies, own) { // own is last: what others say of it, or its own handler, does not count
		if t.Ready >= p.o.Grace.Seconds() {
			counts[t.Instance] = t.Served
		} else {
			delete(counts, t.Instance)
		}
	}
	if _, compared := counts[p.instance]; !compared {
		p.then = nil
		return Verdict{Alive: true, Reason: "too young to be compared, or not ready", At: now}
	}
	begin := func() { p.began, p.then = now, counts }
	if p.then == nil {
		begin()
		return p.stands("a window begins")
	}
	// Pods that were there at both ends. One that came or went within is left out, and the chance of
	// each of the others is the same still.
	v := Verdict{Alive: true, At: now, Since: p.began}
	got := map[string]uint64{}
	for id, n := range counts {
		if before, ok := p.then[id]; ok && n >= before {
			got[id] = (n - before) / p.o.Clump
			v.Total += got[id]
			v.Pods++
		}
	}
	if v.Pods < 2 {
		begin()
		v.Reason = "there is nobody to compare with"
		return v
	}
	share := p.o.Share / float64(v.Pods)
	// That the window ends when the total is enough depends on the total alone, so
	// given the total the count of each pod is binomial still.
	if enough := Enough(share, p.o.Alarm); v.Total < enough {
		if now.Sub(p.began) > p.o.Longest {
			begin()
			v.Reason = "too few requests to tell"
			return v
		}
		return p.stands(fmt.Sprintf("%d requests in all; %d are needed to tell", v.Total, enough))
	}
	begin()
	v.Served = got[p.instance]
	v.Chance = Chance(v.Served, v.Total, share)
	first := p.instance
	for id, n := range got {
		if Chance(n, v.Total, share) <= p.o.Alarm {
			v.Short++
			first = min(first, id)
		}
	}
	switch told := fmt.Sprintf("served %d of %d requests of %d pods", v.Served, v.Total, v.Pods); {
	case v.Chance > p.o.Alarm:
		v.Reason = told
	case 2*v.Short > v.Pods:
		v.Reason = fmt.Sprintf("%s; but %d pods got few: the traffic is uneven", told, v.Short)
	case first != p.instance:
		v.Reason = told + "; another one is to be restarted first"
	default:
		v.Alive = false
		v.Reason = fmt.Sprintf("%s; the chance of so few is %.2g", told, v.Chance)
	}
	return v
}

// stands is the last verdict, which nothing new speaks against.
func (p *Pod) stands(why string) Verdict {
	v := p.last
	if v.Alive {
		v.Reason = why
	}
	return v
}
