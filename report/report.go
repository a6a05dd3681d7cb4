// Package report is the one model of an answer that every verb of headway
// shares, and the three ways to show it: terminal, JSON, one HTML page.
//
// An answer is a question, a list of metrics, and a list of cases of which one
// per group is the baseline. Every other case of the group carries the effect
// of its change: (changed - baseline) / baseline x 100, with an interval.
//
//	r := &report.Report{Schema: report.Schema, Verb: "sim", ...}
//	err := r.Text(os.Stdout, report.TextOptions{Width: 100, Color: true})
//
// The one rule of all three: an effect that is not Real is "no effect seen", never a win.
package report

import (
	"runtime"
	"time"
)

// Schema is the version of the JSON form. It changes only when a reader of the
// older form would misread the newer one.
const Schema = 1

// Report is the answer to one question.
type Report struct {
	Schema      int         `json:"schema"`
	Verb        string      `json:"verb"`
	Question    string      `json:"question"`
	Answer      string      `json:"answer"`
	Command     []string    `json:"command"`
	Started     time.Time   `json:"started"`
	Environment Environment `json:"environment"`
	Metrics     []Metric    `json:"metrics"`
	Groups      []Group     `json:"groups,omitempty"`
	Cases       []Case      `json:"cases"`
	// Listed cases have an order of their own, such as that of a file; others are shown with
	// the best first.
	Listed bool `json:"listed,omitempty"`
	// Observed is what was there already, such as a capture: no runs stand behind its figures, and no seed.
	Observed bool     `json:"observed,omitempty"`
	Plots    []Plot   `json:"plots,omitempty"`
	Tables   []Table  `json:"tables,omitempty"`
	Warnings []string `json:"warnings"`
	// Error says why the command failed, "" if it did not. The page has it among the warnings; a
	// terminal, where the command says it itself, has not.
	Error string `json:"error,omitempty"`
}

// Environment says where and with what the figures were measured.
type Environment struct {
	Go   string            `json:"go"`
	OS   string            `json:"os"`
	Arch string            `json:"arch"`
	CPUs int               `json:"cpus"`
	Seed uint64            `json:"seed"`
	More map[string]string `json:"more,omitempty"` // verb-specific, such as how long a window is
}

// Here is the environment of this process, which measures; more is what only its verb can say.
func Here(seed uint64, more map[string]string) Environment {
	return Environment{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Seed: seed, More: more}
}

// Metric names one measured quantity, its unit and its good direction.
type Metric struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"` // "lower" or "higher"
	// Minor metrics are for those who look closer: they are in the JSON and in the cards of
	// the page, not in its overview, nor in a terminal's table of several cases.
	Minor bool `json:"minor,omitempty"`
}

// Group is a set of cases compared among themselves: in a causal profile, a site.
type Group struct {
	Name    string           `json:"name"`
	Verdict string           `json:"verdict,omitempty"` // "worth it", "no effect seen", "would make it worse", ...
	Values  map[string]Value `json:"values,omitempty"`  // facts about the group, such as "share", its share of the CPU samples in percent
	Source  *Source          `json:"source,omitempty"`
	Notes   []string         `json:"notes,omitempty"`
}

// Source is the piece of program text that a group stands for.
type Source struct {
	File  string   `json:"file"`
	Line  int      `json:"line"`  // the line the group stands for
	First int      `json:"first"` // number of the first of Lines
	Lines []string `json:"lines"`
}

// Case is one configuration that was measured.
type Case struct {
	Name     string             `json:"name"`
	Group    string             `json:"group"`
	Baseline bool               `json:"baseline,omitempty"`
	Params   map[string]float64 `json:"params"`
	Values   map[string]Value   `json:"values"`
	Effects  map[string]Effect  `json:"effects,omitempty"`
}

// Value is an estimate of a metric with its interval; N is the number of runs behind it.
// A bound that the data cannot carry is infinite, an estimate they cannot carry is NaN:
// both are null in JSON. Low = High = 0 is a plain figure without an interval.
type Value struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	N     int     `json:"n"`
	Unit  string  `json:"unit,omitempty"` // only in Group.Values; "" is "%" for shares and a bare number for others
}

// Effect is the change against the group's baseline, in percent of the baseline.
// Bounds and estimate may be infinite or NaN as in [Value].
type Effect struct {
	Percent    float64 `json:"percent"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
	N          int     `json:"n"`
	// Expected is what a classic profile would lead one to expect, where the verb has one.
	Expected *float64 `json:"expected,omitempty"`
	// Shared is the standard deviation, in points, of the error that all N have in common, such as the method's: the interval has
	// it in, and more runs do not lessen it. 0: none is known.
	Shared float64 `json:"shared,omitempty"`
	// Real is false where the interval contains 0 or the false discovery control rejected it.
	Real bool `json:"real"`
}
