package main

import (
	"context"
	"slices"
	"strings"
)

// measure fills the rows of one cell, one for each speed-up. Those of the visits before, if there were any, are taken into account.
func measure(ctx context.Context, c Cell, before []Row, o options, e Editor, p Predictor, z *coz, cozNote string) []Row {
	rows := make([]Row, len(o.speedups))
	for i, d := range o.speedups {
		rows[i] = Row{Program: c.program.Name, Step: c.step.String(), Site: c.site.Name, Speedup: d, Metric: c.program.metric(),
			Closed: c.site.Closed(float64(d)), Ideal: c.step >= c.program.Ideal, Limit: c.program.limit(c.step), CozNote: cozNote, Load: load()}
	}
	if o.placebo {
		for i := range rows {
			rows[i].Closed, rows[i].Ideal = 0, true
		}
	}
	note := func(what string, err error) {
		for i := range rows {
			rows[i].Notes = append(rows[i].Notes, what+": "+oneLine(err.Error()))
		}
	}
	if c.program.limit(c.step) != "" {
		o.sure, o.settle = 0, 0 // the goals leave it out: no time is spent on being sure of it
	}
	visits := o.visitsOf(c)
	if 1+visited(before) < visits {
		o.sure, o.settle = 0, 0 // the last visit sees to that
	}
	pace := o.pace(c).visit(visits)
	e.RunFor, e.Rounds = pace.editFor, pace.rounds
	if o.sure > 0 {
		e.Sure, e.Most = o.sure, 8*e.Rounds
	}
	real := e.start(c.program, c.site, c.step, o.speedups)
	asked := ask(p, Job{c.program, c.site, c.step, e.Iters, o.speedups, pace.duration, 1, o.placebo}, pace.profiles, o.sure)
	asked.most = pace.most
	goOn(before, real, asked)
	if o.settle > 0 {
		asked.open = func(d int, e Interval) bool {
			if pace.rounds == 0 {
				row := rows[slices.Index(o.speedups, d)]
				return row.Ideal && unsettled(e, row.Closed, 0, o.settle)
			}
			return real.open(d, e, o.settle)
		}
		asked.blurred = real.wider
	}
	byTurns(ctx, real, asked)
	if pace.rounds > 0 {
		edits, err := real.edits()
		if err != nil {
			note("real edit", err)
		}
		for i := range rows {
			rows[i].Edit, rows[i].Others = get(edits.Effects, rows[i].Speedup), edits.Others
			rows[i].Sleeps = []float64{edits.Sleeps[0], edits.Sleeps[rows[i].Speedup]}
			if each := real.visits(rows[i].Speedup); len(each) > 1 {
				rows[i].Edits = each
			}
		}
	}
	if asked.err != nil {
		note("prediction", asked.err)
	}
	effects := asked.effects()
	for i := range rows {
		rows[i].Predicted = get(effects, rows[i].Speedup)
		if each := asked.each[rows[i].Speedup]; len(each) > 1 {
			rows[i].Profiles = each
		}
	}
	if z != nil && ctx.Err() == nil {
		for i := range rows {
			rows[i].Coz, rows[i].CozNote = z.predict(ctx, c, e.Iters, rows[i].Speedup)
		}
	}
	for i := range rows {
		if rows[i].Visits = 1; len(before) > 0 {
			rows[i].after(before[i])
		}
		rows[i].judge()
	}
	return rows
}

// byTurns runs real edits before, between and after the profiles, for what either finds changes within minutes. There are so
// many rounds and profiles at least, and more of both until both are known as well as asked, which is asked when there are edits after
// the last profile. One beyond the least has rounds of its own, however many there were before: those may have met the program in another mood.
// Where it is the edits that keep a cell open there are more of these before there is another profile, for which they are several times as cheap.
func byTurns(ctx context.Context, real *runs, asked *asking) {
	least := asked.least - asked.before
	share := (real.Rounds + least) / (least + 1) // rounded up
	for asked.more() && ctx.Err() == nil {
		if asked.n < asked.least {
			due := min((asked.n-asked.before+1)*share, real.Rounds)
			real.rounds(ctx, due, min(real.Most, 4*due))
		}
		if ctx.Err() != nil {
			return
		}
		asked.profile(ctx)
		if asked.n > asked.least {
			real.rounds(ctx, real.round+share, real.Most)
		} else if asked.n == asked.least {
			real.rounds(ctx, real.Rounds, real.Most)
		}
		most := real.round + extraRounds
		real.while(ctx, func() bool { return real.round < most && asked.byEdits() })
		asked.settle()
	}
	real.rounds(ctx, real.Rounds, real.Most) // without profiles, or when they failed
}

func get(m map[int]Interval, d int) *Interval {
	if i, ok := m[d]; ok {
		return &i
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
