package main

import "testing"

func TestTruth(t *testing.T) {
	edit := &Interval{-20, -21, -19, 5}
	for _, c := range []struct {
		name string
		row  Row
		want float64
	}{
		{"no edit", Row{Closed: -10, Ideal: true}, -10},
		{"an edit", Row{Closed: -10, Ideal: true, Edit: edit, Others: 2}, -20},
		{"a disturbed edit", Row{Closed: -10, Ideal: true, Edit: edit, Others: 30}, -10},
		{"a disturbed edit where arithmetic does not hold", Row{Closed: -10, Edit: edit, Others: 30}, -20},
	} {
		c.row.Predicted = &Interval{-12, -13, -9, 6}
		c.row.judge()
		if c.row.Truth != c.want || *c.row.Error != -12-c.want || *c.row.Covered != (c.want == -10) {
			t.Errorf("%s: truth %v, error %v, covered %v", c.name, c.row.Truth, *c.row.Error, *c.row.Covered)
		}
	}
}
