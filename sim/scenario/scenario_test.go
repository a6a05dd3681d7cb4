package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	src := strings.Replace(start, "1000)", "1000, classes = [request_class(\"k\", keys = zipf(9, 1))])", 1) + `
s = server("s")
for d in [fixed(1), uniform(1, 2), exponential(3), erlang(2, 3), gamma(.5, 3), lognormal(3, .5), pareto(1, 3), weibull(.7, 3), hyperexponential(.9, 1, 9)]:
    case(str(len(names)), queue(delay(d, s), workers = 2, backlog = 3))
    names.append(d)
case("laws as nodes", fixed(1, uniform(1, 2, exponential(3, next = s))))
for name, node in [
    ("lifo", queue(s, order = "lifo")), ("priority", queue(s, order = "priority")), ("shortest", queue(delay(per_size(2), s), order = "shortest")),
    ("locked", locked(m, s)), ("shared", shared(2, exponential(3), s)), ("pauses", shared(1, 3, s, pause_every = exponential(100), pause = 5)),
    ("faulty", faulty(exponential(100), exponential(10), s)), ("slow", faulty(100, 10, s, slow = 7)),
    ("retry", retry(3, s, backoff = 5, cap = 20, jitter = True, budget = .1, burst = 5)), ("timeout", timeout(5, s, recall = True)),
    ("hedge", hedge(5, s, most = 2, recall = True)), ("tied", tied(2, [s, s], lag = 1)), ("fan", fan_out([s, s], need = 1, recall = True)),
    ("batch", batch(5, 10, s)), ("breaker", breaker(s, failures = 3, rest = 10, probes = 2)), ("limit", limit(100, s, burst = 3, wait = True)),
    ("named", named("n", s)), ("cache", cache(s, size = 5, keep = 100, time = 1)), ("ratio", cache(s, ratio = .5)), ("series", series([s, s])),
    ("scale", autoscale([s, s], target = 1, least = 1, begin = 1, interval = 100, startup = 10, hold = 100, tolerance = .2)),
    ("weighted", weighted([s, s], weights = [1, 3])), ("ewma", peak_ewma([s, s], d = 2, decay = 100)), ("hash", consistent_hash([s, s], points = 10, bound = 1.5)),
    ("maglev", maglev([s, s])), ("sticky", sticky([s, s])), ("view", least_connections([s, s], view = v, hold = 5)), ("tries", random([s, s], tries = 2)),
]:
    case(name, node)
case("routers", random([round_robin([s, s]), least_connections([s], ties = "lowest"), least_of(2, [s, s]), one_each([s])]), x = 1)
sweep("n", [1, 2], lambda n: cable(n, one_each(pool(n, lambda i: delay(i + 1, s)))))
for name, a in [("users", users(3, exponential(5))), ("ramp", ramp([(0, 10), (1000, 100)])), ("steps", steps([(0, 10), (1000, 100)])), ("bursts", bursts([(1, 10), (0, 50)])),
        ("constant", constant(2)), ("gaps", gaps(erlang(2, 3))), ("at once", at_once())]:
    simulate(arrivals = a, requests = 50, window = "mser5", classes = [request_class("r", share = 2, size = exponential(2), keys = zipf(9, 1), priority = 1), request_class("w")], round = 1, replications = 5, most = 9, precision = .1, question = "?")
    case(name, by_class({"r": s, "": s}), baseline = name == "gaps")
`
	src = strings.Replace(src, "s = server", "names = []\nm = mutex(\"db\")\nv = view(stale = 3)\ns = server", 1)
	x, err := Read("w.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Cases) != 48 || x.Least != 5 || x.Most != 9 || x.Question != "?" {
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
		{`case("a", delay(1e300, server("s")))`, "three years"},
		{`case("a", cable(1e13, server("s")))`, "three years"},
		{`case("a", faulty(0, 0, server("s")))`, "times of 0"},
		{`case("a", shared(1, 5, server("s"), pause_every = 0, pause = 1))`, "every 0 ms"},
		{`case("a", cache(server("s"), ratio = .5, size = 3))`, "both"},
		{`simulate(arrivals = poisson(1e300))`, "three years"},
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
		{`case("a", queue(server("s"), order = "random"))`, "order"},
		{`case("a", shared(0, 5, server("s")))`, "0 cores"},
		{`case("a", shared(1, 5, server("s"), pause = 5))`, "both"},
		{`case("a", faulty(exponential(-1), 5, server("s")))`, "must not be negative"},
		{`case("a", retry(0, server("s")))`, "0 tries"},
		{`case("a", retry(1, server("s"), backoff = -5))`, "must not be negative"},
		{`case("a", timeout(-1, server("s")))`, "must not be negative"},
		{`case("a", hedge(1, server("s"), most = 0))`, "0 more"},
		{`case("a", tied(0, [server("s")]))`, "0 of"},
		{`case("a", fan_out([server("s")], need = 2))`, "2 of 1"},
		{`case("a", batch(0, 1, server("s")))`, "at most 0"},
		{`case("a", breaker(server("s"), failures = -1))`, "-1 failures"},
		{`case("a", limit(0, server("s")))`, "a rate of 0"},
		{`case("a", cache(server("s")))`, "want a ratio"},
		{`case("a", cache(server("s"), ratio = 2))`, "want a ratio"},
		{`case("a", autoscale([server("s")], target = 0))`, "target of 0"},
		{`case("a", autoscale([server("s")], target = 1, least = 5))`, "at most 1"},
		{`case("a", by_class({}))`, "no way"},
		{`case("a", by_class({3: server("s")}))`, "want its name"},
		{`case("a", locked(3, server("s")))`, "want a mutex"},
		{`case("a", random([server("s")], view = view()))`, "count requests"},
		{`case("a", random([server("s")], tries = 0))`, "0 tries"},
		{`case("a", weighted([server("s")], weights = [1, 2]))`, "2 weights for 1"},
		{`case("a", weighted([server("s")], weights = [-1]))`, "weight 0 is -1"},
		{`case("a", consistent_hash([server("s")], bound = .5))`, "more than 1"},
		{`case("a", series([]))`, "empty pool"},
		{`users(0, 5)`, "0 of them"},
		{`ramp([(5, 1)])`, "at 0 ms"},
		{`steps([(0, -1)])`, "rate of -1"},
		{`bursts([(0, 10)])`, "nothing ever arrives"},
		{`replay("/nonexistent")`, "no such file"},
		{`zipf(0, 1)`, "ranks"},
		{`simulate(arrivals = poisson(1), classes = [5])`, "request_class"},
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
		_, err := Read("m.star", []byte(start+"\n"+c.line+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "m.star:3") && !strings.HasPrefix(err.Error(), "m.star:4") {
			t.Errorf("%s\n  gives %v, want m.star:3 and %q", c.line, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %q", c.line, err)
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
	f.Add(start + `case("a", retry(2, timeout(5, hedge(3, tied(2, pool(3, lambda: queue(shared(2, exponential(9), server("s"))))), recall = True))))`)
	f.Add(`simulate(arrivals=users(3, 5), classes=[request_class("a", keys=zipf(5, 1))])` + "\n" + `case("a", cache(batch(3, 5, faulty(5, 5, fan_out([server(), server()]))), size=3))`)
	f.Add("x = [0] * 100\nfor i in range(9): x += x")
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "empirical") || strings.Contains(src, "replay") {
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
