package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// JSON writes the report, indented, keys in a fixed order, lists never null. It refuses
// a report that does not pass [Report.Validate]. A bound that is infinite and
// an estimate that is NaN are written as null.
func (r *Report) JSON(w io.Writer) error {
	if err := r.Validate(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r.filled(), "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// filled is a copy in which lists and maps that the schema requires are not nil.
func (r *Report) filled() *Report {
	c := *r
	c.Command = orEmpty(c.Command)
	c.Metrics = orEmpty(c.Metrics)
	c.Warnings = orEmpty(c.Warnings)
	c.Cases = append([]Case{}, c.Cases...)
	for i := range c.Cases {
		if c.Cases[i].Params == nil {
			c.Cases[i].Params = map[string]float64{}
		}
		if c.Cases[i].Values == nil {
			c.Cases[i].Values = map[string]Value{}
		}
	}
	return &c
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Parse reads what [Report.JSON] wrote. It refuses another schema, text after the
// report, and a report that does not pass [Report.Validate]; fields that it does not
// know are skipped, so that a newer headway with the same schema can be read.
func Parse(r io.Reader) (*Report, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var version struct{ Schema *int }
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, explain(b, err)
	}
	switch {
	case version.Schema == nil:
		return nil, errors.New(`report: no "schema" field: not a headway report`)
	case *version.Schema != Schema:
		return nil, fmt.Errorf("report: schema %d, this headway reads schema %d", *version.Schema, Schema)
	}
	var report Report
	if err := json.Unmarshal(b, &report); err != nil {
		return nil, explain(b, err)
	}
	if err := report.Validate(); err != nil {
		return nil, err
	}
	return report.filled(), nil
}

// explain says on which line of b the error lies.
func explain(b []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	line := func(offset int64) int {
		return 1 + bytes.Count(b[:min(max(offset, 0), int64(len(b)))], []byte("\n"))
	}
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("report: line %d: %w", line(syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("report: line %d: field %q holds a %s, want %s", line(kind.Offset), kind.Field, kind.Value, kind.Type)
	}
	return fmt.Errorf("report: %w", err)
}

// The numbers of an estimate as JSON has them: null is NaN, or a missing bound.
type (
	valueJSON struct {
		Value *float64 `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
		N     int      `json:"n"`
		Unit  string   `json:"unit,omitempty"`
	}
	effectJSON struct {
		Percent    *float64 `json:"percent"`
		Low        *float64 `json:"low"`
		High       *float64 `json:"high"`
		Confidence float64  `json:"confidence"`
		N          int      `json:"n"`
		Expected   *float64 `json:"expected,omitempty"`
		Shared     float64  `json:"shared,omitempty"`
		Real       bool     `json:"real"`
	}
)

// MarshalJSON writes what is not finite as null.
func (v Value) MarshalJSON() ([]byte, error) {
	return json.Marshal(valueJSON{finite(v.Value), finite(v.Low), finite(v.High), v.N, v.Unit})
}

// UnmarshalJSON reads null, and a number that is missing, as NaN or an infinite bound.
func (v *Value) UnmarshalJSON(b []byte) error {
	var j valueJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*v = Value{or(j.Value, math.NaN()), or(j.Low, math.Inf(-1)), or(j.High, math.Inf(1)), j.N, j.Unit}
	return nil
}

// MarshalJSON writes what is not finite as null.
func (e Effect) MarshalJSON() ([]byte, error) {
	var expected *float64
	if e.Expected != nil {
		expected = finite(*e.Expected)
	}
	return json.Marshal(effectJSON{finite(e.Percent), finite(e.Low), finite(e.High), e.Confidence, e.N, expected, e.Shared, e.Real})
}

// UnmarshalJSON reads null, and a number that is missing, as NaN or an infinite bound.
func (e *Effect) UnmarshalJSON(b []byte) error {
	var j effectJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*e = Effect{or(j.Percent, math.NaN()), or(j.Low, math.Inf(-1)), or(j.High, math.Inf(1)), j.Confidence, j.N, j.Expected, j.Shared, j.Real}
	return nil
}

func finite(x float64) *float64 {
	if isFinite(x) {
		return &x
	}
	return nil
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func or(p *float64, missing float64) float64 {
	if p == nil {
		return missing
	}
	return *p
}
