package elements

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

// Bad are sets that were not right, among others that were.
type Bad struct {
	Sets  int
	First error // what is wrong with the first of them; nil if there is none
}

func (b Bad) String() string {
	if b.Sets == 0 {
		return ""
	}
	return fmt.Sprintf("%s not right; the first: %s", plural(b.Sets, "is", "are"), strings.TrimPrefix(b.First.Error(), "orbit: "))
}

// plural writes a number with its verb.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Parse reads element sets of whatever format orbit knows, and finds out which it is. It
// tells which were bad. The error says why none can be used.
func Parse(body []byte) (sets []orbit.Elements, bad Bad, err error) {
	format, err := sniff(body)
	if err != nil {
		return nil, Bad{}, err
	}
	sets, err = orbit.Read(bytes.NewReader(body), format)
	bad = Bad{failures(err), first(err)}
	if len(sets) == 0 {
		return nil, bad, fmt.Errorf("no element sets: %w", bad.First)
	}
	return sets, bad, nil
}

func sniff(body []byte) (orbit.Format, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
	start := strings.ToLower(string(text[:min(len(text), 2000)]))
	switch {
	case start == "":
		return 0, errors.New("it is empty")
	case start[0] == '[', start[0] == '{':
		return orbit.JSON, nil
	case start[0] == '<' && (strings.Contains(start, "<ndm") || strings.Contains(start, "<omm")):
		return orbit.XML, nil
	case start[0] == '<':
		return 0, fmt.Errorf("it is a web page, not element sets: %s", clip(plain(string(text[:min(len(text), 2000)]))))
	case strings.HasPrefix(start, "ccsds_omm_vers"):
		return orbit.KVN, nil
	case strings.Contains(firstLine(start), "mean_motion") && strings.Contains(firstLine(start), ","):
		return orbit.CSV, nil
	}
	return orbit.TLE, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// plain takes the tags out of a page.
func plain(page string) string {
	var b strings.Builder
	for page != "" {
		text, rest, _ := strings.Cut(page, "<")
		b.WriteString(text + " ")
		_, page, _ = strings.Cut(rest, ">")
	}
	return b.String()
}

// clip makes one short line of what a server said.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)), " ")
	if r := []rune(s); len(r) > 160 {
		return string(r[:157]) + "..."
	}
	return s
}

// failures counts the bad sets that an error of orbit.Read tells of: it lists ten, and
// says how many more there are.
func failures(err error) int {
	if err == nil {
		return 0
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return 1
	}
	all := list.Unwrap()
	var more int
	if n := len(all); n > 0 {
		if _, err := fmt.Sscanf(all[n-1].Error(), "orbit: and %d more", &more); err == nil {
			return n - 1 + more
		}
	}
	return len(all)
}

func first(err error) error {
	if list, ok := err.(interface{ Unwrap() []error }); ok && len(list.Unwrap()) > 0 {
		return list.Unwrap()[0]
	}
	return err
}

const (
	mostBad     = .05                // of the sets of a good answer
	leastLeft   = 2. / 3             // of the objects that were there
	mostChanged = .05                // of orbits that cannot be those of the same objects
	ahead       = 2 * 24 * time.Hour // how far epochs may be in the future; predictions are
	station     = 25544
)

// check says why a new set is not believed. Old is what it would replace, which may be
// nothing.
func check(sets []orbit.Elements, bad int, old []orbit.Elements, now time.Time) error {
	future := 0
	for _, e := range sets {
		if e.Epoch.Sub(now) > ahead {
			future++
		}
	}
	if total := len(sets) + bad; float64(bad+future) > mostBad*float64(total) {
		return fmt.Errorf("%d of %d element sets are not right", bad+future, total)
	}
	if len(old) == 0 {
		return nil
	}
	was := byNumber(old)
	is := byNumber(sets)
	if float64(len(is)) < leastLeft*float64(len(was)) {
		return fmt.Errorf("only %d objects where there were %d", len(is), len(was))
	}
	if was[station] != nil && is[station] == nil {
		return fmt.Errorf("the space station (%d) is missing", station)
	}
	common, changed := 0, 0
	for n, e := range is {
		o := was[n]
		if o == nil {
			continue
		}
		common++
		if !same(o, e) {
			changed++
			if n == station {
				return fmt.Errorf("the orbit of the space station (%d) is another: %.4f revolutions a day at %.2f degrees, was %.4f at %.2f", n, e.MeanMotion, e.Inclination, o.MeanMotion, o.Inclination)
			}
		}
	}
	if float64(common) < leastLeft*float64(len(was)) {
		return fmt.Errorf("other objects: only %d of %d are there", common, len(was))
	}
	if float64(changed) > max(mostChanged*float64(common), 1) {
		return fmt.Errorf("%d of %d objects have other orbits", changed, common)
	}
	// The middle one, not the last: a single epoch ahead of time would keep out what comes
	// after it.
	if a, b := middle(sets), middle(old); a.Before(b.Add(-6*time.Hour)) && b.Sub(now) < ahead {
		return fmt.Errorf("older than what is there: half of the epochs are before %s, was %s", a.Format(time.DateTime), b.Format(time.DateTime))
	}
	return nil
}

// same tells whether two sets can be of one object: nothing turns its plane by ten degrees
// within a day or two, and who changes height does it slowly.
func same(a, b *orbit.Elements) bool {
	return math.Abs(a.Inclination-b.Inclination) < 10 && math.Abs(math.Log(a.MeanMotion/b.MeanMotion)) < .5
}

func byNumber(sets []orbit.Elements) map[int]*orbit.Elements {
	m := make(map[int]*orbit.Elements, len(sets))
	for i := range sets {
		if e := &sets[i]; m[e.Number] == nil || m[e.Number].Epoch.Before(e.Epoch) {
			m[e.Number] = e
		}
	}
	return m
}

// middle is the median epoch.
func middle(sets []orbit.Elements) time.Time {
	epochs := make([]time.Time, len(sets))
	for i, e := range sets {
		epochs[i] = e.Epoch
	}
	slices.SortFunc(epochs, time.Time.Compare)
	return epochs[len(epochs)/2]
}

// merge keeps for each object the set with the latest epoch, so that no object goes back in
// time when a server does for some. Objects that are no longer among the new are gone; epochs
// too far ahead are left out.
func merge(sets, old []orbit.Elements, now time.Time) []orbit.Elements {
	was := byNumber(old)
	out := make([]orbit.Elements, 0, len(sets))
	for _, e := range sets {
		if e.Epoch.Sub(now) > ahead {
			continue
		}
		if o := was[e.Number]; o != nil && o.Epoch.After(e.Epoch) && o.Epoch.Sub(now) < ahead {
			e = *o
		}
		out = append(out, e)
	}
	return out
}
