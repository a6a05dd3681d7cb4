package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Objective is what a service promises: all of its terms.
type Objective struct{ Terms []Term }

// Term is a bound on a quantile of the latency, or on the share of requests that fail.
type Term struct {
	Name     string
	Quantile float64       // 0: the bound is on failures
	Latency  time.Duration // for a quantile
	Share    float64       // of failures
}

// ParseObjective reads terms such as p99<50ms, median<=3ms, max<1s and failed<0.1%, with commas between.
func ParseObjective(s string) (Objective, error) {
	var o Objective
	for _, word := range strings.Split(s, ",") {
		word = strings.TrimSpace(word)
		name, bound, ok := strings.Cut(word, "<")
		if !ok {
			return o, fmt.Errorf("%q: want a bound such as p99<50ms or failed<0.1%%", word)
		}
		name, bound = strings.TrimSpace(name), strings.TrimSpace(strings.TrimPrefix(bound, "="))
		t := Term{Name: word}
		switch name {
		case "failed", "errors":
			share, err := strconv.ParseFloat(strings.TrimSuffix(bound, "%"), 64)
			if err != nil || !strings.HasSuffix(bound, "%") || !(share > 0 && share < 100) {
				return o, fmt.Errorf("%q: want a share above 0 %% and below 100 %%, such as failed<0.1%%", word)
			}
			t.Share = share / 100
			o.Terms = append(o.Terms, t)
			continue
		case "median":
			t.Quantile = .5
		case "max":
			t.Quantile = 1
		default:
			p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
			if err != nil || !strings.HasPrefix(name, "p") || !(p > 0 && p <= 100) {
				return o, fmt.Errorf("%q: %q is not known: want median, max, failed, or a quantile such as p99 or p99.9", word, name)
			}
			t.Quantile = p / 100
		}
		var err error
		if t.Latency, err = time.ParseDuration(bound); err != nil || t.Latency <= 0 {
			return o, fmt.Errorf("%q: want a time with its unit after the <, such as p99<50ms", word)
		}
		o.Terms = append(o.Terms, t)
	}
	return o, nil
}

func (o Objective) String() string {
	var names []string
	for _, t := range o.Terms {
		names = append(names, t.Name)
	}
	return strings.Join(names, " and ")
}

// distance is how far a run is from a bound: the logarithm of the worst ratio of what was
// measured to what is allowed, below 0 where the objective is kept. Requests that failed
// are slower than any bound.
func (o Objective) distance(r *Result) float64 {
	if r.Succeeded+r.Failed == 0 {
		return 0
	}
	worst := math.Inf(-1)
	for _, t := range o.Terms {
		d := 0.0
		if t.Quantile == 0 {
			all := float64(r.Succeeded + r.Failed)
			d = math.Log(max(float64(r.Failed)/all, 1e-6) / t.Share)
		} else {
			d = math.Log(r.Quantile(t.Quantile) / float64(t.Latency))
		}
		worst = max(worst, d)
	}
	return min(worst, far)
}

// far is how far away a run is that fails altogether.
const far = 3.0

// sharp is how many requests it takes to see all quantiles of the objective: ten beyond each.
func (o Objective) sharp() float64 {
	n := 100.0
	for _, t := range o.Terms {
		switch {
		case t.Quantile == 0:
			n = max(n, 10/t.Share)
		case t.Quantile < 1:
			n = max(n, 10/(1-t.Quantile))
		}
	}
	return n
}

var errNever = errors.New("the objective is missed at every rate that was tried")
