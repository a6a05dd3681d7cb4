package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/headway-lab/headway/limits"
	"github.com/headway-lab/headway/whole"
)

// Results is what -json writes.
type Results struct {
	Schema     int       `json:"schema"`
	Started    time.Time `json:"started"`
	Go         string    `json:"go"`
	CPUs       int       `json:"cpus"`
	ItersPerUs float64   `json:"iters_per_us"`
	Awake      string    `json:"awake"` // how processors were kept from sleeping, "no" if they were not
	Rows       []Row     `json:"rows"`
	Summary    Summary   `json:"summary"`

	Interrupted *limits.Interruptions `json:"interrupted,omitempty"` // the processors, before the first row

	Flags   []string `json:"flags,omitempty"`
	Earlier []Part   `json:"earlier,omitempty"` // runs that this one went on with (-resume); their rows come first
}

const schema = 1

// here is what can be said before anything was measured.
func here() Results {
	return Results{Schema: schema, Started: time.Now().UTC(), Go: runtime.Version(), CPUs: runtime.NumCPU()}
}

// Row is one speed-up of one cell. All effects are in percent of Metric.
type Row struct {
	Program   string     `json:"program"`
	Step      string     `json:"step"`
	Site      string     `json:"site"`
	Speedup   int        `json:"speedup"`
	Metric    string     `json:"metric"`
	Closed    float64    `json:"closed"`
	Ideal     bool       `json:"ideal"` // whether the closed form is meant to hold at this step
	Edit      *Interval  `json:"edit,omitempty"`
	Predicted *Interval  `json:"predicted,omitempty"`
	Profiles  []Interval `json:"profiles,omitempty"` // that it is the mean of, if there are several
	Truth     float64    `json:"truth"`
	TruthFrom string     `json:"truth_from"`        // "real edit"; or "closed form" where there is none, or others disturbed it and the closed form holds
	Error     *float64   `json:"error,omitempty"`   // predicted - truth, in points
	Covered   *bool      `json:"covered,omitempty"` // whether the predicted interval contains the truth
	Agrees    *bool      `json:"agrees,omitempty"`  // the same, with the uncertainty of a truth that was measured itself
	Limit     string     `json:"limit,omitempty"`   // why the goals leave the row out
	Coz       *Interval  `json:"coz,omitempty"`
	CozNote   string     `json:"coz_note,omitempty"` // why there is no Coz
	Load      float64    `json:"load"`               // of the machine when the cell began
	Others    float64    `json:"others"`             // percent of the machine that others used during the real edits
	Sleeps    []float64  `json:"sleeps,omitempty"`   // how often threads go to sleep in an operation, as it is and edited: what waking them costs is no virtual matter
	Notes     []string   `json:"notes,omitempty"`

	Visits int        `json:"visits,omitempty"` // in how many goes it was measured
	Edits  []Interval `json:"edits,omitempty"`  // of each visit, that Edit is the mean of, if there were several

	Unfinished bool `json:"unfinished,omitempty"` // the run was interrupted in this cell
}

func (p Program) metric() string {
	if p.Latency {
		return "mean latency"
	}
	return "time per op"
}

// judge fills in what follows from the measurements.
func (r *Row) judge() {
	r.Truth, r.TruthFrom = r.Closed, "closed form"
	if r.Edit != nil && (r.Others <= disturbed || !r.Ideal) {
		r.Truth, r.TruthFrom = r.Edit.Percent, "real edit"
	}
	if r.Predicted != nil {
		e, c, a := r.Predicted.Percent-r.Truth, r.Predicted.contains(r.Truth), r.agrees(*r.Predicted)
		r.Error, r.Covered, r.Agrees = &e, &c, &a
	}
}

// agrees reports whether a prediction may be right, with the uncertainty of a truth that was measured itself.
func (r *Row) agrees(p Interval) bool {
	if r.TruthFrom == "real edit" {
		return agrees(p, *r.Edit)
	}
	return p.contains(r.Truth)
}

// agrees reports whether two measured effects may be the same: whether the interval of
// their difference holds 0.
func agrees(a, b Interval) bool {
	if a.Percent > b.Percent {
		a, b = b, a
	}
	return b.Percent-a.Percent <= math.Hypot(a.High-a.Percent, b.Percent-b.Low)
}

// surely is by how many points the prediction is off at least: the error less the uncertainty of both.
func (r *Row) surely() float64 {
	half := r.Predicted.half()
	if r.TruthFrom == "real edit" {
		half = math.Hypot(half, r.Edit.half())
	}
	return max(0, math.Abs(*r.Error)-half)
}

// The goals that a profile has to meet.
const (
	goalMean     = 2.  // points
	goalWorst    = 5.  // points
	goalCoverage = 90. // percent of the intervals
)

// Summary says how true the predictions were.
type Summary struct {
	Rows        int     `json:"rows"`
	Predicted   int     `json:"predicted"`
	MeanError   float64 `json:"mean_error"`  // of absolute errors, in points
	WorstError  float64 `json:"worst_error"` // in points, with its sign
	Worst       string  `json:"worst,omitempty"`
	Coverage    float64 `json:"coverage"`     // percent of the intervals that hold the truth, its own uncertainty counted
	Points      float64 `json:"points"`       // percent that hold it as if it were known exactly
	Sharp       int     `json:"sharp"`        // rows whose truth is known to 5 points
	SharpError  float64 `json:"sharp_error"`  // their mean absolute error
	SharpOver   int     `json:"sharp_over"`   // how many of them are off by more than the goal for the worst
	Limits      int     `json:"limits"`       // rows that the goals leave out
	LimitError  float64 `json:"limit_error"`  // their mean absolute error
	LimitOver   int     `json:"limit_over"`   // how many of them are off by more than the goal for the worst
	Over        int     `json:"over"`         // rows off by more than that
	OverSure    int     `json:"over_sure"`    // those of them where even the intervals are further apart than that
	Spread      float64 `json:"spread"`       // standard deviation of the profiles of a cell about their mean, in points, where there are several
	Allowed     float64 `json:"allowed"`      // what their intervals allow of that
	Spreads     int     `json:"spreads"`      // rows that have several
	Singles     int     `json:"singles"`      // profiles of rows that have several
	SinglesTrue float64 `json:"singles_true"` // percent of those whose own interval agrees with the truth: what one who profiles once gets
	EditAgainst float64 `json:"edit_against"` // mean absolute difference of real edits and closed forms where both should agree and nobody disturbed
	Edits       int     `json:"edits"`        // how many those are
	CozRows     int     `json:"coz_rows"`
	CozError    float64 `json:"coz_mean_error"`
	Met         bool    `json:"met"`
}

func (r *Results) summarize() {
	s := Summary{Rows: len(r.Rows)}
	covered, points, singles := 0, 0, 0
	for _, row := range r.Rows {
		if row.Limit != "" {
			s.Rows--
			if row.Error != nil {
				s.Limits++
				s.LimitError += math.Abs(*row.Error)
				if math.Abs(*row.Error) > goalWorst {
					s.LimitOver++
				}
			}
		} else if row.Error != nil {
			s.Predicted++
			s.MeanError += math.Abs(*row.Error)
			if math.Abs(*row.Error) >= math.Abs(s.WorstError) {
				s.WorstError = *row.Error
				s.Worst = fmt.Sprintf("%s %s %s at %d%%", row.Program, row.Step, row.Site, row.Speedup)
			}
			if math.Abs(*row.Error) > goalWorst {
				s.Over++
				if !*row.Agrees && row.surely() > goalWorst {
					s.OverSure++
				}
			}
			if row.TruthFrom != "real edit" || row.Edit.High-row.Edit.Low <= 2*goalWorst {
				s.Sharp++
				s.SharpError += math.Abs(*row.Error)
				if math.Abs(*row.Error) > goalWorst {
					s.SharpOver++
				}
			}
			if *row.Agrees {
				covered++
			}
			if *row.Covered {
				points++
			}
			for _, p := range row.Profiles {
				s.Singles++
				if row.agrees(p) {
					singles++
				}
			}
		}
		if v, own := spread(row.Profiles); v > 0 {
			s.Spreads++
			s.Spread += v
			s.Allowed += own
		}
		if row.Edit != nil && row.Ideal && row.Others <= disturbed {
			s.Edits++
			s.EditAgainst += math.Abs(row.Edit.Percent - row.Closed)
		}
		if row.Coz != nil {
			s.CozRows++
			s.CozError += math.Abs(row.Coz.Percent - row.Truth)
		}
	}
	if s.Predicted > 0 {
		s.MeanError /= float64(s.Predicted)
		s.Coverage = 100 * float64(covered) / float64(s.Predicted)
		s.Points = 100 * float64(points) / float64(s.Predicted)
	}
	if s.Singles > 0 {
		s.SinglesTrue = 100 * float64(singles) / float64(s.Singles)
	}
	if s.Sharp > 0 {
		s.SharpError /= float64(s.Sharp)
	}
	if s.Limits > 0 {
		s.LimitError /= float64(s.Limits)
	}
	if s.Spreads > 0 {
		s.Spread, s.Allowed = math.Sqrt(s.Spread/float64(s.Spreads)), math.Sqrt(s.Allowed/float64(s.Spreads))
	}
	if s.Edits > 0 {
		s.EditAgainst /= float64(s.Edits)
	}
	if s.CozRows > 0 {
		s.CozError /= float64(s.CozRows)
	}
	s.Met = s.Predicted > 0 && s.Predicted == s.Rows &&
		s.MeanError <= goalMean && math.Abs(s.WorstError) <= goalWorst && s.Coverage >= goalCoverage
	r.Summary = s
}

// spread is the variance of several profiles about their mean, and the mean of the variances that their intervals state.
func spread(profiles []Interval) (variance, own float64) {
	if len(profiles) < 2 {
		return 0, 0
	}
	m := 0.
	for _, p := range profiles {
		m += p.Percent / float64(len(profiles))
	}
	for _, p := range profiles {
		variance += (p.Percent - m) * (p.Percent - m) / float64(len(profiles)-1)
		own += math.Pow((p.High-p.Low)/(2*1.96), 2) / float64(len(profiles))
	}
	return variance, own
}

// save replaces the file at once, so that it is whole at any time.
func (r Results) save(file string) error {
	r.summarize()
	b, err := json.MarshalIndent(finite(r), "", " ")
	if err != nil {
		return err
	}
	return whole.Replace(file, 0o644, append(b, '\n'))
}

// finite replaces the infinite bounds, which JSON has no word for.
func finite(r Results) Results {
	bound := func(i *Interval) *Interval {
		if i == nil {
			return nil
		}
		c := *i
		for _, x := range []*float64{&c.Percent, &c.Low, &c.High} {
			*x = max(-1e9, min(1e9, *x))
		}
		return &c
	}
	rows := make([]Row, len(r.Rows))
	for i, row := range r.Rows {
		row.Edit, row.Predicted, row.Coz = bound(row.Edit), bound(row.Predicted), bound(row.Coz)
		if row.Error != nil {
			e := max(-1e9, min(1e9, *row.Error))
			row.Error = &e
		}
		rows[i] = row
	}
	r.Rows = rows
	return r
}

const line = "%-26s %-5s %-11s %4s  %8s  %-23s %-23s %7s  %-7s  %s\n"

func header(w io.Writer, r Results) {
	interrupted := ""
	if r.Interrupted != nil {
		interrupted = ", " + r.Interrupted.String()
	}
	fmt.Fprintf(w, "%s, %d CPUs%s, kept awake: %s, %.0f loop iterations a microsecond. All effects in percent of the time per op (or mean latency).\n"+
		"The truth is the real edit; where there is none, or others' use of the machine disturbed it (~), the closed form.\n"+
		"A closed form in (brackets) does not know this step's wake-ups and timers, and is not the truth.\n\n", r.Go, r.CPUs, interrupted, r.Awake, r.ItersPerUs)
	fmt.Fprintf(w, line, "program", "step", "site", "d%", "closed", "real edit", "predicted", "error", "covered", "Coz")
}

func printRows(w io.Writer, rows []Row) {
	for _, r := range rows {
		closed, edit, predicted, e, covered, coz := fmt.Sprintf("%+.1f", r.Closed), "-", "-", "-", "-", r.CozNote
		if !r.Ideal {
			closed = "(" + closed + ")"
		}
		if r.Edit != nil {
			if edit = r.Edit.String(); r.Others > disturbed {
				edit += " ~"
			}
		}
		if r.Predicted != nil {
			predicted, e, covered = r.Predicted.String(), fmt.Sprintf("%+.1f", *r.Error), map[bool]string{true: "yes", false: "NO"}[*r.Agrees]
			if r.Limit != "" {
				covered = "limit"
			}
		}
		if r.Coz != nil {
			coz = fmt.Sprintf("%+.1f", r.Coz.Percent)
		}
		fmt.Fprintf(w, line, r.Program, r.Step, r.Site, fmt.Sprint(r.Speedup), closed, edit, predicted, e, covered, coz)
	}
	if len(rows) > 0 {
		if rows[0].Limit != "" {
			fmt.Fprintf(w, "    documented limit: %s\n", rows[0].Limit)
		}
		for _, n := range rows[0].Notes {
			fmt.Fprintf(w, "    %s\n", n)
		}
	}
}

func printSummary(w io.Writer, s Summary) {
	fmt.Fprintln(w)
	if s.Edits > 0 {
		fmt.Fprintf(w, "real edits against closed forms (%d rows): mean absolute difference %.1f points\n", s.Edits, s.EditAgainst)
	}
	if s.Spreads > 0 {
		fmt.Fprintf(w, "profiles of the same (%d rows): standard deviation %.1f points about their mean; their intervals allow %.1f\n", s.Spreads, s.Spread, s.Allowed)
	}
	if s.CozRows > 0 {
		fmt.Fprintf(w, "Coz (%d rows): mean absolute error %.1f points\n", s.CozRows, s.CozError)
	}
	if s.Predicted == 0 {
		fmt.Fprintln(w, "predictions: none")
		return
	}
	mark := func(ok bool) string {
		if ok {
			return "met"
		}
		return "MISSED"
	}
	fmt.Fprintf(w, "predictions (%d of %d rows)\n", s.Predicted, s.Rows)
	fmt.Fprintf(w, "  mean absolute error  %5.1f points  goal %.0f    %s\n", s.MeanError, goalMean, mark(s.MeanError <= goalMean))
	fmt.Fprintf(w, "  worst error          %+5.1f points  goal %.0f    %s  (%s)\n", s.WorstError, goalWorst, mark(math.Abs(s.WorstError) <= goalWorst), s.Worst)
	fmt.Fprintf(w, "    %d rows over %.0f points, %d of them beyond what is uncertain of either\n", s.Over, goalWorst, s.OverSure)
	fmt.Fprintf(w, "  intervals covering   %5.0f %%       goal %.0f   %s\n", s.Coverage, goalCoverage, mark(s.Coverage >= goalCoverage))
	fmt.Fprintf(w, "    if the real edits were exact %3.0f %%\n", s.Points)
	if s.Singles > 0 {
		fmt.Fprintf(w, "    of single profiles, where a row has several (%d) %3.0f %%\n", s.Singles, s.SinglesTrue)
	}
	fmt.Fprintf(w, "  where the truth is known to 5 points (%d rows): mean %.1f points, %d rows over %.0f\n", s.Sharp, s.SharpError, s.SharpOver, goalWorst)
	if s.Limits > 0 {
		fmt.Fprintf(w, "  left out: %d rows of documented limits, mean absolute error %.1f points, %d over %.0f\n", s.Limits, s.LimitError, s.LimitOver, goalWorst)
	}
	if s.Predicted < s.Rows {
		fmt.Fprintf(w, "  %d rows have no prediction: MISSED\n", s.Rows-s.Predicted)
	}
	if s.Met {
		fmt.Fprintln(w, "goals met")
	} else {
		fmt.Fprintln(w, "GOALS NOT MET")
	}
}

func listCells(w io.Writer, cells []Cell, o options) {
	for _, c := range cells {
		fmt.Fprintf(w, "%-26s %-5s %-11s", c.program.Name, c.step, c.site.Name)
		for _, d := range o.speedups {
			if o.placebo {
				fmt.Fprintf(w, "  %d%%: 0", d)
				continue
			}
			f := "%d%%: %+.1f"
			if c.step < c.program.Ideal {
				f = "%d%%: (%+.1f)"
			}
			fmt.Fprintf(w, "  "+f, d, c.site.Closed(float64(d)))
		}
		fmt.Fprintf(w, "   %s\n", c.program.Does)
	}
	fmt.Fprintf(w, "%d cells\n", len(cells))
}
