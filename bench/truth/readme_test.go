package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table in README.md shows the closed forms of closed.go.
func TestReadmeTable(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	more := "run with `-all` or by name:"
	for _, p := range Programs {
		if p.More {
			more += fmt.Sprintf(" `%s`,", p.Name)
		}
	}
	if more = strings.TrimSuffix(more, ",") + ".\n"; !strings.Contains(string(b), more) {
		t.Errorf("README.md lacks or misstates:\n%s", more)
	}
	for _, p := range Programs {
		effects := map[string]string{"A": "", "B": ""}
		for _, s := range p.Sites {
			var e []string
			for _, d := range []float64{25, 50, 75} {
				e = append(e, strings.Replace(fmt.Sprintf("%.1f", s.Closed(d)+1e-9), "-0.0", "0.0", 1))
			}
			effects[s.Edit] = strings.Join(e, ", ")
		}
		start := fmt.Sprintf("| `%s` | %s | ", p.Name, p.Does)
		end := fmt.Sprintf(" | %s | %s |\n", effects["A"], effects["B"])
		_, rest, ok := strings.Cut(string(b), start)
		if line, _, _ := strings.Cut(rest, "\n"); !ok || !strings.HasSuffix(line+"\n", end) {
			t.Errorf("README.md lacks or misstates:\n%s...%s", start, end)
		}
	}
}
