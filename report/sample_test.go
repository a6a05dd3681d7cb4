package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// profile is a report as a causal profile makes it: eight sites, two metrics.
func profile() *Report {
	r := &Report{
		Schema:   Schema,
		Verb:     "profile",
		Question: "What would make ./cmd/iss faster: a request more a second, an answer sooner?",
		Answer:   "Making iss.(*Propagator[float64]).Step 50 % faster would serve 31 % more requests and answer them 24 % sooner; six of the eight sites are not worth the work.",
		Command:  []string{"headway", "profile", "--throughput", "iss.(*Server).ServeDNS", "--latency", "iss.(*Server).ServeDNS", "--duration", "90s", "./cmd/iss", "--", "-listen", "127.0.0.1:5353", "-name", "it's up"},
		Started:  time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Environment: Environment{Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2, Seed: 7,
			More: map[string]string{"sampling clock": "perf_event cpu-clock, 1 ms, user code only", "kernel": "6.1.0"}},
		Metrics:  []Metric{{"throughput", "req/s", "higher", false}, {"latency p95", "ms", "lower", false}},
		Warnings: []string{"The load was below saturation for 4 of 90 s: effects on throughput are understated there.", "net/http.(*http2serverConn).processHeaders was called 212 times a window: less than 500 makes its intervals wide."},
	}
	sites := []struct {
		name, file       string
		line             int
		share, throughin float64 // percent; the true effect at 100 %
		limit            float64 // speed-up after which nothing more is won
		n                int
		verdict          string
		note             string
	}{
		{"runtime.mallocgc", "runtime/malloc.go", 1056, 11.9, 0, 100, 18, "no effect seen", ""},
		{"github.com/headway-lab/headway/iss.(*Propagator[go.shape.float64]).Step", "iss/propagate.go", 118, 38.2, 62, 60, 18, "worth it", "Nothing more is won beyond 60 %: then the encoder holds the answer up."},
		{"net/http.(*http2serverConn).processHeaders", "net/http/h2_bundle.go", 6112, 7.4, 3, 100, 9, "no effect seen", ""},
		{"github.com/miekg/dns.(*Msg).PackBuffer", "dns/msg.go", 742, 9.1, 14, 100, 18, "worth it", ""},
		{"internal/runtime/maps.(*Map).getWithoutKeySmallFastStr", "internal/runtime/maps/runtime_faststr_swiss.go", 18, 4.6, 0, 100, 17, "no effect seen", ""},
		{"github.com/headway-lab/headway/iss.(*Cache).evict", "iss/cache.go", 57, 3.2, -9, 100, 18, "would make it worse", "A faster eviction takes the lock more often."},
		{"strings.(*Builder).WriteString", "strings/builder.go", 112, 2.8, 0, 100, 16, "no effect seen", ""},
		{"github.com/headway-lab/headway/iss.slices.SortFunc[go.shape.[]github.com/headway-lab/headway/iss.Pass,go.shape.struct { Rise time.Time; Set time.Time }]", "slices/sort.go", 27, 2.1, 0, 100, 18, "no effect seen", ""},
	}
	random := rand.New(rand.NewPCG(1, 1))
	for i, s := range sites {
		g := Group{Name: s.name, Verdict: s.verdict,
			Values: map[string]Value{"share": {Value: s.share, Low: s.share - 0.8, High: s.share + 0.8, N: 41200}},
			Source: &Source{File: s.file, Line: s.line, First: s.line - 4}}
		if s.note != "" {
			g.Notes = []string{s.note}
		}
		g.Source.Lines = strings.Split(fmt.Sprintf("\n// site %d <b>is not bold</b>\nfunc (p *Propagator[T]) Step(t time.Time) (State[T], error) {\n\tminutes := T(t.Sub(p.epoch).Minutes())\n\tmean := p.meanAnomaly + p.meanMotion*minutes // %d rad\n\tfor range iterations {\n\t\te := kepler(mean, p.eccentricity); if e < p.tolerance && len(p.history) > 0 { return p.history[len(p.history)-1], nil }\n\t}\n}", i, i), "\n")
		r.Groups = append(r.Groups, g)
		r.Cases = append(r.Cases, Case{Name: "baseline", Group: s.name, Baseline: true, Params: map[string]float64{Speedup: 0},
			Values: map[string]Value{"throughput": {12480, 12310, 12655, s.n, ""}, "latency p95": {3.82, 3.74, 3.91, s.n, ""}}})
		for _, speedup := range []float64{25, 50, 75, 100} {
			up := s.throughin * min(speedup, s.limit) / 100
			half := 30 / math.Sqrt(float64(s.n)*float64(s.n)) * (0.7 + random.Float64())
			up += half * 0.5 * random.NormFloat64() / 2
			expected := 100 * (1/(1-s.share*speedup/1e4) - 1)
			faster := -100 * (1 - 1/(1+up/100)) * 0.9
			expectedLatency := -s.share * speedup / 100
			effect := func(percent, half float64, expected *float64) Effect {
				e := Effect{Percent: percent, Low: percent - half*0.9, High: percent + half*1.1, Confidence: 0.95, N: s.n, Expected: expected}
				e.Real = (e.Low > 0 || e.High < 0) && math.Abs(s.throughin) > 3
				return e
			}
			r.Cases = append(r.Cases, Case{Name: fmt.Sprintf("%g %%", speedup), Group: s.name, Params: map[string]float64{Speedup: speedup},
				Values: map[string]Value{
					"throughput":  {12480 * (1 + up/100), 12310 * (1 + up/100), 12655 * (1 + up/100), s.n, ""},
					"latency p95": {3.82 * (1 + faster/100), 3.74 * (1 + faster/100), 3.91 * (1 + faster/100), s.n, ""}},
				Effects: map[string]Effect{"throughput": effect(up, half, &expected), "latency p95": effect(faster, half*0.8, &expectedLatency)}})
		}
	}
	return r
}

// simulation is a report without groups: one row a case.
func simulation() *Report {
	effect := func(p, low, high float64) map[string]Effect {
		return map[string]Effect{
			"latency p95": {Percent: p, Low: low, High: high, Confidence: 0.95, N: 20, Real: low > 0 || high < 0},
			"dropped":     {Percent: p / 20, Low: p/20 - 8, High: p/20 + 8, Confidence: 0.95, N: 20},
		}
	}
	value := func(v, low, high, dropped float64) map[string]Value {
		return map[string]Value{"latency p95": {v, low, high, 20, ""}, "dropped": {dropped, dropped - 0.03, dropped + 0.03, 20, ""}}
	}
	return &Report{
		Schema: Schema, Verb: "sim",
		Question:    "Which routing policy gives 250 dynos the shortest wait?",
		Answer:      "Least connections with random ties answers the slowest 5 % of requests 74 % sooner than random routing.",
		Command:     []string{"headway", "sim", "routing.star"},
		Started:     time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Environment: Environment{Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2, Seed: 1},
		Metrics:     []Metric{{"latency p95", "ms", "lower", false}, {"dropped", "%", "lower", false}},
		Cases: []Case{
			{Name: "random", Baseline: true, Values: value(631, 622, 640, 0.4)},
			{Name: "round robin", Values: value(375, 370, 381, 0.39), Effects: effect(-40.6, -41.9, -39.3)},
			{Name: "least connections, random ties", Values: value(164, 161, 168, 0.4), Effects: effect(-74.0, -74.6, -73.2)},
			{Name: "least connections, lowest index", Values: value(1738, 1650, 1810, 0.41), Effects: effect(175.4, 160, 190)},
			{Name: "two choices", Params: map[string]float64{"choices": 2}, Values: value(628, 610, 650, 0.4), Effects: effect(-0.5, -3, 2.1)},
		},
		Plots: []Plot{
			{Title: "Latency over the routers", X: Axis{Name: "routers"}, Y: Axis{Name: "latency p95", Unit: "ms", Scale: "log"}, Lines: []Line{
				{Name: "lowest ties", Points: []Point{{2, 506, 500, 512}, {4, 829, 820, 840}, {8, 1420, 1400, 1440}, {16, 2527, 2500, 2550}}},
				{Name: "random ties <b>", Points: []Point{{X: 2, Y: 405}, {X: 4, Y: 472}, {X: 8, Y: 530}, {X: 16, Y: 571}}},
				{Name: "random routing", Reference: true, Points: []Point{{X: 2, Y: 640}, {X: 16, Y: 640}}},
			}},
			{Title: "Distribution", Note: "of all requests", X: Axis{Name: "share of the requests", Scale: "nines"}, Y: Axis{Name: "latency", Unit: "ms"},
				Lines: []Line{{Name: "random", Points: []Point{{X: 0, Y: 22}, {X: .5, Y: 162}, {X: .9, Y: 500}, {X: .99, Y: 970}, {X: .999, Y: 1400}}}}},
			{Title: "Nothing", X: Axis{Name: "time", Unit: "s"}, Y: Axis{Name: "latency", Scale: "log"}},
		},
		Tables: []Table{{Title: "Nodes", Columns: []Column{{"utilisation", "%"}, {"wait", "ms"}, {"instances", ""}},
			Rows: []Row{{"queue of rails", Figures{42.1, 17.25, math.NaN()}}, {"random <i>", Figures{math.NaN(), 0, 3.5}}}}},
	}
}
