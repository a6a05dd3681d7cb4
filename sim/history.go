package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// PrintTrace writes histories for people: a line for each node that a request entered, indented by
// how many wait for its answer, with the times since the request came, in ms.
func PrintTrace(w io.Writer, spans []Span) error {
	var b strings.Builder
	begin := map[int64]float64{}
	var order []int64
	of := map[int64][]Span{}
	for _, s := range spans {
		if _, seen := begin[s.Request]; !seen {
			begin[s.Request] = s.Begin
			order = append(order, s.Request)
		}
		of[s.Request] = append(of[s.Request], s)
	}
	for _, id := range order {
		fmt.Fprintf(&b, "request %d at %.3f ms\n", id, begin[id])
		all := of[id]
		slices.SortStableFunc(all, func(a, b Span) int { return a.Part - b.Part })
		for _, s := range all {
			took, how := fmt.Sprintf("%10.3f ms", s.End-s.Begin), ""
			switch {
			case s.End < 0:
				took = "  never back"
			case s.Canceled:
				how = "  taken back"
			case !s.OK:
				how = "  failed"
			}
			part := ""
			if s.Part > 0 {
				part = fmt.Sprintf("part %d: ", s.Part)
			}
			fmt.Fprintf(&b, "  %10.3f %s  %s%s%s%s\n", s.Begin-begin[id], took, strings.Repeat("  ", s.Depth), part, s.Node, how)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// History is the trace of a case.
type History struct {
	Name  string
	Spans []Span
}

// WriteTrace writes histories in the Trace Event Format of Chrome, which
// chrome://tracing and Perfetto open: a process for each case, a thread for each part of each
// request.
func WriteTrace(w io.Writer, cases []History) error {
	type event struct {
		Name  string         `json:"name"`
		Phase string         `json:"ph"`
		Time  float64        `json:"ts"` // us
		Took  float64        `json:"dur,omitempty"`
		Case  int            `json:"pid"`
		Part  int64          `json:"tid"`
		Args  map[string]any `json:"args,omitempty"`
	}
	events := []event{}
	for i, c := range cases {
		events = append(events, event{Name: "process_name", Phase: "M", Case: i + 1, Args: map[string]any{"name": c.Name}})
		named := map[int64]bool{}
		for _, s := range c.Spans {
			thread := s.Request*1000 + int64(min(s.Part, 999))
			if !named[thread] {
				named[thread] = true
				name := fmt.Sprintf("request %d", s.Request)
				if s.Part > 0 {
					name += fmt.Sprintf(", part %d", s.Part)
				}
				events = append(events, event{Name: "thread_name", Phase: "M", Case: i + 1, Part: thread, Args: map[string]any{"name": name}})
			}
			e := event{Name: s.Node, Phase: "X", Time: s.Begin * 1000, Took: (s.End - s.Begin) * 1000, Case: i + 1, Part: thread,
				Args: map[string]any{"request": s.Request, "ok": s.OK, "taken back": s.Canceled}}
			if s.End < 0 {
				e.Phase, e.Took = "i", 0
			}
			events = append(events, e)
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}
