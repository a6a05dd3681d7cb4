package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/headway-lab/headway/limits"
)

// Part is a run that another went on with: what it said of itself and of the machine in its hour.
type Part struct {
	Started     time.Time             `json:"started"`
	ItersPerUs  float64               `json:"iters_per_us"`
	Interrupted *limits.Interruptions `json:"interrupted,omitempty"`
	Rows        int                   `json:"rows"` // of Results.Rows, those after the rows of the parts before
}

// resume reads what an earlier run with the same flags has measured, and says which of these cells it has not. Of a cell whose prediction
// failed, or that was interrupted, it takes nothing over. Without a file all is still to be measured.
func (o options) resume(cells []Cell) (earlier Results, left []Cell, err error) {
	b, err := os.ReadFile(o.jsonFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Results{}, cells, nil
	}
	if err != nil {
		return Results{}, nil, fmt.Errorf("-resume: %w", err)
	}
	if err := json.Unmarshal(b, &earlier); err != nil || earlier.Schema != schema {
		return Results{}, nil, fmt.Errorf("-resume: %s is not what -json writes: leave out -resume to replace it, or name another file", o.jsonFile)
	}
	if then, now := strings.Join(earlier.Flags, " "), strings.Join(o.flags, " "); then != now {
		return Results{}, nil, fmt.Errorf("-resume: %s was measured with %s, this is %s: give the same flags, or name another file", o.jsonFile, cmp.Or(then, "no flags"), cmp.Or(now, "no flags"))
	}
	if now := here(); earlier.Go != now.Go || earlier.CPUs != now.CPUs {
		return Results{}, nil, fmt.Errorf("-resume: %s was measured with %s and %d processors, this is %s with %d: name another file",
			o.jsonFile, earlier.Go, earlier.CPUs, now.Go, now.CPUs)
	}
	done := map[string]int{}
	for _, r := range earlier.Rows {
		if (r.Predicted != nil || !o.predict) && !r.Unfinished {
			done[r.cell()]++
		}
	}
	whole := map[string]bool{}
	for _, c := range cells {
		if whole[c.String()] = done[c.String()] == len(o.speedups); !whole[c.String()] {
			left = append(left, c)
		}
	}
	return earlier.keep(func(r Row) bool { return whole[r.cell()] }), left, nil
}

// keep gives the results with only these rows, each still in its part.
func (r Results) keep(which func(Row) bool) Results {
	rows, first := []Row(nil), 0
	kept := func(n int) (k int) {
		for _, row := range r.Rows[first:][:n] {
			if which(row) {
				rows = append(rows, row)
				k++
			}
		}
		first += n
		return k
	}
	var parts []Part
	for _, p := range r.Earlier {
		p.Rows = kept(max(0, min(p.Rows, len(r.Rows)-first)))
		parts = append(parts, p)
	}
	parts = append(parts, Part{r.Started, r.ItersPerUs, r.Interrupted, kept(len(r.Rows) - first)})
	r.Rows, r.Earlier = rows, parts
	return r
}

// cell is what the row's prints as.
func (r Row) cell() string { return r.Program + " " + r.Step + " " + r.Site }

// printEarlier shows what is taken over, by cell as it was printed then.
func printEarlier(w io.Writer, r Results) {
	rows := r.Rows
	for _, p := range r.Earlier {
		if p.Rows == 0 {
			continue
		}
		interrupted := ""
		if p.Interrupted != nil {
			interrupted = ", each processor " + strings.TrimPrefix(p.Interrupted.String(), "each ")
		}
		fmt.Fprintf(w, "of the run of %s%s, %.0f loop iterations a microsecond:\n", p.Started.Format(time.DateTime), interrupted, p.ItersPerUs)
		part := rows[:p.Rows]
		rows = rows[p.Rows:]
		for len(part) > 0 {
			n := 1
			for n < len(part) && part[n].cell() == part[0].cell() {
				n++
			}
			printRows(w, part[:n])
			part = part[n:]
		}
	}
	fmt.Fprintln(w, "of this run:")
}
