package main

import "time"

// pace is how much is measured of a cell, unless a flag says otherwise.
type pace struct {
	duration time.Duration // of one profile
	editFor  time.Duration // of one run of a real edit
	rounds   int           // of real edits; 0 where one would take longer than a profile does
	profiles int           // at least
	most     int           // profiles, however unsettled it is
}

// settled is how many profiles of a cell there may be until what they say of it is settled.
const settled = 24

// extraRounds is how many rounds of real edits there may be after each profile because it is they that leave it open whether that is right.
const extraRounds = 8

// The pace of a program of which nothing else is known. At 50 us profiles of the same program differ by more than their intervals.
func usual(step time.Duration) pace {
	switch {
	case step < ms1:
		return pace{10 * time.Second, 400 * time.Millisecond, 8, 2, settled}
	case step < ms10:
		return pace{12 * time.Second, 400 * time.Millisecond, 4, 1, settled}
	}
	return pace{20 * time.Second, 1200 * time.Millisecond, 4, 1, settled}
}

// Where arrivals are Poisson's their number is uncertain by its root, and how long they wait with it. At 10 ms one comes every 20 ms, so that
// a point takes minutes; a real edit, which has no baseline beside it all the time, would take longer, and the closed form is right there.
var poissonArrivals = map[time.Duration]pace{
	us50: {40 * time.Second, 1500 * time.Millisecond, 4, 1, settled},
	ms1:  {40 * time.Second, time.Second, 3, 1, settled},
	ms10: {220 * time.Second, 0, 0, 1, 2},
}

// Who waits for a contended lock asleep and who does not has a memory of some 350 operations. Windows that leave time for it are a second
// apart, of which there are too few in twelve (docs/profile-findings.md).
var contended = map[time.Duration]pace{ms1: {60 * time.Second, time.Second, 4, 1, 3}}

// Where an operation of whole steps of 1 ms takes 10 ms or 20, twelve seconds hold too few windows.
var (
	tens     = map[time.Duration]pace{ms1: usual(ms10)}
	twenties = map[time.Duration]pace{ms1: {40 * time.Second, 1200 * time.Millisecond, 4, 1, settled}}
)

// Whether a program backs off, or misses a tick, is decided operation by operation, each of dozens of milliseconds, and the machine's interruptions decide
// with it: that takes many operations, and more do not settle what differs by the minute.
var (
	backOffs     = map[time.Duration]pace{ms10: {150 * time.Second, 2 * time.Second, 4, 1, 2}}
	longBackOffs = map[time.Duration]pace{ms1: {60 * time.Second, time.Second, 3, 1, 2}}
	ticks        = map[time.Duration]pace{ms10: {40 * time.Second, 2 * time.Second, 4, 1, 2}}
)

// pace is the cell's own.
func (c Cell) pace() pace {
	if p, ok := c.program.Paces[c.step]; ok {
		return p
	}
	return usual(c.step)
}

// pace is the cell's, with what flags say in its place.
func (o options) pace(c Cell) pace {
	p := c.pace()
	if o.set["duration"] {
		if p.duration = o.duration; c.program.Long {
			p.duration *= 2
		}
	}
	if o.set["edit-for"] {
		p.editFor = o.editFor
	} else if p.editFor == 0 {
		p.editFor = usual(c.step).editFor // -rounds asks for what is not done by itself
	}
	if o.set["rounds"] {
		p.rounds = o.rounds
	}
	if o.set["profiles"] {
		p.profiles = o.profiles
	}
	p.most = max(p.most, p.profiles)
	return p
}

// visitsOf is in how many goes the cell is measured, the later ones when all cells have had theirs. Below a millisecond what a real edit is worth
// changes within minutes by more than its interval says (docs/profile-findings.md), so that one visit tells of a minute, and not of a program.
func (o options) visitsOf(c Cell) int {
	switch {
	case o.set["visits"]:
		return o.visits
	case c.step < ms1 && c.program.limit(c.step) == "":
		return 2
	}
	return 1
}

// visit is the part of the pace that each of so many visits has: rounds enough for an interval, and a profile.
func (p pace) visit(visits int) pace {
	if p.rounds > 0 {
		p.rounds = max(2, (p.rounds+visits-1)/visits)
	}
	p.profiles = (p.profiles + visits - 1) / visits
	return p
}

// least is how long the cells take if none has to be repeated, without builds and without Coz.
func (o options) least(cells []Cell, predict bool) (sum time.Duration) {
	for _, c := range cells {
		sum += time.Duration(o.visitsOf(c)) * o.once(c, predict)
	}
	return sum
}

// once is how long one visit of the cell takes at least.
func (o options) once(c Cell, predict bool) time.Duration {
	p := o.pace(c).visit(o.visitsOf(c))
	took := time.Duration(p.rounds*(1+len(o.speedups))) * p.editFor
	if predict {
		took += time.Duration(p.profiles) * p.duration
	}
	return took
}
