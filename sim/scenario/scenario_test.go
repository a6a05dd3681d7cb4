package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/sim"
)

const start = "simulate(arrivals = poisson(10), requests = 1000)\n"

// Every scenario that is shipped can be read and run.
func TestShipped(t *testing.T) {
	files, err := filepath.Glob("../../examples/sim/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Read(name, src)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, c := range x.Cases {
			c.Config.Requests = 1000
			if _, err := sim.Run(c.Config, c.Network); err != nil {
				t.Errorf("%s, %s: %v", name, c.Name, err)
			}
		}
	}
}

// All that can be written.
func TestWords(t *testing.T) {
	src := start + `
s = server("s")
for d in [fixed(1), uniform(1, 2), exponential(3), erlang(2, 3), gamma(.5, 3), lognormal(3, .5), pareto(1, 3), weibull(.7, 3), hyperexponential(.9, 1, 9)]:
    case(str(len(names)), queue(delay(d, s), workers = 2, backlog = 3))
    names.append(d)
case("laws as nodes", fixed(1, uniform(1, 2, exponential(3, next = s))))
case("routers", random([round_robin([s, s]), least_connections([s], ties = "lowest"), least_of(2, [s, s]), one_each([s])]), x = 1)
sweep("n", [1, 2], lambda n: cable(n, one_each(pool(n, lambda i: delay(i + 1, s)))))
for name, a in [("constant", constant(2)), ("gaps", gaps(erlang(2, 3))), ("at once", at_once())]:
    simulate(arrivals = a, requests = 50, window = "all", round = 1, replications = 5, most = 9, precision = .1, question = "?")
    case(name, s, baseline = name == "gaps")
`
	src = strings.Replace(src, "s = server", "names = []\ns = server", 1)
	x, err := Read("w.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Cases) != 16 || x.Least != 5 || x.Most != 9 || x.Question != "?" {
		t.Errorf("%d cases, %+v", len(x.Cases), x)
	}
	for _, c := range x.Cases {
		if c.Baseline != (c.Name == "gaps") {
			t.Errorf("%s: baseline %v", c.Name, c.Baseline)
		}
		c.Config.Requests = 200
		if _, err := sim.Run(c.Config, c.Network); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func TestEmpirical(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "times.csv")
	if err := os.WriteFile(name, []byte("us\n1000\n3000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Read("e.star", []byte(start+`case("e", delay(empirical("`+name+`", column = "us", scale = .001), server("s")))`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(x.Cases[0].Config, x.Cases[0].Network)
	if err != nil || r.Latency.Min != 1 || r.Latency.Max != 3 {
		t.Errorf("%v, %+v", err, r)
	}
}

// A mistake is named with its line.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{`case("a", cable(-1, server("s")))`, "must not be negative"},
		{`case("a", delay(-1, server("s")))`, "must not be negative"},
		{`case("a", delay(exponential(-5), server("s")))`, "must not be negative"},
		{`case("a", delay(float("nan"), server("s")))`, "want a time"},
		{`case("a", delay("long", server("s")))`, "want a time"},
		{`case("a", random([]))`, "empty pool"},
		{`case("a", random(pool(0, lambda: server("s"))))`, "empty"},
		{`case("a", random(pool(1 << 70, lambda: server("s"))))`, "out of range"},
		{`case("a", random(pool(100000000, lambda: server("s"))))`, "more than"},
		{`case("a", random([server("s"), 3]))`, "backend 1"},
		{`case("a", least_connections([server("s")], ties = "high"))`, "ties"},
		{`case("a", least_of(0, [server("s")]))`, "least of 0"},
		{`case("a", queue(server("s"), workers = 0))`, "0 workers"},
		{`case("a", queue(server("s"), backlog = -3))`, "backlog"},
		{`case("a", erlang(1.5, 3, server("s")))`, "stages"},
		{`case("a", 7)`, "want a node"},
		{`case("a", server("s"), x = "y")`, "parameter x"},
		{"case(\"a\", server(\"s\")); case(\"a\", server(\"s\"))", "two cases"},
		{`sweep("n", [1], lambda n: 5)`, "want a node"},
		{`simulate(arrivals = poisson(-1))`, "must not be negative"},
		{`simulate(arrivals = 5)`, "poisson"},
		{`simulate(arrivals = poisson(1), window = "some")`, "middle"},
		{`simulate(arrivals = poisson(1), requests = 0)`, "requests"},
		{`simulate(arrivals = poisson(1), replications = 1)`, "replications"},
		{`empirical("/nonexistent")`, "no such file"},
		{`range(1 << 62)`, "more than"},
		{`range(10, 0, 0)`, "step of 0"},
		{`x = "a" * (1 << 50)`, "repeat"},
		{"[1 for a in range(1000) for b in range(1000) for c in range(1000)]", "too many steps"},
		{"x = [0] * 1000\nfor i in range(100): x += x", "memory"},
		{"while True: pass", "while"},
		{`nonsense(1)`, "undefined: nonsense"},
		{`case("a"`, "got end of file"},
	} {
		begin := time.Now()
		_, err := Read("m.star", []byte(start+"\n"+c.line+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "m.star:3") && !strings.HasPrefix(err.Error(), "m.star:4") {
			t.Errorf("%s\n  gives %v, want m.star:3 and %q", c.line, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %q", c.line, err)
		}
		if d := time.Since(begin); d > 30*time.Second {
			t.Errorf("%s takes %v", c.line, d)
		}
	}
	for src, says := range map[string]string{"": "no case", `case("a", server("s"))`: "arrivals"} {
		if _, err := Read("m.star", []byte(src)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q gives %v", src, err)
		}
	}
}

// No text panics or hangs.
func FuzzRead(f *testing.F) {
	f.Add(start + `case("a", cable(2, queue(exponential(3, server("s")))))`)
	f.Add(`simulate(arrivals=at_once())` + "\n" + `sweep("n", range(3), lambda n: random(pool(n + 1, lambda: server("s"))))`)
	f.Add("x = [0] * 100\nfor i in range(9): x += x")
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "empirical") {
			t.Skip("would open files")
		}
		x, err := Read("f.star", []byte(src))
		if err != nil {
			return
		}
		for _, c := range x.Cases[:min(len(x.Cases), 3)] {
			c.Config.Requests, c.Config.Limit = 20, 10_000
			sim.Run(c.Config, c.Network)
		}
	})
}
