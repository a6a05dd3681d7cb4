package main

import "slices"

// visited is how many visits these rows of a cell are of. Rows of before there were visits are of one.
func visited(rows []Row) int {
	if len(rows) == 0 {
		return 0
	}
	return max(1, rows[0].Visits)
}

// of gives the rows of the cell, which stand together; nil if it has none.
func (r Results) of(c Cell) []Row {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.cell() == c.String() })
	if i < 0 {
		return nil
	}
	n := 1
	for i+n < len(r.Rows) && r.Rows[i+n].cell() == c.String() {
		n++
	}
	return r.Rows[i:][:n:n]
}

// due lists the cells that have had all visits before this one, and are to have it.
func (r Results) due(cells []Cell, visit int, o options) (due []Cell) {
	for _, c := range cells {
		if rows := r.of(c); visit <= o.visitsOf(c) && len(rows) == len(o.speedups) && visited(rows) == visit-1 {
			due = append(due, c)
		}
	}
	return due
}

// goOn has edits and profiles go on where the rows of the visits before end.
func goOn(before []Row, real *runs, asked *asking) {
	real.earlier = map[int][]Interval{}
	for _, r := range before {
		if each := r.Edits; len(each) > 0 {
			real.earlier[r.Speedup] = each
		} else if r.Edit != nil {
			real.earlier[r.Speedup] = []Interval{*r.Edit}
		}
		rounds := 0
		for _, e := range real.earlier[r.Speedup] {
			rounds += e.N
		}
		real.seed = max(real.seed, rounds)
		if each := r.Profiles; len(each) > 0 {
			asked.each[r.Speedup] = slices.Clone(each)
		} else if r.Predicted != nil {
			asked.each[r.Speedup] = []Interval{*r.Predicted}
		}
		asked.before = max(asked.before, len(asked.each[r.Speedup]))
	}
	asked.n = asked.before
	asked.least += asked.before
	asked.most = max(asked.most, asked.least)
	asked.job.Seed += uint64(asked.before)
}

// after takes over from the row of the visits before what this visit does not measure, and the mean of what both have.
func (r *Row) after(before Row) {
	n := float64(visited([]Row{before}))
	mix := func(then, now float64) float64 { return (n*then + now) / (n + 1) }
	r.Visits = int(n) + 1
	r.Coz, r.CozNote, r.Load = before.Coz, before.CozNote, before.Load
	r.Notes = append(slices.Clone(before.Notes), r.Notes...)
	if len(before.Sleeps) == 2 && len(r.Sleeps) == 2 && r.Sleeps[0] > 0 {
		r.Others = mix(before.Others, r.Others)
		r.Sleeps = []float64{mix(before.Sleeps[0], r.Sleeps[0]), mix(before.Sleeps[1], r.Sleeps[1])}
	} else if len(before.Sleeps) == 2 {
		r.Others, r.Sleeps = before.Others, before.Sleeps
	}
}
